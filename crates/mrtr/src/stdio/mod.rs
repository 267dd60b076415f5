//! Serving over standard input and output, revision 2026-07-28: one JSON message per line, many calls at work.
//!
//! A client starts the server as a process, writes requests to its stdin and reads replies from its stdout. This module
//! is transport only: it finds the lines, keeps the calls apart, and hands the bytes to
//! [`Dispatch`](crate::server::Dispatch), which owns everything JSON-RPC.
//!
//! Two ways in:
//!
//! - [`Server::serve_stdio`](crate::server::Server::serve_stdio) serves this process's stdin and stdout until the input
//!   ends, or SIGTERM or Ctrl-C;
//! - [`StdioServer`] has settings, and serves any other pair of streams: a Unix socket, a TCP connection, a test's
//!   pipe.
//!
//! ```
//! use mrtr::{Context, NoArguments, Server, Tool, stdio::StdioServer};
//!
//! async fn ping(_: NoArguments, _: Context) -> &'static str { "pong" }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let server = Server::new("pinger", "1.0.0").tool(Tool::new("ping", ping)).build()?;
//! let meta = serde_json::json!({
//!     "io.modelcontextprotocol/protocolVersion": "2026-07-28",
//!     "io.modelcontextprotocol/clientCapabilities": {},
//! });
//! let params = serde_json::json!({ "name": "ping", "_meta": meta });
//! let request = serde_json::json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
//! let mut replies = Vec::new();
//! StdioServer::new(server).serve(request.to_string().as_bytes(), &mut replies).await?;
//! assert!(String::from_utf8(replies)?.contains(r#""text":"pong""#));
//! # Ok(())
//! # }
//! ```
//!
//! # Standard output belongs to the protocol
//!
//! What a server prints to stdout with `println!` ends up between the messages and breaks them. Logs go to stderr; with
//! `tracing_subscriber` that is `.with_writer(std::io::stderr)`.
//!
//! # Calls
//!
//! Every request runs in a task of its own, and replies are written in the order they are ready: a slow one holds up no
//! other. `notifications/cancelled` drops a call, and nothing is written for it any more. A request whose id is that of
//! a call still at work is refused.
//!
//! Everything is bounded. A client that does not read its replies is not read from either, once enough of them wait;
//! what a handler tells while it runs is then dropped. Of requests beyond those that may run at once, a good number is
//! read ahead, so that a cancellation behind them is heard.
//!
//! # Who the caller is
//!
//! Over stdin and stdout it is whoever started the process, so there is no [`Principal`](crate::Principal). A server
//! that knows who is at the other end of a socket says so with [`StdioServer::principal`].
//!
//! # The end
//!
//! When the input ends, subscriptions end at once, and their clients are told; calls at work get a few seconds to finish
//! ([`StdioServer::drain_timeout`]), so that `echo '{...}' | server` has its reply.

mod calls;
mod connection;
mod lines;
mod outlet;
mod process;
mod serve;
#[cfg(test)]
mod tests;

pub use self::serve::{ServeError, StdioServer};
pub use crate::runtime::TokioClock;
