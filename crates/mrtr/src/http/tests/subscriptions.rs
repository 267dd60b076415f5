//! Subscriptions over connections: they last, hear of changes, and end when the server or the client does.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use http::StatusCode;
use http_body_util::Full;
use serde_json::{Value, json};
use tokio::time::timeout;
use tower::ServiceExt;

use super::{
    streams::events,
    world::{Peer, SOON, Served, call, called, head, json},
};
use crate::{
    Server,
    http::{McpService, endpoint::Endpoint, serve::Options},
    server::{Dispatch, ServerHandle},
};

fn server(setup: impl FnOnce(Server) -> Server) -> (Arc<Dispatch>, ServerHandle) {
    let mut server = setup(Server::new("test", "1.0.0"));
    let handle = server.handle();
    (server.build().unwrap(), handle)
}

fn listen(filter: &Value) -> Value {
    let mut message = call("none");
    message["method"] = json!("subscriptions/listen");
    message["params"]["notifications"] = filter.clone();
    message
}

/// A connection on which the server has acknowledged a subscription to the list of tools.
async fn listening(served: &Served) -> Peer {
    let mut peer = served.connect().await;
    let body = listen(&json!({ "toolsListChanged": true })).to_string();
    let mirrored = "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: subscriptions/listen\r\n";
    peer.send(&format!("{}{mirrored}Content-Length: {}\r\n\r\n{body}", head(), body.len())).await;
    let begun = peer.read_until("}\n\n").await;
    assert!(begun.contains("text/event-stream") && begun.contains("subscriptions/acknowledged"), "{begun}");
    peer
}

#[tokio::test]
async fn listeners_on_different_connections_hear_of_a_change() {
    let (server, handle) = server(|server| server);
    let served = Served::start(Endpoint::new(server), Options::default()).await;
    let mut peers = [listening(&served).await, listening(&served).await];
    for _ in 0..3 {
        handle.tools_changed();
        for peer in &mut peers {
            peer.read_until("notifications/tools/list_changed").await;
        }
    }
}

#[tokio::test]
async fn stopping_ends_subscriptions_gracefully_and_at_once() {
    let (server, _handle) = server(|server| server);
    let options = Options { drain_timeout: SOON * 10, ..Options::default() };
    let served = Served::start(Endpoint::new(server), options).await;
    let mut peer = listening(&served).await;
    let running = served.stop();
    let end = peer.read_to_end().await;
    let reply = end.split_once("data: ").and_then(|(_, data)| data.split_once("\n\n")).expect("an event").0;
    let reply: Value = serde_json::from_str(reply).unwrap();
    assert_eq!(reply["result"]["resultType"], "complete");
    assert_eq!(reply["result"]["_meta"]["io.modelcontextprotocol/subscriptionId"], reply["id"]);
    assert!(end.ends_with("\r\n0\r\n\r\n"), "{end}");
    timeout(SOON, running).await.expect("stops soon").unwrap();
}

#[tokio::test]
async fn a_client_that_hangs_up_gives_its_place_to_another() {
    let (server, _handle) = server(|server| server.max_subscriptions(1));
    let served = Served::start(Endpoint::new(server.clone()), Options::default()).await;
    let first = listening(&served).await;
    let again = || {
        let mut request = called::<Full<Bytes>>("none", &listen(&json!({})));
        request.headers_mut().insert("mcp-method", "subscriptions/listen".parse().unwrap());
        McpService::new(server.clone()).oneshot(request)
    };
    let refused = again().await.unwrap();
    assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(json(refused).await["error"]["code"], -32603);

    drop(first);
    let accepted = async {
        while again().await.unwrap().status() != StatusCode::OK {
            tokio::task::yield_now().await;
        }
    };
    timeout(SOON, accepted).await.expect("makes room soon");
}

#[tokio::test(start_paused = true)]
async fn a_subscription_lasts_longer_than_any_handler_may() {
    let (server, handle) = server(|server| server.handler_time(Duration::from_secs(1)));
    let mut request = called::<Full<Bytes>>("none", &listen(&json!({ "toolsListChanged": true })));
    request.headers_mut().insert("mcp-method", "subscriptions/listen".parse().unwrap());
    let response = McpService::new(server).oneshot(request).await.unwrap();
    let closing = async {
        tokio::time::sleep(Duration::from_secs(86_400)).await;
        handle.tools_changed();
        handle.close_subscriptions();
    };
    let (stream, ()) = tokio::join!(super::world::text(response), closing);
    let methods: Vec<Value> = events(&stream).iter_mut().map(|event| event["method"].take()).collect();
    let (acknowledged, changed) = ("notifications/subscriptions/acknowledged", "notifications/tools/list_changed");
    assert_eq!(methods, [json!(acknowledged), json!(changed), json!(null)]);
    assert!(stream.contains(": keep-alive\n\n"));
}
