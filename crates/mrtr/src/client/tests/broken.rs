//! Servers that break the protocol, and errors that say what to do.

use http::{HeaderMap, HeaderValue};

use super::*;

fn http(status: u16, body: &str) -> Incoming {
    Incoming { status, headers: HeaderMap::new(), body: body.to_owned() }
}

async fn http_failure(response: Incoming) -> String {
    call(&Playback::with([response]), yes()).await.unwrap_err().to_string()
}

#[tokio::test]
async fn input_required_with_nothing_in_it() {
    assert_eq!(
        failure([result(&json!({ "resultType": "input_required", "requestState": null }))]).await,
        "the server broke the protocol in round 1: \
         an input_required result has neither inputRequests nor requestState"
    );
}

#[tokio::test]
async fn unknown_result_types() {
    for value in ["task", "null", "7"] {
        let value: Value = serde_json::from_str(value).unwrap_or_else(|_| json!(value));
        let text = failure([result(&json!({ "resultType": value }))]).await;
        assert!(text.contains(&format!("resultType is {value}, expected")), "{text}");
    }
}

#[tokio::test]
async fn the_draft_dialect_is_recognised_and_explained() {
    let draft = json!({ "resultType": "inputRequired", "requestState": "s", "inputRequests": {
        "confirmed": { "type": "elicitation", "message": "Sure?", "schema": { "type": "boolean" } }
    }});
    assert_eq!(
        failure([result(&draft)]).await,
        "the server broke the protocol in round 1: resultType is \"inputRequired\", \
         the specification says \"input_required\"; inputRequests[\"confirmed\"] is an early draft of the pattern: \
         expected {\"method\": \"elicitation/create\", \"params\": {\"message\": .., \"requestedSchema\": ..}} \
         instead of \"type\" and \"schema\""
    );
    let half = asks(&json!({ "c": { "type": "elicitation", "schema": {} } }), Some("s"));
    assert!(failure([half]).await.contains("is an early draft of the pattern"));
}

#[tokio::test]
async fn questions_of_a_kind_that_was_not_declared() {
    let server = Playback::new([asks(&json!({ "pay": page(), "confirm": form() }), None)]);
    let nobody_is_asked = async |_: Ask| -> Result<Answer, crate::client::NotAnswered> { unreachable!() };
    let error = call(&server, Responders::new().form(nobody_is_asked)).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the server broke the protocol in round 1: \
         it asks \"pay\" by URL elicitation, which this client did not declare"
    );
}

#[tokio::test]
async fn malformed_rounds_name_the_place() {
    for (requests, expected) in [
        (json!([]), "inputRequests is malformed"),
        (json!({ "k": 1 }), "inputRequests[\"k\"] is malformed"),
        (json!({ "k": { "method": "tools/call" } }), "inputRequests[\"k\"] asks by \"tools/call\""),
        (json!({ "k": { "method": "elicitation/create", "params": [] } }), "inputRequests[\"k\"].params"),
        (json!({ "k": { "method": "elicitation/create", "params": { "mode": "fax" } } }), "has mode \"fax\""),
    ] {
        let text = failure([asks(&requests, Some("s"))]).await;
        assert!(text.contains(expected), "{text}");
    }
    let text = failure([result(&json!({ "resultType": "input_required", "requestState": {} }))]).await;
    assert!(text.contains("requestState is not a string"), "{text}");
}

