//! Liveness and readiness, as supervisors and load balancers ask for them.

use std::{
    future::pending,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use http::{Method, StatusCode};
use tokio::time::{Instant, advance};

use super::world::{Echo, Served, endpoint, logged};
use crate::{
    http::{HttpServer, McpService, health::Health, serve::Options},
    server::Server,
};

fn server() -> HttpServer {
    HttpServer::new(McpService::new(Server::new("releases", "1.0.0").build().unwrap()))
}

fn health(mut server: HttpServer) -> Health {
    Health::new(server.options_mut().probes.clone())
}

async fn status(health: &Health, path: &str) -> StatusCode {
    health.answer(&Method::GET, path).await.expect("a probe").status()
}

/// What a served endpoint answers to this request.
async fn answer(options: Options, request: &str) -> String {
    let mut peer = Served::start(endpoint(Echo, |_| {}), options).await.connect().await;
    peer.send(&format!("{request}Connection: close\r\n\r\n")).await;
    peer.read_to_end().await
}

#[tokio::test]
async fn a_probe_is_answered_whoever_asks_under_whatever_name() {
    for path in ["/livez", "/readyz", "/readyz?verbose"] {
        for named in ["", "Host: 10.1.2.3:8080\r\n", "Host: evil.example\r\nOrigin: https://evil.example\r\n"] {
            let answer = answer(Options::default(), &format!("GET {path} HTTP/1.1\r\n{named}")).await;
            assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("\r\n\r\nok\n"), "{answer}");
            assert!(answer.contains("cache-control: no-store\r\n"), "{answer}");
        }
    }
}

#[tokio::test]
async fn a_probe_may_be_asked_for_its_head_and_for_nothing_else() {
    let head = answer(Options::default(), "HEAD /readyz HTTP/1.1\r\nHost: a\r\n").await;
    assert!(head.starts_with("HTTP/1.1 200") && head.ends_with("\r\n\r\n"), "{head}");

    let post = answer(Options::default(), "POST /readyz HTTP/1.1\r\nHost: a\r\n").await;
    assert!(post.starts_with("HTTP/1.1 405") && post.contains("allow: GET, HEAD\r\n"), "{post}");
}

#[tokio::test]
async fn the_paths_are_the_operators_and_there_may_be_none() {
    let moved = health(server().live_path("/alive").ready_path("/healthz"));
    assert_eq!(status(&moved, "/alive").await, StatusCode::OK);
    assert_eq!(status(&moved, "/healthz").await, StatusCode::OK);
    assert!(moved.answer(&Method::GET, "/livez").await.is_none());

    let none = health(server().without_probes());
    assert!(none.answer(&Method::GET, "/livez").await.is_none());
    assert!(none.answer(&Method::GET, "/readyz").await.is_none());
}

#[tokio::test]
async fn an_endpoint_at_a_probes_path_stays_the_endpoint() {
    let options = Options { path: Arc::from("/readyz"), ..Options::default() };
    let answer = answer(options, "GET /readyz HTTP/1.1\r\nHost: localhost\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 405") && answer.contains("allow: POST"), "{answer}");
}

#[tokio::test(start_paused = true)]
async fn a_server_is_ready_only_while_every_check_succeeds_and_each_change_is_logged() {
    let up = Arc::new(AtomicBool::new(true));
    let store = up.clone();
    let health = health(server().ready_when(async || Ok::<_, String>(())).ready_when(move || {
        let is_up = store.load(Ordering::Relaxed);
        async move { if is_up { Ok(()) } else { Err("the store is gone") } }
    }));
    let (log, _guard) = logged();
    let (yes, no) = (StatusCode::OK, StatusCode::SERVICE_UNAVAILABLE);
    for (expected, said) in [(yes, ""), (no, "the store is gone"), (no, ""), (yes, "ready again"), (yes, "")] {
        up.store(expected == StatusCode::OK, Ordering::Relaxed);
        assert_eq!(status(&health, "/readyz").await, expected);
        assert_eq!(status(&health, "/livez").await, StatusCode::OK, "a restart would not bring the store back");
        let logged = log.take();
        assert!(logged.contains(said) && logged.is_empty() == said.is_empty(), "{logged}");
        advance(Duration::from_secs(1)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_check_that_hangs_has_failed_after_a_second() {
    let health = health(server().ready_when(pending::<Result<(), String>>));
    let start = Instant::now();
    assert_eq!(status(&health, "/readyz").await, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(start.elapsed().as_secs(), 1);
}

#[tokio::test(start_paused = true)]
async fn many_who_ask_cost_one_check_a_second() {
    let runs = Arc::new(AtomicUsize::new(0));
    let counted = runs.clone();
    let health = health(server().ready_when(move || {
        counted.fetch_add(1, Ordering::Relaxed);
        async {
            tokio::time::sleep(Duration::from_millis(10)).await;
            Ok::<_, String>(())
        }
    }));
    let (one, other) = tokio::join!(status(&health, "/readyz"), status(&health, "/readyz"));
    assert_eq!((one, other), (StatusCode::OK, StatusCode::OK));
    assert_eq!(runs.load(Ordering::Relaxed), 1);

    advance(Duration::from_secs(1)).await;
    status(&health, "/readyz").await;
    assert_eq!(runs.load(Ordering::Relaxed), 2);
}

#[tokio::test]
async fn a_server_that_is_leaving_is_alive_and_not_ready() {
    let health = health(server());
    health.drain.leave();
    assert_eq!(status(&health, "/readyz").await, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(status(&health, "/livez").await, StatusCode::OK);
}
