//! Authenticators, what goes back when they refuse, and the document that says where to get a token.

use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode, header, request::Parts};
use http_body_util::Full;
use serde_json::json;
use tokio::net::TcpListener;
use tower::ServiceExt;

use super::world::{Echo, End, Peer, Script, endpoint, json, request, text};
use crate::{
    Principal, Server,
    http::{AuthError, Authenticator, HttpServer, McpService, ResourceMetadata, ResponseBody},
};

/// Decides as it is told, and counts how often it was asked.
#[derive(Clone)]
struct Told(Arc<dyn Fn() -> Result<Option<Principal>, AuthError> + Send + Sync>, Arc<AtomicUsize>);

impl Told {
    fn to(decide: impl Fn() -> Result<Option<Principal>, AuthError> + Send + Sync + 'static) -> Self {
        Self(Arc::new(decide), Arc::default())
    }
}

impl Authenticator for Told {
    async fn authenticate(&self, _: &Parts) -> Result<Option<Principal>, AuthError> {
        self.1.fetch_add(1, Ordering::Relaxed);
        (self.0)()
    }

    fn scopes(&self) -> &[String] {
        static SCOPES: std::sync::LazyLock<[String; 1]> = std::sync::LazyLock::new(|| ["deploy".to_owned()]);
        &*SCOPES
    }
}

fn metadata() -> ResourceMetadata {
    ResourceMetadata::new("https://mcp.example.com/mcp", ["https://id.example.com"]).unwrap().scopes(["deploy"])
}

async fn respond(authenticator: impl Authenticator, request: Request<Full<Bytes>>) -> Response<ResponseBody> {
    let endpoint = endpoint(Echo, |rules| {
        rules.auth.set_authenticator(authenticator);
        rules.auth.metadata = Some(Arc::new(metadata()));
    });
    endpoint.respond(request).await
}

fn named(subject: &str) -> Principal {
    Principal::new("https://id.example.com", subject)
}

#[tokio::test]
async fn the_authenticator_names_the_caller_and_nobody_else_does() {
    for (decided, caller) in [(Some(named("ada")), json!("ada")), (None, json!(null))] {
        let mut request = request(Full::from("{}"));
        request.extensions_mut().insert(named("mallory"));
        let response = respond(Told::to(move || Ok(decided.clone())), request).await;
        assert_eq!(json(response).await["caller"], caller);
    }
}

#[tokio::test]
async fn each_refusal_has_its_status_and_its_challenge() {
    const METADATA: &str = "resource_metadata=\"https://mcp.example.com/.well-known/oauth-protected-resource/mcp\"";
    for (error, status, challenge, says) in [
        (AuthError::Missing, 401, Some("Bearer scope=\"deploy\""), "access token is required"),
        (AuthError::unauthorized("the token has expired"), 401, Some("error=\"invalid_token\""), "new access token"),
        (AuthError::malformed("send one token"), 400, Some("error=\"invalid_request\""), "send one token"),
        (
            AuthError::forbidden(["a", "b"]),
            403,
            Some("Bearer error=\"insufficient_scope\", scope=\"a b\""),
            "with all of: a b",
        ),
        (AuthError::forbidden([""; 0]), 403, Some("Bearer error=\"insufficient_scope\", "), "may not use"),
        (AuthError::Unavailable, 503, None, "try again"),
    ] {
        let response = respond(Told::to(move || Err(error.clone())), request(Full::from("{}"))).await;
        assert_eq!(response.status(), status);
        let header = response.headers().get(header::WWW_AUTHENTICATE).map(|value| value.to_str().unwrap().to_owned());
        match challenge {
            Some(part) => {
                let header = header.unwrap();
                assert!(header.contains(part) && header.ends_with(METADATA), "{header}");
            }
            None => assert_eq!((header, &response.headers()[header::RETRY_AFTER]), (None, &"5".parse().unwrap())),
        }
        let body = json(response).await;
        assert!(body["error"]["message"].as_str().unwrap().contains(says), "{body}");
    }
}

