//! What a handler returns, and how it reads on the wire. Spec: `server/tools#tool-result`.

use std::error::Error;
use std::fmt;

use serde::Serialize;
use serde_json::{Map, Value};

use super::Content;
use crate::flow::ContextError;

/// A tool's result.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ToolResult {
    /// What the model reads.
    pub content: Vec<Content>,
    /// The same for programs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub structured_content: Option<Value>,
    /// Whether the call failed; the content says how.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_error: bool,
    /// Metadata for the client; keys have a prefix of your own.
    #[serde(skip)]
    pub meta: Map<String, Value>,
}

impl ToolResult {
    /// A result of one text block.
    pub fn text(text: impl Into<String>) -> Self {
        Self { content: vec![Content::Text { text: text.into() }], ..Self::default() }
    }

    /// A result of these blocks.
    pub fn content(blocks: impl IntoIterator<Item = Content>) -> Self {
        Self { content: blocks.into_iter().collect(), ..Self::default() }
    }

    /// A failure the model can read and act on.
    pub fn error(text: impl Into<String>) -> Self {
        Self { is_error: true, ..Self::text(text) }
    }
}

/// What may be returned from a handler.
pub trait IntoToolResult {
    /// The result that goes on the wire.
    fn into_tool_result(self) -> ToolResult;
}

impl IntoToolResult for ToolResult {
    fn into_tool_result(self) -> ToolResult {
        self
    }
}

impl IntoToolResult for String {
    fn into_tool_result(self) -> ToolResult {
        ToolResult::text(self)
    }
}

impl IntoToolResult for &'static str {
    fn into_tool_result(self) -> ToolResult {
        ToolResult::text(self)
    }
}

impl IntoToolResult for Content {
    fn into_tool_result(self) -> ToolResult {
        ToolResult::content([self])
    }
}

impl IntoToolResult for Vec<Content> {
    fn into_tool_result(self) -> ToolResult {
        ToolResult::content(self)
    }
}

impl<const N: usize> IntoToolResult for [Content; N] {
    fn into_tool_result(self) -> ToolResult {
        ToolResult::content(self)
    }
}

impl IntoToolResult for () {
    fn into_tool_result(self) -> ToolResult {
        ToolResult::default()
    }
}

/// A value returned as structured content, with its JSON as text for clients that read only that.
#[derive(Clone, Copy, Debug)]
pub struct Json<T>(pub T);

impl<T: Serialize> IntoToolResult for Json<T> {
    fn into_tool_result(self) -> ToolResult {
        match serde_json::to_value(self.0) {
            Ok(value) => ToolResult { structured_content: Some(value.clone()), ..ToolResult::text(value.to_string()) },
            Err(error) => ToolResult::error(format!("the result cannot be written as JSON: {error}")),
        }
    }
}

impl<T: IntoToolResult, E: Into<ToolError>> IntoToolResult for Result<T, E> {
    fn into_tool_result(self) -> ToolResult {
        match self {
            Ok(value) => value.into_tool_result(),
            Err(error) => error.into().into_tool_result(),
        }
    }
}

/// Why a tool failed, in words the model reads: any error converts into it with `?`.
///
/// Only its `Display` text is sent, as a result with `isError`, so that the model can correct itself or tell the user.
/// A refused question becomes a sentence that says so.
///
/// # Security
/// The text leaves the server. Wrap errors whose text must not: `map_err(|_| ToolError::new("the store is down"))`.
pub struct ToolError(Box<dyn Error + Send + Sync>);

impl ToolError {
    /// A failure with this text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into().into())
    }

    /// What the user did to a question, if that is what ended the call; found behind any wrapper that keeps sources.
    pub fn context_error(&self) -> Option<&ContextError> {
        let mut cause: Option<&(dyn Error + 'static)> = Some(&*self.0);
        while let Some(error) = cause {
            if let Some(found) = error.downcast_ref() {
                return Some(found);
            }
            cause = error.source();
        }
        None
    }
}

impl<E: Error + Send + Sync + 'static> From<E> for ToolError {
    fn from(error: E) -> Self {
        Self(Box::new(error))
    }
}

impl ToolError {
    /// What the model reads.
    pub(super) fn for_the_model(&self) -> String {
        match self.context_error() {
            Some(ContextError::Declined { key }) => {
                format!("The user declined {key:?}. Do not try again unless the user asks for it.")
            }
            Some(ContextError::Cancelled { key }) => {
                format!("The user dismissed {key:?} without an answer. Ask the user before trying again.")
            }
            Some(ContextError::Invalid { key, problems }) => {
                format!("The user gave no valid answer to {key:?}: {problems}.")
            }
            _ => self.to_string(),
        }
    }
}

impl IntoToolResult for ToolError {
    fn into_tool_result(self) -> ToolResult {
        ToolResult::error(self.for_the_model())
    }
}

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("deploy failed")]
    struct Wrapped(#[source] ContextError);

    #[test]
    fn a_refusal_is_recognised_behind_the_authors_own_error() {
        let error = ToolError::from(Wrapped(ContextError::Declined { key: "confirm".into() }));
        let result = error.into_tool_result();
        assert!(result.is_error);
        let text = r#"The user declined "confirm". Do not try again unless the user asks for it."#;
        assert_eq!(result.content, [Content::Text { text: text.into() }]);
    }

    #[test]
    fn results_read_on_the_wire_as_the_spec_has_them() {
        let raw = Content::Raw(json!({ "type": "image", "data": "", "mimeType": "image/png" }));
        let result = ToolResult { content: vec![raw], ..ToolResult::error("no") };
        assert_eq!(
            json!(result),
            json!({ "content": [{ "type": "image", "data": "", "mimeType": "image/png" }], "isError": true })
        );
        assert_eq!(json!(Json(json!([1])).into_tool_result())["structuredContent"], json!([1]));
        assert_eq!(json!(ToolResult::text("hi")), json!({ "content": [{ "type": "text", "text": "hi" }] }));
    }
}
