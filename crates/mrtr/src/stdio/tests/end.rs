//! How serving ends: the input does, the client is gone, somebody says stop.

use std::future::pending;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncWriteExt, duplex};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, timeout};

use super::world::{Client, SOON, call, endless, pass, server, text};
use crate::stdio::calls::{Calls, Room};
use crate::stdio::{ServeError, StdioServer};
use crate::wire::Message;

#[tokio::test(start_paused = true)]
async fn at_the_end_of_the_input_running_calls_finish() {
    let mut client = Client::of(server([]));
    let start = Instant::now();
    client.send(call(1, "wait", json!({ "ms": 3000 }))).await;
    let (rest, served) = client.end().await;
    served.unwrap();
    assert_eq!(rest.iter().map(text).collect::<Vec<_>>(), ["waited 3000"]);
    assert_eq!(start.elapsed(), Duration::from_secs(3));
}

#[tokio::test(start_paused = true)]
async fn without_running_calls_the_end_of_the_input_is_the_end() {
    let start = Instant::now();
    let (rest, served) = Client::of(server([])).end().await;
    served.unwrap();
    assert_eq!((rest.len(), start.elapsed()), (0, Duration::ZERO));
}

#[tokio::test(start_paused = true)]
async fn calls_that_outlast_the_drain_timeout_are_dropped() {
    let (tool, started, dropped) = endless();
    let mut client = Client::of(server([tool]).drain_timeout(Duration::from_secs(9)));
    client.send(call(1, "endless", json!({}))).await;
    pass(&started).await;
    let start = Instant::now();
    let (rest, served) = client.end().await;
    served.unwrap();
    assert_eq!((rest.len(), start.elapsed()), (0, Duration::from_secs(9)));
    pass(&dropped).await;
}

#[tokio::test(start_paused = true)]
async fn many_requests_in_one_pipe_are_all_answered() {
    let requests: String = (0..3000).map(|id| call(id, "deploy", json!({})).to_string() + "\n").collect();
    let mut replies = Vec::new();
    server([]).serve(requests.as_bytes(), &mut replies).await.unwrap();
    let mut ids: Vec<u64> = String::from_utf8(replies)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["id"].as_u64().unwrap())
        .collect();
    ids.sort_unstable();
    assert!(ids.into_iter().eq(0..3000));
}

