//! One field of a form: what is asked, and how it goes on the wire.
//!
//! A [`Field`] is what clients render and what answers are judged by. Reading one from a schema is
//! [`super::read`]'s job, judging a value [`super::judge`]'s, and turning typed text into a value
//! [`super::text`]'s.

use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Number, Value};

use super::judge::Judge;
use super::read::Reading;

/// One field of a form.
#[derive(Clone)]
#[non_exhaustive]
pub struct Field {
    /// The property's name, the key of the answer.
    pub name: String,
    /// What to call it in front of a person.
    pub title: Option<String>,
    /// A sentence of help.
    pub description: Option<String>,
    /// Whether an answer without it is refused.
    pub required: bool,
    /// The value to offer. It is always a valid one, and may well be `0`, `false` or the empty
    /// text.
    pub default: Option<Value>,
    /// The default of a lenient form that breaks the field's own rules. It is no answer as it is; show it, and have it
    /// corrected.
    pub faulty_default: Option<FaultyDefault>,
    /// What a lenient form had to overlook in this field, as the rest of a sentence that starts with it.
    pub notes: Vec<String>,
    /// What kind of value it takes.
    pub kind: FieldKind,
    /// Whether the schema insists on the key but takes `null` for "no answer".
    pub(super) null_when_blank: bool,
    /// Decides whether a value fits.
    pub(super) judge: Arc<Judge>,
}

/// A default that its own field refuses.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct FaultyDefault {
    /// The value as it came.
    pub value: Value,
    /// What is wrong with it, as the rest of a sentence: `must be a whole number, not "many"`.
    pub problem: String,
}

/// What a field takes.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum FieldKind {
    /// Free text.
    Text {
        /// Fewest characters (Unicode code points).
        min_length: Option<u64>,
        /// Most characters (Unicode code points).
        max_length: Option<u64>,
        /// What the text must look like.
        format: Option<TextFormat>,
    },
    /// A number.
    Number {
        /// Whether it must be whole.
        integer: bool,
        /// Smallest allowed, as exact as the schema gave it.
        minimum: Option<Number>,
        /// Largest allowed, as exact as the schema gave it.
        maximum: Option<Number>,
    },
    /// Yes or no.
    Boolean,
    /// One of some choices.
    Choice {
        /// The choices, in the schema's order, each value once.
        options: Vec<Choice>,
    },
    /// Any number of some choices, each at most once.
    MultiChoice {
        /// The choices, in the schema's order, each value once.
        options: Vec<Choice>,
        /// Fewest choices.
        min_items: Option<u64>,
        /// Most choices.
        max_items: Option<u64>,
    },
    /// Something forms have no control for; only lenient forms have such fields, and they take raw
    /// JSON.
    Unsupported {
        /// The property as it came.
        schema: Value,
        /// Why there is no control for it.
        reason: String,
    },
}

/// What a text must look like.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TextFormat {
    /// An e-mail address.
    Email,
    /// An absolute URI.
    Uri,
    /// A calendar date, RFC 3339.
    Date,
    /// A date and time with a zone, RFC 3339.
    DateTime,
    /// A name this revision does not define; the text is taken as it is, and the name may help the
    /// person.
    Other(String),
}

/// One choice of a [`FieldKind::Choice`] or [`FieldKind::MultiChoice`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Choice {
    /// What the answer carries.
    pub value: String,
    /// What a person reads.
    pub title: Option<String>,
}

impl Field {
    /// A field of this kind, with everything else as it was read. `listed` says that the schema
    /// requires the key; where `null` is an answer too, a person may still leave it blank.
    pub(super) fn new(name: &str, listed: bool, kind: FieldKind, reading: Reading) -> Self {
        Self {
            name: name.to_owned(),
            title: reading.title,
            description: reading.description,
            required: listed && !reading.nullable,
            default: reading.default,
            faulty_default: None,
            notes: Vec::new(),
            null_when_blank: listed && reading.nullable,
            judge: Arc::new(Judge::new(&kind, reading.extras)),
            kind,
        }
    }

