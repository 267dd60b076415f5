//! Models that are a shell's line, or a handler on a loopback port.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::http::{HeaderMap, StatusCode};
use axum::response::IntoResponse as _;
use axum::routing::post;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::*;
use crate::client::{Kind, NotAnswered, Responder};

fn ask(params: &Value) -> Ask {
    Ask {
        operation: crate::client::OperationId::named("op"),
        method: "tools/call".to_owned(),
        has_alternative: false,
        server: "s".to_owned(),
        server_name: None,
        target: "t".to_owned(),
        round: 1,
        number: 1,
        count: 1,
        asked_before: 0,
        consented: false,
        key: "k".to_owned(),
        kind: Kind::Sampling,
        params: serde_json::value::to_raw_value(params).unwrap(),
        settled: Map::new(),
    }
}

fn question() -> Value {
    json!({
        "messages": [{ "role": "user", "content": { "type": "text", "text": "Hi" } }],
        "systemPrompt": "Be brief.",
        "maxTokens": 100,
        "temperature": 0.5,
        "stopSequences": ["END"],
        "modelPreferences": { "hints": [{ "name": "small" }, { "name": "large" }] },
        "tools": [{ "name": "add", "description": "Adds", "inputSchema": { "type": "object" } }],
        "toolChoice": { "mode": "required" },
    })
}

/// A conversation in which a tool was used, with an image.
fn conversation() -> Value {
    json!({ "maxTokens": 5, "messages": [
        { "role": "user", "content": [
            { "type": "text", "text": "What is it?" }, { "type": "image", "mimeType": "image/png", "data": "AA==" }
        ]},
        { "role": "assistant", "content": { "type": "tool_use", "id": "c1", "name": "add", "input": { "a": 1 } } },
        { "role": "user", "content": [
            { "type": "tool_result", "toolUseId": "c1", "content": [{ "type": "text", "text": "2" }] }
        ]},
    ]})
}

async fn answer(responder: &impl Responder, params: &Value) -> Result<Value, String> {
    match responder.respond(&ask(params)).await {
        Ok(answer) => Ok(answer.as_result().unwrap().clone()),
        Err(NotAnswered::Failed(cause)) => Err(cause.to_string()),
        Err(other) => Err(format!("{other:?}")),
    }
}

#[cfg(unix)]
async fn printed(line: &str) -> Result<Value, String> {
    let sampler = CommandSampler::shell(line).timeout(Duration::from_secs(10)).max_bytes(1000);
    answer(&sampler, &question()).await
}

