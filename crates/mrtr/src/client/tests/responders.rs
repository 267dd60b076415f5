//! Who is asked what, and what becomes of an operation nobody answers.

use super::*;
use crate::client::{Kind, NotAnswered, Scripted};

#[tokio::test]
async fn a_question_carries_what_a_responder_needs() {
    let mut round: Value = serde_json::from_str(&asks(&json!({ "pay": page(), "confirm": form() }), None)).unwrap();
    round["result"]["_meta"] = json!({ "io.modelcontextprotocol/serverInfo": { "name": "releases", "version": "1" } });
    let server = Playback::new([round.to_string(), done("")]);
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&seen);
    let responder = move |ask: Ask| {
        log.lock().unwrap().push(ask);
        std::future::ready(Ok(Answer::decline()))
    };
    call(&server, Responders::new().elicitation(responder)).await.unwrap();
    let [pay, confirm] = seen.lock().unwrap().clone().try_into().unwrap();
    assert_eq!((pay.kind, pay.key.as_str(), pay.number, pay.count), (Kind::Url, "pay", 1, 2));
    assert_eq!(pay.url().as_deref(), Some("https://pay.example/7"));
    assert_eq!((confirm.kind, confirm.number, confirm.round), (Kind::Form, 2, 1));
    assert_eq!(confirm.message(), "Sure?");
    assert_eq!(confirm.requested_schema()["required"], json!(["ok"]));
    assert_eq!((confirm.server.as_str(), confirm.target.as_str()), ("playback", "deploy"));
    assert_eq!(confirm.server_name.as_deref(), Some("releases"));
}

#[tokio::test]
async fn an_odd_schema_reaches_the_responder() {
    let odd = r#"{"method":"elicitation/create","params":{"message":"M","extra":1e999,"requestedSchema":
        {"type":"object","title":"T","properties":{"x":{"anyOf":[{"type":"object"}],"format":"password","minimum":1.0}}}}}"#;
    let round = format!(r#"{{"id":"ID","result":{{"resultType":"input_required","inputRequests":{{"k":{odd}}}}}}}"#);
    let server = Playback::new([round, done("")]);
    let responder = async |ask: Ask| {
        assert_eq!(ask.message(), "M");
        assert_eq!(ask.requested_schema()["properties"]["x"]["format"], "password");
        Ok(Answer::decline())
    };
    assert!(call(&server, Responders::new().form(responder)).await.is_ok());
}

#[tokio::test]
async fn a_script_answers_and_tells_what_it_did_not_need() {
    let server = Playback::new([asks(&json!({ "confirm": form(), "pay": page(), "news": form() }), None), done("")]);
    let script = Scripted::new().answer("confirm", "ok", true).accept("pay").decline("news").cancel("typo");
    call(&server, Responders::new().elicitation(script.clone())).await.unwrap();
    assert_eq!(
        server.sent_params()[1]["inputResponses"],
        json!({ "confirm": { "action": "accept", "content": { "ok": true } }, "pay": { "action": "accept" }, "news": { "action": "decline" } })
    );
    assert_eq!(script.unused(), ["typo"]);
}

#[tokio::test]
async fn what_nobody_answers_is_named_and_nothing_is_sent() {
    let server = Playback::new([asks(&json!({ "a": form(), "confirm": form(), "pay": page() }), None)]);
    let script = Scripted::new().answer("confirm", "ok", true);
    let error = call(&server, Responders::new().elicitation(script)).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "input is needed and nobody can be asked: \"a\" (form elicitation), \"pay\" (URL elicitation)"
    );
    assert_eq!(server.sent().len(), 1);
}

#[tokio::test]
async fn what_a_script_lacks_goes_to_somebody_else() {
    let server = Playback::new([asks(&json!({ "a": form(), "b": form() }), None), done("")]);
    let script = Scripted::new().decline("a").otherwise(async |_: Ask| Ok(Answer::cancel()));
    let output = call(&server, Responders::new().form(script)).await.unwrap();
    assert_eq!(server.sent_params()[1]["inputResponses"]["b"]["action"], "cancel");
    assert_eq!(output.refusals.len(), 2);
}

#[tokio::test]
async fn a_scripted_answer_the_server_does_not_take_goes_to_somebody_else() {
    let round = || asks(&json!({ "confirm": form() }), None);
    let server = Playback::new([round(), round(), done("")]);
    let script = Scripted::new().answer("confirm", "ok", false).otherwise(async |ask: Ask| {
        assert_eq!(ask.asked_before, 1);
        Ok(Answer::accept([("ok".to_owned(), json!(true))]))
    });
    call(&server, Responders::new().form(script)).await.unwrap();
    assert_eq!(server.sent_params()[2]["inputResponses"]["confirm"]["content"]["ok"], true);
}

