//! Sampling requests as messages, the API of Anthropic, from which the protocol's blocks come.

use serde_json::{Map, Value, json};

use super::{blocks, copy, result};

/// Translates a request. The error says what has no counterpart.
pub(super) fn request(params: &Map<String, Value>, model: &str) -> Result<Value, String> {
    let messages = params.get("messages").and_then(Value::as_array).into_iter().flatten();
    let messages = messages.map(|message| {
        let content = blocks(&message["content"]).iter().map(block).collect::<Result<Vec<_>, _>>()?;
        Ok(json!({ "role": message["role"], "content": content }))
    });
    let messages = messages.collect::<Result<Vec<_>, String>>()?;
    // Not optional there.
    let mut request = json!({ "model": model, "max_tokens": 1024, "messages": messages });
    let names = [
        ("maxTokens", "max_tokens"),
        ("systemPrompt", "system"),
        ("temperature", "temperature"),
        ("stopSequences", "stop_sequences"),
    ];
    copy(params, &names, &mut request);
    if let Some(tools) = params.get("tools").and_then(Value::as_array).filter(|tools| !tools.is_empty()) {
        request["tools"] = tools.iter().map(tool).collect();
        if let Some(mode) = params.get("toolChoice").and_then(|choice| choice["mode"].as_str()) {
            request["tool_choice"] = json!({ "type": if mode == "required" { "any" } else { mode } });
        }
    }
    Ok(request)
}

fn block(block: &Value) -> Result<Value, String> {
    match block["type"].as_str().unwrap_or_default() {
        "text" => Ok(json!({ "type": "text", "text": block["text"] })),
        "image" => Ok(json!({ "type": "image", "source": {
            "type": "base64", "media_type": block["mimeType"], "data": block["data"]
        }})),
        "tool_use" => {
            Ok(json!({ "type": "tool_use", "id": block["id"], "name": block["name"], "input": block["input"] }))
        }
        "tool_result" => {
            let content = blocks(&block["content"]).iter().map(self::block).collect::<Result<Vec<_>, _>>()?;
            let is_error = block["isError"] == true;
            Ok(json!({
                "type": "tool_result", "tool_use_id": block["toolUseId"], "content": content, "is_error": is_error
            }))
        }
        other => Err(format!("a block of type {other:?} has no counterpart in messages")),
    }
}

fn tool(tool: &Value) -> Value {
    let mut translated = json!({ "name": tool["name"], "input_schema": tool["inputSchema"] });
    if let Some(description) = tool["description"].as_str() {
        translated["description"] = description.into();
    }
    translated
}

/// Translates a response; `None` if it is none. What a model thinks is its own.
pub(super) fn response(response: &Value, model: &str) -> Option<Value> {
    let content = response["content"].as_array()?.iter().filter_map(|block| match block["type"].as_str() {
        Some("text") => Some(json!({ "type": "text", "text": block["text"] })),
        Some("tool_use") => {
            Some(json!({ "type": "tool_use", "id": block["id"], "name": block["name"], "input": block["input"] }))
        }
        _ => None,
    });
    let stop_reason = match response["stop_reason"].as_str().unwrap_or("end_turn") {
        "end_turn" => "endTurn",
        "stop_sequence" => "stopSequence",
        "max_tokens" => "maxTokens",
        "tool_use" => "toolUse",
        other => other,
    };
    Some(result(content.collect(), response["model"].as_str().unwrap_or(model), stop_reason))
}
