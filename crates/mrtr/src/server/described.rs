//! What everything a server offers has in common: how it is shown to people and models.

use serde::Serialize;
use serde_json::{Map, Value, json};

/// A picture for user interfaces. Spec: `basic/index#icons`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Icon {
    src: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    mime_type: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    sizes: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    theme: Option<&'static str>,
}

impl Icon {
    /// A picture at an `https:` or `data:` URI; clients take no other.
    pub fn new(src: impl Into<String>) -> Self {
        Self { src: src.into(), mime_type: None, sizes: Vec::new(), theme: None }
    }

    /// Its media type, where the server it is at may say another: `image/png`.
    #[must_use]
    pub fn mime_type(mut self, mime_type: impl Into<String>) -> Self {
        self.mime_type = Some(mime_type.into());
        self
    }

    /// A size it can be used at: `48x48`, or `any` for what scales.
    #[must_use]
    pub fn size(mut self, size: impl Into<String>) -> Self {
        self.sizes.push(size.into());
        self
    }

    /// It is made for light backgrounds.
    #[must_use]
    pub fn for_light(mut self) -> Self {
        self.theme = Some("light");
        self
    }

    /// It is made for dark backgrounds.
    #[must_use]
    pub fn for_dark(mut self) -> Self {
        self.theme = Some("dark");
        self
    }
}

/// Who a piece of content is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The person.
    User,
    /// The model.
    Assistant,
}

/// Hints on how to use or show content or a resource. Spec: `server/resources#annotations`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Annotations {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    audience: Vec<Role>,
    #[serde(skip_serializing_if = "Option::is_none")]
    priority: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_modified: Option<String>,
}

impl Annotations {
    /// No hints yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Who it is for; may be said of both.
    #[must_use]
    pub fn audience(mut self, role: Role) -> Self {
        self.audience.push(role);
        self
    }

    /// How much it matters, from 0 (optional) to 1 (required); what lies outside is brought to the nearer end.
    #[must_use]
    pub fn priority(mut self, priority: f64) -> Self {
        self.priority = (!priority.is_nan()).then_some(priority.clamp(0.0, 1.0));
        self
    }

    /// When it last changed, as ISO 8601 has it: `2026-07-28T15:00:58Z`.
    #[must_use]
    pub fn last_modified(mut self, timestamp: impl Into<String>) -> Self {
        self.last_modified = Some(timestamp.into());
        self
    }
}

/// The part of a definition that is the same for tools, prompts, resources and templates.
#[derive(Clone, Debug, Default)]
pub(super) struct Described {
    pub(super) title: Option<String>,
    pub(super) description: Option<String>,
    pub(super) icons: Vec<Icon>,
    pub(super) meta: Map<String, Value>,
}

impl Described {
    /// Adds a name for people and the description.
    pub(super) fn write_head(&self, definition: &mut Value) {
        set(definition, "title", &self.title);
        set(definition, "description", &self.description);
    }

    /// Adds icons and metadata.
    pub(super) fn write_tail(&self, definition: &mut Value) {
        set(definition, "icons", &(!self.icons.is_empty()).then_some(&self.icons));
        set(definition, "_meta", &(!self.meta.is_empty()).then_some(&self.meta));
    }
}

/// Sets a member that has a value.
pub(super) fn set(definition: &mut Value, member: &str, value: &Option<impl Serialize>) {
    if let Some(value) = value {
        definition[member] = json!(value);
    }
}

/// The setters of a builder that keeps its [`Described`] in `described`, or in the given field of a field.
macro_rules! described {
    ($what:literal) => {
        described!($what, described);
    };
    ($what:literal, $($at:ident).+) => {
        #[doc = concat!("What ", $what, " is for, for the model.")]
        #[must_use]
        pub fn description(mut self, description: impl Into<String>) -> Self {
            self.$($at).+.description = Some(description.into());
            self
        }

        /// A name for people.
        #[must_use]
        pub fn title(mut self, title: impl Into<String>) -> Self {
            self.$($at).+.title = Some(title.into());
            self
        }

        /// Adds a picture for user interfaces.
        #[must_use]
        pub fn icon(mut self, icon: crate::server::Icon) -> Self {
            self.$($at).+.icons.push(icon);
            self
        }

        /// Adds metadata to the definition; keys have a prefix of your own, `example.com/price`. Spec: `basic/index#meta`.
        #[must_use]
        pub fn meta(mut self, key: impl Into<String>, value: impl Into<serde_json::Value>) -> Self {
            self.$($at).+.meta.insert(key.into(), value.into());
            self
        }
    };
}
pub(super) use described;
