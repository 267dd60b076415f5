//! An operation put aside half-way, to be taken up later or elsewhere.
//!
//! Nothing of an unfinished operation lives in the server: who has its parameters and the last result can go on, in
//! another process, on another day, as long as the server still takes the state.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::driver::{Progress, Request};
use super::response::{self, InputRequired, Reply};
use super::{CallError, Client};

/// What it takes to go on with an operation: its parameters, the last result, and what was answered since.
///
/// [`Call::on_save`](super::Call::on_save) hands one out whenever a round comes in and whenever a question of it is
/// answered; [`Client::resume`] goes on with it. It is the same in any format `serde` writes.
///
/// ```no_run
/// use std::fs;
///
/// use mrtr::client::{Client, Saved};
/// use serde_json::json;
///
/// # async fn run(client: Client) -> Result<(), Box<dyn std::error::Error>> {
/// let save = |saved: Saved| fs::write("booking.json", serde_json::to_string(&saved).unwrap()).unwrap();
/// let _outcome = client.tool("book", json!({ "city": "Oslo" })).on_save(save).await;
///
/// // After a crash, or when somebody is there to be asked:
/// let saved: Saved = serde_json::from_slice(&fs::read("booking.json")?)?;
/// let output = client.resume(saved).await?;
/// # Ok(())
/// # }
/// ```
///
/// A saved operation may be resumed after its last request went out and before the response came: the server then sees
/// that request twice. Servers with `Tool::once` answer it twice and run it once; of others, ask what they do.
///
/// # Security
///
/// It holds the arguments, the answers so far and the request state in the clear, and so whatever is secret in them; not
/// the headers set by [`Client::header`], which are the resuming client's. Keep it where only its user can read it, and
/// delete it when the operation is over. Who can write it decides what is sent under the user's name.
#[derive(Clone, Deserialize, Serialize)]
pub struct Saved {
    format: u32,
    server: String,
    pub(super) operation: String,
    pub(super) method: String,
    /// As JSON text, so that no format changes the digits of a number.
    params: String,
    /// The headers that mirror parameters.
    pub(super) param_headers: Vec<(String, String)>,
    pub(super) last_id: i64,
    progress: Progress,
    /// As JSON text: a state goes back as the token it came as.
    result: String,
}

impl Saved {
    pub(super) fn new(client: &Client, request: &Request<'_>, progress: Progress, result: &RawValue) -> Self {
        let mirrored = |name: &str| name.starts_with("mcp-param-");
        let text = |value: &http::HeaderValue| value.to_str().map(str::to_owned).unwrap_or_default();
        let headers = request.headers.iter().filter(|(name, _)| mirrored(name.as_str()));
        Self {
            format: FORMAT,
            server: client.server().to_owned(),
            operation: request.id.as_str().to_owned(),
            method: request.method.to_owned(),
            params: request.params.clone(),
            param_headers: headers.map(|(name, value)| (name.as_str().to_owned(), text(value))).collect(),
            last_id: client.last_id(),
            progress,
            result: result.get().to_owned(),
        }
    }

    /// Returns the server it runs on: only a client of the same can resume it.
    pub fn server(&self) -> &str {
        &self.server
    }

    /// Returns the name of the operation, as in [`OperationId::as_str`](super::OperationId::as_str).
    pub fn operation(&self) -> &str {
        &self.operation
    }

    /// Returns the round whose questions are open, from 1.
    pub fn round(&self) -> u32 {
        self.progress.round
    }

    /// Takes it apart, for a client of this server.
    pub(super) fn open(&self, client: &Client) -> Result<(Map<String, Value>, Progress, InputRequired), CallError> {
        let invalid = |what: &str| CallError::Invalid(format!("cannot go on with the saved operation: {what}"));
        if self.format != FORMAT {
            return Err(invalid("another version of this library wrote it"));
        }
        // Its state and answers are for the server that asked, and for nobody else.
        if self.server != client.server() {
            return Err(invalid(&format!("it runs on {}, this client calls {}", self.server, client.server())));
        }
        let params = serde_json::from_str(&self.params).map_err(|_| invalid("its parameters are damaged"))?;
        let result: &RawValue = serde_json::from_str(&self.result).map_err(|_| invalid("its result is damaged"))?;
        let Ok(Reply::InputRequired(required)) = response::read_result(result) else {
            return Err(invalid("its result is damaged"));
        };
        let unasked = required.requests.iter().find(|(_, request)| client.responders.of(request.kind).is_none());
        if let Some((key, request)) = unasked {
            return Err(invalid(&format!(
                "it asks {key:?} by {}, which this client has no responder for",
                request.kind
            )));
        }
        Ok((params, self.progress.clone(), required))
    }
}

impl fmt::Debug for Saved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { server, operation, method, .. } = self;
        let round = self.round();
        f.debug_struct("Saved")
            .field("server", server)
            .field("operation", operation)
            .field("method", method)
            .field("round", &round)
            .finish_non_exhaustive()
    }
}

/// Counts up whenever what is saved changes its meaning.
const FORMAT: u32 = 1;
