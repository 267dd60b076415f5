//! Calls that last: what they tell, and the three ways they end.

use serde_json::{Value, json};

use super::world::{Client, call, cancel, server, text};
use crate::server::ServerHandle;
use crate::stdio::StdioServer;
use crate::{Context, NoArguments, Server, Tool};

/// A server that tells what changes, and what to tell it with.
fn telling() -> (StdioServer, ServerHandle) {
    let mut server = Server::new("test", "1").tool(Tool::new("ping", |_: NoArguments, _: Context| async { "pong" }));
    let handle = server.handle();
    (StdioServer::new(server.build().unwrap()), handle)
}

/// A client whose subscription of this id is acknowledged.
async fn subscribed(server: StdioServer, id: u64) -> Client {
    let mut client = Client::of(server);
    client.send(listen(id)).await;
    assert_eq!(client.read().await["method"], "notifications/subscriptions/acknowledged");
    client
}

fn listen(id: u64) -> Value {
    let mut request = call(id, "", json!({}));
    request["method"] = json!("subscriptions/listen");
    request["params"]["notifications"] = json!({ "toolsListChanged": true });
    request
}

/// That the subscription is over, in the order a client is told.
fn assert_ended(messages: &[Value], id: u64) {
    let [cancelled, result] = messages else { panic!("{messages:?}") };
    assert_eq!(
        (&cancelled["method"], &cancelled["params"]["requestId"]),
        (&json!("notifications/cancelled"), &json!(id))
    );
    assert_eq!((&result["id"], &result["result"]["resultType"]), (&json!(id), &json!("complete")));
    assert_eq!(result["result"]["_meta"]["io.modelcontextprotocol/subscriptionId"], id);
    assert!(result["result"]["_meta"]["io.modelcontextprotocol/serverInfo"]["name"].is_string(), "{result}");
}

#[tokio::test(start_paused = true)]
async fn a_subscription_tells_what_changes_beside_other_calls_until_the_client_cancels_it() {
    let (server, handle) = telling();
    let mut client = subscribed(server, 7).await;
    for id in 8..10 {
        handle.tools_changed();
        let told = client.read().await;
        assert_eq!(told["method"], "notifications/tools/list_changed");
        assert_eq!(told["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 7);
        client.send(call(id, "ping", json!({}))).await;
        assert_eq!(text(&client.read().await), "pong");
    }
    client.send(cancel(7)).await;
    client.nothing().await;
    handle.tools_changed();
    client.nothing().await;
}

#[tokio::test(start_paused = true)]
async fn a_subscription_that_the_server_ends_is_cancelled_and_completed() {
    let (server, handle) = telling();
    let mut client = subscribed(server, 7).await;
    handle.close_subscriptions();
    assert_ended(&[client.read().await, client.read().await], 7);
    client.nothing().await;
}

#[tokio::test(start_paused = true)]
async fn the_end_of_the_input_ends_subscriptions_at_once_and_leaves_those_of_others() {
    let (server, handle) = telling();
    let mut other = subscribed(server.clone(), 1).await;
    let client = subscribed(server, 7).await;
    let start = tokio::time::Instant::now();
    let (rest, served) = client.end().await;
    served.unwrap();
    assert_ended(&rest, 7);
    assert_eq!(start.elapsed().as_secs(), 0);
    handle.tools_changed();
    assert_eq!(other.read().await["method"], "notifications/tools/list_changed");
}

#[tokio::test(start_paused = true)]
async fn a_subscription_that_is_refused_has_a_reply_and_no_more() {
    let mut client = Client::of(server([]));
    client.send(listen(7)).await;
    assert_eq!(client.read().await["error"]["code"], -32601);
    client.nothing().await;
}
