//! Requests and replies: whole flows, many at a time, cancelled ones.

use std::time::Duration;

use serde_json::{Value, json};

use super::world::{Client, call, cancel, endless, pass, server, text, told};
use crate::{Context, NoArguments, Tool};

#[tokio::test(start_paused = true)]
async fn a_request_has_its_reply() {
    let mut client = Client::of(server([]));
    client.send(call(7, "wait", json!({ "ms": 1 }))).await;
    let reply = client.read().await;
    assert_eq!((&reply["id"], text(&reply)), (&json!(7), "waited 1"));
}

#[tokio::test(start_paused = true)]
async fn a_question_and_its_answer_make_two_legs_of_one_call() {
    let mut client = Client::of(server([]));
    client.send(call("one", "deploy", json!({}))).await;
    let question = client.read().await;
    assert_eq!(question["result"]["resultType"], "input_required");

    let mut retry = call("two", "deploy", json!({}));
    retry["params"]["requestState"] = question["result"]["requestState"].clone();
    retry["params"]["inputResponses"] = json!({ "confirm": { "action": "accept", "content": { "confirm": true } } });
    client.send(retry).await;
    let reply = client.read().await;
    assert_eq!((&reply["id"], text(&reply)), (&json!("two"), "deployed"));
}

#[tokio::test(start_paused = true)]
async fn replies_come_in_the_order_they_are_ready() {
    let mut client = Client::of(server([]));
    for ms in [300, 100, 200] {
        client.send(call(ms, "wait", json!({ "ms": ms }))).await;
    }
    let mut order = Vec::new();
    for _ in 0..3 {
        order.push(client.read().await["id"].clone());
    }
    assert_eq!(order, [100, 200, 300]);
}

#[tokio::test(start_paused = true)]
async fn what_a_call_tells_precedes_its_reply() {
    let mut client = Client::of(server([]));
    for id in 1..=50 {
        client.send(told(call(id, "wait", json!({ "ms": 50 - id })))).await;
    }
    let mut told = Vec::new();
    for _ in 0..100 {
        let message = client.read().await;
        match message["method"].as_str() {
            Some("notifications/progress") => told.push(message["params"]["progressToken"].clone()),
            _ => assert!(told.contains(&message["id"]), "{message} comes before its progress"),
        }
    }
    assert_eq!(told.len(), 50);
}

#[tokio::test(start_paused = true)]
async fn what_is_told_after_the_reply_is_dropped() {
    let late = Tool::new("late", |_: NoArguments, cx: Context| async move {
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(1)).await;
            cx.progress(1.0, None, None);
        });
        "done"
    });
    let mut client = Client::of(server([late]));
    client.send(told(call(1, "late", json!({})))).await;
    assert_eq!(text(&client.read().await), "done");
    client.nothing().await;
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_request_is_dropped_and_nothing_is_written_for_it() {
    let (tool, started, dropped) = endless();
    let mut client = Client::of(server([tool]));
    client.send(call("a\u{e9}", "endless", json!({}))).await;
    pass(&started).await;
    // The same id, escaped.
    client.write("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":\"\\u0061\\u00e9\"}}\n").await;
    pass(&dropped).await;
    client.nothing().await;
}

