//! Subscriptions without a transport: what a listener is told, in which order, and how it ends.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context as Task, Poll, Waker};

use mrtr::server::{Change, Dispatch, Incoming, Prompt, Resource, ServerHandle};
use mrtr::{Context, NoArguments, Server, Tool};
use serde_json::{Value, json};

use crate::world::listening::{Listening, Told, listen};

fn tools() -> Value {
    json!({ "toolsListChanged": true })
}

const ACKNOWLEDGED: &str = "notifications/subscriptions/acknowledged";
const UPDATED: &str = "notifications/resources/updated";
const TOOLS: &str = "notifications/tools/list_changed";

fn server() -> (Arc<Dispatch>, ServerHandle) {
    server_with(|server| server)
}

fn server_with(setup: impl FnOnce(Server) -> Server) -> (Arc<Dispatch>, ServerHandle) {
    let mut server = setup(Server::new("test", "1.0.0"));
    let handle = server.handle();
    (server.build().expect("a valid server"), handle)
}

/// A server of one tool, one prompt and one resource.
fn full_server() -> (Arc<Dispatch>, ServerHandle) {
    server_with(|server| {
        server
            .tool(Tool::new("save", async |_: NoArguments, _: Context| "Saved."))
            .prompt(Prompt::new("review", async |_: NoArguments, _: Context| "Review this."))
            .resource(Resource::new("note:a", "a", async |_, _| "Buy milk."))
    })
}

async fn capabilities(server: &Dispatch) -> Value {
    let mut message = listen(&json!(1), &json!(null));
    message["method"] = json!("server/discover");
    let reply = server.handle(Incoming::new(message.to_string().as_bytes())).await;
    serde_json::from_slice::<Value>(&reply.body).expect("JSON")["result"]["capabilities"].take()
}

#[test]
fn the_acknowledgement_comes_first_and_every_message_carries_the_id_as_it_was_given() {
    for id in [json!(7), json!("seven \"7\""), json!(9_007_199_254_740_993_u64)] {
        let (server, handle) = server();
        let mut listening = Listening::open(&server, &id, &tools());
        let meta = json!({ "io.modelcontextprotocol/subscriptionId": id });
        let acknowledged = json!({ "_meta": meta, "notifications": { "toolsListChanged": true } });
        let (messages, _) = listening.poll();
        assert_eq!(messages, [json!({ "jsonrpc": "2.0", "method": ACKNOWLEDGED, "params": acknowledged })]);

        handle.tools_changed();
        let (messages, _) = listening.poll();
        assert_eq!(messages, [json!({ "jsonrpc": "2.0", "method": TOOLS, "params": { "_meta": meta } })]);

        handle.close_subscriptions();
        let (messages, reply) = listening.poll();
        let result = reply.expect("the end")["result"].take();
        assert_eq!((messages.len(), &result["resultType"]), (0, &json!("complete")));
        assert_eq!(result["_meta"]["io.modelcontextprotocol/subscriptionId"], id);
        assert_eq!(result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "test");
    }
}

#[test]
fn a_client_hears_of_what_it_asked_for_and_the_server_has() {
    let (server, handle) = server();
    let wants = json!({ "promptsListChanged": true, "resourceSubscriptions": ["a:"], "somethingNew": true });
    let mut deaf = Listening::open(&server, &json!(1), &wants);
    let (messages, _) = deaf.poll();
    assert_eq!(messages[0]["params"]["notifications"], json!({}), "there are no prompts and no resources");
    let mut listening = Listening::open(&server, &json!(1), &tools());
    assert_eq!(listening.hears(), [ACKNOWLEDGED]);

    handle.prompts_changed();
    handle.resources_changed();
    handle.resource_updated("a:");
    handle.tools_changed();
    assert!(deaf.hears().is_empty());
    assert_eq!(listening.hears(), [TOOLS]);
}

