//! What the driver needs from a transport: one request out, one response text back.
//!
//! The rules of the protocol live above this trait, so that tests drive them without a port and another transport only
//! has to move bytes.

use std::sync::Arc;

use http::HeaderMap;
use thiserror::Error;

use super::BoxFuture;
use crate::wire::PROTOCOL_VERSION;

/// Moves one request to a server and brings back its response.
pub trait Transport: Send + Sync {
    /// Returns the name under which users know the server, for example its URL.
    fn server(&self) -> &str;

    /// Whatever else, beside the [server](Self::server) and the headers, decides who the server takes the client for: a
    /// [`Cache`](super::Cache) keeps what belongs to one away from another. Default: nothing.
    fn identity(&self) -> Vec<u8> {
        Vec::new()
    }

    /// Sends a request and waits for the message that ends it.
    ///
    /// Notifications that come first go to `notify`, as text. Dropping the future abandons the request: over HTTP the
    /// connection closes, which is how a server learns of it.
    ///
    /// # Errors
    ///
    /// When no response came back. An error *response* is a response.
    fn exchange<'a>(
        &'a self,
        request: &'a Outgoing,
        notify: &'a (dyn Fn(&str) + Send + Sync),
    ) -> BoxFuture<'a, Result<Incoming, TransportError>>;

    /// Ends what the transport has started, such as a process, and waits for it. Nothing is exchanged after it.
    ///
    /// By default there is nothing to end.
    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}

impl<T: Transport + ?Sized> Transport for Arc<T> {
    fn server(&self) -> &str {
        (**self).server()
    }

    fn identity(&self) -> Vec<u8> {
        (**self).identity()
    }

    fn exchange<'a>(
        &'a self,
        request: &'a Outgoing,
        notify: &'a (dyn Fn(&str) + Send + Sync),
    ) -> BoxFuture<'a, Result<Incoming, TransportError>> {
        (**self).exchange(request, notify)
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        (**self).close()
    }
}

/// A request on its way out.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Outgoing {
    /// The headers the protocol wants, and those of the caller. Transports without headers ignore them.
    pub headers: HeaderMap,
    /// The JSON-RPC request.
    pub body: String,
    /// The most bytes of response to read, notifications included.
    pub max_response_bytes: usize,
}

/// What came back.
#[derive(Clone, Debug)]
pub struct Incoming {
    /// The HTTP status; 200 on transports that have none.
    pub status: u16,
    /// The HTTP response headers; empty on transports that have none.
    pub headers: HeaderMap,
    /// The body, or for a stream the message that ended it. Meant to be a JSON-RPC response, not checked to be one.
    pub body: String,
}

impl Incoming {
    /// Builds a response of status 200 without headers.
    pub fn ok(body: impl Into<String>) -> Self {
        Self { status: 200, headers: HeaderMap::new(), body: body.into() }
    }
}

/// Why no response came back.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TransportError {
    /// The server could not be reached.
    #[error("cannot connect to {server}: {cause}")]
    Connect {
        /// Where the connection was meant to go.
        server: String,
        /// What the system said.
        cause: String,
    },
    /// The process that is the server could not be started, or ended before it answered anything.
    #[error("cannot start {server}: {cause}")]
    Start {
        /// The command.
        server: String,
        /// What the system said, or how the process ended.
        cause: String,
    },
    /// The process looks like a server of an older revision. Over HTTP, [`CallError::Legacy`](super::CallError::Legacy)
    /// says so.
    #[error(
        "{server} {detail}: this looks like a legacy server that wants `initialize` first; \
         it does not speak revision {PROTOCOL_VERSION}, the only one of this client; a newer release of it may"
    )]
    Legacy {
        /// The command.
        server: String,
        /// How it differs.
        detail: String,
    },
    /// The connection broke while a request was under way. Whether the server acted on it is unknown.
    #[error("lost the connection to {server}: {cause}")]
    Lost {
        /// The other end.
        server: String,
        /// What the system said.
        cause: String,
    },
    /// The response is longer than allowed.
    #[error("the response of {server} is longer than {limit} bytes")]
    TooLarge {
        /// Who sent it.
        server: String,
        /// The bound, see [`Client::max_response_bytes`](super::Client::max_response_bytes).
        limit: usize,
    },
    /// The event stream ended before the response.
    #[error("{server} ended its event stream without a response")]
    Truncated {
        /// Who ended it.
        server: String,
    },
    /// The response is not text, or not a stream of events although it says so.
    #[error("{server} sent a response that cannot be read: {cause}")]
    Unreadable {
        /// Who sent it.
        server: String,
        /// What is wrong with it.
        cause: String,
    },
}
