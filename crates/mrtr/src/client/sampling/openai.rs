//! Sampling requests as chat completions, the API of OpenAI that most servers of models understand.

use serde_json::{Map, Value, json};

use super::{blocks, copy, result, text_of};

/// Translates a request. The error says what has no counterpart.
pub(super) fn request(params: &Map<String, Value>, model: &str) -> Result<Value, String> {
    let mut messages = Vec::new();
    if let Some(system) = params.get("systemPrompt").and_then(Value::as_str) {
        messages.push(json!({ "role": "system", "content": system }));
    }
    for message in params.get("messages").and_then(Value::as_array).into_iter().flatten() {
        add(message, &mut messages)?;
    }
    let mut request = json!({ "model": model, "messages": messages });
    let names = [("maxTokens", "max_tokens"), ("temperature", "temperature"), ("stopSequences", "stop")];
    copy(params, &names, &mut request);
    if let Some(tools) = params.get("tools").and_then(Value::as_array).filter(|tools| !tools.is_empty()) {
        request["tools"] = tools.iter().map(tool).collect();
        if let Some(mode) = params.get("toolChoice").and_then(|choice| choice["mode"].as_str()) {
            request["tool_choice"] = mode.into();
        }
    }
    Ok(request)
}

/// Adds a message; its tool results are messages of their own here, and come first.
fn add(message: &Value, messages: &mut Vec<Value>) -> Result<(), String> {
    let mut parts = Vec::new();
    let mut calls = Vec::new();
    for block in blocks(&message["content"]) {
        match block["type"].as_str() {
            Some("tool_result") => messages.push(json!({
                "role": "tool", "tool_call_id": block["toolUseId"], "content": text_of(&block["content"])
            })),
            Some("tool_use") => calls.push(json!({ "id": block["id"], "type": "function", "function": {
                "name": block["name"], "arguments": block["input"].to_string()
            }})),
            _ => parts.push(part(block)?),
        }
    }
    if parts.is_empty() && calls.is_empty() {
        return Ok(());
    }
    let mut translated = json!({ "role": message["role"], "content": content(&parts) });
    if !calls.is_empty() {
        translated["tool_calls"] = calls.into();
    }
    messages.push(translated);
    Ok(())
}

/// Text alone is a string, which every server of this API understands.
fn content(parts: &[Value]) -> Value {
    if parts.is_empty() {
        return Value::Null;
    }
    let texts: Option<Vec<_>> = parts.iter().map(|part| part["text"].as_str()).collect();
    texts.map_or_else(|| Value::Array(parts.to_vec()), |texts| texts.join("\n").into())
}

fn part(block: &Value) -> Result<Value, String> {
    let text = |name: &str| block[name].as_str().unwrap_or_default();
    match text("type") {
        "text" => Ok(json!({ "type": "text", "text": text("text") })),
        "image" => {
            let url = format!("data:{};base64,{}", text("mimeType"), text("data"));
            Ok(json!({ "type": "image_url", "image_url": { "url": url } }))
        }
        "audio" => {
            let format = match text("mimeType") {
                "audio/mpeg" => "mp3",
                other => other.strip_prefix("audio/").unwrap_or("wav").trim_start_matches("x-"),
            };
            Ok(json!({ "type": "input_audio", "input_audio": { "data": text("data"), "format": format } }))
        }
        other => Err(format!("a block of type {other:?} has no counterpart in chat completions")),
    }
}

fn tool(tool: &Value) -> Value {
    let mut function = json!({ "name": tool["name"], "parameters": tool["inputSchema"] });
    if let Some(description) = tool["description"].as_str() {
        function["description"] = description.into();
    }
    json!({ "type": "function", "function": function })
}

/// Translates a response; `None` if it is none.
pub(super) fn response(response: &Value, model: &str) -> Option<Value> {
    let choice = response["choices"].get(0)?;
    let message = choice.get("message").filter(|message| message.is_object())?;
    let mut content = Vec::new();
    let text = message["content"].as_str().or_else(|| message["refusal"].as_str()).unwrap_or_default();
    if !text.is_empty() {
        content.push(json!({ "type": "text", "text": text }));
    }
    for call in message["tool_calls"].as_array().into_iter().flatten() {
        let input = call["function"]["arguments"].as_str().and_then(|text| serde_json::from_str(text).ok());
        let input = input.filter(Value::is_object).unwrap_or_else(|| json!({}));
        content.push(json!({ "type": "tool_use", "id": call["id"], "name": call["function"]["name"], "input": input }));
    }
    let stop_reason = match choice["finish_reason"].as_str().unwrap_or("stop") {
        "stop" => "endTurn",
        "length" => "maxTokens",
        "tool_calls" => "toolUse",
        other => other,
    };
    Some(result(content, response["model"].as_str().unwrap_or(model), stop_reason))
}
