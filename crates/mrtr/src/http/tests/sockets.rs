//! Peers that are slow, rude, eager or broken, over real connections.

use std::{sync::Arc, time::Duration};

use tokio::io::AsyncWriteExt;

use super::world::{Echo, Gate, Served, endpoint, head, post};
use crate::http::{endpoint::Endpoint, serve::Options};

async fn echo() -> Served {
    Served::start(endpoint(Echo, |_| {}), Options::default()).await
}

#[tokio::test]
async fn one_connection_serves_many_requests() {
    let mut peer = echo().await.connect().await;
    for body in ["{}", "[]", "{}"] {
        peer.send(&post(body)).await;
        let answer = peer.read_until("caller").await;
        assert!(answer.contains(&format!(r#""body":"{body}""#)), "{answer}");
    }
}

#[tokio::test]
async fn pipelined_requests_are_answered_in_order() {
    let mut peer = echo().await.connect().await;
    let get = "GET /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n";
    peer.send(&format!("{}{}{get}{}", post("1"), post("2"), post("3"))).await;
    let answers = peer.read_until(r#""body":"3""#).await;
    let places: Vec<_> = [r#""body":"1""#, r#""body":"2""#, "405", r#""body":"3""#]
        .iter()
        .map(|mark| answers.find(mark).expect(mark))
        .collect();
    assert!(places.is_sorted(), "{answers}");
}

#[tokio::test]
async fn another_path_is_not_found_and_says_where_the_endpoint_is() {
    let mut peer = echo().await.connect().await;
    peer.send(&post("{}").replace("/mcp", "/mcp/")).await;
    let answer = peer.read_until("POST to /mcp\"").await;
    assert!(answer.starts_with("HTTP/1.1 404"), "{answer}");
    assert!(answer.contains("application/json"), "{answer}");

    peer.send(&post("{}").replace("/mcp", "/mcp?key=value")).await;
    peer.read_until("HTTP/1.1 200").await;
}

#[tokio::test]
async fn a_request_without_a_host_is_a_bad_request() {
    for version in ["1.0", "1.1"] {
        let mut peer = echo().await.connect().await;
        let without = post("{}").replace("Host: localhost\r\n", "").replace("HTTP/1.1", &format!("HTTP/{version}"));
        peer.send(&without).await;
        let answer = peer.read_until("\r\n\r\n").await;
        assert!(answer.contains("400 Bad Request"), "{answer}");
    }
}

#[tokio::test]
async fn headers_that_trickle_in_end_the_connection() {
    let options = Options { header_timeout: Duration::from_millis(100), ..Options::default() };
    let served = Served::start(endpoint(Echo, |_| {}), options).await;
    let mut peer = served.connect().await;
    peer.send("POST /mcp HTTP/1.1\r\nHost: local").await;
    assert_eq!(peer.read_to_end().await, "");
}

#[tokio::test]
async fn a_body_that_trickles_in_is_answered_with_408() {
    let hasty = endpoint(Echo, |rules| rules.body.time = Duration::from_millis(100));
    let mut peer = Served::start(hasty, Options::default()).await.connect().await;
    peer.send(&format!("{}Content-Length: 100\r\n\r\n{{", head())).await;
    let answer = peer.read_to_end().await;
    assert!(answer.starts_with("HTTP/1.1 408"), "{answer}");
}

#[tokio::test]
async fn a_chunked_body_over_the_limit_is_answered_with_413() {
    let small = endpoint(Echo, |rules| rules.body.bytes = 10);
    let mut peer = Served::start(small, Options::default()).await.connect().await;
    peer.send(&format!("{}Transfer-Encoding: chunked\r\n\r\n", head())).await;
    peer.send("8\r\n01234567\r\n8\r\n01234567\r\n").await;
    let answer = peer.read_to_end().await;
    assert!(answer.starts_with("HTTP/1.1 413"), "{answer}");
}

#[tokio::test]
async fn a_client_still_sending_a_body_too_large_gets_to_read_why() {
    let served = echo().await;
    let mut peer = served.connect().await;
    let size = 64 * 1024 * 1024;
    peer.send(&format!("{}Content-Length: {size}\r\n\r\n", head())).await;
    // More than the limit and than both socket buffers: without the server reading on, this would block.
    for _ in 0..size / 65536 {
        peer.0.write_all(&[b' '; 65536]).await.unwrap();
    }
    let answer = peer.read_to_end().await;
    assert!(answer.starts_with("HTTP/1.1 413") && answer.contains("4194304 bytes"), "{answer}");
}

#[tokio::test]
async fn a_client_that_asks_before_sending_is_told_no() {
    let mut peer = echo().await.connect().await;
    peer.send(&format!("{}Expect: 100-continue\r\nContent-Length: 99999999\r\n\r\n", head())).await;
    let answer = peer.read_to_end().await;
    assert!(answer.starts_with("HTTP/1.1 413"), "{answer}");
}

#[tokio::test]
async fn a_body_cut_off_mid_way_ends_its_connection_only() {
    let gate = Arc::new(Gate::default());
    let served = Served::start(Endpoint::new(gate.clone()), Options::default()).await;
    let mut peer = served.connect().await;
    peer.send(&format!("{}Content-Length: 100\r\n\r\n{{", head())).await;
    drop(peer);

    gate.finish.add_permits(1);
    let mut next = served.connect().await;
    next.send(&post("{}")).await;
    next.read_until("finished").await;
    assert_eq!(gate.started.available_permits(), 1, "the broken request never reached the server");
}

#[tokio::test]
async fn bytes_that_are_not_http_end_the_connection() {
    for garbage in ["\0\u{1}\u{2}\r\n\r\n", "POST\r\n\r\n", "\u{16}\u{3}\u{1}\0\r\n", "POST /mcp HTTP/9.9\r\n\r\n"] {
        let mut peer = echo().await.connect().await;
        peer.send(garbage).await;
        let answer = peer.read_to_end().await;
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 400"), "{answer}");
    }
}
