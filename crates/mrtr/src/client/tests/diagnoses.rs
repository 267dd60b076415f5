//! Servers of other dialects: each deviation has a name, and none is guessed at.

use std::collections::HashSet;
use std::time::Duration;

use super::*;
use crate::client::Diagnosis;

/// What a server sends, and what that is called.
fn deviations() -> Vec<(Value, Diagnosis)> {
    let confirmed =
        json!({ "confirmed": { "type": "elicitation", "message": "Sure?", "schema": { "type": "boolean" } } });
    let round =
        |requests: Value| json!({ "resultType": "input_required", "inputRequests": requests, "requestState": "s" });
    let elicitation = |params: Value| round(json!({ "k": { "method": "elicitation/create", "params": params } }));
    vec![
        (json!({ "resultType": "inputRequired", "inputRequests": confirmed }), Diagnosis::ResultTypeSpelling),
        (json!({ "resultType": "inputRequired", "inputRequests": { "k": form() } }), Diagnosis::ResultTypeSpelling),
        (json!({ "resultType": "input-required", "requestState": "s" }), Diagnosis::ResultTypeSpelling),
        (json!({ "resultType": "INPUT_REQUIRED", "requestState": "s" }), Diagnosis::ResultTypeSpelling),
        (json!({ "inputRequests": { "k": form() }, "requestState": "s" }), Diagnosis::ResultTypeMissing),
        (json!({ "requestState": "s", "content": [] }), Diagnosis::ResultTypeMissing),
        (json!({ "resultType": "task", "taskId": "7" }), Diagnosis::ResultTypeUnknown),
        (json!({ "resultType": null }), Diagnosis::ResultTypeUnknown),
        (json!({ "result_type": "input_required", "input_requests": {} }), Diagnosis::SnakeCase),
        (json!({ "result_type": "input_required" }), Diagnosis::SnakeCase),
        (json!({ "resultType": "input_required", "input_requests": { "k": form() } }), Diagnosis::SnakeCase),
        (round(confirmed), Diagnosis::DraftQuestion),
        (round(json!({ "k": { "type": "elicitation" } })), Diagnosis::DraftQuestion),
        (json!({ "resultType": "input_required" }), Diagnosis::NothingRequired),
        (json!({ "resultType": "input_required", "inputRequests": null }), Diagnosis::NothingRequired),
        (round(json!([{ "key": "k", "method": "roots/list" }])), Diagnosis::RequestsNotAMap),
        (round(json!({ "k": 1 })), Diagnosis::QuestionMalformed),
        (round(json!({ "k": { "params": {} } })), Diagnosis::QuestionMalformed),
        (elicitation(json!([])), Diagnosis::QuestionMalformed),
        (round(json!({ "k": { "method": "tools/call" } })), Diagnosis::KindUnknown),
        (round(json!({ "k": { "method": "elicitation" } })), Diagnosis::KindUnknown),
        (elicitation(json!({ "mode": "fax", "message": "M" })), Diagnosis::ModeUnknown),
        (elicitation(json!({ "message": "M" })), Diagnosis::FormMalformed),
        (elicitation(json!({ "message": "M", "schema": { "type": "object" } })), Diagnosis::FormMalformed),
        (elicitation(json!({ "mode": "url", "message": "M" })), Diagnosis::PageMalformed),
        (json!({ "resultType": "input_required", "requestState": { "step": 2 } }), Diagnosis::StateNotString),
        (round(json!({ "k": { "method": "sampling/createMessage", "params": {} } })), Diagnosis::KindUndeclared),
        (json!([]), Diagnosis::ResultMalformed),
    ]
}

