//! What holds for any response a server may send to the client; see `properties`.

use std::sync::{Arc, Mutex};

use mrtr::client::{Answer, Ask, BoxFuture, Client, Incoming, Outgoing, Responders, Transport, TransportError};
use serde_json::{Value, json, value::RawValue};

/// The call ends, and whatever state came is sent back byte for byte with answers to exactly what was asked.
pub fn client_reply(response: &[u8]) {
    let response = String::from_utf8_lossy(response).into_owned();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    let transport = Once { response: response.clone(), sent: Arc::default() };
    let client = Client::with_transport(transport.clone()).responders(willing());
    // The client paces itself; the runtime's clock jumps over that.
    let ended = runtime.expect("a runtime").block_on(client.call_tool("deploy", json!({})));
    let sent = transport.sent.lock().expect("no panic meanwhile");
    let retry = sent.iter().skip(1).find(|body| body.contains(r#""method":"tools/call""#));
    match (ended, retry) {
        (Ok(output), None) => drop(output.text()),
        (Err(error), None) => assert!(!error.to_string().is_empty()),
        (_, Some(retry)) => check_retry(&response, retry),
    }
}

fn check_retry(response: &str, retry: &str) {
    #[derive(serde::Deserialize)]
    struct Response<'a> {
        #[serde(borrow)]
        result: Asked<'a>,
    }
    #[derive(serde::Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Asked<'a> {
        #[serde(borrow)]
        request_state: Option<&'a RawValue>,
        input_requests: Option<Value>,
    }
    let Ok(Response { result: asked }) = serde_json::from_str::<Response<'_>>(response) else { return };
    if let Some(state) = asked.request_state {
        assert!(retry.contains(&format!(r#""requestState":{state}"#)), "{state} is not in {retry}");
    }
    // A state that is no Unicode passes through as it came; then the body cannot be read back here.
    let Ok(retry) = serde_json::from_str::<Value>(retry) else { return };
    let keys = |object: &Value| object.as_object().map(|members| members.keys().cloned().collect::<Vec<_>>());
    let answered = keys(&retry["params"]["inputResponses"]).unwrap_or_default();
    assert_eq!(answered, asked.input_requests.as_ref().and_then(keys).unwrap_or_default());
}

/// Accepts everything, with nothing in it.
fn willing() -> Responders {
    Responders::new().elicitation(async |_: Ask| Ok(Answer::accept([])))
}

/// Gives one response, then results that are complete.
#[derive(Clone)]
struct Once {
    response: String,
    sent: Arc<Mutex<Vec<String>>>,
}

impl Transport for Once {
    fn server(&self) -> &str {
        "once"
    }

    fn exchange<'a>(
        &'a self,
        request: &'a Outgoing,
        _notify: &'a (dyn Fn(&str) + Send + Sync),
    ) -> BoxFuture<'a, Result<Incoming, TransportError>> {
        Box::pin(async move {
            let mut sent = self.sent.lock().expect("no panic meanwhile");
            sent.push(request.body.clone());
            let done = r#"{"jsonrpc":"2.0","id":"ID","result":{"resultType":"complete","content":[]}}"#;
            let response = if sent.len() == 1 { &self.response } else { done };
            let (_, rest) = request.body.split_once(r#""id":"#).expect("a request has an id");
            let id = rest.split([',', '}']).next().unwrap_or_default();
            Ok(Incoming::ok(response.replace(r#""ID""#, id)))
        })
    }
}
