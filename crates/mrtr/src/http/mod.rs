//! Serving over Streamable HTTP, revision 2026-07-28: one endpoint, one POST per message, one JSON reply.
//!
//! This module is transport only. It decides who may talk to the endpoint ([`McpService::allow_host`],
//! [`McpService::allow_origin`]), that the request is a JSON POST of bounded size, and then hands the
//! bytes to [`Dispatch`](crate::server::Dispatch), which owns everything JSON-RPC: methods, `_meta`, the
//! comparison of headers with the body, status codes.
//!
//! Three ways in, from least to most control:
//!
//! - [`Server::serve_http`](crate::server::Server::serve_http) binds an address and runs until SIGTERM or Ctrl-C;
//! - [`HttpServer`] chooses the path, timeouts, the listener and the shutdown signal;
//! - [`McpService`] is a [`tower_service::Service`] to mount in axum or in any hyper server.
//!
//! # Who the caller is
//!
//! Authentication belongs to the operator's own middleware. Once it knows who is calling, it puts a
//! [`Principal`](crate::Principal) into the request's extensions
//! (`request.extensions_mut().insert(principal)`); the service passes it on, and a question asked of one
//! caller is never answered by another. Without one, every caller is the same anonymous caller.
//!
//! # When the client goes away
//!
//! The specification makes a closed connection the cancellation of its request, so a handler's future is
//! dropped when its client disconnects. A client that closes only its sending half looks the same on the
//! wire and is treated the same: keep the connection open until the answer is there.

mod accept;
mod admission;
mod body;
mod endpoint;
mod headers;
mod linger;
mod negotiate;
mod refusal;
mod serve;
mod service;
#[cfg(test)]
mod tests;

pub use crate::runtime::TokioClock;

pub use self::{
    body::ResponseBody,
    serve::{HttpServer, ServeError},
    service::McpService,
};