    /// What to call the field: its title, or its name.
    #[must_use]
    pub fn label(&self) -> &str {
        self.title.as_deref().unwrap_or(&self.name)
    }

    /// The property as the restricted schema spells it.
    pub(super) fn to_schema(&self) -> Value {
        let mut schema = self.kind.to_schema();
        if let Value::Object(schema) = &mut schema {
            let texts = [("title", &self.title), ("description", &self.description)];
            schema.extend(texts.into_iter().filter_map(|(key, text)| Some((key.to_owned(), text.clone()?.into()))));
            schema.extend(self.default.clone().map(|default| ("default".to_owned(), default)));
        }
        schema
    }
}

impl fmt::Debug for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Field")
            .field("name", &self.name)
            .field("title", &self.title)
            .field("description", &self.description)
            .field("required", &self.required)
            .field("default", &self.default)
            .field("faulty_default", &self.faulty_default)
            .field("notes", &self.notes)
            .field("kind", &self.kind)
            .finish_non_exhaustive()
    }
}

impl FieldKind {
    /// The assertions of this kind, and nothing else, as a schema.
    // Spec: schema/2026-07-28 PrimitiveSchemaDefinition. Titled choices carry `type` too: some
    // clients insist.
    pub(super) fn to_schema(&self) -> Value {
        let mut schema = Map::new();
        let mut put = |key: &str, value: Option<Value>| {
            schema.extend(value.map(|value| (key.to_owned(), value)));
        };
        match self {
            Self::Text { min_length, max_length, format } => {
                put("type", Some("string".into()));
                put("minLength", min_length.map(Value::from));
                put("maxLength", max_length.map(Value::from));
                put("format", format.as_ref().map(|format| format.as_str().into()));
            }
            Self::Number { integer, minimum, maximum } => {
                put("type", Some(if *integer { "integer" } else { "number" }.into()));
                put("minimum", minimum.clone().map(Value::Number));
                put("maximum", maximum.clone().map(Value::Number));
            }
            Self::Boolean => put("type", Some("boolean".into())),
            Self::Choice { options } => {
                put("type", Some("string".into()));
                let (key, value) = choices_to_schema("oneOf", options);
                put(key, Some(value));
            }
            Self::MultiChoice { options, min_items, max_items } => {
                put("type", Some("array".into()));
                put("minItems", min_items.map(Value::from));
                put("maxItems", max_items.map(Value::from));
                put("items", Some(items_to_schema(options)));
            }
            Self::Unsupported { schema, .. } => return schema.clone(),
        }
        Value::Object(schema)
    }
}

impl TextFormat {
    /// The name on the wire.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Email => "email",
            Self::Uri => "uri",
            Self::Date => "date",
            Self::DateTime => "date-time",
            Self::Other(name) => name,
        }
    }

    /// The format of this name.
    pub(super) fn named(name: &str) -> Self {
        match name {
            "email" => Self::Email,
            "uri" => Self::Uri,
            "date" => Self::Date,
            "date-time" => Self::DateTime,
            other => Self::Other(other.to_owned()),
        }
    }
}

impl Choice {
    /// What to show for it: its title, or its value.
    #[must_use]
    pub fn label(&self) -> &str {
        self.title.as_deref().unwrap_or(&self.value)
    }

    fn to_schema(&self) -> Value {
        serde_json::json!({ "const": self.value, "title": self.label() })
    }
}

/// Plain values as `enum`; as soon as one has a title, all of them as `const` and `title` under
/// `titled`.
fn choices_to_schema(titled: &'static str, options: &[Choice]) -> (&'static str, Value) {
    if options.iter().any(|choice| choice.title.is_some()) {
        return (titled, options.iter().map(Choice::to_schema).collect());
    }
    ("enum", options.iter().map(|choice| choice.value.as_str()).collect())
}

/// The `items` of a multi-select; the spec gives the titled form no `type`.
fn items_to_schema(options: &[Choice]) -> Value {
    let (key, value) = choices_to_schema("anyOf", options);
    match key {
        "enum" => serde_json::json!({ "type": "string", key: value }),
        _ => serde_json::json!({ key: value }),
    }
}
