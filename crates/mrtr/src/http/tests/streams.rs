//! Calls that say something while they run: what their clients see of it, and when it ends.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use http::{Response, StatusCode};
use http_body_util::{BodyExt, Full};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::{
    sync::Semaphore,
    time::{Instant, sleep, timeout},
};
use tower::ServiceExt;

use super::{
    cancel::Guard,
    world::{SOON, call, called, pass, text},
};
use crate::{
    Context, IntoToolResult, LogLevel, NoArguments, Server, Tool, ToolError,
    http::{McpService, body::ResponseBody},
    server::Dispatch,
};

/// A server of one tool, `work`; its handlers have ten seconds.
pub(super) fn server<Fut, R>(work: impl Fn(NoArguments, Context) -> Fut + Send + Sync + 'static) -> Arc<Dispatch>
where
    Fut: Future<Output = R> + Send + 'static,
    R: IntoToolResult,
{
    let server = Server::new("works", "1.0.0").logging().handler_time(Duration::from_secs(10));
    server.tool(Tool::new("work", work)).build().unwrap()
}

/// A call of it by a client that wants to be told.
pub(super) fn wanting(wants: &Value) -> Value {
    let mut message = call("work");
    let meta = message["params"]["_meta"].as_object_mut().unwrap();
    meta.extend(wants.as_object().unwrap().clone());
    message
}

fn progress() -> Value {
    json!({ "progressToken": "p" })
}

async fn ask(server: Arc<Dispatch>, wants: Value) -> Response<ResponseBody> {
    McpService::new(server).oneshot(called::<Full<Bytes>>("work", &wanting(&wants))).await.unwrap()
}

/// The events of a stream, comments left out.
pub(super) fn events(stream: &str) -> Vec<Value> {
    let data = stream.split_terminator("\n\n").filter_map(|event| event.strip_prefix("data: "));
    data.map(|json| serde_json::from_str(json).unwrap()).collect()
}

/// What a whole stream says: the progress in it, and what came last.
async fn told(response: Response<ResponseBody>) -> (Vec<f64>, Value) {
    assert_eq!(response.status(), StatusCode::OK);
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    let mut events = events(&text(response).await);
    let last = events.pop().expect("a reply");
    (events.iter().map(|event| event["params"]["progress"].as_f64().expect("progress")).collect(), last)
}

async fn next(body: &mut ResponseBody) -> String {
    let frame = timeout(SOON * 10, body.frame()).await.expect("comes soon").expect("not the end").unwrap();
    String::from_utf8(frame.into_data().unwrap().to_vec()).unwrap()
}

#[tokio::test(start_paused = true)]
async fn progress_goes_out_as_it_is_made_and_the_reply_is_the_last_event() {
    let server = server(async |_: NoArguments, cx: Context| {
        cx.progress(1.0, Some(2.0), Some("half\nway"));
        sleep(Duration::from_secs(1)).await;
        cx.progress(2.0, Some(2.0), None);
        "done"
    });
    let response = ask(server, progress()).await;
    for (name, value) in
        [("content-type", "text/event-stream"), ("cache-control", "no-cache"), ("x-accel-buffering", "no")]
    {
        assert_eq!(response.headers()[name], value);
    }
    let mut body = response.into_body();
    assert_eq!(
        next(&mut body).await,
        "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":\
         {\"progressToken\":\"p\",\"progress\":1,\"total\":2,\"message\":\"half\\nway\"}}\n\n"
    );
    let end = events(&next(&mut body).await);
    assert_eq!((end[0]["params"]["progress"].as_i64(), &end[1]["id"]), (Some(2), &json!(1)));
    assert_eq!(end[1]["result"]["content"][0]["text"], "done");
    assert!(body.frame().await.is_none());
}

#[tokio::test]
async fn a_call_that_is_done_before_it_waits_streams_what_it_said_too() {
    let server = server(async |_: NoArguments, cx: Context| cx.progress(1.0, None, None));
    let (told, reply) = told(ask(server, progress()).await).await;
    assert_eq!((told, &reply["result"]["resultType"]), (vec![1.0], &json!("complete")));
}

#[tokio::test]
async fn a_client_that_did_not_ask_gets_plain_json() {
    let server = server(async |_: NoArguments, cx: Context| {
        cx.progress(1.0, None, None);
        cx.log(LogLevel::Emergency, "fire");
        tokio::task::yield_now().await;
        "done"
    });
    let response = ask(server, json!({})).await;
    assert_eq!(response.headers()["content-type"], "application/json");
    let reply: Value = serde_json::from_str(&text(response).await).unwrap();
    assert_eq!(reply["result"]["content"][0]["text"], "done");
}

#[tokio::test]
async fn log_messages_are_those_as_grave_as_the_client_asked_for() {
    let server = server(async |_: NoArguments, cx: Context| {
        cx.log(LogLevel::Info, "reading");
        cx.log(LogLevel::Error, json!({ "row": 3 }));
        tokio::task::yield_now().await;
        cx.log_from("db", LogLevel::Alert, "gone");
    });
    let response = ask(server, json!({ "io.modelcontextprotocol/logLevel": "error" })).await;
    let events = events(&text(response).await);
    assert_eq!(events.len(), 3);
    assert_eq!(events[0]["params"], json!({ "level": "error", "data": { "row": 3 } }));
    assert_eq!(events[1]["params"], json!({ "level": "alert", "logger": "db", "data": "gone" }));
}

#[tokio::test(start_paused = true)]
async fn what_fails_after_the_stream_began_is_its_last_event() {
    let fails = server(async |_: NoArguments, cx: Context| {
        cx.progress(1.0, None, None);
        tokio::task::yield_now().await;
        Err::<String, _>(ToolError::new("no space left"))
    });
    let (_, reply) = told(ask(fails, progress()).await).await;
    assert_eq!(reply["result"]["isError"], true);

    let panics = server(async |_: NoArguments, cx: Context| {
        cx.progress(1.0, None, None);
        tokio::task::yield_now().await;
        assert!(cx.operation_id().is_empty(), "this is a test");
    });
    let (_, reply) = told(ask(panics, progress()).await).await;
    assert_eq!(reply["error"]["code"], -32603);

    let hangs = server(async |_: NoArguments, cx: Context| {
        cx.progress(1.0, None, None);
        std::future::pending::<()>().await;
    });
    let (said, reply) = told(ask(hangs, progress()).await).await;
    assert_eq!((said, &reply["error"]["code"]), (vec![1.0], &json!(-32603)));
}

#[derive(Deserialize, JsonSchema)]
struct Confirm {
    confirm: bool,
}

#[tokio::test]
async fn a_question_after_progress_is_the_last_event() {
    let asks = server(async |_: NoArguments, cx: Context| {
        cx.progress(1.0, None, None);
        let answer: Confirm = cx.elicit("confirm", "Go on?").await?;
        Ok::<_, ToolError>(answer.confirm.to_string())
    });
    let (said, reply) = told(ask(asks, progress()).await).await;
    assert_eq!((said, &reply["result"]["resultType"]), (vec![1.0], &json!("input_required")));
    assert_eq!(reply["result"]["inputRequests"]["confirm"]["params"]["message"], "Go on?");
}

#[tokio::test]
async fn a_stream_that_is_dropped_drops_the_handler() {
    let dropped = Arc::new(Semaphore::new(0));
    let hangs = server({
        let dropped = dropped.clone();
        move |_: NoArguments, cx: Context| {
            let guard = Guard(dropped.clone());
            async move {
                cx.progress(1.0, None, None);
                std::future::pending::<()>().await;
                drop(guard);
            }
        }
    });
    let mut body = ask(hangs, progress()).await.into_body();
    next(&mut body).await;
    assert_eq!(dropped.available_permits(), 0);
    drop(body);
    pass(&dropped).await;
}

#[tokio::test(start_paused = true)]
async fn a_silent_stream_says_that_it_is_still_there() {
    let slow = server(async |_: NoArguments, cx: Context| {
        cx.progress(1.0, None, None);
        sleep(Duration::from_secs(5)).await;
        cx.progress(2.0, None, None);
        sleep(Duration::from_secs(4)).await;
    });
    let service = McpService::new(slow).keep_alive(Duration::from_secs(2));
    let request = called::<Full<Bytes>>("work", &wanting(&progress()));
    let mut body = service.clone().oneshot(request.clone()).await.unwrap().into_body();
    let (start, mut seen) = (Instant::now(), Vec::new());
    while let Some(frame) = body.frame().await {
        let is_comment = &frame.unwrap().into_data().unwrap()[..] == b": keep-alive\n\n";
        seen.push((start.elapsed().as_secs(), is_comment));
    }
    // The silence is counted from what was sent last; the end comes before the comment that is due with it.
    assert_eq!(seen, [(0, false), (2, true), (4, true), (5, false), (7, true), (9, false)]);

    let off = service.keep_alive(Duration::ZERO).oneshot(request).await.unwrap();
    assert!(!text(off).await.contains("keep-alive"));
}

#[tokio::test]
async fn a_flood_is_bounded_and_the_reply_still_arrives() {
    let floods = server(async |_: NoArguments, cx: Context| {
        for progress in 1..=10_000 {
            cx.progress(f64::from(progress), None, None);
        }
        "done"
    });
    let (said, reply) = told(ask(floods, progress()).await).await;
    assert_eq!(said, (1..=256).map(f64::from).collect::<Vec<_>>());
    assert_eq!(reply["result"]["content"][0]["text"], "done");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_another_thread_says_wakes_the_stream() {
    let go = Arc::new(Semaphore::new(0));
    let spawns = server({
        let go = go.clone();
        move |_: NoArguments, cx: Context| {
            let go = go.clone();
            async move {
                let elsewhere = tokio::spawn(async move {
                    cx.progress(1.0, None, None);
                    for progress in 2..=3 {
                        pass(&go).await;
                        cx.progress(progress.into(), None, None);
                    }
                    pass(&go).await;
                });
                elsewhere.await.unwrap();
                "done"
            }
        }
    });
    let mut body = ask(spawns, progress()).await.into_body();
    for said in 1..=3 {
        assert_eq!(events(&next(&mut body).await)[0]["params"]["progress"], said);
        go.add_permits(1);
    }
    assert_eq!(events(&next(&mut body).await)[0]["id"], 1);
}
