//! The client against a server that says what the test says, and remembers what it was sent.

mod broken;
mod caching;
mod diagnoses;
mod loopback;
mod operations;
mod responders;
mod rounds;
#[cfg(feature = "answers")]
mod script;
mod tools;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::{
    Answer, Ask, BoxFuture, CallError, Client, Incoming, Outgoing, Output, Responders, Transport, TransportError,
};

/// A transport that plays back responses in order. `"ID"` in a response becomes the id of the request.
#[derive(Clone, Default)]
struct Playback {
    responses: Arc<Mutex<VecDeque<Incoming>>>,
    sent: Arc<Mutex<Vec<Outgoing>>>,
}

impl Playback {
    fn new<B: Into<String>>(bodies: impl IntoIterator<Item = B>) -> Self {
        Self::with(bodies.into_iter().map(Incoming::ok))
    }

    fn with(responses: impl IntoIterator<Item = Incoming>) -> Self {
        let responses = Arc::new(Mutex::new(responses.into_iter().collect()));
        Self { responses, sent: Arc::default() }
    }

    /// The requests so far, as text.
    fn sent(&self) -> Vec<String> {
        self.sent.lock().unwrap().iter().map(|request| request.body.clone()).collect()
    }

    fn sent_params(&self) -> Vec<Value> {
        let parse = |body: &String| serde_json::from_str::<Value>(body).unwrap()["params"].take();
        self.sent().iter().map(parse).collect()
    }

    fn sent_header(&self, name: &str) -> Vec<Option<String>> {
        let value = |request: &Outgoing| Some(request.headers.get(name)?.to_str().ok()?.to_owned());
        self.sent.lock().unwrap().iter().map(value).collect()
    }

    fn client(&self, responders: Responders) -> Client {
        Client::with_transport(self.clone()).responders(responders)
    }
}

impl Transport for Playback {
    fn server(&self) -> &str {
        "playback"
    }

    fn exchange<'a>(
        &'a self,
        request: &'a Outgoing,
        _notify: &'a (dyn Fn(&str) + Send + Sync),
    ) -> BoxFuture<'a, Result<Incoming, TransportError>> {
        Box::pin(async move {
            self.sent.lock().unwrap().push(request.clone());
            let next = self.responses.lock().unwrap().pop_front();
            let Some(mut response) = next else {
                return std::future::pending().await;
            };
            response.body = response.body.replace(r#""ID""#, id_of(&request.body));
            Ok(response)
        })
    }
}

/// The id, read without parsing: a state may be text no string can hold.
fn id_of(request: &str) -> &str {
    let (_, rest) = request.split_once(r#""id":"#).unwrap();
    rest.split_once(',').unwrap().0
}

/// A response with this result.
fn result(result: &Value) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":"ID","result":{result}}}"#)
}

fn done(text: &str) -> String {
    result(&json!({ "resultType": "complete", "content": [{ "type": "text", "text": text }] }))
}

fn error(code: i64, message: &str, data: &Value) -> String {
    let error = json!({ "code": code, "message": message, "data": data });
    format!(r#"{{"jsonrpc":"2.0","id":"ID","error":{error}}}"#)
}

/// A round with these questions and this state.
fn asks(requests: &Value, state: Option<&str>) -> String {
    result(&json!({ "resultType": "input_required", "inputRequests": requests, "requestState": state }))
}

/// A round that only asks to be called again.
fn wait(state: &str) -> String {
    result(&json!({ "resultType": "input_required", "requestState": state }))
}

fn form() -> Value {
    json!({ "method": "elicitation/create", "params": { "mode": "form", "message": "Sure?", "requestedSchema": {
        "type": "object", "properties": { "ok": { "type": "boolean" } }, "required": ["ok"]
    }}})
}

fn page() -> Value {
    json!({ "method": "elicitation/create", "params": { "mode": "url", "message": "Pay", "url": "https://pay.example/7" } })
}

/// Says yes to everything.
fn yes() -> Responders {
    Responders::new().elicitation(async |_: Ask| Ok(Answer::accept([("ok".to_owned(), json!(true))])))
}

async fn call(playback: &Playback, responders: Responders) -> Result<Output, CallError> {
    playback.client(responders).call_tool("deploy", json!({ "service": "api" })).await
}

async fn failure(bodies: impl IntoIterator<Item = String>) -> String {
    call(&Playback::new(bodies), yes()).await.unwrap_err().to_string()
}
