//! Watching an operation: each message as it went over the wire, and the story of each round.

use std::time::Duration;

use http::HeaderMap;

use super::Kind;

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
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// A request goes out.
    Request {
        /// The round.
        round: u32,
        /// The headers that go with it.
        headers: &'a HeaderMap,
        /// The JSON-RPC request, byte for byte.
        body: &'a str,
    },
    /// A notification came before the response, such as progress.
    Notification {
        /// The round.
        round: u32,
        /// The JSON-RPC notification, byte for byte.
        body: &'a str,
    },
    /// A response came back.
    Response {
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
    /// The round is over: what it was, in figures.
    Round(&'a RoundTrace),
    /// The server asks to come back later; the next request follows after the pause.
    Pause {
        /// The round that ended so.
        round: u32,
        /// The time until the next request.
        pause: Duration,
    },
}

/// One round, after it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RoundTrace {
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
    /// The time from request to response. The time the user took is in no round.
    pub elapsed: Duration,
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
