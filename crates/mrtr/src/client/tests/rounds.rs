//! The rules of the loop.

use std::time::Duration;

use tokio::time::Instant;

use super::*;
use crate::client::{Action, Event, Kind, RoundOutcome};

#[tokio::test]
async fn a_result_without_questions_ends_the_call() {
    let server = Playback::new([done("Deployed.")]);
    let output = call(&server, Responders::new()).await.unwrap();
    assert_eq!(output.text(), "Deployed.");
    assert!(!output.is_error());
    let key = server.sent_params()[0]["_meta"]["mrtr/idempotencyKey"].as_str().unwrap().to_owned();
    let expected = concat!(
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"deploy","arguments":{"service":"api"},"#,
        r#""_meta":{"mrtr/idempotencyKey":"KEY","io.modelcontextprotocol/protocolVersion":"2026-07-28","#,
        r#""io.modelcontextprotocol/clientInfo":{"name":"mrtr","version":"0.1.0"},"#,
        r#""io.modelcontextprotocol/clientCapabilities":{}}}}"#
    );
    assert_eq!(server.sent(), [expected.replace("KEY", &key)]);
}

#[tokio::test]
async fn a_result_without_result_type_is_complete() {
    let server = Playback::new([result(&json!({ "content": [] }))]);
    assert_eq!(call(&server, yes()).await.unwrap().result.get(), r#"{"content":[]}"#);
}

#[tokio::test]
async fn a_retry_is_the_first_request_plus_answers_and_state_under_a_new_id() {
    let server = Playback::new([asks(&json!({ "confirm": form() }), Some("s1")), done("Deployed.")]);
    call(&server, yes()).await.unwrap();
    let [first, second] = server.sent().try_into().unwrap();
    let first = first.strip_suffix("}}").unwrap().replace(r#""id":1"#, r#""id":2"#);
    let added = concat!(
        r#","inputResponses":{"confirm":{"action":"accept","content":{"ok":true}}},"#,
        r#""requestState":"s1"}}"#
    );
    assert_eq!(second, format!("{first}{added}"));
}

#[tokio::test]
async fn a_state_goes_back_byte_for_byte() {
    let odd = r#""a\u0062\/\ud800é\"\\""#;
    let round =
        format!(r#"{{"jsonrpc":"2.0","id":"ID","result":{{"resultType":"input_required","requestState":{odd}}}}}"#);
    let server = Playback::new([round, done("")]);
    tokio::time::pause();
    call(&server, Responders::new()).await.unwrap();
    assert!(server.sent()[1].ends_with(&format!(r#","requestState":{odd}}}}}"#)));
}

#[tokio::test]
async fn answers_and_state_of_a_round_are_gone_in_the_next() {
    let server = Playback::new([
        asks(&json!({ "a": form(), "b": form() }), Some("s1")),
        asks(&json!({ "c": form() }), None),
        done(""),
    ]);
    call(&server, yes()).await.unwrap();
    let params = server.sent_params();
    let keys = |params: &Value| params["inputResponses"].as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(keys(&params[1]), ["a", "b"]);
    assert_eq!(params[1]["requestState"], "s1");
    assert_eq!(keys(&params[2]), ["c"]);
    assert_eq!(params[2].get("requestState"), None);
}

#[tokio::test]
async fn arguments_keep_their_order_and_their_digits() {
    let server = Playback::new([asks(&json!({ "confirm": form() }), None), done("")]);
    let arguments: Value = serde_json::from_str(r#"{"z":1.0,"a":9007199254740993,"m":1e2}"#).unwrap();
    server.client(yes()).call_tool("t", arguments).await.unwrap();
    for sent in server.sent() {
        assert!(sent.contains(r#""arguments":{"z":1.0,"a":9007199254740993,"m":100.0}"#));
    }
}

#[tokio::test]
async fn capabilities_are_those_of_the_responders() {
    let any = async |_: Ask| Ok(Answer::decline());
    for (responders, capabilities) in [
        (Responders::new(), json!({})),
        (Responders::new().form(any), json!({ "elicitation": { "form": {} } })),
        (Responders::new().url(any), json!({ "elicitation": { "url": {} } })),
        (
            Responders::new().elicitation(any).sampling(any).roots(any),
            json!({ "elicitation": { "form": {}, "url": {} }, "sampling": {}, "roots": {} }),
        ),
    ] {
        let server = Playback::new([done("")]);
        call(&server, responders).await.unwrap();
        let declared = &server.sent_params()[0]["_meta"]["io.modelcontextprotocol/clientCapabilities"];
        assert_eq!(*declared, capabilities);
    }
}

#[tokio::test]
async fn refusals_are_answers_and_are_reported() {
    let server =
        Playback::new([asks(&json!({ "a": form(), "b": page(), "c": form() }), None), done("Nothing was done.")]);
    let responder = async |ask: Ask| match ask.key.as_str() {
        "a" => Ok(Answer::decline()),
        "b" => Ok(Answer::cancel()),
        _ => Ok(Answer::accept([])),
    };
    let output = call(&server, Responders::new().elicitation(responder)).await.unwrap();
    assert_eq!(output.refusals, [("a".to_owned(), Action::Decline), ("b".to_owned(), Action::Cancel)]);
    assert_eq!(
        server.sent_params()[1]["inputResponses"],
        json!({ "a": { "action": "decline" }, "b": { "action": "cancel" }, "c": { "action": "accept", "content": {} } })
    );
}

#[tokio::test]
async fn only_the_last_word_on_a_question_is_a_refusal() {
    let round = || asks(&json!({ "a": form(), "b": form() }), None);
    let server = Playback::new([round(), round(), done("")]);
    let responder = async |ask: Ask| match (ask.key.as_str(), ask.asked_before) {
        ("a", 1) => Ok(Answer::accept([("ok".to_owned(), json!(true))])),
        _ => Ok(Answer::decline()),
    };
    let output = call(&server, Responders::new().form(responder)).await.unwrap();
    assert_eq!(output.refusals, [("b".to_owned(), Action::Decline)]);
}

#[tokio::test]
async fn accepting_a_url_carries_no_content() {
    let server = Playback::new([asks(&json!({ "pay": page() }), None), done("")]);
    call(&server, yes()).await.unwrap();
    assert_eq!(server.sent_params()[1]["inputResponses"], json!({ "pay": { "action": "accept" } }));
}

#[tokio::test]
async fn sampling_and_roots_are_answered_with_their_results() {
    let server = Playback::new([
        asks(
            &json!({ "s": { "method": "sampling/createMessage", "params": { "maxTokens": 9 } }, "r": { "method": "roots/list" } }),
            None,
        ),
        done(""),
    ]);
    let responders = Responders::new()
        .sampling(async |_: Ask| Ok(Answer::result(json!({ "role": "assistant" }))))
        .roots(async |_: Ask| Ok(Answer::result(json!({ "roots": [] }))));
    call(&server, responders).await.unwrap();
    assert_eq!(
        server.sent_params()[1]["inputResponses"],
        json!({ "s": { "role": "assistant" }, "r": { "roots": [] } })
    );
}

#[tokio::test(start_paused = true)]
async fn state_only_rounds_are_paced_and_empty_requests_count_as_one() {
    let server = Playback::new([wait("s1"), asks(&json!({}), Some("s2")), wait("s3"), done("Paid.")]);
    let start = Instant::now();
    let output = call(&server, yes()).await.unwrap();
    assert_eq!(output.text(), "Paid.");
    assert_eq!(start.elapsed(), Duration::from_millis(250 + 500 + 1000));
    assert_eq!(server.sent_params()[2]["requestState"], "s2");
    assert_eq!(server.sent_params()[2].get("inputResponses"), None);
}

#[tokio::test(start_paused = true)]
async fn a_url_asked_again_is_a_wait_however_fast_the_answer() {
    let pay = || asks(&json!({ "pay": page() }), Some("s"));
    let rounds = std::iter::repeat_with(pay).take(15).chain([done("Paid.")]);
    let server = Playback::new(rounds);
    let start = Instant::now();
    call(&server, yes()).await.unwrap();
    assert!(start.elapsed() > Duration::from_secs(30));
}

#[tokio::test(start_paused = true)]
async fn the_users_time_is_not_the_servers() {
    let server = Playback::new([asks(&json!({ "confirm": form() }), None), done("")]);
    let slow = async |_: Ask| {
        tokio::time::sleep(Duration::from_secs(3600)).await;
        Ok(Answer::decline())
    };
    let client = server.client(Responders::new().form(slow)).server_timeout(Duration::from_secs(60));
    let output = client.call_tool("t", json!({})).await.unwrap();
    assert!(output.rounds.iter().all(|round| round.elapsed < Duration::from_secs(1)));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_did_nothing_and_may_be_asked_again_is() {
    let down = || error(-32603, "later", &json!({ "reason": "ledger_unavailable", "retryable": true }));
    let server = Playback::new([down(), asks(&json!({ "confirm": form() }), Some("s")), down(), down(), done("Paid.")]);
    let start = Instant::now();
    assert_eq!(call(&server, yes()).await.unwrap().text(), "Paid.");
    assert_eq!(start.elapsed(), Duration::from_millis(250 + 250 + 500));
    let sent = server.sent_params();
    assert_eq!((&sent[0], &sent[2]), (&sent[1], &sent[4]), "the same request again");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_never_ready_is_given_up() {
    let down = || error(-32603, "later", &json!({ "reason": "still_at_work", "retryable": true }));
    let server = Playback::new(std::iter::repeat_with(down).take(20));
    let failure = call(&server, yes()).await.unwrap_err().to_string();
    assert!(failure.contains("later"), "{failure}");
    assert_eq!(server.sent().len(), 8);
}

#[tokio::test]
async fn what_another_server_calls_retryable_is_for_the_caller_to_decide() {
    let server = Playback::new([error(-32000, "busy", &json!({ "retryable": true })), done("")]);
    call(&server, yes()).await.unwrap_err();
    assert_eq!(server.sent().len(), 1);
}

#[tokio::test]
async fn an_operation_has_one_idempotency_key_and_another_one_another() {
    let keys = async || {
        let server = Playback::new([asks(&json!({ "confirm": form() }), Some("s")), done("")]);
        call(&server, yes()).await.unwrap();
        server.sent_params().iter().map(|params| params["_meta"]["mrtr/idempotencyKey"].clone()).collect::<Vec<_>>()
    };
    let (first, second) = (keys().await, keys().await);
    assert!(first[0].as_str().is_some_and(|key| key.len() == 22) && first[0] == first[1], "{first:?}");
    assert_ne!(first[0], second[0]);
    let server = Playback::new([done("")]);
    let own = json!({ "name": "t", "_meta": { "mrtr/idempotencyKey": "order-1" } });
    server.client(yes()).call("tools/call", own).await.unwrap();
    assert_eq!(server.sent_params()[0]["_meta"]["mrtr/idempotencyKey"], "order-1");
    let server = Playback::new([done("")]);
    server.client(yes()).call("tools/list", json!({})).await.unwrap();
    assert_eq!(server.sent_params()[0]["_meta"].get("mrtr/idempotencyKey"), None);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_never_answers_times_out() {
    let error = call(&Playback::default(), yes()).await.unwrap_err();
    assert_eq!(error.to_string(), "playback gave no response within 120 s (round 1)");
}

#[tokio::test]
async fn questions_without_end_are_stopped() {
    let round = || asks(&json!({ "confirm": form() }), None);
    let server = Playback::new(std::iter::repeat_with(round).take(20));
    let error = call(&server, yes()).await.unwrap_err();
    assert_eq!(error.to_string(), "the server still asks for input after 10 rounds");
    assert_eq!(server.sent().len(), 11);
}

#[tokio::test(start_paused = true)]
async fn waiting_without_end_is_stopped() {
    let server = Playback::new(std::iter::repeat_with(|| wait("s")).take(9));
    let client = server.client(yes()).max_waits(3);
    let error = client.call_tool("t", json!({})).await.unwrap_err();
    assert_eq!(error.to_string(), "the server still asks to be called again after 3 calls");
    assert_eq!(server.sent().len(), 4);
}

#[tokio::test]
async fn an_observer_sees_every_byte_and_every_round() {
    let (question, result) = (asks(&json!({ "confirm": form() }), Some("12345")), done("Deployed."));
    let server = Playback::new([question.clone(), result]);
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&seen);
    let observer = move |event: &Event<'_>| {
        if let Event::Request { body, .. } | Event::Response { body, .. } = event {
            log.lock().unwrap().push((*body).to_owned());
        }
    };
    let output = server.client(yes()).observer(observer).call_tool("t", json!({})).await.unwrap();
    let seen = seen.lock().unwrap();
    assert_eq!([&seen[0], &seen[2]], [&server.sent()[0], &server.sent()[1]]);
    assert_eq!(seen[1], question.replace(r#""ID""#, "1"));
    let [first, last] = output.rounds.try_into().unwrap();
    assert_eq!(
        first.outcome,
        RoundOutcome::InputRequired { asked: vec![("confirm".to_owned(), Kind::Form)], state_bytes: Some(5) }
    );
    assert_eq!((first.received_bytes, last.sent_bytes), (seen[1].len(), seen[2].len()));
    assert_eq!(last.outcome, RoundOutcome::Complete);
}

#[tokio::test]
async fn operations_of_one_client_run_side_by_side_under_different_ids() {
    let server = Playback::new([done("a"), done("b")]);
    let client = server.client(yes());
    let (one, other) =
        tokio::join!(client.call_tool("t", json!({})), client.call("prompts/get", json!({ "name": "p" })));
    let (one, other) = (one.unwrap(), other.unwrap());
    assert_ne!(one.rounds[0].id, other.rounds[0].id);
    assert_ne!(one.operation, other.operation);
    assert_eq!(one.rounds[0].operation, one.operation);
}

#[tokio::test]
async fn questions_events_and_output_of_an_operation_have_one_id_whatever_the_states_are() {
    let same = || asks(&json!({ "a": form() }), Some("same for all"));
    let server = Playback::new([same(), same(), asks(&json!({ "b": form() }), None), done("")]);
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (log, asked) = (Arc::clone(&seen), Arc::clone(&seen));
    let responders = Responders::new().form(move |ask: Ask| {
        asked.lock().unwrap().push((ask.operation.to_string(), ask.round));
        std::future::ready(Ok(Answer::decline()))
    });
    let observer = move |event: &Event<'_>| log.lock().unwrap().push((event.operation().to_string(), event.round()));
    let client = server.client(responders).observer(observer);
    let first = client.call_tool("t", json!({})).await.unwrap();
    let seen_first = std::mem::take(&mut *seen.lock().unwrap());
    assert!(seen_first.iter().all(|(operation, _)| *operation == first.operation.as_str()), "{seen_first:?}");
    let rounds: Vec<_> = seen_first.iter().map(|(_, round)| *round).collect();
    // Start; then request, response and figures of each round, and its question put, seen and answered.
    assert_eq!(rounds, [vec![0], vec![1; 6], vec![2; 6], vec![3; 6], vec![4; 3]].concat());
    let server = Playback::new([done("")]);
    assert_ne!(server.client(yes()).call_tool("t", json!({})).await.unwrap().operation, first.operation);
}

#[tokio::test]
async fn what_never_came_back_is_an_event_too() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&seen);
    let observer = move |event: &Event<'_>| {
        if let Event::Lost { round, error, .. } = event {
            log.lock().unwrap().push((*round, error.to_string()));
        }
    };
    let client = Playback::default().client(yes()).observer(observer).server_timeout(Duration::from_millis(1));
    let error = client.call_tool("t", json!({})).await.unwrap_err().to_string();
    assert_eq!(*seen.lock().unwrap(), [(1, error)]);
}

#[tokio::test(start_paused = true)]
async fn consent_to_one_page_is_none_to_another_under_the_same_key() {
    let round = |url: &str| {
        let mut pay = page();
        pay["params"]["url"] = json!(url);
        asks(&json!({ "pay": pay }), Some("s"))
    };
    let server = Playback::new(
        [round("https://a.example/"), round("https://a.example/"), round("https://b.example/")]
            .into_iter()
            .chain([done("")]),
    );
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&seen);
    let responder = move |ask: Ask| {
        log.lock().unwrap().push((ask.url().unwrap(), ask.consented));
        std::future::ready(Ok(Answer::accept([])))
    };
    call(&server, Responders::new().url(responder)).await.unwrap();
    let seen = seen.lock().unwrap();
    let seen: Vec<_> = seen.iter().map(|(url, consented)| (url.as_str(), *consented)).collect();
    let [a, b] = ["https://a.example/", "https://b.example/"];
    assert_eq!(seen, [(a, false), (a, true), (b, false)]);
}

#[tokio::test]
async fn a_version_that_is_refused_and_listed_is_sent_once_more_and_no_other_is() {
    let refuses = |versions: Value| error(-32022, "Unsupported protocol version", &json!({ "supported": versions }));
    let server = Playback::new([refuses(json!(["2026-07-28"])), done("")]);
    assert!(call(&server, yes()).await.is_ok());
    let server = Playback::new([refuses(json!(["2026-07-28"])), refuses(json!(["2026-07-28"])), done("")]);
    assert!(call(&server, yes()).await.is_err());
    let server = Playback::new([refuses(json!(["2025-11-25"])), done("")]);
    assert!(call(&server, yes()).await.is_err());
}
