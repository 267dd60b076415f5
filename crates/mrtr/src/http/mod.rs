//! Serving over Streamable HTTP, revision 2026-07-28: one endpoint, one POST per message, one JSON reply or stream.
//!
//! This module is transport only. It decides who may talk to the endpoint ([`McpService::allow_host`],
//! [`McpService::allow_origin`]), who the caller is, that the request is a JSON POST of bounded size, and then hands the
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
//! A question asked of one caller is never answered by another: states are bound to the caller's
//! [`Principal`](crate::Principal). It comes from one of three places:
//!
//! - [`JwtAuthenticator`] (feature `jwt`) takes access tokens that an authorization server signed for this server;
//! - an [`Authenticator`] of your own decides from the request's headers: an API key, a name a proxy vouches for, a
//!   token that has to be looked up;
//! - middleware in front puts it into the request's extensions (`request.extensions_mut().insert(principal)`), which
//!   counts where no authenticator is set.
//!
//! Without any, every caller is the same anonymous caller. [`ResourceMetadata`] tells clients that are turned away where
//! to get a token, as the specification asks of servers with
//! [authorization](https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization).
//!
//! A request is judged in this order: `Host` and `Origin` (403), the caller (400, 401, 403, 503), [`Limits`] (429, 503),
//! method and headers (405, 406, 415), then the body (408, 413). Who is turned away before they have a name is not
//! limited here; that is for what stands in front.
//!
//! # When a call says something while it runs
//!
//! The reply is plain JSON, unless the handler says something the client asked for before it is done
//! ([`Context::progress`](crate::Context::progress), [`Context::log`](crate::Context::log)) or the call is a
//! subscription: then the response is a stream of server-sent events, of which the reply is the last. A stream's status
//! is always 200, since it is sent first; an error that comes later is the last event like any other reply. The handler
//! goes on as the client reads: what a client leaves unread is bounded, and messages beyond that are lost, never the reply.
//!
//! # In a fleet
//!
//! [`HttpServer`] answers two probes, `/livez` and `/readyz`, before anything else is judged;
//! [`HttpServer::ready_when`] adds what readiness depends on. Told to stop, it is not ready at once, serves on for
//! [`HttpServer::drain_delay`], and then ends in order. No request that has reached a connection is lost to that. One that is
//! sent on a kept connection at the very moment it is closed is, as always with HTTP/1.1; a load balancer that makes a new
//! connection for each request, and tries another instance only where it could not connect, loses none. The
//! repository's `deploy` directory has such configurations.
//!
//! # When the client goes away
//!
//! The specification makes a closed connection the cancellation of its request, so a handler's future is
//! dropped when its client disconnects. A client that closes only its sending half looks the same on the
//! wire and is treated the same: keep the connection open until the answer is there.

mod accept;
mod admission;
mod auth;
mod body;
mod detached;
mod drain;
mod endpoint;
mod events;
mod exchange;
mod headers;
mod health;
mod idle;
mod limits;
mod linger;
mod negotiate;
mod outbox;
mod refusal;
mod serve;
mod service;
#[cfg(test)]
mod tests;

#[cfg(feature = "jwt")]
pub use self::auth::{Jwks, JwksError, JwtAuthenticator};
pub use self::{
    auth::{AuthError, Authenticator, MetadataService, ResourceMetadata, ResourceMetadataError},
    body::ResponseBody,
    limits::Limits,
    serve::{HttpServer, ServeError},
    service::McpService,
};
pub use crate::runtime::TokioClock;
