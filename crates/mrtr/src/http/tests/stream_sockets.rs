//! Streams over connections: clients that hang up, do not read, share a server, or see it stop.

use std::{sync::Arc, time::Duration};

use serde_json::json;
use tokio::{
    io::{AsyncWriteExt, duplex},
    sync::Semaphore,
    time::{Instant, sleep, timeout},
};

use super::{
    cancel::Guard,
    streams::{server, wanting},
    world::{SOON, Served, head, pass},
};
use crate::{
    Context, NoArguments,
    http::{
        accept,
        endpoint::Endpoint,
        health::{Health, Probes},
        serve::Options,
    },
    server::Dispatch,
};

/// A handler that says one thing, and then waits for the test.
#[derive(Clone)]
struct Held {
    finish: Arc<Semaphore>,
    dropped: Arc<Semaphore>,
}

impl Held {
    fn new() -> Self {
        Self { finish: Arc::new(Semaphore::new(0)), dropped: Arc::new(Semaphore::new(0)) }
    }

    fn server(&self) -> Arc<Dispatch> {
        let held = self.clone();
        server(move |_: NoArguments, cx: Context| {
            let (finish, guard) = (held.finish.clone(), Guard(held.dropped.clone()));
            async move {
                cx.progress(1.0, None, None);
                finish.acquire().await.unwrap().forget();
                drop(guard);
                "finished"
            }
        })
    }

    async fn serve(&self) -> Served {
        Served::start(Endpoint::new(self.server()), Options::default()).await
    }
}

/// The text of a POST that wants progress under this token.
fn post(token: &str) -> String {
    let body = wanting(&json!({ "progressToken": token })).to_string();
    let mirrored = "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: work\r\n";
    format!("{}{mirrored}Content-Length: {}\r\n\r\n{body}", head(), body.len())
}

#[tokio::test]
async fn a_client_that_closes_its_stream_cancels_the_handler() {
    let held = Held::new();
    let mut peer = held.serve().await.connect().await;
    peer.send(&post("p")).await;
    let begun = peer.read_until("\"progress\":1").await;
    assert!(begun.contains("text/event-stream"), "{begun}");
    assert_eq!(held.dropped.available_permits(), 0);

    drop(peer);
    pass(&held.dropped).await;
}

#[tokio::test]
async fn every_stream_carries_only_what_belongs_to_its_call() {
    let held = Held::new();
    let served = held.serve().await;
    let (mut one, mut two) = (served.connect().await, served.connect().await);
    one.send(&post("one")).await;
    two.send(&post("two")).await;
    let mut seen = [one.read_until("\"progress\":1").await, two.read_until("\"progress\":1").await];
    held.finish.add_permits(2);
    seen[0].push_str(&one.read_until("finished").await);
    seen[1].push_str(&two.read_until("finished").await);
    assert!(seen[0].contains("\"one\"") && !seen[0].contains("\"two\""), "{}", seen[0]);
    assert!(seen[1].contains("\"two\"") && !seen[1].contains("\"one\""), "{}", seen[1]);
}

#[tokio::test]
async fn a_connection_serves_on_after_a_stream() {
    let held = Held::new();
    held.finish.add_permits(2);
    let mut peer = held.serve().await.connect().await;
    for token in ["first", "second"] {
        peer.send(&post(token)).await;
        let seen = peer.read_until("\r\n0\r\n\r\n").await;
        assert!(seen.contains(token) && seen.contains("finished"), "{seen}");
    }
}

#[tokio::test]
async fn stopping_waits_for_streams_and_drops_those_that_outlast_the_drain_timeout() {
    let held = Held::new();
    let served = held.serve().await;
    let mut peer = served.connect().await;
    peer.send(&post("p")).await;
    peer.read_until("\"progress\":1").await;
    let stopping = served.stop();
    tokio::task::yield_now().await;
    assert!(!stopping.is_finished());
    held.finish.add_permits(1);
    assert!(peer.read_to_end().await.contains("finished"));
    timeout(SOON, stopping).await.expect("stops soon").unwrap();

    let options = Options { drain_timeout: Duration::from_millis(50), ..Options::default() };
    let served = Served::start(Endpoint::new(held.server()), options).await;
    let mut peer = served.connect().await;
    peer.send(&post("p")).await;
    peer.read_until("\"progress\":1").await;
    pass(&held.dropped).await;
    timeout(SOON, served.stop()).await.expect("stops soon").unwrap();
    pass(&held.dropped).await;
}

#[tokio::test(start_paused = true)]
async fn a_client_that_stops_reading_its_stream_is_given_up() {
    let dropped = Arc::new(Semaphore::new(0));
    let talks = server({
        let dropped = dropped.clone();
        move |_: NoArguments, cx: Context| {
            let guard = Guard(dropped.clone());
            async move {
                let text = "x".repeat(10_000);
                for progress in 0..u32::MAX {
                    cx.progress(progress.into(), None, Some(&text));
                    sleep(Duration::from_millis(1)).await;
                }
                drop(guard);
            }
        }
    });
    let (ours, mut theirs) = duplex(64 * 1024);
    let connection =
        accept::connection(ours, Endpoint::new(talks), &Options::default(), Arc::new(Health::new(Probes::default())));
    theirs.write_all(post("p").as_bytes()).await.unwrap();
    let start = Instant::now();
    connection.await.expect_err("nobody reads");
    assert!(start.elapsed() >= Duration::from_secs(30), "{:?}", start.elapsed());
    pass(&dropped).await;
    drop(theirs);
}
