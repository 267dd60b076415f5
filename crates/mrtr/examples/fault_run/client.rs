//! What a client sends and what it makes of the reply.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use mrtr::wire::OUTCOME_UNKNOWN;
use serde_json::{Value, json};
use thiserror::Error;
use tokio::time::timeout;

use super::http::{Connection, request};

/// Longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(20);

/// A leg: what is sent, again and again until there is an answer.
#[derive(Clone)]
pub struct Leg {
    pub tool: &'static str,
    pub order: u64,
    pub round: u32,
    params: String,
}

/// What ends a leg.
#[derive(Clone, PartialEq, Eq)]
pub enum Answer {
    /// A question; this is the state to bring along with its answer.
    Asked(String),
    Done(String),
    OutcomeUnknown,
    /// Any other error.
    Refused(String),
}

/// For the verdict: a state is nobody's business.
impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Asked(_) => f.write_str("a question"),
            Self::Done(text) => f.write_str(text),
            Self::OutcomeUnknown => f.write_str("outcome unknown"),
            Self::Refused(reply) => write!(f, "refused with {reply}"),
        }
    }
}

/// Why a leg has no answer yet.
#[derive(Debug, Error)]
pub enum NoAnswer {
    /// The connection ended, or nginx could not tell what became of the call.
    #[error("no reply: {0}")]
    Lost(String),
    #[error("the server says to come again: {0}")]
    ComeAgain(String),
}

impl Leg {
    /// The call, with an idempotency key of its own.
    pub fn first(tool: &'static str, order: u64) -> Self {
        let params = params(tool, order, &format!("order-{order}"));
        Self { tool, order, round: 1, params: params.to_string() }
    }

    /// The retry that says yes.
    pub fn confirmed(&self, state: &str) -> Self {
        let mut params = params(self.tool, self.order, "none");
        params["inputResponses"] = json!({ "confirm": { "action": "accept", "content": { "confirm": true } } });
        params["requestState"] = state.into();
        Self { round: self.round + 1, params: params.to_string(), ..self.clone() }
    }

    /// The request, the same every time but for its id.
    fn bytes(&self, id: u64) -> Vec<u8> {
        let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{}}}"#, self.params);
        request(self.tool, &format!("{}/{}", self.order, self.round), &body)
    }
}

fn params(tool: &str, order: u64, key: &str) -> Value {
    json!({
        "name": tool,
        "arguments": { "order": order },
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": { "elicitation": {} },
            "mrtr/idempotencyKey": key,
        },
    })
}

/// A client's connection, made when it is needed.
pub struct Client {
    to: SocketAddr,
    connection: Option<Connection>,
    id: u64,
}

impl Client {
    pub fn of(to: SocketAddr) -> Self {
        Self { to, connection: None, id: 0 }
    }

    /// Sends a leg, once.
    pub async fn send(&mut self, leg: &Leg) -> Result<Answer, NoAnswer> {
        self.id += 1;
        let exchanged = timeout(PATIENCE, self.exchange(&leg.bytes(self.id))).await;
        match exchanged.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())) {
            Ok((status, body)) => answer(status, &body, self.id),
            Err(error) => {
                self.connection = None;
                Err(NoAnswer::Lost(error.to_string()))
            }
        }
    }

    async fn exchange(&mut self, request: &[u8]) -> io::Result<(u16, Vec<u8>)> {
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => Connection::open(self.to).await?,
        };
        connection.send(request).await?;
        let reply = connection.receive().await?.ok_or(io::ErrorKind::UnexpectedEof)?;
        if !reply.is_last() {
            self.connection = Some(connection);
        }
        Ok((reply.status(), reply.body().to_vec()))
    }
}

fn answer(status: u16, body: &[u8], id: u64) -> Result<Answer, NoAnswer> {
    let Ok(reply) = serde_json::from_slice::<Value>(body) else {
        return Err(NoAnswer::Lost(format!("nginx answers {status}")));
    };
    let refused = || Answer::Refused(reply.to_string());
    if reply["id"] != id {
        return Ok(refused());
    }
    let (result, error) = (&reply["result"], &reply["error"]);
    if error["data"]["retryable"] == true {
        return Err(NoAnswer::ComeAgain(error["data"]["reason"].to_string()));
    }
    if error["code"] == OUTCOME_UNKNOWN {
        return Ok(Answer::OutcomeUnknown);
    }
    Ok(match (&result["requestState"], &result["content"][0]["text"], &result["isError"]) {
        (Value::String(state), ..) => Answer::Asked(state.clone()),
        (_, Value::String(text), Value::Null | Value::Bool(false)) => Answer::Done(text.clone()),
        _ => refused(),
    })
}
