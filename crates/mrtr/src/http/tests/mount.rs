//! The public service where users put it: called directly, mounted in axum, served on an address.

use std::fmt::Debug;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body::Body;
use http_body_util::Full;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tower::{Service, ServiceExt};

use super::world::{Peer, call, called, json, post, request};
use crate::{
    Context, NoArguments, Server, Tool, ToolError,
    http::{HttpServer, McpService, ServeError},
};

#[derive(Deserialize, JsonSchema)]
struct Confirm {
    confirm: bool,
}

/// The endpoint of a tool that asks before it deploys.
fn service() -> McpService {
    let deploy = Tool::new("deploy", async |_: NoArguments, cx: Context| {
        let answer: Confirm = cx.elicit("confirm", "Deploy to production?").await?;
        Ok::<_, ToolError>(if answer.confirm { "Deployed." } else { "Nothing was deployed." })
    });
    McpService::new(Server::new("releases", "1.0.0").tool(deploy).build().unwrap())
}

/// Makes the call's first leg from this host and origin, and returns what it answers, where that is a question.
async fn asked(service: McpService, host: &str, origin: &str) -> Result<Value, StatusCode> {
    let mut request: Request<Full<Bytes>> = called("deploy", &call("deploy"));
    request.headers_mut().insert("host", host.parse().unwrap());
    request.headers_mut().insert("origin", origin.parse().unwrap());
    let response = service.oneshot(request).await.unwrap();
    match response.status() {
        StatusCode::OK => Ok(json(response).await["result"]["inputRequests"]["confirm"].take()),
        refused => Err(refused),
    }
}

/// Makes both legs of the call and returns its text.
async fn deployed<S, B, R>(service: S) -> String
where
    S: Service<Request<B>, Response = Response<R>, Error: Debug> + Clone,
    B: From<String>,
    R: Body<Data = Bytes, Error: Debug>,
{
    let leg = async |message: Value| {
        let response = service.clone().oneshot(called("deploy", &message)).await.unwrap();
        assert_eq!(response.status(), StatusCode::OK);
        json(response).await
    };
    let asked = leg(call("deploy")).await;
    assert_eq!(asked["result"]["inputRequests"]["confirm"]["params"]["message"], "Deploy to production?");

    let mut retry = call("deploy");
    retry["params"]["requestState"] = asked["result"]["requestState"].clone();
    retry["params"]["inputResponses"] = json!({ "confirm": { "action": "accept", "content": { "confirm": true } } });
    leg(retry).await["result"]["content"][0]["text"].as_str().expect("a text").to_owned()
}

#[tokio::test]
async fn answers_when_called() {
    assert_eq!(deployed::<_, Full<Bytes>, _>(service()).await, "Deployed.");
}

#[tokio::test]
async fn setters_change_what_is_admitted() {
    let open = service().allow_host("api.example.com").allow_origin("https://app.example.com");
    let (host, origin) = ("api.example.com", "https://app.example.com");

    assert_eq!(asked(service(), host, origin).await, Err(StatusCode::FORBIDDEN));
    assert_eq!(asked(open.clone(), host, origin).await.unwrap()["method"], "elicitation/create");
    assert_eq!(asked(open.clone().max_body(1), host, origin).await, Err(StatusCode::PAYLOAD_TOO_LARGE));
    assert_eq!(asked(open.clone(), "evil.example", origin).await, Err(StatusCode::FORBIDDEN));
    let any = open.danger_allow_any_host();
    assert_eq!(asked(any, "evil.example", origin).await.unwrap()["method"], "elicitation/create");
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
    assert_eq!(deployed::<_, axum::body::Body, _>(app.clone()).await, "Deployed.");

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
