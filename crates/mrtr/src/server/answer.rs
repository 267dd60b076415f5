//! What a request is answered with, before it is wrapped into a reply.

use serde::Serialize;
use serde_json::{Map, Value};
use tracing::error;

use crate::wire::{RpcError, json, meta_key};

/// A result or an error.
pub(super) type Answer = Result<Completed, RpcError>;

/// How a final result begins.
const FINAL: &str = "\"resultType\":\"complete\"";

/// The members of a result, `resultType` among them, as JSON text without the braces around them.
#[derive(Debug, Default)]
pub(super) struct Completed {
    pub(super) members: String,
    /// The members of its `_meta`, without the server's own.
    pub(super) meta: String,
    /// It asks for input; nothing is final yet.
    pub(super) is_interim: bool,
}

impl Completed {
    /// A final result with the members of `object`, which is one.
    ///
    /// # Errors
    /// `-32603` when it cannot be written as JSON; the log says why.
    pub(super) fn of(object: &impl Serialize) -> Result<Self, RpcError> {
        let mut text = Vec::with_capacity(256);
        text.extend_from_slice(FINAL.as_bytes());
        serde_json::to_writer(&mut text, object).map_err(|error| {
            error!("the result cannot be written as JSON: {error}");
            RpcError::internal("the result cannot be written as JSON")
        })?;
        // The object's members follow instead of the object: a comma for its brace, and nothing for the other one.
        debug_assert_eq!(text.get(FINAL.len()), Some(&b'{'), "results are objects");
        text[FINAL.len()] = b',';
        text.pop();
        if text.ends_with(b",") {
            text.pop();
        }
        let members = String::from_utf8(text).expect("JSON is UTF-8");
        Ok(Self { members, ..Self::default() })
    }

    /// A final result with these members.
    pub(super) fn final_with(members: &str) -> Self {
        let separator = if members.is_empty() { "" } else { "," };
        Self { members: [FINAL, separator, members].concat(), ..Self::default() }
    }

    /// A result that asks for input, as it is written out here.
    pub(super) fn interim(members: String) -> Self {
        Self { members, is_interim: true, ..Self::default() }
    }

    /// Adds a member whose value is JSON text.
    pub(super) fn with(mut self, member: &str, json_text: &str) -> Self {
        self.members.extend([",", &json::string(member), ":", json_text]);
        self
    }

    /// Adds metadata; what the server says of itself is not the author's to replace.
    pub(super) fn with_meta(mut self, mut meta: Map<String, Value>) -> Self {
        if !meta.is_empty() {
            meta.shift_remove(meta_key::SERVER_INFO);
            self.meta = members(&meta).unwrap_or_default();
        }
        self
    }
}

/// A value's members without the braces around them, so that a writer can add more. The value is an object.
pub(super) fn members(object: &impl Serialize) -> serde_json::Result<String> {
    let mut text = serde_json::to_string(object)?;
    text.pop();
    text.remove(0);
    Ok(text)
}
