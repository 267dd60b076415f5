//! Why an operation did not complete, sorted by who has to act.

use std::error::Error as StdError;
use std::fmt;
use std::time::Duration;

use serde_json::Value;
use thiserror::Error;

use super::{Ask, Diagnosis, Kind, TransportError};
use crate::wire::PROTOCOL_VERSION;

/// An operation that ended without a result.
///
/// A tool that reports an error *has* a result: see [`Output::is_error`](super::Output::is_error).
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CallError {
    /// No response came back.
    #[error(transparent)]
    Transport(#[from] TransportError),
    /// The server took too long for one request.
    #[error("{server} gave no response within {} s (round {round})", .timeout.as_secs_f32())]
    Timeout {
        /// Who was asked.
        server: String,
        /// The bound, see [`Client::server_timeout`](super::Client::server_timeout).
        timeout: Duration,
        /// The round.
        round: u32,
    },
    /// The server answered with a JSON-RPC error.
    #[error("server error {code}: {message}{}", RpcHint { code: *code, data: data.as_ref() })]
    Rpc {
        /// The round.
        round: u32,
        /// The JSON-RPC error code.
        code: i64,
        /// What the server says about it.
        message: String,
        /// More about it, in whatever form.
        data: Option<Value>,
    },
    /// The server answered with an HTTP error that carries no JSON-RPC error.
    #[error("{server} answered HTTP {status}{}{}", Detail(detail), StatusHint(*status))]
    Http {
        /// Who answered.
        server: String,
        /// The HTTP status.
        status: u16,
        /// The first line of the body, made printable, or where a redirect leads.
        detail: String,
    },
    /// The server looks like one of an older revision.
    #[error(
        "{server} answered HTTP {status}{}: this looks like a legacy server that wants `initialize` first; \
         it does not speak revision {PROTOCOL_VERSION}, the only one of this client; a newer release of it may",
        Detail(detail)
    )]
    Legacy {
        /// Who answered.
        server: String,
        /// The HTTP status.
        status: u16,
        /// The first line of the body, made printable.
        detail: String,
    },
    /// The server's response breaks the protocol.
    #[error("the server broke the protocol in round {round}: {what}")]
    Protocol {
        /// The round.
        round: u32,
        /// The rule it breaks.
        diagnosis: Diagnosis,
        /// What was expected and what came.
        what: String,
    },
    /// The server asked for a kind of input this client did not declare.
    #[error(
        "the server broke the protocol in round {round}: it asks {key:?} by {kind}, which this client did not declare"
    )]
    Undeclared {
        /// The round.
        round: u32,
        /// The question.
        key: String,
        /// What it asks for.
        kind: Kind,
    },
    /// Questions came up that nobody could be asked. Nothing was sent in answer.
    #[error("input is needed and nobody can be asked: {}", Keys(questions))]
    Unanswered {
        /// The questions of the round that are open.
        questions: Vec<Ask>,
    },
    /// The user stopped the operation. Nothing was sent in answer.
    #[error("stopped by the user at {key:?} in round {round}")]
    Abandoned {
        /// The round.
        round: u32,
        /// The question being put at the time.
        key: String,
    },
    /// A responder failed, or gave an answer that does not fit the question.
    #[error("no answer for {key:?} in round {round}: {cause}")]
    Responder {
        /// The round.
        round: u32,
        /// The question.
        key: String,
        /// What the responder says.
        cause: Box<dyn StdError + Send + Sync>,
    },
    /// The server keeps asking.
    #[error("the server still asks for input after {limit} rounds")]
    TooManyRounds {
        /// The bound, see [`Client::max_rounds`](super::Client::max_rounds).
        limit: u32,
    },
    /// The server keeps asking to be called again.
    #[error("the server still asks to be called again after {limit} calls")]
    TooManyWaits {
        /// The bound, see [`Client::max_waits`](super::Client::max_waits).
        limit: u32,
    },
    /// The call itself is wrong; nothing was sent.
    #[error("{0}")]
    Invalid(String),
}

impl CallError {
    /// Names the rule of the specification that the server broke, if it is for that that the operation ended.
    pub fn diagnosis(&self) -> Option<Diagnosis> {
        match self {
            Self::Protocol { diagnosis, .. } => Some(*diagnosis),
            Self::Undeclared { .. } => Some(Diagnosis::KindUndeclared),
            _ => None,
        }
    }
}

/// What to do about an error code the specification defines.
struct RpcHint<'a> {
    code: i64,
    data: Option<&'a Value>,
}

impl fmt::Display for RpcHint<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let data = |name: &str| self.data.and_then(|data| data.get(name));
        match self.code {
            // Spec: basic/index#error-codes.
            -32020 => f.write_str(" (the headers and the body of the request differ on their way)"),
            -32021 => match data("requiredCapabilities") {
                Some(required) => write!(f, " (the call needs a client that can do {required})"),
                None => f.write_str(" (the call needs a capability this client did not declare)"),
            },
            -32022 => match data("supported").and_then(Value::as_array) {
                Some(versions) => {
                    let versions: Vec<_> = versions.iter().filter_map(Value::as_str).collect();
                    write!(f, " (the server speaks {}; this client speaks {PROTOCOL_VERSION})", versions.join(", "))
                }
                None => write!(f, " (this client speaks {PROTOCOL_VERSION})"),
            },
            _ => Ok(()),
        }
    }
}

/// What to do about an HTTP status.
struct StatusHint(u16);

impl fmt::Display for StatusHint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            404 => f.write_str(": check the path of the URL, an MCP endpoint is usually at /mcp"),
            400 | 405 => f.write_str("; is this an MCP endpoint?"),
            _ => Ok(()),
        }
    }
}

struct Detail<'a>(&'a str);

impl fmt::Display for Detail<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { Ok(()) } else { write!(f, " ({})", self.0) }
    }
}

struct Keys<'a>(&'a [Ask]);

impl fmt::Display for Keys<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, ask) in self.0.iter().enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            write!(f, "{comma}{:?} ({})", ask.key, ask.kind)?;
        }
        Ok(())
    }
}