#[test]
fn lists_and_single_resources_are_told_apart_and_in_the_order_they_changed() {
    let (server, handle) = full_server();
    let wants = json!({ "promptsListChanged": true, "resourcesListChanged": true, "resourceSubscriptions": ["note:b", "note:a"] });
    let mut all = Listening::open(&server, &json!("all"), &wants);
    let (messages, _) = all.poll();
    assert_eq!(messages[0]["params"]["notifications"], wants);
    let mut one = Listening::open(&server, &json!("one"), &json!({ "resourceSubscriptions": ["note:a"] }));
    assert_eq!(one.hears(), [ACKNOWLEDGED]);

    for _ in 0..2 {
        handle.resource_updated("note:b");
        handle.prompts_changed();
        handle.tools_changed();
        handle.resource_updated("note:a");
        handle.resource_updated("note:c");
        handle.resources_changed();
    }
    let (messages, _) = all.poll();
    let told: Vec<(&str, Option<&str>)> = messages
        .iter()
        .map(|message| (message["method"].as_str().expect("a method"), message["params"]["uri"].as_str()))
        .collect();
    assert_eq!(
        told,
        [
            (UPDATED, Some("note:b")),
            ("notifications/prompts/list_changed", None),
            (UPDATED, Some("note:a")),
            ("notifications/resources/list_changed", None),
        ]
    );
    let (messages, _) = one.poll();
    let meta = json!({ "io.modelcontextprotocol/subscriptionId": "one" });
    let params = json!({ "_meta": meta, "uri": "note:a" });
    assert_eq!(messages, [json!({ "jsonrpc": "2.0", "method": UPDATED, "params": params })]);
}

#[test]
fn a_change_wakes_those_who_wait_for_it_and_many_changes_wake_them_once() {
    let (server, handle) = server();
    let mut listening = Listening::open(&server, &json!(1), &tools());
    listening.poll();
    for _ in 0..1_000 {
        handle.tools_changed();
    }
    assert_eq!(listening.times_woken(), 1);
    assert_eq!(listening.hears(), [TOOLS]);
    assert!(listening.hears().is_empty());
}

#[test]
fn a_client_that_does_not_read_is_told_once_when_it_does() {
    let (server, handle) = server();
    let mut listening = Listening::open(&server, &json!(1), &tools());
    listening.poll();
    listening.told.set_full(true);
    for _ in 0..1_000 {
        handle.tools_changed();
        assert!(listening.hears().is_empty());
    }
    listening.told.set_full(false);
    assert_eq!(listening.hears(), [TOOLS]);
}

#[test]
fn a_change_before_the_acknowledgement_was_sent_is_told_after_it() {
    let (server, handle) = server();
    let mut listening = Listening::open(&server, &json!(1), &tools());
    listening.told.set_full(true);
    assert!(listening.hears().is_empty());
    handle.tools_changed();
    listening.told.set_full(false);
    assert_eq!(listening.hears(), [ACKNOWLEDGED, TOOLS]);
}

