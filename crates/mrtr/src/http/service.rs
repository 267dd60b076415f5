//! The tower service: what axum mounts and hyper serves.

use std::{
    convert::Infallible,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Buf;
use http::{HeaderName, HeaderValue, Request, Response};
use http_body::Body;
use tower_service::Service;

use super::{
    auth::{Authenticator, ResourceMetadata},
    body::ResponseBody,
    endpoint::Endpoint,
    limits::{Limiter, Limits},
};
use crate::server::Dispatch;

/// An MCP endpoint as a [`tower_service::Service`]: every refusal is a response, so it cannot fail.
///
/// It looks at no path: what is routed to it is the endpoint. It takes any body type, must run inside a
/// tokio runtime (its timeouts use tokio's timer), and is always ready. Clones share everything, and each
/// costs two reference counts. Dropping a call's future, or the body of a response that streams, cancels the handler
/// behind it.
///
/// ```
/// use mrtr::{http::McpService, server::Server};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let server = Server::new("releases", "1.0.0").build()?;
/// let service = McpService::new(server).allow_host("api.example.com");
/// let app: axum::Router = axum::Router::new().route_service("/mcp", service);
/// # Ok(())
/// # }
/// ```
///
/// # Security
///
/// Requests are refused with 403 unless their `Host` is `localhost`, `127.0.0.1` or `[::1]` (any port) or one
/// given to [`allow_host`](Self::allow_host), and unless their `Origin`, if there is one, is a loopback page
/// or one given to [`allow_origin`](Self::allow_origin). Without this, any web page could reach a server on
/// its visitor's machine. `Mcp-Session-Id` and `Last-Event-ID` are ignored: there are no sessions to find.
#[derive(Clone, Debug)]
pub struct McpService {
    pub(super) endpoint: Endpoint<Dispatch>,
}

impl McpService {
    /// Serves a built server to loopback clients, with the default limits.
    #[must_use]
    pub fn new(server: Arc<Dispatch>) -> Self {
        Self { endpoint: Endpoint::new(server) }
    }

    /// Sets the largest body that is read; a larger one is answered with 413.
    ///
    /// A body announced as larger is refused unread. While a call runs it takes a multiple of its body: arguments
    /// that are lists of very small values take some twenty times their text. Default: 4 MiB.
    #[must_use]
    pub fn max_body(mut self, bytes: usize) -> Self {
        self.endpoint.rules_mut().body.bytes = bytes;
        self
    }

    /// Sets how long a body may take to arrive once its headers are there; a slower one is answered with 408.
    ///
    /// Default: 30 seconds. Raise it for large bodies over slow links.
    #[must_use]
    pub fn body_timeout(mut self, timeout: Duration) -> Self {
        self.endpoint.rules_mut().body.time = timeout;
        self
    }

    /// Sets after how much silence a stream sends a comment, so that nothing in between takes it for dead; zero is never.
    ///
    /// It costs a timer per open stream, and a few bytes each time. Default: 15 seconds.
    #[must_use]
    pub fn keep_alive(mut self, silence: Duration) -> Self {
        self.endpoint.rules_mut().keep_alive = silence;
        self
    }

    /// Answers to this host too: `api.example.com` on every port, `api.example.com:8443` on that port only.
    ///
    /// Name every host under which clients reach the server, as they spell it in their URL; behind a proxy
    /// that keeps the `Host` header that is the proxy's public name. Letter case does not matter; there are
    /// no wildcards. What is not a host name is ignored, with a warning in the log. Default: loopback only.
    #[must_use]
    pub fn allow_host(mut self, host: impl AsRef<str>) -> Self {
        self.endpoint.rules_mut().admission.allow_host(host.as_ref());
        self
    }

    /// Serves pages of this origin too, written as browsers send it: `https://app.example.com`.
    ///
    /// Scheme, host and port must be equal. `null`, the origin of every sandboxed page, cannot be allowed.
    /// This only lets the requests in: the CORS headers a browser wants to see as well are a layer of their
    /// own in front. Default: `http` and `https` pages of loopback hosts, on any port.
    #[must_use]
    pub fn allow_origin(mut self, origin: impl AsRef<str>) -> Self {
        self.endpoint.rules_mut().admission.allow_origin(origin.as_ref());
        self
    }

    /// Sends this header with every response, refusals included; the protocol's own headers cannot be replaced.
    ///
    /// For what is the same in all of them, such as the name of the instance that answered. Default: none.
    #[must_use]
    pub fn response_header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.endpoint.rules_mut().response_headers.insert(name, value);
        self
    }

    /// Asks this authenticator who sent each request. Default: nobody is asked, and the caller is the
    /// [`Principal`](crate::Principal) in the request's extensions or else anonymous.
    ///
    /// An authenticator that is set decides alone: a principal in the extensions is ignored then.
    #[must_use]
    pub fn authenticator(mut self, authenticator: impl Authenticator) -> Self {
        self.endpoint.rules_mut().auth.set_authenticator(authenticator);
        self
    }

    /// Tells clients that are refused where to get a token. Default: a refusal names no place.
    ///
    /// [`HttpServer`](super::HttpServer) also serves the document; mounted elsewhere, mount
    /// [`ResourceMetadata::service`] too.
    #[must_use]
    pub fn resource_metadata(mut self, metadata: ResourceMetadata) -> Self {
        self.endpoint.rules_mut().auth.metadata = Some(Arc::new(metadata));
        self
    }

    /// Limits how many calls are served, per caller and in all. Default: no limits.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.endpoint.rules_mut().limits = Some(Arc::new(Limiter::new(limits)));
        self
    }

    /// Answers to every `Host`, even a missing one; `Origin` is still checked.
    ///
    /// # Security
    ///
    /// Right only where something in front, such as a proxy that routes by name, already refuses foreign
    /// hosts. On a machine that also runs a browser it opens the server to DNS rebinding.
    #[must_use]
    pub fn danger_allow_any_host(mut self) -> Self {
        self.endpoint.rules_mut().admission.allow_any_host();
        self
    }
}

impl<B> Service<Request<B>> for McpService
where
    B: Body<Data: Buf> + Send + 'static,
{
    type Response = Response<ResponseBody>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let endpoint = self.endpoint.clone();
        Box::pin(async move { Ok(endpoint.respond(request).await) })
    }
}
