//! Every way to be turned away, and what a refusal looks like.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, StatusCode, Uri, header};
use http_body_util::Full;
use serde_json::Value;

use super::world::{Echo, End, Fixed, Script, endpoint, request, text};
use crate::{Principal, http::ResponseBody};

async fn respond(spoil: impl FnOnce(&mut Request<Full<Bytes>>)) -> Response<ResponseBody> {
    let mut request = request(Full::from("{}"));
    spoil(&mut request);
    endpoint(Echo, |_| {}).respond(request).await
}

/// Asserts the status and a JSON-RPC error without an id, whose message says this.
async fn assert_refused(response: Response<ResponseBody>, status: StatusCode, says: &str) {
    assert_eq!(response.status(), status);
    assert_eq!(response.headers()[header::CONTENT_TYPE], "application/json");
    let body: Value = serde_json::from_str(&text(response).await).unwrap();
    assert_eq!(body["jsonrpc"], "2.0");
    assert_eq!(body["error"]["code"], -32600);
    assert!(body.get("id").is_none());
    let message = body["error"]["message"].as_str().unwrap();
    assert!(message.contains(says), "{message}");
}

#[tokio::test]
async fn a_proper_post_reaches_the_server() {
    let response = respond(|request| {
        request.headers_mut().insert("mcp-name", HeaderValue::from_static("deploy"));
        request.headers_mut().insert("mcp-session-id", HeaderValue::from_static("old"));
        request.headers_mut().insert("last-event-id", HeaderValue::from_static("7"));
        request.extensions_mut().insert(Principal { issuer: "https://id.example".into(), subject: "ada".into() });
    })
    .await;
    assert_eq!(response.status(), StatusCode::OK);
    assert_eq!(response.headers()[header::CONTENT_TYPE], "application/json");
    assert_eq!(response.headers().len(), 1, "nothing is echoed");
    assert_eq!(text(response).await, r#"{"body":"{}","name":"deploy","caller":"ada"}"#);
}

#[tokio::test]
async fn an_accepted_notification_has_no_body() {
    let response = endpoint(Fixed(202, "ignored"), |_| {}).respond(request(Full::<Bytes>::from("{}"))).await;
    assert_eq!(response.status(), StatusCode::ACCEPTED);
    assert!(response.headers().is_empty());
    assert_eq!(text(response).await, "");
}

#[tokio::test]
async fn the_servers_status_goes_out_and_an_impossible_one_is_500() {
    for (status, expected) in [(404, 404), (400, 400), (99, 500), (1000, 500)] {
        let response = endpoint(Fixed(status, "{}"), |_| {}).respond(request(Full::<Bytes>::from("{}"))).await;
        assert_eq!(response.status(), expected);
    }
}

#[tokio::test]
async fn only_post_is_served() {
    for method in ["GET", "DELETE", "OPTIONS", "HEAD", "PUT", "PATCH", "BREW"] {
        let response = respond(|request| *request.method_mut() = Method::from_bytes(method.as_bytes()).unwrap()).await;
        assert_eq!(response.headers()[header::ALLOW], "POST");
        assert_refused(response, StatusCode::METHOD_NOT_ALLOWED, "POST").await;
    }
}

#[tokio::test]
async fn a_foreign_host_is_refused_and_the_setter_named() {
    let response = respond(|request| {
        request.headers_mut().insert(header::HOST, HeaderValue::from_static("evil.example"));
    })
    .await;
    assert_refused(response, StatusCode::FORBIDDEN, "allow_host").await;
}

#[tokio::test]
async fn a_missing_repeated_or_garbled_host_is_a_bad_request() {
    for hosts in [&[][..], &["localhost", "localhost"], &["local\u{e9}"]] {
        let response = respond(|request| {
            request.headers_mut().remove(header::HOST);
            for host in hosts {
                request.headers_mut().append(header::HOST, HeaderValue::from_bytes(host.as_bytes()).unwrap());
            }
        })
        .await;
        assert_refused(response, StatusCode::BAD_REQUEST, "Host").await;
    }
}

#[tokio::test]
async fn the_authority_of_the_target_counts_as_the_host() {
    let target = |uri: &'static str, keep_host: bool| {
        respond(move |request| {
            *request.uri_mut() = Uri::from_static(uri);
            if !keep_host {
                request.headers_mut().remove(header::HOST);
            }
        })
    };
    assert_eq!(target("http://localhost:8080/mcp", false).await.status(), StatusCode::OK);
    assert_eq!(target("http://evil.example/mcp", false).await.status(), StatusCode::FORBIDDEN);
    assert_eq!(target("http://evil.example/mcp", true).await.status(), StatusCode::FORBIDDEN);
    assert_eq!(target("http://localhost@evil.example/mcp", false).await.status(), StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn any_host_may_be_allowed_but_origins_are_still_checked() {
    let open = endpoint(Echo, |rules| rules.admission.allow_any_host());
    let mut request = request(Full::<Bytes>::from("{}"));
    request.headers_mut().remove(header::HOST);
    assert_eq!(open.respond(request.clone()).await.status(), StatusCode::OK);

    request.headers_mut().insert(header::ORIGIN, HeaderValue::from_static("https://evil.example"));
    assert_refused(open.respond(request).await, StatusCode::FORBIDDEN, "allow_origin").await;
}

#[tokio::test]
async fn a_foreign_opaque_or_repeated_origin_is_refused() {
    for origins in [&["https://evil.example"][..], &["null"], &["http://localhost", "http://localhost"]] {
        let response = respond(|request| {
            for origin in origins {
                request.headers_mut().append(header::ORIGIN, HeaderValue::from_static(origin));
            }
        })
        .await;
        assert_refused(response, StatusCode::FORBIDDEN, "Origin").await;
    }
}

#[tokio::test]
async fn a_body_that_is_not_json_is_refused() {
    let response = respond(|request| {
        request.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain"));
    })
    .await;
    assert_refused(response, StatusCode::UNSUPPORTED_MEDIA_TYPE, "application/json").await;
}

#[tokio::test]
async fn a_compressed_body_is_refused() {
    let response = respond(|request| {
        request.headers_mut().insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    })
    .await;
    assert_eq!(response.headers()[header::ACCEPT_ENCODING], "identity");
    assert_refused(response, StatusCode::UNSUPPORTED_MEDIA_TYPE, "Content-Encoding").await;
}

#[tokio::test]
async fn a_client_that_cannot_read_events_is_refused_but_a_silent_one_is_served() {
    let response = respond(|request| {
        request.headers_mut().insert(header::ACCEPT, HeaderValue::from_static("application/json"));
    })
    .await;
    assert_refused(response, StatusCode::NOT_ACCEPTABLE, "text/event-stream").await;

    let response = respond(|request| drop(request.headers_mut().remove(header::ACCEPT))).await;
    assert_eq!(response.status(), StatusCode::OK);
}

#[tokio::test]
async fn an_announced_body_over_the_limit_is_refused_unread() {
    let mut request = request(Script::new([], End::Never));
    request.headers_mut().insert(header::CONTENT_LENGTH, HeaderValue::from_static("11"));
    let response = endpoint(Echo, |rules| rules.body.bytes = 10).respond(request).await;
    assert_refused(response, StatusCode::PAYLOAD_TOO_LARGE, "10 bytes").await;
}

#[tokio::test]
async fn a_body_is_read_up_to_the_limit_and_not_a_byte_further() {
    let small = endpoint(Echo, |rules| rules.body.bytes = 10);
    for chunks in [&["0123456789"][..], &["01234", "56789"], &["", "0", "", "12345678", "9", ""]] {
        let response = small.respond(request(Script::new(chunks.iter().copied(), End::Proper))).await;
        assert_eq!(response.status(), StatusCode::OK);
        assert!(text(response).await.contains(r#""body":"0123456789""#));
    }
    for chunks in [&["0123456789a"][..], &["01234", "56789a"], &["0", "12345678", "9", "a"]] {
        let response = small.respond(request(Script::new(chunks.iter().copied(), End::Never))).await;
        assert_refused(response, StatusCode::PAYLOAD_TOO_LARGE, "10 bytes").await;
    }
}

#[tokio::test]
async fn an_empty_body_is_the_servers_to_judge() {
    let response = endpoint(Echo, |_| {}).respond(request(Script::new([], End::Proper))).await;
    assert!(text(response).await.contains(r#""body":"""#));
}

#[tokio::test]
async fn a_body_that_breaks_off_is_a_bad_request() {
    for chunks in [&[][..], &["{"], &["{", "}"]] {
        let request = request(Script::new(chunks.iter().copied(), End::Error));
        let response = endpoint(Echo, |_| {}).respond(request).await;
        assert_refused(response, StatusCode::BAD_REQUEST, "ended before").await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_that_never_arrives_times_out() {
    let patient = endpoint(Echo, |rules| rules.body.time = Duration::from_millis(2500));
    let response = patient.respond(request(Script::new(["{"], End::Never))).await;
    assert_refused(response, StatusCode::REQUEST_TIMEOUT, "2.5 s").await;
}