#[tokio::test]
async fn a_user_who_stops_or_a_responder_that_fails_ends_the_operation_at_once() {
    let round = || Playback::new([asks(&json!({ "a": form(), "b": form() }), None)]);
    let stop = async |_: Ask| Err(NotAnswered::Abandoned);
    let error = call(&round(), Responders::new().form(stop)).await.unwrap_err();
    assert_eq!(error.to_string(), "stopped by the user at \"a\" in round 1");
    let fail = async |_: Ask| Err(NotAnswered::failed("no such field"));
    let error = call(&round(), Responders::new().form(fail)).await.unwrap_err();
    assert_eq!(error.to_string(), "no answer for \"a\" in round 1: no such field");
    let wrong = async |_: Ask| Ok(Answer::result(json!({})));
    let error = call(&round(), Responders::new().form(wrong)).await.unwrap_err();
    assert_eq!(error.to_string(), "no answer for \"a\" in round 1: the answer is not one to form elicitation");
}

fn two_fields() -> Value {
    json!({ "method": "elicitation/create", "params": { "message": "Where to?", "requestedSchema": {
        "type": "object", "required": ["city", "nights"], "properties": {
            "city": { "type": "string", "minLength": 2 }, "nights": { "type": "integer" }, "note": { "type": "string" }
        }
    }}})
}

#[tokio::test]
async fn a_script_is_typed_by_the_form_and_leaves_out_what_is_optional() {
    let server = Playback::new([asks(&json!({ "trip": two_fields() }), None), done("")]);
    let script = Scripted::new().answer_text("trip", "city", "Oslo").answer_text("trip", "nights", "3");
    call(&server, Responders::new().form(script)).await.unwrap();
    assert_eq!(server.sent_params()[1]["inputResponses"]["trip"]["content"], json!({ "city": "Oslo", "nights": 3 }));
}

#[tokio::test]
async fn a_half_scripted_form_goes_to_somebody_else_with_the_half_settled() {
    let server = Playback::new([asks(&json!({ "trip": two_fields() }), None), done("")]);
    let script = Scripted::new().answer("trip", "city", "Oslo").otherwise(async |ask: Ask| {
        let mut content = ask.settled;
        assert_eq!(content["city"], "Oslo");
        content.insert("nights".to_owned(), json!(2));
        Ok(Answer::accept(content))
    });
    call(&server, Responders::new().form(script)).await.unwrap();
    assert_eq!(server.sent_params()[1]["inputResponses"]["trip"]["content"], json!({ "city": "Oslo", "nights": 2 }));
}

#[tokio::test]
async fn a_script_that_does_not_fit_names_the_field() {
    let script = Scripted::new;
    for (script, expected) in [
        (script().answer_text("trip", "nights", "abc"), "\"nights\" must be a whole number, not \"abc\""),
        (script().answer("trip", "city", "X"), "\"city\" must have at least 2 characters"),
        (
            script().answer("trip", "city", "X").answer_text("trip", "nights", "abc").answer("trip", "town", "Y"),
            "\"nights\" must be a whole number, not \"abc\"; \
             \"town\" is not asked: the form has \"city\", \"nights\", \"note\"; \
             \"city\" must have at least 2 characters",
        ),
        (script().answer("trip", "town", "Oslo"), "\"town\" is not asked: the form has \"city\", \"nights\", \"note\""),
        (script().answer("pay", "city", "Oslo"), "\"city\" is not asked: this is URL elicitation"),
    ] {
        let server = Playback::new([asks(&json!({ "trip": two_fields(), "pay": page() }), None)]);
        let script = script.otherwise(async |_: Ask| Ok(Answer::decline()));
        let error = call(&server, Responders::new().elicitation(script)).await.unwrap_err();
        let text = error.to_string();
        assert!(text.contains(expected), "{text}");
        assert!(matches!(error, CallError::Responder { cause, .. } if cause.is::<crate::client::Misfit>()));
    }
}

#[tokio::test]
async fn a_script_does_not_accept_pages_of_other_schemes() {
    for url in ["javascript:alert(1)", "file:///etc/passwd", "nowhere", "data:text/html,x\u{202e}"] {
        let mut pay = page();
        pay["params"]["url"] = json!(url);
        let server = Playback::new([asks(&json!({ "pay": pay }), None)]);
        let error = call(&server, Responders::new().url(Scripted::new().accept("pay"))).await.unwrap_err().to_string();
        let shown = url.replace('\u{202e}', "\\u{202e}");
        assert!(error.ends_with(&format!("\"{shown}\" is not accepted: expected an http or https URL")), "{error}");
        assert_eq!(server.sent().len(), 1);
    }
}
