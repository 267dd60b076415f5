//! The HTTP transport against a real port.

use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use tokio::net::TcpListener;

use super::*;
use crate::client::{Event, InvalidUrl};

/// Serves one handler on a free port and returns its URL.
async fn serve(handler: impl Fn(HeaderMap, Bytes) -> Response + Clone + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let app = Router::new().route("/mcp", post(async move |headers, body| handler(headers, body)));
    tokio::spawn(async move { axum::serve(listener, app).await });
    url
}

fn events(text: &'static str) -> Response {
    ([(header::CONTENT_TYPE, "text/event-stream; charset=utf-8")], text).into_response()
}

async fn call_url(url: &str) -> Result<Output, CallError> {
    Client::new(url).unwrap().call_tool("t", json!({})).await
}

#[tokio::test]
async fn json_is_read_and_the_headers_go_both_ways() {
    let url = serve(|headers, _| {
        let said =
            |name| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok()).unwrap_or("-").to_owned();
        let names = ["content-type", "accept", "mcp-protocol-version", "mcp-method", "mcp-name", "authorization"];
        let text = names.map(said).join(" | ");
        ([("x-mrtr-instance", "b")], done(&text).replace(r#""ID""#, "1")).into_response()
    })
    .await;
    let client = Client::new(&url)
        .unwrap()
        .header(HeaderName::from_static("authorization"), HeaderValue::from_static("Bearer x"));
    let output = client.call_tool("é", json!({})).await.unwrap();
    assert_eq!(
        output.text(),
        "application/json | application/json, text/event-stream | 2026-07-28 | tools/call | =?base64?w6k=?= | Bearer x"
    );
    assert_eq!(output.rounds[0].header("x-mrtr-instance"), Some("b"));
}

#[tokio::test]
async fn events_before_the_response_go_to_the_observer() {
    let url = serve(|_, _| {
        events(concat!(
            ": keep-alive\n\n",
            "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{}}\n\n",
            "event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\ndata: \"result\":{\"content\":[]}}\n\n",
            "data: never read\n\n",
        ))
    })
    .await;
    let notified = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&notified);
    let client = Client::new(&url).unwrap().observer(move |event: &Event<'_>| {
        if let Event::Notification { body, .. } = event {
            log.lock().unwrap().push((*body).to_owned());
        }
    });
    let output = client.call_tool("t", json!({})).await.unwrap();
    assert_eq!(output.result.get(), r#"{"content":[]}"#);
    assert_eq!(notified.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn a_stream_that_ends_early_is_an_error() {
    let url = serve(|_, _| events("data: {\"method\":\"notifications/progress\"}\n\n")).await;
    let error = call_url(&url).await.unwrap_err();
    assert_eq!(error.to_string(), format!("{url} ended its event stream without a response"));
}

#[tokio::test]
async fn long_responses_are_cut_off() {
    for kind in ["application/json", "text/event-stream"] {
        let url = serve(move |_, _| ([(header::CONTENT_TYPE, kind)], "x".repeat(2000)).into_response()).await;
        let client = Client::new(&url).unwrap().max_response_bytes(1000);
        let error = client.call_tool("t", json!({})).await.unwrap_err();
        assert_eq!(error.to_string(), format!("the response of {url} is longer than 1000 bytes"));
    }
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let url =
        serve(|_, _| (StatusCode::TEMPORARY_REDIRECT, [(header::LOCATION, "http://127.0.0.1:1/")]).into_response())
            .await;
    let error = call_url(&url).await.unwrap_err();
    assert!(error.to_string().contains("redirects to http://127.0.0.1:1/, which is not followed"));
}

#[tokio::test]
async fn a_server_that_is_not_there_is_named() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    drop(listener);
    let error = call_url(&url).await.unwrap_err().to_string();
    assert!(error.starts_with(&format!("cannot connect to {url}: Connection refused")), "{error}");
}

#[tokio::test]
async fn dropping_the_call_closes_the_connection() {
    let (dropped, mut was_dropped) = tokio::sync::mpsc::unbounded_channel::<()>();
    let url = serve(move |_, _| {
        // A body that never ends, and holds a sender for as long as somebody listens.
        let dropped = dropped.clone();
        let endless = futures_util::stream::unfold(dropped, async |dropped| {
            tokio::time::sleep(Duration::from_millis(5)).await;
            Some((Ok::<_, std::io::Error>(Bytes::from_static(b":\n\n")), dropped))
        });
        ([(header::CONTENT_TYPE, "text/event-stream")], Body::from_stream(endless)).into_response()
    })
    .await;
    let client = Client::new(&url).unwrap();
    let call = tokio::time::timeout(Duration::from_millis(100), client.call_tool("t", json!({})));
    assert!(call.await.is_err());
    drop(client);
    // The handler's own sender lives as long as the server, so only the count tells: one left.
    let alone = async {
        while was_dropped.sender_strong_count() > 1 {
            tokio::time::sleep(Duration::from_millis(5)).await
        }
    };
    tokio::time::timeout(Duration::from_secs(5), alone).await.expect("the server notices");
    was_dropped.close();
}

#[test]
fn urls_are_checked_before_anything_is_sent() {
    let refused = |url: &str| Client::new(url).map(|_| ()).map_err(|error: InvalidUrl| error.to_string()).unwrap_err();
    assert!(refused("127.0.0.1:8080").starts_with("cannot call \"127.0.0.1:8080\": "));
    assert!(refused("ftp://host/").ends_with("expected a URL that begins with http:// or https://"));
    let secret = refused("http://user:secret@host/");
    assert!(secret.contains("Authorization header") && !secret.contains("secret@"), "{secret}");
}

#[tokio::test]
async fn an_error_page_in_another_encoding_does_not_hide_the_status() {
    let page = |status| {
        move |_: HeaderMap, _: Bytes| {
            Response::builder().status(status).body(Body::from(&b"Passerelle d\xe9faillante"[..])).unwrap()
        }
    };
    let url = serve(page(StatusCode::BAD_GATEWAY)).await;
    assert_eq!(
        call_url(&url).await.unwrap_err().to_string(),
        format!("{url} answered HTTP 502 (Passerelle d\u{fffd}faillante)")
    );
    let url = serve(page(StatusCode::OK)).await;
    assert!(
        call_url(&url).await.unwrap_err().to_string().contains("sent a response that cannot be read: invalid utf-8")
    );
}
