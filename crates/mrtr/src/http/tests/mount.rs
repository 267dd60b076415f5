//! The public service where users put it: called directly, mounted in axum, served on an address.

use bytes::Bytes;
use http::{Request, StatusCode};
use http_body_util::Full;
use tokio::net::TcpListener;
use tower::ServiceExt;

use super::world::{Peer, post, request};
use crate::{
    http::{HttpServer, McpService, ServeError},
    server::Server,
};

fn service() -> McpService {
    McpService::new(Server::new("releases", "1.0.0").build().unwrap())
}

/// Whether the request got past the transport; what the server says to it is not ours to test.
fn is_admitted(status: StatusCode) -> bool {
    !matches!(status.as_u16(), 403 | 405 | 406 | 408 | 413 | 415)
}

#[tokio::test]
async fn answers_when_called() {
    let response = service().oneshot(request(Full::<Bytes>::from("{}"))).await.unwrap();
    assert!(is_admitted(response.status()));
}

#[tokio::test]
async fn setters_change_what_is_admitted() {
    let request = |host: &str, origin: &str| {
        let mut request = request(Full::<Bytes>::from("{}"));
        request.headers_mut().insert("host", host.parse().unwrap());
        request.headers_mut().insert("origin", origin.parse().unwrap());
        request
    };
    let open = service().allow_host("api.example.com").allow_origin("https://app.example.com");
    let proper = request("api.example.com", "https://app.example.com");

    assert_eq!(service().oneshot(proper.clone()).await.unwrap().status(), 403);
    assert!(is_admitted(open.clone().oneshot(proper.clone()).await.unwrap().status()));
    assert_eq!(open.clone().max_body(1).oneshot(proper).await.unwrap().status(), 413);

    let foreign = request("evil.example", "https://app.example.com");
    assert_eq!(open.clone().oneshot(foreign.clone()).await.unwrap().status(), 403);
    assert!(is_admitted(open.danger_allow_any_host().oneshot(foreign).await.unwrap().status()));
}

#[tokio::test]
async fn a_header_of_the_operator_goes_with_replies_and_refusals_and_replaces_none_of_ours() {
    let service = service()
        .response_header("x-instance".parse().unwrap(), "alpha".parse().unwrap())
        .response_header("content-type".parse().unwrap(), "text/html".parse().unwrap());
    let mut foreign = request(Full::<Bytes>::from("{}"));
    foreign.headers_mut().insert("host", "evil.example".parse().unwrap());
    for request in [request(Full::<Bytes>::from("{}")), foreign] {
        let response = service.clone().oneshot(request).await.unwrap();
        assert_eq!(response.headers()["x-instance"], "alpha");
        assert_eq!(response.headers()["content-type"], "application/json");
    }
}

#[tokio::test]
async fn mounts_in_axum() {
    let app = axum::Router::new().route_service("/mcp", service());
    let posted = request(axum::body::Body::from("{}"));
    assert!(is_admitted(app.clone().oneshot(posted).await.unwrap().status()));

    let got = Request::get("/mcp").header("host", "localhost").body(axum::body::Body::empty()).unwrap();
    let refused = app.oneshot(got).await.unwrap();
    assert_eq!(refused.status(), StatusCode::METHOD_NOT_ALLOWED);
    assert_eq!(refused.headers()["allow"], "POST");
}

#[tokio::test]
async fn the_listeners_own_address_is_an_allowed_host() {
    let listener = TcpListener::bind("127.0.0.2:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(HttpServer::new(service()).serve(listener, std::future::pending()));

    for (host, refused) in [(address.to_string(), false), ("127.0.0.3".to_owned(), true)] {
        let mut peer = Peer(tokio::net::TcpStream::connect(address).await.unwrap());
        peer.send(&post("{}").replace("Host: localhost", &format!("Host: {host}"))).await;
        let answer = peer.read_until("\r\n").await;
        assert_eq!(answer.starts_with("HTTP/1.1 403"), refused, "{host}: {answer}");
    }
}

#[tokio::test]
async fn a_taken_address_is_an_error_that_names_it() {
    let taken = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = taken.local_addr().unwrap();
    let error = HttpServer::new(service()).listen(address).await.unwrap_err();
    assert!(matches!(error, ServeError::Bind { .. }));
    assert_eq!(error.to_string(), format!("cannot listen on {address}"));
}