/// Whole responses, for what goes wrong outside of a result.
fn broken_responses() -> Vec<(Incoming, Diagnosis)> {
    let legacy = json!({ "elicitations": [{ "mode": "url", "url": "https://pay.example/7" }] });
    let status = |status, body: String| Incoming { status, ..Incoming::ok(body) };
    vec![
        (Incoming::ok(error(-32042, "URL elicitation required", &legacy)), Diagnosis::QuestionsInError),
        (Incoming::ok(error(-32042, "URL elicitation required", &Value::Null)), Diagnosis::QuestionsInError),
        (Incoming::ok(error(-32000, "Input", &json!({ "inputRequests": {} }))), Diagnosis::QuestionsInError),
        (Incoming::ok("hello"), Diagnosis::NotJsonRpc),
        (Incoming::ok("{}"), Diagnosis::NotJsonRpc),
        (Incoming::ok(done("x").replace(r#""ID""#, "77")), Diagnosis::IdMismatch),
        (Incoming::ok(r#"{"id":"ID","error":"no"}"#), Diagnosis::ErrorMalformed),
        (status(500, done("x")), Diagnosis::ResultWithErrorStatus),
    ]
}

async fn diagnosed(response: Incoming) -> (CallError, usize) {
    let server = Playback::with([response]);
    let nobody_is_asked = async |_: Ask| -> Result<Answer, crate::client::NotAnswered> { unreachable!() };
    let error = call(&server, Responders::new().elicitation(nobody_is_asked)).await.unwrap_err();
    (error, server.sent().len())
}

#[tokio::test]
async fn each_deviation_has_its_name_and_is_not_acted_on() {
    let results = deviations().into_iter().map(|(value, expected)| (Incoming::ok(result(&value)), expected));
    let mut seen = HashSet::from([Diagnosis::MethodHasNoRounds, Diagnosis::ServerRequest, Diagnosis::ListMalformed]);
    for (response, expected) in results.chain(broken_responses()) {
        let shown = response.body.clone();
        let (error, sent) = diagnosed(response).await;
        assert_eq!((error.diagnosis(), sent), (Some(expected), 1), "{shown}: {error}");
        seen.insert(expected);
    }
    let untested: Vec<_> = Diagnosis::ALL.iter().filter(|diagnosis| !seen.contains(diagnosis)).collect();
    assert!(untested.is_empty(), "{untested:?}");
}

#[tokio::test]
async fn what_only_looks_like_a_dialect_is_a_result() {
    for value in [
        json!({ "content": [] }),
        json!({ "request_state": "of the tool's own", "content": [] }),
        json!({ "resultType": "complete", "inputRequests": { "k": form() } }),
    ] {
        let server = Playback::new([result(&value)]);
        assert!(call(&server, yes()).await.is_ok(), "{value}");
    }
    let own = error(-32000, "Quota exhausted", &json!({ "limit": 3 }));
    let (error, _) = diagnosed(Incoming::ok(own)).await;
    assert_eq!(error.diagnosis(), None);
}

#[tokio::test]
async fn rounds_of_lists_and_lists_without_end_have_a_name() {
    let client = Playback::new([asks(&json!({ "k": form() }), None)]).client(yes());
    assert_eq!(client.list_tools().await.unwrap_err().diagnosis(), Some(Diagnosis::MethodHasNoRounds));
    let page = result(&json!({ "resultType": "complete", "tools": [], "nextCursor": "same" }));
    let client = Playback::new([page.clone(), page]).client(yes());
    assert_eq!(client.list_tools().await.unwrap_err().diagnosis(), Some(Diagnosis::ListMalformed));
}

/// A server of revision 2025-11-25: it sends a request and waits.
struct Pushes(&'static str);

impl Transport for Pushes {
    fn server(&self) -> &str {
        "pushes"
    }

    fn exchange<'a>(
        &'a self,
        _: &'a Outgoing,
        notify: &'a (dyn Fn(&str) + Send + Sync),
    ) -> BoxFuture<'a, Result<Incoming, TransportError>> {
        notify(self.0);
        Box::pin(std::future::pending())
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_on_the_stream_ends_the_call_at_once() {
    let start = tokio::time::Instant::now();
    let pushes = Pushes(r#"{"jsonrpc":"2.0","id":"a-1","method":"elicitation/create","params":{"message":"M"}}"#);
    let error = Client::with_transport(pushes).responders(yes()).call_tool("t", json!({})).await.unwrap_err();
    assert_eq!(error.diagnosis(), Some(Diagnosis::ServerRequest));
    assert!(error.to_string().contains(r#"it sent the request "elicitation/create""#), "{error}");
    assert_eq!(start.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn a_notification_is_no_request() {
    let notice = Pushes(r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"id":1}}"#);
    let client = Client::with_transport(notice).server_timeout(Duration::from_secs(3));
    assert!(matches!(client.call_tool("t", json!({})).await, Err(CallError::Timeout { .. })));
}