#[tokio::test(start_paused = true)]
async fn told_to_stop_it_reads_no_more_and_running_calls_finish() {
    let stop = Arc::new(Notify::new());
    let stopped = stop.clone();
    let mut client = Client::until(server([]), async move { stopped.notified().await });
    client.send(call(1, "wait", json!({ "ms": 100 }))).await;
    sleep(Duration::from_millis(10)).await;
    stop.notify_one();
    sleep(Duration::from_millis(10)).await;
    let reply = client.read().await;
    assert_eq!(text(&reply), "waited 100");
    timeout(SOON, client.leave()).await.expect("an end").unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn told_to_stop_after_the_input_has_ended_it_stops_at_once() {
    let (tool, started, dropped) = endless();
    let stop = Arc::new(Notify::new());
    let stopped = stop.clone();
    let mut client = Client::until(server([tool]), async move { stopped.notified().await });
    client.send(call(1, "endless", json!({}))).await;
    pass(&started).await;
    let start = Instant::now();
    let end = tokio::spawn(client.end());
    sleep(Duration::from_millis(10)).await;
    stop.notify_one();
    end.await.unwrap().1.unwrap();
    assert_eq!(start.elapsed(), Duration::from_millis(10));
    pass(&dropped).await;
}

#[tokio::test(start_paused = true)]
async fn a_client_that_is_gone_ends_everything_and_is_no_error() {
    let (tool, started, dropped) = endless();
    let mut client = Client::of(server([tool]));
    client.send(call(1, "endless", json!({}))).await;
    pass(&started).await;
    let (mut input, served) = client.stop_reading();
    input.write_all(format!("{}\n", call(2, "wait", json!({ "ms": 1 }))).as_bytes()).await.unwrap();
    timeout(SOON, served).await.expect("an end").unwrap().unwrap();
    pass(&dropped).await;
}

#[tokio::test(start_paused = true)]
async fn a_client_that_never_reads_does_not_hold_up_the_end() {
    let (writer, _unread) = duplex(16);
    let request = call(1, "wait", json!({ "ms": 1 })).to_string();
    let start = Instant::now();
    server([]).serve(request.as_bytes(), writer).await.unwrap();
    assert_eq!(start.elapsed(), Duration::from_secs(5));
}

#[tokio::test(start_paused = true)]
async fn dropping_the_future_drops_the_calls() {
    let (tool, started, dropped) = endless();
    let mut client = Client::of(server([tool]));
    client.send(call(1, "endless", json!({}))).await;
    pass(&started).await;
    client.served.abort();
    pass(&dropped).await;
}

#[tokio::test(start_paused = true)]
async fn an_input_that_breaks_is_an_error_after_what_runs_has_finished() {
    struct Breaks(Option<String>);
    impl tokio::io::AsyncRead for Breaks {
        fn poll_read(
            mut self: std::pin::Pin<&mut Self>,
            _: &mut std::task::Context<'_>,
            buffer: &mut tokio::io::ReadBuf<'_>,
        ) -> std::task::Poll<io::Result<()>> {
            std::task::Poll::Ready(match self.0.take() {
                Some(text) => {
                    buffer.put_slice(text.as_bytes());
                    Ok(())
                }
                None => Err(io::ErrorKind::PermissionDenied.into()),
            })
        }
    }
    let request = call(1, "wait", json!({ "ms": 100 })).to_string() + "\n";
    let mut replies = Vec::new();
    let served = server([]).serve(Breaks(Some(request)), &mut replies).await;
    assert!(matches!(served, Err(ServeError::Read(_))), "{served:?}");
    assert!(String::from_utf8(replies).unwrap().contains("waited 100"));
}

#[tokio::test(start_paused = true)]
async fn subscriptions_end_with_a_word_and_other_calls_go_on() {
    let calls = Calls::new(Room { calls: 9, bytes: 9 }, r#""i":{}"#);
    let open = |id: &str, method: &str| {
        let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}"}}"#);
        let Ok(Message::Request(request)) = Message::parse(body.as_bytes()) else { panic!("{body}") };
        calls.open(&request, 1).unwrap()
    };
    let (first, other) = (open("1", "subscriptions/listen"), open("2", "tools/call"));
    open("\"b\"", "subscriptions/listen");
    // The first one is acknowledged, the last one not yet.
    assert!(calls.tell(first, "{}".into()) && calls.tell(other, "{}".into()));
    assert_eq!(calls.try_next(), Some(b"{}".to_vec()));
    calls.close();
    assert!(!calls.tell(first, "{}".into()) && calls.tell(other, "[]".into()));
    let cancelled =
        |id: &str| format!(r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#);
    let graceful = r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","_meta":{"io.modelcontextprotocol/subscriptionId":1,"i":{}}}}"#;
    for text in ["{}", &cancelled("1"), graceful, &cancelled("\"b\""), "[]"] {
        assert_eq!(calls.try_next().map(String::from_utf8), Some(Ok(text.to_owned())));
    }
    assert!(timeout(SOON, calls.next()).await.is_err(), "the other call is still at work");
    calls.fail(other);
    assert!(calls.next().await.is_some());
    assert_eq!(calls.next().await, None);
}

#[test]
fn one_server_serves_many_connections_on_any_runtime_thread() {
    fn sendable(_: impl Future<Output = Result<(), ServeError>> + Send + 'static) {}
    fn check(server: StdioServer) {
        let (reader, writer) = tokio::io::split(duplex(1).0);
        sendable(server.clone().serve_until(reader, writer, pending()));
        sendable(server.run());
    }
    let _ = check;
}
