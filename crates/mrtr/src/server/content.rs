//! Blocks of content: what tools return, prompts say and resources hold. Spec: `server/tools#tool-result`.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{Annotations, ResourceInfo};

/// One block of content.
///
/// ```
/// use mrtr::server::{Annotations, Content, Role};
///
/// let chart = Content::image(b"\x89PNG...", "image/png").annotated(Annotations::new().audience(Role::User));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Content {
    /// Text.
    Text {
        /// The text itself.
        text: String,
    },
    /// Any other block of the spec, as it goes on the wire.
    #[serde(untagged)]
    Raw(Value),
}

impl Content {
    /// Text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }

    /// A picture.
    pub fn image(data: impl AsRef<[u8]>, mime_type: impl Into<String>) -> Self {
        Self::binary("image", data.as_ref(), &mime_type.into())
    }

    /// A sound.
    pub fn audio(data: impl AsRef<[u8]>, mime_type: impl Into<String>) -> Self {
        Self::binary("audio", data.as_ref(), &mime_type.into())
    }

    /// A resource by its URI, for the client to read if it wants to.
    pub fn resource_link(resource: &ResourceInfo) -> Self {
        let mut block = json!({ "type": "resource_link" });
        if let (Value::Object(block), Value::Object(definition)) = (&mut block, resource.definition()) {
            block.extend(definition);
        }
        Self::Raw(block)
    }

    /// A resource, contents included.
    #[expect(clippy::needless_pass_by_value, reason = "made to be handed over")]
    pub fn resource(contents: ResourceContents) -> Self {
        Self::Raw(json!({ "type": "resource", "resource": contents }))
    }

    /// The same block with hints on how to use or show it.
    #[must_use]
    #[expect(clippy::needless_pass_by_value, reason = "made to be handed over")]
    pub fn annotated(self, annotations: Annotations) -> Self {
        let mut block = match self {
            Self::Text { text } => json!({ "type": "text", "text": text }),
            Self::Raw(block) => block,
        };
        if let Value::Object(block) = &mut block {
            block.insert("annotations".to_owned(), json!(annotations));
        }
        Self::Raw(block)
    }

    fn binary(kind: &str, data: &[u8], mime_type: &str) -> Self {
        Self::Raw(json!({ "type": kind, "data": STANDARD.encode(data), "mimeType": mime_type }))
    }
}

impl From<String> for Content {
    fn from(text: String) -> Self {
        Self::Text { text }
    }
}

impl From<&str> for Content {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

/// What a resource holds, or a part of it. Spec: `server/resources#resource-contents`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceContents {
    pub(super) uri: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) mime_type: Option<String>,
    #[serde(flatten)]
    body: Body,
    #[serde(rename = "_meta", skip_serializing_if = "Map::is_empty")]
    meta: Map<String, Value>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Body {
    Text(String),
    /// Base64.
    Blob(String),
}

impl ResourceContents {
    /// Text at this URI.
    pub fn text(uri: impl Into<String>, text: impl Into<String>) -> Self {
        Self { uri: uri.into(), mime_type: None, body: Body::Text(text.into()), meta: Map::new() }
    }

    /// Bytes at this URI.
    pub fn blob(uri: impl Into<String>, bytes: impl AsRef<[u8]>) -> Self {
        Self { uri: uri.into(), mime_type: None, body: Body::Blob(STANDARD.encode(bytes)), meta: Map::new() }
    }

    /// Its media type.
    #[must_use]
    pub fn mime_type(mut self, mime_type: impl Into<String>) -> Self {
        self.mime_type = Some(mime_type.into());
        self
    }

    /// Adds metadata.
    #[must_use]
    pub fn meta(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.meta.insert(key.into(), value.into());
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::Role;

    #[test]
    fn every_kind_of_block_reads_on_the_wire_as_the_spec_has_it() {
        let notes = ResourceInfo::new("file:///notes.txt", "notes").mime_type("text/plain").size(12);
        let contents = ResourceContents::text("file:///notes.txt", "hi").mime_type("text/plain");
        for (block, wire) in [
            (Content::text("hi"), json!({ "type": "text", "text": "hi" })),
            (Content::image([1], "image/png"), json!({ "type": "image", "data": "AQ==", "mimeType": "image/png" })),
            (Content::audio([1], "audio/wav"), json!({ "type": "audio", "data": "AQ==", "mimeType": "audio/wav" })),
            (
                Content::resource_link(&notes),
                json!({ "type": "resource_link", "uri": "file:///notes.txt", "name": "notes", "mimeType": "text/plain", "size": 12 }),
            ),
            (
                Content::resource(contents),
                json!({ "type": "resource", "resource": { "uri": "file:///notes.txt", "mimeType": "text/plain", "text": "hi" } }),
            ),
            (
                Content::text("hi").annotated(Annotations::new().audience(Role::User).priority(7.0)),
                json!({ "type": "text", "text": "hi", "annotations": { "audience": ["user"], "priority": 1.0 } }),
            ),
        ] {
            assert_eq!(json!(block), wire);
        }
        assert_eq!(json!(ResourceContents::blob("a:b", [255])), json!({ "uri": "a:b", "blob": "/w==" }));
    }
}