#[cfg(unix)]
#[tokio::test]
async fn a_command_reads_the_request_and_prints_text_or_a_result() {
    let text = printed("grep -o 'Be brief.'").await.unwrap();
    assert_eq!(
        text,
        json!({ "role": "assistant", "content": { "type": "text", "text": "Be brief." }, "model": "sh", "stopReason": "endTurn" })
    );
    let result = printed(r#"echo '{"content":{"type":"text","text":"x"},"model":"m","stopReason":"maxTokens"}'"#).await;
    assert_eq!(
        result.unwrap(),
        json!({ "content": { "type": "text", "text": "x" }, "model": "m", "stopReason": "maxTokens", "role": "assistant" })
    );
    // JSON that is no result is what the model was asked for.
    assert_eq!(printed(r#"echo '{"a":1}'"#).await.unwrap()["content"]["text"], r#"{"a":1}"#);
}

#[cfg(unix)]
#[tokio::test]
async fn a_command_that_fails_talks_too_much_or_hangs_is_an_error() {
    assert_eq!(printed("echo no >&2; exit 3").await.unwrap_err(), "sh -c 'echo no >&2; exit 3': exit status: 3: no");
    assert!(printed("yes").await.unwrap_err().ends_with("it printed more than 1000 bytes"));
    let slow = CommandSampler::shell("sleep 60; echo").timeout(Duration::from_millis(100));
    assert!(answer(&slow, &question()).await.unwrap_err().ends_with("not done within 0.1 s"));
    let missing = CommandSampler::new("/no/such");
    assert!(answer(&missing, &question()).await.unwrap_err().starts_with("/no/such: cannot start: "));
}

type Seen = Arc<Mutex<Vec<(HeaderMap, Value)>>>;

/// An endpoint that answers everything with this.
async fn endpoint(path: &str, status: u16, reply: Value) -> (String, Seen) {
    let seen = Seen::default();
    let log = Arc::clone(&seen);
    let handler = async move |headers: HeaderMap, body: String| {
        log.lock().unwrap().push((headers, serde_json::from_str(&body).unwrap()));
        (StatusCode::from_u16(status).unwrap(), reply.to_string()).into_response()
    };
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}{path}", listener.local_addr().unwrap());
    let app = Router::new().route(path, post(handler));
    tokio::spawn(async move { axum::serve(listener, app).await });
    (url, seen)
}

fn sampler(url: &str) -> HttpSampler {
    HttpSampler::new(url, SamplingApi::of(url).unwrap()).unwrap().key("secret")
}

#[tokio::test]
async fn chat_completions_take_the_request_and_give_the_result() {
    let reply = json!({ "model": "small-2", "choices": [{ "finish_reason": "tool_calls", "message": {
        "content": "Let me see.",
        "tool_calls": [{ "id": "c1", "type": "function", "function": { "name": "add", "arguments": "{\"a\":1}" } }],
    }}]});
    let (url, seen) = endpoint("/v1/chat/completions", 200, reply).await;
    assert_eq!(
        answer(&sampler(&url), &question()).await.unwrap(),
        json!({ "role": "assistant", "model": "small-2", "stopReason": "toolUse", "content": [
            { "type": "text", "text": "Let me see." },
            { "type": "tool_use", "id": "c1", "name": "add", "input": { "a": 1 } },
        ]})
    );
    let (headers, request) = seen.lock().unwrap().remove(0);
    assert_eq!(headers["authorization"], "Bearer secret");
    assert_eq!(
        request,
        json!({
            "model": "small",
            "messages": [{ "role": "system", "content": "Be brief." }, { "role": "user", "content": "Hi" }],
            "max_tokens": 100, "temperature": 0.5, "stop": ["END"],
            "tools": [{ "type": "function", "function": {
                "name": "add", "description": "Adds", "parameters": { "type": "object" }
            }}],
            "tool_choice": "required",
        })
    );
    answer(&sampler(&url).model("mine"), &conversation()).await.unwrap();
    let (_, request) = seen.lock().unwrap().remove(0);
    assert_eq!(
        request,
        json!({ "model": "mine", "max_tokens": 5, "messages": [
            { "role": "user", "content": [
                { "type": "text", "text": "What is it?" },
                { "type": "image_url", "image_url": { "url": "data:image/png;base64,AA==" } },
            ]},
            { "role": "assistant", "content": null, "tool_calls": [
                { "id": "c1", "type": "function", "function": { "name": "add", "arguments": "{\"a\":1}" } }
            ]},
            { "role": "tool", "tool_call_id": "c1", "content": "2" },
        ]})
    );
}

#[tokio::test]
async fn messages_take_the_request_and_give_the_result() {
    let reply = json!({ "model": "small-2", "stop_reason": "max_tokens", "content": [
        { "type": "thinking", "thinking": "hm" }, { "type": "text", "text": "Hello" },
    ]});
    let (url, seen) = endpoint("/v1/messages", 200, reply).await;
    assert_eq!(
        answer(&sampler(&url), &question()).await.unwrap(),
        json!({
            "role": "assistant", "model": "small-2", "stopReason": "maxTokens",
            "content": { "type": "text", "text": "Hello" },
        })
    );
    let (headers, request) = seen.lock().unwrap().remove(0);
    assert_eq!(
        (&headers["x-api-key"], &headers["anthropic-version"]),
        (&"secret".parse().unwrap(), &"2023-06-01".parse().unwrap())
    );
    assert_eq!(
        request,
        json!({
            "model": "small", "max_tokens": 100, "system": "Be brief.", "temperature": 0.5, "stop_sequences": ["END"],
            "messages": [{ "role": "user", "content": [{ "type": "text", "text": "Hi" }] }],
            "tools": [{ "name": "add", "description": "Adds", "input_schema": { "type": "object" } }],
            "tool_choice": { "type": "any" },
        })
    );
    answer(&sampler(&url).model("mine"), &conversation()).await.unwrap();
    let (_, request) = seen.lock().unwrap().remove(0);
    assert_eq!(request["messages"][0]["content"][1]["source"]["media_type"], "image/png");
    assert_eq!(request["messages"][1]["content"][0]["input"], json!({ "a": 1 }));
    assert_eq!(request["messages"][2]["content"][0]["tool_use_id"], "c1");
}

#[tokio::test]
async fn an_endpoint_that_refuses_is_quoted_without_the_key() {
    let (url, _) = endpoint("/v1/messages", 401, json!({ "error": { "message": "bad\u{1b}[2Jkey" } })).await;
    let error = answer(&sampler(&url), &question()).await.unwrap_err();
    assert_eq!(error, format!("{url} answered HTTP 401 Unauthorized: bad\\u{{1b}}[2Jkey"));
    let (url, _) = endpoint("/v1/messages", 200, json!({ "choices": [] })).await;
    assert!(answer(&sampler(&url), &question()).await.unwrap_err().ends_with("is the API another one?"));
    let error = answer(&sampler(&url), &json!({ "messages": [] })).await.unwrap_err();
    assert!(error.starts_with("which model?"), "{error}");
    assert!(!format!("{:?}", sampler(&url)).contains("secret"));
}