#[tokio::test(start_paused = true)]
async fn an_id_is_free_again_once_its_request_is_cancelled_or_answered() {
    let (tool, started, _) = endless();
    let mut client = Client::of(server([tool]));
    client.send(call(1, "endless", json!({}))).await;
    pass(&started).await;
    client.send(cancel(1.0)).await;
    for _ in 0..2 {
        client.send(call(1, "wait", json!({ "ms": 1 }))).await;
        assert_eq!(text(&client.read().await), "waited 1");
    }
    client.nothing().await;
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_request_takes_what_it_told_with_it() {
    // The pipe is full of what another call told, so that nothing more gets through.
    let mut client = Client::of(server([chatty()]));
    client.send(told(call(1, "chatty", json!({})))).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    client.send(told(call(2, "wait", json!({ "ms": 1 })))).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    client.send(cancel(2)).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    client.send(call(3, "wait", json!({ "ms": 1 }))).await;
    let (rest, served) = client.end().await;
    served.unwrap();
    assert!(rest.iter().all(|message| message["id"] != 2 && message["params"]["progressToken"] != 2));
    assert!(rest.iter().any(|message| message["id"] == 3));
}

/// Tells more than a pipe holds, and ends.
fn chatty() -> Tool {
    Tool::new("chatty", |_: NoArguments, cx: Context| async move {
        let long = "x".repeat(1000);
        for step in 1..=100 {
            cx.progress(f64::from(step), None, Some(&long));
        }
        "done"
    })
}

#[tokio::test(start_paused = true)]
async fn cancellations_that_say_nothing_are_ignored() {
    let mut client = Client::of(server([]));
    client.send(call(1, "wait", json!({ "ms": 100 }))).await;
    let notification =
        |params: Value| json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params });
    for params in [json!({}), json!(null), json!([1]), json!({ "requestId": null }), json!({ "requestId": [1] })] {
        client.send(notification(params)).await;
    }
    client.send(json!({ "jsonrpc": "2.0", "method": "notifications/cancelled" })).await;
    client.send(json!({ "jsonrpc": "2.0", "method": "notifications/else", "params": { "requestId": 1 } })).await;
    client.send(cancel(2)).await;
    client.send(cancel("1")).await;
    assert_eq!(text(&client.read().await), "waited 100");
    client.send(cancel(1)).await;
    client.nothing().await;
}

#[tokio::test(start_paused = true)]
async fn a_second_request_of_an_id_at_work_is_refused_and_the_first_goes_on() {
    let mut client = Client::of(server([]));
    client.send(call(1, "wait", json!({ "ms": 100 }))).await;
    client.send(call(1.0, "wait", json!({ "ms": 1 }))).await;
    let refusal = client.read().await;
    assert_eq!((&refusal["id"], &refusal["error"]["code"]), (&json!(1), &json!(-32600)));
    assert!(refusal["error"]["message"].as_str().unwrap().contains("still running"), "{refusal}");
    assert_eq!(text(&client.read().await), "waited 100");
}

#[tokio::test(start_paused = true)]
async fn a_number_and_a_string_are_two_ids() {
    let mut client = Client::of(server([]));
    client.send(call(1, "wait", json!({ "ms": 1 }))).await;
    client.send(call("1", "wait", json!({ "ms": 2 }))).await;
    assert_eq!([client.read().await["id"].clone(), client.read().await["id"].clone()], [json!(1), json!("1")]);
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_panics_is_an_error_and_the_connection_lives() {
    let mut client = Client::of(server([]));
    client.send(call(1, "panic", json!({}))).await;
    assert_eq!(client.read().await["error"]["code"], -32603);
    client.send(call(2, "wait", json!({ "ms": 1 }))).await;
    assert_eq!(text(&client.read().await), "waited 1");
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_takes_too_long_is_stopped() {
    let (tool, _, dropped) = endless();
    let mut client = Client::of(server([tool]));
    client.send(call(1, "endless", json!({}))).await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(client.read().await["error"]["code"], -32603);
    pass(&dropped).await;
}

#[tokio::test(start_paused = true)]
async fn a_question_of_one_caller_is_not_answered_by_another() {
    let shared = server([]);
    let caller = |name: &str| crate::Principal { issuer: "test".into(), subject: name.into() };
    let (ann, bob) = (shared.clone().principal(caller("ann")), shared.principal(caller("bob")));
    let (mut ann, mut bob) = (Client::of(ann), Client::of(bob));
    ann.send(call(1, "deploy", json!({}))).await;
    let mut retry = call(1, "deploy", json!({}));
    retry["params"]["requestState"] = ann.read().await["result"]["requestState"].clone();
    bob.send(retry.clone()).await;
    assert_eq!(bob.read().await["error"]["code"], -32602);
    ann.send(retry).await;
    assert_eq!(ann.read().await["result"]["resultType"], "input_required");
}

#[tokio::test(start_paused = true)]
async fn one_that_computes_does_not_hold_up_the_others() {
    // On one thread a handler that gives way now and then leaves room for the rest.
    let busy = Tool::new("busy", |_: NoArguments, _: Context| async {
        for _ in 0..1000 {
            tokio::task::yield_now().await;
        }
        "done"
    });
    let mut client = Client::of(server([busy]));
    client.send(call(1, "busy", json!({}))).await;
    client.send(call(2, "deploy", json!({}))).await;
    assert_eq!(client.read().await["id"], 2);
    assert_eq!(client.read().await["id"], 1);
}