#[tokio::test]
async fn a_question_that_cannot_be_read_is_put_to_nobody() {
    let deep = format!("{}1{}", "[".repeat(130), "]".repeat(130));
    let empty = r#"{"type":"object","properties":{}}"#;
    for (params, expected) in [
        (r#"{"message":"M"}"#.to_owned(), "params.requestedSchema is missing"),
        (r#"{"message":"M","requestedSchema":null}"#.to_owned(), "params.requestedSchema is malformed"),
        (r#"{"message":"M","requestedSchema":[]}"#.to_owned(), "params.requestedSchema is malformed"),
        (r#"{"message":"M","requestedSchema":{"title":"\ud800"}}"#.to_owned(), "params.requestedSchema is malformed"),
        (format!(r#"{{"message":"M","requestedSchema":{{"x":{deep}}}}}"#), "params.requestedSchema is malformed"),
        (format!(r#"{{"message":"\ud800","requestedSchema":{empty}}}"#), "params.message is malformed"),
        (format!(r#"{{"message":7,"requestedSchema":{empty}}}"#), "params.message is malformed"),
        (format!(r#"{{"requestedSchema":{empty}}}"#), "params.message is missing"),
        (format!(r#"{{"message":"M","requestedSchema":{empty},"\ud800":1}}"#), "params is malformed"),
        (format!(r#"{{"message":"M","requestedSchema":{{}},"requestedSchema":{empty}}}"#), "params is malformed"),
        (r#"{"mode":"url","message":"M","url":7}"#.to_owned(), "params.url is malformed"),
        (r#"{"mode":"url","message":"M"}"#.to_owned(), "params.url is missing"),
    ] {
        let round = format!(
            r#"{{"id":"ID","result":{{"resultType":"input_required","inputRequests":{{"k":{{"method":"elicitation/create","params":{params}}}}}}}}}"#
        );
        let server = Playback::new([round]);
        let nobody_is_asked = async |_: Ask| -> Result<Answer, crate::client::NotAnswered> { unreachable!() };
        let error = call(&server, Responders::new().elicitation(nobody_is_asked)).await.unwrap_err();
        assert!(matches!(error, CallError::Protocol { .. }), "{error:?}");
        let text = error.to_string();
        assert!(text.contains(&format!("inputRequests[\"k\"].{expected}")), "{params}: {text}");
        assert_eq!(server.sent().len(), 1);
    }
}

#[tokio::test]
async fn a_form_without_fields_is_still_a_question() {
    let empty = json!({ "method": "elicitation/create", "params": { "message": "M",
        "requestedSchema": { "type": "object", "properties": {} } } });
    let server = Playback::new([asks(&json!({ "k": empty }), None), done("")]);
    call(&server, Responders::new().form(crate::client::Scripted::new().accept("k"))).await.unwrap();
    assert_eq!(server.sent_params()[1]["inputResponses"]["k"], json!({ "action": "accept", "content": {} }));
}

#[tokio::test]
async fn objects_written_as_arrays_are_refused_without_names_of_our_types() {
    let entry = |entry: &str| {
        format!(r#"{{"id":"ID","result":{{"resultType":"input_required","inputRequests":{{"k":{entry}}}}}}}"#)
    };
    for (body, expected) in [
        (r#"["ID",{"content":[]},null]"#.to_owned(), "not a JSON-RPC message"),
        (r#"{"id":"ID","result":["complete",null,null,null]}"#.to_owned(), "the result is malformed"),
        (r#"{"id":"ID","result":7}"#.to_owned(), "the result is malformed"),
        (r#"{"id":"ID","error":[-32602,"m",null]}"#.to_owned(), "the error is malformed"),
        (entry(r#"["roots/list",{}]"#), "inputRequests[\"k\"] is malformed"),
    ] {
        let text = failure([body.clone()]).await;
        assert!(text.contains(expected) && text.contains("expected an object"), "{body}: {text}");
        assert!(!text.contains("struct"), "{text}");
    }
}

#[tokio::test]
async fn a_key_that_comes_twice_is_refused() {
    let form = form();
    let round = format!(
        r#"{{"id":"ID","result":{{"resultType":"input_required","inputRequests":{{"k":{form},"k":{form}}}}}}}"#
    );
    assert!(failure([round]).await.contains("key \"k\" comes twice"));
}

#[tokio::test]
async fn rounds_where_there_must_be_none() {
    let server = Playback::new([asks(&json!({ "confirm": form() }), None)]);
    let error = server.client(yes()).discover().await.unwrap_err();
    assert!(error.to_string().ends_with("server/discover must not end in input_required"));
}

#[tokio::test]
async fn the_response_to_another_request() {
    for (body, expected) in [
        (r#"{"id":7,"result":{}}"#, "the response has id 7, the request had 1"),
        (r#"{"id":"1","result":{}}"#, "the response has id \"1\", the request had 1"),
        (r#"{"result":{}}"#, "the response has no id, the request had 1"),
    ] {
        let text = failure([body.to_owned()]).await;
        assert!(text.ends_with(expected), "{text}");
    }
    let as_float = Playback::new([r#"{"id":1.0,"result":{}}"#]);
    assert!(call(&as_float, yes()).await.is_ok());
}

#[tokio::test]
async fn rpc_errors_say_what_to_do() {
    let wanted = json!({ "requiredCapabilities": { "sampling": {} } });
    let versions = json!({ "supported": ["2025-11-25", "2027-01-01"] });
    for (body, expected) in [
        (error(-32602, "Unknown tool: x", &Value::Null), "server error -32602: Unknown tool: x"),
        (
            error(-32021, "Missing capability", &wanted),
            "server error -32021: Missing capability (the call needs a client that can do {\"sampling\":{}})",
        ),
        (
            error(-32022, "Unsupported", &versions),
            "server error -32022: Unsupported \
             (the server speaks 2025-11-25, 2027-01-01; this client speaks 2026-07-28)",
        ),
        (r#"{"id":null,"error":{"code":-32700,"message":"bad"}}"#.to_owned(), "server error -32700: bad"),
    ] {
        assert_eq!(failure([body]).await, expected);
    }
}

#[tokio::test]
async fn http_errors_without_json_rpc() {
    assert_eq!(
        http_failure(http(502, "\n<html>\u{1b}[2J Bad gateway\nmore")).await,
        "playback answered HTTP 502 (<html>\\u{1b}[2J Bad gateway)"
    );
    assert_eq!(
        http_failure(http(502, "\u{202e}yawetag daB\u{3164}")).await,
        "playback answered HTTP 502 (\\u{202e}yawetag daB\\u{3164})"
    );
    let mut moved = http(307, "");
    moved.headers.insert("location", HeaderValue::from_static("https://other.example/"));
    assert_eq!(
        http_failure(moved).await,
        "playback answered HTTP 307 (it redirects to https://other.example/, which is not followed)"
    );
    let text = http_failure(http(200, "hello")).await;
    assert!(text.ends_with("(hello)"), "{text}");
}

#[tokio::test]
async fn legacy_servers_are_recognised() {
    let no_session =
        r#"{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: Server not initialized"},"id":null}"#;
    let python = r#"{"jsonrpc":"2.0","id":"ID","error":{"code":-32600,"message":"Bad Request: Missing session ID"}}"#;
    for response in [http(400, no_session), http(400, python), http(405, ""), http(400, "Bad Request")] {
        let text = http_failure(response).await;
        assert!(text.contains("looks like a legacy server that wants `initialize` first"), "{text}");
    }
    let modern = http(404, &error(-32601, "Method not found", &Value::Null));
    assert_eq!(http_failure(modern).await, "server error -32601: Method not found");
}

#[tokio::test]
async fn an_error_code_of_its_own_does_not_make_a_server_legacy() {
    let own = http(400, &error(-32000, "Quota exhausted", &Value::Null));
    assert_eq!(http_failure(own).await, "server error -32000: Quota exhausted");
    let late = http(400, &error(-32000, "Server not initialized", &Value::Null));
    let server = Playback::with([Incoming::ok(asks(&json!({ "k": form() }), None)), late]);
    let text = call(&server, yes()).await.unwrap_err().to_string();
    assert_eq!(text, "server error -32000: Server not initialized");
}

#[tokio::test]
async fn a_result_below_an_http_error_is_no_result() {
    for (status, body) in [(500, done("x")), (404, done("x")), (302, done("x")), (503, wait("s"))] {
        let text = http_failure(http(status, &body)).await;
        assert_eq!(text, format!("the server broke the protocol in round 1: a result came with HTTP status {status}"));
    }
}

#[tokio::test]
async fn what_is_no_mcp_endpoint_gets_a_hint() {
    assert_eq!(
        http_failure(http(404, "Not Found")).await,
        "playback answered HTTP 404 (Not Found): check the path of the URL, an MCP endpoint is usually at /mcp"
    );
    for status in [200, 400, 405] {
        let text = http_failure(http(status, "<!doctype html>\n<p>Welcome")).await;
        assert!(text.ends_with("(<!doctype html>); is this an MCP endpoint?"), "{text}");
    }
}