#[test]
fn a_thousand_listeners_hear_of_one_change_each() {
    let (server, handle) = server();
    let open = |id: usize| Listening::open(&server, &json!(id), &tools());
    let mut listeners: Vec<Listening> = (0..1_000).map(open).collect();
    for listening in &mut listeners {
        assert_eq!(listening.hears(), [ACKNOWLEDGED]);
    }
    handle.tools_changed();
    for (id, listening) in listeners.iter_mut().enumerate() {
        let (messages, _) = listening.poll();
        assert_eq!(messages.len(), 1);
        assert_eq!(messages[0]["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], id);
    }
}

#[tokio::test]
async fn no_change_is_slept_through_while_another_thread_makes_them() {
    let (server, handle) = server();
    let told = Arc::new(Told::default());
    let message = listen(&json!(1), &tools()).to_string();
    let call = server.handle(Incoming::new(message.as_bytes()).outlet(told.clone()));
    let publishing = std::thread::spawn({
        let told = told.clone();
        move || {
            for _ in 0..500 {
                let so_far = told.len();
                handle.tools_changed();
                // Before there is a listener nobody hears of it, so it is said until somebody does.
                while told.len() == so_far {
                    handle.tools_changed();
                    std::thread::yield_now();
                }
            }
            handle.close_subscriptions();
        }
    });
    assert_eq!(call.await.status, 200);
    publishing.join().expect("published");
    assert!(told.len() >= 500);
}

#[test]
fn a_subscription_ends_with_its_call_and_makes_room_for_another() {
    let (server, _handle) = server_with(|server| server.max_subscriptions(1));
    let mut first = Listening::open(&server, &json!(1), &tools());
    first.poll();
    let (code, message) = Listening::open(&server, &json!(2), &tools()).refusal();
    assert_eq!(code, -32603);
    assert!(message.contains("too many subscriptions"), "{message}");
    drop(first);
    assert_eq!(Listening::open(&server, &json!(3), &tools()).hears(), [ACKNOWLEDGED]);
}

#[test]
fn after_subscriptions_were_closed_new_ones_may_be_opened() {
    let (server, handle) = server();
    handle.close_subscriptions();
    let mut listening = Listening::open(&server, &json!(1), &tools());
    assert_eq!(listening.hears(), [ACKNOWLEDGED]);
    server.close_subscriptions();
    assert!(listening.poll().1.is_some());
}

#[test]
fn a_notifier_brings_changes_to_the_listeners_of_another_instance_and_no_further() {
    type Other = Arc<OnceLock<ServerHandle>>;
    let published = Arc::new(AtomicUsize::new(0));
    let instance = |other: Other| {
        let published = published.clone();
        server_with(|server| {
            server.notifier(move |change: &Change| {
                published.fetch_add(1, Ordering::Relaxed);
                other.get().expect("the other").deliver(change);
            })
        })
    };
    let (to_a, to_b) = (Other::default(), Other::default());
    let ((a, a_handle), (b, b_handle)) = (instance(to_b.clone()), instance(to_a.clone()));
    to_a.set(a_handle.clone()).expect("once");
    to_b.set(b_handle).expect("once");

    let mut listeners = [&a, &b].map(|server| Listening::open(server, &json!(1), &tools()));
    for listening in &mut listeners {
        listening.poll();
    }
    a_handle.tools_changed();
    for listening in &mut listeners {
        assert_eq!(listening.hears(), [TOOLS]);
    }
    assert_eq!(published.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn what_can_be_subscribed_to_is_declared() {
    let (server, _handle) = server();
    assert_eq!(capabilities(&server).await, json!({ "tools": { "listChanged": true } }));
    let (full, _handle) = full_server();
    let declared = json!({
        "tools": { "listChanged": true },
        "prompts": { "listChanged": true },
        "resources": { "listChanged": true, "subscribe": true },
    });
    assert_eq!(capabilities(&full).await, declared);
    let plain = Server::new("test", "1.0.0").build().expect("a valid server");
    assert_eq!(capabilities(&plain).await, json!({ "tools": {} }));
}

#[test]
fn a_server_without_subscriptions_does_not_know_the_method() {
    let plain = Server::new("test", "1.0.0").build().expect("a valid server");
    assert_eq!(Listening::open(&plain, &json!(1), &tools()).refusal().0, -32601);
}

#[tokio::test]
async fn a_transport_that_cannot_carry_notifications_is_told_so() {
    let (server, _handle) = server();
    let message = listen(&json!(1), &tools()).to_string();
    let reply = server.handle(Incoming::new(message.as_bytes())).await;
    let reply: Value = serde_json::from_slice(&reply.body).expect("JSON");
    assert_eq!(reply["error"]["code"], -32603);
    assert!(reply["error"]["message"].as_str().expect("a message").contains("notifications"), "{reply}");
}

#[test]
fn filters_that_are_none_are_refused() {
    let (server, _handle) = server();
    for filter in [
        json!(null),
        json!([]),
        json!(true),
        json!({ "toolsListChanged": 1 }),
        json!({ "promptsListChanged": "true" }),
        json!({ "resourceSubscriptions": "a:" }),
        json!({ "resourceSubscriptions": [1] }),
        json!({ "resourceSubscriptions": vec!["a:"; 1_001] }),
        json!({ "resourceSubscriptions": ["x".repeat(300_000)] }),
    ] {
        let shown = filter.to_string().chars().take(60).collect::<String>();
        assert_eq!(Listening::open(&server, &json!(1), &filter).refusal().0, -32602, "{shown}");
    }
    let mut no_filter = listen(&json!(1), &json!({}));
    no_filter["params"].as_object_mut().expect("params").remove("notifications");
    let told = Arc::new(Told::default());
    let reply = {
        let message = no_filter.to_string();
        let mut call = Box::pin(server.handle(Incoming::new(message.as_bytes()).outlet(told)));
        let Poll::Ready(reply) = call.as_mut().poll(&mut Task::from_waker(Waker::noop())) else { panic!("it listens") };
        reply
    };
    assert_eq!(reply.status, 400);
}
