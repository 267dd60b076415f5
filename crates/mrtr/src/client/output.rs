//! What a completed operation gives.

use serde_json::Value;
use serde_json::value::RawValue;

use super::{Action, OperationId, RoundTrace};

/// The result of a completed operation, and how it came about.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Output {
    /// The operation, as in its events and questions.
    pub operation: OperationId,
    /// The final result as the server wrote it.
    pub result: Box<RawValue>,
    /// The questions the user declined or cancelled, by key. One that was asked again and accepted is not among them.
    pub refusals: Vec<(String, Action)>,
    /// One entry for each request that was sent.
    pub rounds: Vec<RoundTrace>,
}

impl Output {
    /// Returns the result as a value; null if it holds text no Rust string can, such as half a surrogate pair.
    pub fn value(&self) -> Value {
        serde_json::from_str(self.result.get()).unwrap_or_default()
    }

    /// Returns the text blocks of a tool's result, one after the other on lines of their own.
    pub fn text(&self) -> String {
        let value = self.value();
        let blocks = value["content"].as_array().map(Vec::as_slice).unwrap_or_default();
        let texts: Vec<_> =
            blocks.iter().filter(|block| block["type"] == "text").filter_map(|block| block["text"].as_str()).collect();
        texts.join("\n")
    }

    /// Tells whether the tool reports that it failed.
    pub fn is_error(&self) -> bool {
        self.value()["isError"] == true
    }
}
