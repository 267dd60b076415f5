//! Operations side by side, chains of responders, calls that are dropped, and calls that are put aside and resumed.

use std::future::IntoFuture as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::*;
use crate::client::{NotAnswered, OperationId, Responder as _, Saved, Scripted};

/// Asks in round 1, and then is done.
fn asks_for(number: u32) -> [String; 2] {
    let mut question = form();
    question["params"]["message"] = json!(format!("Question {number}"));
    [asks(&json!({ "confirm": question }), Some(&format!("s{number}"))), done(&format!("done {number}"))]
}

/// A server for any number of callers: it asks each by the number in its arguments.
struct ByNumber;

impl Transport for ByNumber {
    fn server(&self) -> &str {
        "by number"
    }

    fn exchange<'a>(
        &'a self,
        request: &'a Outgoing,
        _: &'a (dyn Fn(&str) + Send + Sync),
    ) -> BoxFuture<'a, Result<Incoming, TransportError>> {
        let params: Value = serde_json::from_str::<Value>(&request.body).unwrap()["params"].take();
        let [question, end] = asks_for(params["arguments"]["number"].as_u64().unwrap().try_into().unwrap());
        let body = if params.get("requestState").is_some() { end } else { question };
        Box::pin(async move { Ok(Incoming::ok(body.replace(r#""ID""#, id_of(&request.body)))) })
    }
}

#[tokio::test]
async fn two_callers_on_one_client_each_get_their_own_question() {
    struct Window(u32);
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&seen);
    let barrier = Arc::new(tokio::sync::Barrier::new(2));
    let responder = move |ask: Ask| {
        let Window(number) = ask.context().expect("every call has one");
        log.lock().unwrap().push((*number, ask.message(), ask.operation.clone()));
        // Both are asked before either has answered.
        let barrier = Arc::clone(&barrier);
        async move {
            barrier.wait().await;
            Ok(Answer::accept([("ok".to_owned(), json!(true))]))
        }
    };
    let client = Client::with_transport(ByNumber).responders(Responders::new().form(responder));
    let call = |number| client.tool("t", json!({ "number": number })).context(Window(number)).into_future();
    let (first, second) = tokio::join!(call(1), call(2));
    assert_eq!((first.unwrap().text(), second.unwrap().text()), ("done 1".to_owned(), "done 2".to_owned()));
    let seen = seen.lock().unwrap().clone();
    assert_eq!(seen.iter().map(|(window, ..)| *window).collect::<Vec<_>>(), [1, 2]);
    assert!(seen.iter().all(|(window, message, _)| *message == format!("Question {window}")), "{seen:?}");
    assert_ne!(seen[0].2, seen[1].2);
}

#[tokio::test]
async fn every_event_carries_the_context_of_its_operation() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&seen);
    let observer = move |event: &crate::client::Event<'_>| {
        log.lock().unwrap().push(event.operation().context::<&str>().copied());
    };
    let client = Playback::new(asks_for(1)).client(yes()).observer(observer);
    let output = client.tool("t", json!({})).context("window 7").await.unwrap();
    assert_eq!(output.operation.context::<&str>(), Some(&"window 7"));
    assert_eq!(output.operation.context::<u8>(), None);
    let seen = seen.lock().unwrap();
    assert!(seen.len() > 6 && seen.iter().all(|context| *context == Some("window 7")), "{seen:?}");
}

#[test]
fn an_operation_is_the_same_with_and_without_its_context() {
    let mut with: OperationId = OperationId::named("op");
    with.attach(Arc::new(1));
    assert_eq!(with, OperationId::named("op"));
}

#[tokio::test]
async fn a_chain_goes_on_until_somebody_answers_and_ends_with_a_refusal() {
    let questions = json!({ "a": form(), "b": form(), "c": form() });
    let server = Playback::new([asks(&questions, None), done("")]);
    let script = Scripted::new().answer("a", "ok", true);
    let person = async |ask: Ask| match ask.key.as_str() {
        "b" => Ok(Answer::decline()),
        _ => Err(NotAnswered::Nobody),
    };
    call(&server, Responders::new().form(script.or(person).or(Answer::cancel()))).await.unwrap();
    let responses = &server.sent_params()[1]["inputResponses"];
    let actions = ["a", "b", "c"].map(|key| responses[key]["action"].as_str().unwrap_or_default().to_owned());
    assert_eq!(actions, ["accept", "decline", "cancel"]);
}

