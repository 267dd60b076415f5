//! Whose timers a handler has: the transport's, unless the server was given a clock of its own.

use std::{future::Future, sync::Arc, time::Duration};

use bytes::Bytes;
use http_body_util::Full;
use serde_json::Value;
use tower::ServiceExt;

use super::world::{call, called, json};
use crate::{
    Context, NoArguments, Server, Tool, ToolError,
    http::McpService,
    server::{Dispatch, Incoming, SystemClock},
};

/// A server of two tools: one sleeps for a minute and is given a second, one polls until the fifth look.
fn server(change: impl FnOnce(Server) -> Server) -> Arc<Dispatch> {
    let sleeps = async |_: NoArguments, _: Context| {
        tokio::time::sleep(Duration::from_secs(60)).await;
        "slept"
    };
    let polls = async |_: NoArguments, cx: Context| {
        let mut looks = 0;
        let fifth = cx.until("fifth", || {
            looks += 1;
            std::future::ready((looks == 5).then_some(looks))
        });
        Ok::<_, ToolError>(fifth.every(Duration::from_millis(100)).await?.to_string())
    };
    let server = Server::new("releases", "1.0.0").handler_time(Duration::from_secs(1));
    change(server.tool(Tool::new("sleeps", sleeps)).tool(Tool::new("polls", polls))).build().unwrap()
}

async fn over_http(server: Arc<Dispatch>, tool: &str) -> Value {
    json(McpService::new(server).oneshot(called::<Full<Bytes>>(tool, &call(tool))).await.unwrap()).await
}

fn directly(server: Arc<Dispatch>, tool: &str) -> impl Future<Output = Value> {
    let body = call(tool).to_string();
    async move { serde_json::from_slice(&server.handle(Incoming::new(body.as_bytes())).await.body).unwrap() }
}

#[tokio::test(start_paused = true)]
async fn over_http_waits_are_held_and_handlers_limited() {
    assert_eq!(over_http(server(|server| server), "polls").await["result"]["content"][0]["text"], "5");
    assert_eq!(over_http(server(|server| server), "sleeps").await["error"]["code"], -32603);
}

#[tokio::test(start_paused = true)]
async fn a_message_that_comes_without_a_clock_has_no_timers_even_within_a_runtime() {
    assert_eq!(directly(server(|server| server), "polls").await["result"]["resultType"], "input_required");
    assert_eq!(directly(server(|server| server), "sleeps").await["result"]["content"][0]["text"], "slept");
}

#[tokio::test(start_paused = true)]
async fn a_clock_given_to_the_server_is_the_one_that_counts() {
    let untimed = || server(|server| server.clock(Arc::new(SystemClock)));
    assert_eq!(over_http(untimed(), "polls").await["result"]["resultType"], "input_required");
    assert_eq!(over_http(untimed(), "sleeps").await["result"]["content"][0]["text"], "slept");
}
