//! The requests of an operation: its parameters serialised once, and what each retry adds.
//!
//! A retry is the first request over again, byte for byte, under a new id and with the two retry fields behind. Nothing
//! is parsed and printed again on the way, so no number changes its spelling and no state its escapes.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::wire::{PROTOCOL_VERSION, meta_key};

/// The method and parameters shared by all requests of an operation.
#[derive(Debug)]
pub(super) struct Template {
    method: String,
    /// The params object as JSON text, without its closing brace. Never empty: `_meta` is always in it.
    open_params: String,
}

/// What one retry adds to the parameters.
#[derive(Debug, Default)]
pub(super) struct Retry {
    /// The answers to the questions of the last round, and to no others.
    pub(super) input_responses: Option<Map<String, Value>>,
    /// The state of the last round: the very token the server wrote, quotes and escapes included.
    pub(super) request_state: Option<Box<RawValue>>,
}

impl Template {
    /// Serialises parameters. `meta` replaces members of the caller's `_meta` and keeps the others.
    pub(super) fn new(method: &str, mut params: Map<String, Value>, meta: Map<String, Value>) -> Self {
        let mut merged = match params.remove("_meta") {
            Some(Value::Object(merged)) => merged,
            _ => Map::new(),
        };
        merged.extend(meta);
        params.insert("_meta".to_owned(), Value::Object(merged));
        let mut open_params = Value::Object(params).to_string();
        open_params.pop();
        Self { method: method.to_owned(), open_params }
    }

    /// Renders the request of one round.
    pub(super) fn render(&self, id: i64, retry: &Retry) -> String {
        // Strings of our own go through `Value` for their quotes and escapes; raw text is pasted.
        let method = Value::from(self.method.as_str());
        let mut text = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":{method},"params":{}"#, self.open_params);
        if let Some(responses) = &retry.input_responses {
            text.push_str(r#","inputResponses":"#);
            text.push_str(&json!(responses).to_string());
        }
        if let Some(state) = &retry.request_state {
            text.push_str(r#","requestState":"#);
            text.push_str(state.get());
        }
        text.push_str("}}");
        text
    }
}

/// Names an operation, so that a first request that is sent again is not taken for another one by servers that look.
pub(super) fn idempotency_key() -> (String, Value) {
    let key = URL_SAFE_NO_PAD.encode(rand::random::<[u8; 16]>());
    (meta_key::IDEMPOTENCY_KEY.to_owned(), key.into())
}

/// Returns the metadata every request carries.
pub(super) fn meta(name: &str, version: &str, capabilities: Value) -> Map<String, Value> {
    let mut meta = Map::new();
    meta.insert(meta_key::PROTOCOL_VERSION.to_owned(), json!(PROTOCOL_VERSION));
    meta.insert(meta_key::CLIENT_INFO.to_owned(), json!({ "name": name, "version": version }));
    meta.insert(meta_key::CLIENT_CAPABILITIES.to_owned(), capabilities);
    meta
}