#[tokio::test]
async fn who_stops_or_fails_is_not_passed_over() {
    for wrong in [|| NotAnswered::Abandoned, || NotAnswered::failed("no such field")] {
        let server = Playback::new([asks(&json!({ "a": form() }), None)]);
        let first = move |_: Ask| std::future::ready(Err(wrong()));
        let error = call(&server, Responders::new().form(first.or(Answer::decline()))).await.unwrap_err();
        assert!(matches!(error, CallError::Abandoned { .. } | CallError::Responder { .. }), "{error}");
    }
}

#[tokio::test]
async fn what_a_script_knows_of_a_form_is_settled_for_the_next_and_for_the_error() {
    let mut form = form();
    form["params"]["requestedSchema"]["properties"]["why"] = json!({ "type": "string" });
    form["params"]["requestedSchema"]["required"] = json!(["ok", "why"]);
    let script = || Scripted::new().answer("k", "ok", true);
    let next = async |ask: Ask| {
        let mut content = ask.settled;
        content.insert("why".to_owned(), json!("because"));
        Ok(Answer::accept(content))
    };
    let server = Playback::new([asks(&json!({ "k": form }), None), done("")]);
    call(&server, Responders::new().form(script().or(next))).await.unwrap();
    assert_eq!(server.sent_params()[1]["inputResponses"]["k"]["content"], json!({ "ok": true, "why": "because" }));

    let server = Playback::new([asks(&json!({ "k": form }), None)]);
    let nobody = async |_: Ask| -> Result<Answer, NotAnswered> { Err(NotAnswered::Nobody) };
    match call(&server, Responders::new().form(script().or(nobody))).await.unwrap_err() {
        CallError::Unanswered { questions, .. } => assert_eq!(questions[0].settled["ok"], json!(true)),
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn a_chained_script_the_server_does_not_take_passes_the_question_on() {
    let round = || asks(&json!({ "confirm": form() }), None);
    let server = Playback::new([round(), round(), done("")]);
    let script = Scripted::new().answer("confirm", "ok", false);
    call(&server, Responders::new().form(script.or(Answer::decline()))).await.unwrap();
    assert_eq!(server.sent_params()[2]["inputResponses"]["confirm"]["action"], "decline");
}

/// Notes when it is dropped.
struct Guard(Arc<AtomicBool>);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[tokio::test(start_paused = true)]
async fn dropping_a_call_drops_the_responder_that_is_being_asked() {
    let is_gone = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&is_gone);
    let prompt = move |_: Ask| {
        let guard = Guard(Arc::clone(&flag));
        async move {
            std::future::pending::<()>().await;
            drop(guard);
            Ok(Answer::cancel())
        }
    };
    let server = Playback::new(asks_for(1));
    let client = server.client(Responders::new().form(prompt.or(Answer::decline())));
    let outcome = tokio::time::timeout(Duration::from_secs(9), client.call_tool("t", json!({}))).await;
    assert!(outcome.is_err() && is_gone.load(Ordering::Relaxed));
    assert_eq!(server.sent().len(), 1, "no answer was made up");
}

/// Runs a call whose second question nobody answers, and returns what was saved last.
async fn half_answered(server: &Playback, params: Value) -> Saved {
    let saved = Mutex::new(None);
    let client = server.client(Responders::new().elicitation(Scripted::new().answer("a", "ok", true)));
    let save = |state: Saved| *saved.lock().unwrap() = Some(state);
    let error = client.request("tools/call", params).on_save(save).await.unwrap_err();
    assert!(matches!(error, CallError::Unanswered { .. }), "{error}");
    saved.into_inner().unwrap().expect("saved")
}

fn two_questions() -> String {
    let raw = asks(&json!({ "a": form(), "b": form() }), None);
    // A state as no string of Rust can hold it: it goes back as the token it was.
    raw.replace(r#""requestState":null"#, r#""requestState":"\ud800\u0041""#)
}

#[tokio::test]
async fn a_saved_operation_is_resumed_elsewhere_with_the_open_questions_only() {
    let first = Playback::new([two_questions()]);
    let params = json!({ "name": "t", "arguments": { "z": 1, "a": 2 }, "_meta": { "traceparent": "00-1" } });
    let saved = half_answered(&first, params).await;
    let text = serde_json::to_string(&saved).unwrap();

    let second = Playback::new([done("booked")]);
    let asked = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&asked);
    let person = move |ask: Ask| {
        log.lock().unwrap().push((ask.key, ask.number, ask.count, ask.round));
        std::future::ready(Ok(Answer::accept([("ok".to_owned(), json!(false))])))
    };
    let client = second.client(Responders::new().form(person));
    let output = client.resume(serde_json::from_str(&text).unwrap()).await.unwrap();

    assert_eq!((output.text().as_str(), output.operation.as_str()), ("booked", saved.operation()));
    assert_eq!(*asked.lock().unwrap(), [("b".to_owned(), 2, 2, 1)]);
    assert_eq!(output.rounds[0].round, 2);
    let (before, after) = (&first.sent()[0], &second.sent()[0]);
    assert!(after.contains(r#""requestState":"\ud800\u0041""#), "{after}");
    assert!(after.contains(r#""arguments":{"z":1,"a":2}"#), "{after}");
    assert_ne!(id_of(before), id_of(after), "a retry has an id of its own");
    let key = |body: &str| body.split(r#""mrtr/idempotencyKey":""#).nth(1).map(|rest| rest[..22].to_owned());
    assert!(key(before).is_some() && key(before) == key(after));
    assert!(after.contains(r#""a":{"action":"accept","content":{"ok":true}}"#), "{after}");
    assert!(after.contains(r#""b":{"action":"accept","content":{"ok":false}}"#), "{after}");
    assert!(after.contains(r#""traceparent":"00-1""#) && after.contains(r#""elicitation":{"form":{}}"#), "{after}");
}

#[tokio::test]
async fn a_saved_operation_shows_no_answers_and_holds_no_token() {
    let saved = half_answered(&Playback::new([two_questions()]), json!({ "name": "t", "arguments": {} })).await;
    assert_eq!(
        format!("{saved:?}"),
        format!(
            r#"Saved {{ server: "playback", operation: "{}", method: "tools/call", round: 1, .. }}"#,
            saved.operation()
        )
    );
}

#[tokio::test]
async fn a_saved_operation_goes_to_no_other_server_and_to_nobody_who_cannot_answer() {
    let saved = half_answered(&Playback::new([two_questions()]), json!({ "name": "t", "arguments": {} })).await;
    let elsewhere = Client::new("http://127.0.0.1:9/mcp").unwrap().responders(yes());
    let error = elsewhere.resume(saved.clone()).await.unwrap_err().to_string();
    assert!(error.ends_with("it runs on playback, this client calls http://127.0.0.1:9/mcp"), "{error}");
    let server = Playback::new([done("")]);
    let error = server.client(Responders::new()).resume(saved.clone()).await.unwrap_err().to_string();
    assert!(error.ends_with("it asks \"a\" by form elicitation, which this client has no responder for"), "{error}");
    let damaged = serde_json::to_string(&saved).unwrap().replace("input_required", "complete");
    let error = server.client(yes()).resume(serde_json::from_str(&damaged).unwrap()).await.unwrap_err().to_string();
    assert!(error.ends_with("its result is damaged"), "{error}");
    assert!(server.sent().is_empty());
}

#[tokio::test]
async fn later_rounds_of_a_resumed_operation_count_on_and_can_be_saved_again() {
    let saved = half_answered(&Playback::new([two_questions()]), json!({ "name": "t", "arguments": {} })).await;
    let rounds = Mutex::new(Vec::new());
    let server = Playback::new([asks(&json!({ "a": form() }), None), done("")]);
    let client = server.client(yes()).max_rounds(2);
    client.resume(saved.clone()).on_save(|saved| rounds.lock().unwrap().push(saved.round())).await.unwrap();
    assert_eq!(*rounds.lock().unwrap(), [1, 1, 2, 2]);
    let server = Playback::new([asks(&json!({ "a": form() }), None), done("")]);
    let error = server.client(yes()).max_rounds(1).resume(saved).await.unwrap_err();
    assert!(matches!(error, CallError::TooManyRounds { limit: 1 }), "{error}");
}
