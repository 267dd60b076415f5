//! A model for servers that ask for one: behind a command, or behind an HTTP endpoint.
//!
//! Neither asks anybody before it answers. Hosts put them behind a person: the specification wants requests and answers
//! reviewed (client/sampling#user-interaction-model).

mod anthropic;
mod command;
mod http;
mod openai;
#[cfg(test)]
mod tests;

use serde_json::{Map, Value, json};

pub use self::command::CommandSampler;
pub use self::http::{HttpSampler, SamplingApi};

use super::Ask;

/// Reads the parameters of a sampling request; what is no object has none.
fn params(ask: &Ask) -> Map<String, Value> {
    serde_json::from_str(ask.params.get()).unwrap_or_default()
}

/// The content blocks of a message, of which one may stand by itself.
fn blocks(content: &Value) -> &[Value] {
    match content {
        Value::Array(blocks) => blocks,
        one => std::slice::from_ref(one),
    }
}

/// Adds members for those of the request that are there.
fn copy(params: &Map<String, Value>, names: &[(&str, &str)], request: &mut Value) {
    for (from, to) in names {
        if let Some(value) = params.get(*from).filter(|value| !value.is_null()) {
            request[*to] = value.clone();
        }
    }
}

/// Builds a result. A single block stands by itself, as clients of all ages read it.
fn result(mut content: Vec<Value>, model: &str, stop_reason: &str) -> Value {
    let content = match content.len() {
        0 => json!({ "type": "text", "text": "" }),
        1 => content.remove(0),
        _ => Value::Array(content),
    };
    json!({ "role": "assistant", "content": content, "model": model, "stopReason": stop_reason })
}

/// The text of a tool's result, for models that read nothing else.
fn text_of(content: &Value) -> String {
    let text = |block: &Value| block["text"].as_str().map_or_else(|| block.to_string(), str::to_owned);
    blocks(content).iter().map(text).collect::<Vec<_>>().join("\n")
}
