//! Watching an operation: each message as it went over the wire, and the story of each round.

use std::time::Duration;

use http::HeaderMap;

use serde_json::Value;

use super::{Ask, CallError, Kind, OperationId};

/// Told of every message of every request, as it happens.
///
/// Closures `Fn(&Event<'_>)` are observers. An observer is called from the task that runs the operation: keep it short.
///
/// # Security
///
/// Events carry request states, arguments and answers in full. They belong on the screen of the user who is calling,
/// not in a log.
pub trait Observer: Send + Sync {
    /// Takes note of one event.
    fn observe(&self, event: &Event<'_>);
}

impl<F: Fn(&Event<'_>) + Send + Sync> Observer for F {
    fn observe(&self, event: &Event<'_>) {
        self(event);
    }
}

/// Something that happened in an operation. Rounds count from 1.
///
/// [`operation`](Self::operation) and [`round`](Self::round) say where each belongs, also when operations run side by side.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// An operation begins: its first request is next.
    Start {
        /// The operation.
        operation: &'a OperationId,
        /// The method, such as `tools/call`.
        method: &'a str,
        /// The tool, prompt or resource; empty for other methods.
        target: &'a str,
    },
    /// The result was known already, and nothing is sent; see [`Client::cache`](super::Client::cache). The only event of its
    /// operation.
    Cached {
        /// The operation.
        operation: &'a OperationId,
        /// The method, such as `tools/list`.
        method: &'a str,
        /// How long ago the server said it.
        age: Duration,
    },
    /// A request goes out.
    Request {
        /// The operation.
        operation: &'a OperationId,
        /// The round.
        round: u32,
        /// The headers that go with it.
        headers: &'a HeaderMap,
        /// The JSON-RPC request, byte for byte.
        body: &'a str,
    },
    /// A notification came before the response, such as progress.
    Notification {
        /// The operation.
        operation: &'a OperationId,
        /// The round.
        round: u32,
        /// The JSON-RPC notification, byte for byte.
        body: &'a str,
    },
    /// A response came back.
    Response {
        /// The operation.
        operation: &'a OperationId,
        /// The round.
        round: u32,
        /// The HTTP status.
        status: u16,
        /// The response headers.
        headers: &'a HeaderMap,
        /// The JSON-RPC response, byte for byte.
        body: &'a str,
        /// The time from the request to here.
        elapsed: Duration,
    },
    /// No response came back, or not in time.
    Lost {
        /// The operation.
        operation: &'a OperationId,
        /// The round.
        round: u32,
        /// What happened instead.
        error: &'a CallError,
        /// The time from the request to here.
        elapsed: Duration,
    },
    /// The round is over: what it was, in figures.
    Round(&'a RoundTrace),
    /// A question is put to its responder.
    Asked(&'a Ask),
    /// A question was answered.
    Answered {
        /// The question.
        ask: &'a Ask,
        /// The input response, as it will go to the server.
        response: &'a Value,
        /// The time the answer took: the user's, not the server's.
        elapsed: Duration,
    },
    /// A question got no answer, so that the operation cannot go on.
    Unanswered {
        /// The question.
        ask: &'a Ask,
        /// The time that took.
        elapsed: Duration,
    },
    /// The server asks to come back later; the next request follows after the pause.
    Pause {
        /// The operation.
        operation: &'a OperationId,
        /// The round that ended so.
        round: u32,
        /// The time until the next request.
        pause: Duration,
    },
}

impl Event<'_> {
    /// Returns the operation it happened in.
    pub fn operation(&self) -> &OperationId {
        match self {
            Self::Start { operation, .. }
            | Self::Cached { operation, .. }
            | Self::Request { operation, .. }
            | Self::Notification { operation, .. }
            | Self::Response { operation, .. }
            | Self::Lost { operation, .. }
            | Self::Pause { operation, .. } => operation,
            Self::Round(round) => &round.operation,
            Self::Asked(ask) | Self::Answered { ask, .. } | Self::Unanswered { ask, .. } => &ask.operation,
        }
    }

    /// Returns the round it happened in; 0 before the first.
    pub fn round(&self) -> u32 {
        match self {
            Self::Start { .. } | Self::Cached { .. } => 0,
            Self::Request { round, .. }
            | Self::Notification { round, .. }
            | Self::Response { round, .. }
            | Self::Lost { round, .. }
            | Self::Pause { round, .. } => *round,
            Self::Round(round) => round.round,
            Self::Asked(ask) | Self::Answered { ask, .. } | Self::Unanswered { ask, .. } => ask.round,
        }
    }
}

/// One round, after it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RoundTrace {
    /// The operation it is part of.
    pub operation: OperationId,
    /// The round, from 1.
    pub round: u32,
    /// The id of its request; no two requests of a client share one.
    pub id: i64,
    /// What came back.
    pub outcome: RoundOutcome,
    /// The bytes of the request body.
    pub sent_bytes: usize,
    /// The bytes of the response message.
    pub received_bytes: usize,
    /// The time from request to response: the server's.
    pub elapsed: Duration,
    /// The time its questions took to be answered: the user's. Zero in [`Event::Round`], which comes before they are put.
    pub answering: Duration,
    /// The response headers.
    pub headers: HeaderMap,
}

impl RoundTrace {
    /// Returns a response header as text; `None` if absent or not text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

/// How a round ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RoundOutcome {
    /// With the result.
    Complete,
    /// With questions, or with the wish to be called again.
    InputRequired {
        /// Key and kind of each question, in the server's order; empty if the server only wants to be called again.
        asked: Vec<(String, Kind)>,
        /// The bytes of the request state, quotes not counted; `None` if there was none.
        state_bytes: Option<usize>,
    },
    /// With an error, or with something that is no response.
    Failed,
}