/// Panics in its first poll or before it, or never decides.
struct Broken(&'static str);

impl Authenticator for Broken {
    fn authenticate(&self, _: &Parts) -> impl Future<Output = Result<Option<Principal>, AuthError>> + Send {
        let pending: Pin<Box<dyn Future<Output = _> + Send>> = match self.0 {
            "at once" => panic!("before there was a future"),
            "polled" => Box::pin(async { panic!("in the future") }),
            _ => Box::pin(std::future::pending()),
        };
        pending
    }
}

#[tokio::test(start_paused = true)]
async fn an_authenticator_that_breaks_lets_nobody_in() {
    for (how, status) in [("at once", 500), ("polled", 500), ("never", 503)] {
        let response = respond(Broken(how), request(Full::from("{}"))).await;
        assert_eq!(response.status(), status, "{how}");
        assert_eq!(json(response).await["error"]["code"], -32603);
    }
}

#[tokio::test]
async fn it_is_asked_after_the_host_and_before_the_body() {
    let told = Told::to(|| Err(AuthError::Missing));
    let endpoint = endpoint(Echo, |rules| rules.auth.set_authenticator(told.clone()));
    let mut foreign = request(Script::new([], End::Never));
    foreign.headers_mut().insert(header::HOST, "evil.example".parse().unwrap());
    assert_eq!(endpoint.respond(foreign).await.status(), StatusCode::FORBIDDEN);
    assert_eq!(told.1.load(Ordering::Relaxed), 0);

    let endless = request(Script::new([], End::Never));
    assert_eq!(endpoint.respond(endless).await.status(), StatusCode::UNAUTHORIZED);
    assert_eq!(told.1.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn credentials_do_not_show_in_debug_output() {
    struct Shows;
    impl Authenticator for Shows {
        async fn authenticate(&self, request: &Parts) -> Result<Option<Principal>, AuthError> {
            Ok(Some(named(&format!("{request:?}"))))
        }
    }
    let mut request = request(Full::from("{}"));
    for name in ["authorization", "cookie", "proxy-authorization"] {
        request.headers_mut().append(name, "Bearer hunter2".parse().unwrap());
        request.headers_mut().append(name, "Bearer hunter3".parse().unwrap());
    }
    let seen = text(respond(Shows, request).await).await;
    assert!(seen.contains("Sensitive") && !seen.contains("hunter"), "{seen}");
}

#[tokio::test]
async fn the_document_is_served_at_both_paths_and_without_authentication() {
    let service = McpService::new(Server::new("releases", "1.0.0").build().unwrap())
        .authenticator(Told::to(|| Err(AuthError::Missing)))
        .response_header("x-instance".parse().unwrap(), "alpha".parse().unwrap())
        .resource_metadata(metadata());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(HttpServer::new(service).serve(listener, std::future::pending()));

    for (path, status) in [("", "200 OK"), ("/mcp", "200 OK"), ("/other", "404 Not Found")] {
        let mut peer = Peer(tokio::net::TcpStream::connect(address).await.unwrap());
        let path = format!("/.well-known/oauth-protected-resource{path}");
        // The document is public: whatever name a client knows the server by.
        peer.send(&format!("GET {path} HTTP/1.1\r\nHost: mcp.example.com\r\nConnection: close\r\n\r\n")).await;
        let answer = peer.read_to_end().await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{answer}");
        if status == "200 OK" {
            assert!(
                answer.contains("access-control-allow-origin: *") && answer.contains("x-instance: alpha"),
                "{answer}"
            );
            assert!(answer.ends_with(&metadata().json()), "{answer}");
        }
    }
}

#[tokio::test]
async fn the_document_answers_pages_and_refuses_other_methods() {
    for (method, status) in [("GET", 200), ("HEAD", 200), ("OPTIONS", 204), ("POST", 405)] {
        let request = Request::builder().method(Method::from_bytes(method.as_bytes()).unwrap()).body(()).unwrap();
        let response = metadata().service().oneshot(request).await.unwrap();
        assert_eq!(response.status(), status);
        assert_eq!(response.headers()[header::ACCESS_CONTROL_ALLOW_ORIGIN], "*");
        assert_eq!(response.headers().contains_key(header::ACCESS_CONTROL_ALLOW_HEADERS), method == "OPTIONS");
    }
}
