//! The limit: the least that a server can do for a leg of the deploy tool, and nothing else.
//!
//! One borrowed parse, one AES-256-GCM seal (first leg) or open (second leg), one write. It looks at no header, checks
//! no version, binds the state to nothing and believes every answer: do not copy it, it is here to be divided by.

use std::convert::Infallible;

use aes_gcm::aead::{Aead, KeyInit, Nonce};
use aes_gcm::{Aes256Gcm, Key};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use http::{HeaderValue, Request, Response, header};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

fn main() {
    bench_host::run(|listener| {
        let cipher: &'static Aes256Gcm = Box::leak(Box::new(Aes256Gcm::new(&Key::<Aes256Gcm>::from([7; 32]))));
        bench_host::serve(listener, service_fn(move |request| answer(cipher, request)))
    });
}

async fn answer(cipher: &Aes256Gcm, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let body = request.into_body().collect().await.map(|body| body.to_bytes()).unwrap_or_default();
    let mut response = Response::new(Full::new(leg(cipher, &body).into()));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Ok(response)
}

fn leg(cipher: &Aes256Gcm, body: &[u8]) -> Vec<u8> {
    let call: Call<'_> = serde_json::from_slice(body).expect("the load sends nothing else");
    let result = match call.params.request_state {
        None => Reply::InputRequired {
            input_requests: serde_json::from_str(QUESTION).expect("JSON"),
            request_state: seal(cipher, call.params.arguments.get().as_bytes()),
        },
        Some(state) => Reply::Complete { content: [Text { kind: "text", text: deployed(&open(cipher, state)) }] },
    };
    serde_json::to_vec(&Answer { jsonrpc: "2.0", id: call.id, result }).expect("JSON")
}

fn deployed(arguments: &[u8]) -> String {
    let Deploy { service, version } = serde_json::from_slice(arguments).expect("what was sealed");
    format!("Deployed {service} {version} to production ({service}-1).")
}

fn seal(cipher: &Aes256Gcm, plain: &[u8]) -> String {
    let nonce: [u8; 12] = rand::random();
    let mut token = nonce.to_vec();
    token.extend(cipher.encrypt(&Nonce::<Aes256Gcm>::from(nonce), plain).expect("a short text"));
    URL_SAFE_NO_PAD.encode(token)
}

fn open(cipher: &Aes256Gcm, token: &str) -> Vec<u8> {
    let token = URL_SAFE_NO_PAD.decode(token).expect("our own token");
    let (nonce, sealed) = token.split_first_chunk::<12>().expect("our own token");
    cipher.decrypt(&Nonce::<Aes256Gcm>::from(*nonce), sealed).expect("our own token")
}

/// The question, ready to be sent. The load calls with these arguments only.
const QUESTION: &str = concat!(
    r#"{"confirm_prod":{"method":"elicitation/create","params":{"mode":"form","#,
    r#""message":"Deploy api 4.8.1 to production?","requestedSchema":{"type":"object","#,
    r#""properties":{"confirm":{"type":"boolean","description":"Confirm production deploy"}},"required":["confirm"]}}}}"#
);

#[derive(Deserialize)]
struct Call<'a> {
    #[serde(borrow)]
    id: &'a RawValue,
    #[serde(borrow)]
    params: Params<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Params<'a> {
    #[serde(borrow)]
    arguments: &'a RawValue,
    #[serde(borrow)]
    request_state: Option<&'a str>,
}

#[derive(Deserialize)]
struct Deploy<'a> {
    service: &'a str,
    version: &'a str,
}

#[derive(Serialize)]
struct Answer<'a> {
    jsonrpc: &'static str,
    id: &'a RawValue,
    result: Reply,
}

#[derive(Serialize)]
#[serde(tag = "resultType", rename_all = "snake_case", rename_all_fields = "camelCase")]
enum Reply {
    InputRequired { input_requests: &'static RawValue, request_state: String },
    Complete { content: [Text; 1] },
}

#[derive(Serialize)]
struct Text {
    #[serde(rename = "type")]
    kind: &'static str,
    text: String,
}
