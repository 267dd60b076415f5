//! Running a server: on an address until a signal, or on a listener until the embedder says so.

use std::{fmt, io, net::SocketAddr, sync::Arc, time::Duration};

use tokio::net::{TcpListener, ToSocketAddrs};

use super::{accept, health::Probes, service::McpService};
use crate::{
    runtime::{KeyWatch, StopSignals},
    server::{BuildError, Server},
};

/// The HTTP/1.1 server around an [`McpService`]: path, timeouts, listener, shutdown.
///
/// ```no_run
/// use mrtr::{http::{HttpServer, McpService}, server::Server};
///
/// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
/// let service = McpService::new(Server::new("releases", "1.0.0").build()?).allow_host("api.example.com");
/// HttpServer::new(service).path("/rpc").listen("0.0.0.0:8080").await?;
/// # Ok(())
/// # }
/// ```
///
/// It speaks plain HTTP/1.1 with keep-alive; TLS belongs to a proxy in front. The number of connections is
/// not limited: an idle one costs a file descriptor, a task and a few KiB, so bound them with the process's
/// descriptor limit. When that is reached accepting pauses and goes on; nothing ends.
#[derive(Clone, Debug)]
pub struct HttpServer {
    service: McpService,
    options: Options,
}

/// What [`HttpServer`] can be told about serving.
#[derive(Clone, Debug)]
pub(super) struct Options {
    pub(super) path: Arc<str>,
    pub(super) header_timeout: Duration,
    pub(super) drain_delay: Duration,
    pub(super) drain_timeout: Duration,
    pub(super) probes: Probes,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            path: Arc::from("/mcp"),
            header_timeout: Duration::from_secs(30),
            drain_delay: Duration::ZERO,
            drain_timeout: Duration::from_secs(30),
            probes: Probes::default(),
        }
    }
}

impl HttpServer {
    /// Serves this endpoint at `/mcp`.
    #[must_use]
    pub fn new(service: McpService) -> Self {
        Self { service, options: Options::default() }
    }

    /// Sets the endpoint's path, compared exactly; every other path is answered with 404. Default: `/mcp`.
    ///
    /// With [`McpService::resource_metadata`] its document is served too, at `/.well-known/oauth-protected-resource`
    /// and at that followed by this path.
    #[must_use]
    pub fn path(mut self, path: impl Into<Arc<str>>) -> Self {
        self.options.path = path.into();
        self
    }

    /// Sets how long a connection may take to send a request's headers.
    ///
    /// The time runs from the moment the connection is ready for a request, so this is also how long a
    /// connection may idle between requests. It is looked at now and then: after an earlier request up to twice
    /// as long may pass. Default: 30 seconds.
    #[must_use]
    pub fn header_timeout(mut self, timeout: Duration) -> Self {
        self.options.header_timeout = timeout;
        self
    }

    /// Sets for how long the server goes on serving after it was told to stop. Default: not at all.
    ///
    /// Behind a load balancer this is the time it needs to notice: the readiness probe says 503 at once and every
    /// response says `Connection: close`, while new connections and their calls are served as ever. Make it longer
    /// than the interval of the balancer's checks times the failures it waits for, or than a change of a
    /// service's endpoints takes to get around; five to ten seconds are common.
    #[must_use]
    pub fn drain_delay(mut self, delay: Duration) -> Self {
        self.options.drain_delay = delay;
        self
    }

    /// Sets how long running calls may go on once the server has stopped listening; then they are dropped.
    ///
    /// Keep it, together with the [drain delay](Self::drain_delay), below the time your supervisor waits between SIGTERM
    /// and SIGKILL. Default: 30 seconds.
    #[must_use]
    pub fn drain_timeout(mut self, timeout: Duration) -> Self {
        self.options.drain_timeout = timeout;
        self
    }

    /// Binds the address and serves until SIGTERM or Ctrl-C, then stops as [`serve`](Self::serve) does.
    ///
    /// A second signal drops the running calls at once. The signals are watched before the address
    /// is bound, so a supervisor may send one as soon as the log says `listening`. So is SIGHUP, on Unix, if the server's
    /// [`Keyring`](crate::Keyring) is from a file or a function: it is [reloaded](crate::Keyring::reload) then.
    ///
    /// # Errors
    ///
    /// When the address cannot be bound or the signals cannot be watched. Once listening, it cannot fail.
    pub async fn listen(self, address: impl ToSocketAddrs + fmt::Display) -> Result<(), ServeError> {
        let (mut first, mut second) = watch_signals()?;
        let _keys = KeyWatch::hangup(self.service.endpoint.handler().keys()).map_err(ServeError::Signals)?;
        let listener = bind(address).await?;
        tokio::select! {
            () = self.serve(listener, first.next()) => {}
            () = async { second.next().await; second.next().await } => {
                tracing::warn!("told to stop twice; dropping what still runs");
            }
        }
        Ok(())
    }

    /// Serves a listener until `stop` is ready, then stops in order.
    ///
    /// Stopping goes in this order. The readiness probe says 503, and responses are the last of their connections; for the
    /// [drain delay](Self::drain_delay) all else stays as it was. Then what has been connected is accepted and the listener
    /// is closed: new connections are refused. Subscriptions are ended; running calls finish and their
    /// replies are sent, within the [drain timeout](Self::drain_timeout). A connection on which nothing is asked is
    /// closed after a quarter of a second, so that a request on its way still arrives. Dropping the future drops
    /// everything at once.
    ///
    /// The listener's own IP address is an allowed host. Bound to all addresses there is no such address:
    /// unless [`McpService::allow_host`] named one, a warning in the log says that only loopback is answered.
    ///
    /// While it serves, a [`Keyring`](crate::Keyring) from a file follows the file. SIGHUP is left to the embedder, who
    /// has [`Keyring::reload`](crate::Keyring::reload).
    pub async fn serve(mut self, listener: TcpListener, stop: impl Future<Output = ()>) {
        match listener.local_addr() {
            Ok(address) => self.announce(address),
            Err(error) => {
                tracing::warn!(%error, "listening on an address the system does not tell")
            }
        }
        let _keys = KeyWatch::file(self.service.endpoint.handler().keys());
        let server = Arc::clone(self.service.endpoint.handler());
        tokio::spawn(async move {
            if let Err(error) = server.check_ledger().await {
                tracing::warn!("{error}; until it does, what is done once is refused");
            }
        });
        accept::run(listener, self.service.endpoint, &self.options, stop).await;
        tracing::info!("stopped");
    }

    pub(super) fn options_mut(&mut self) -> &mut Options {
        &mut self.options
    }

    fn announce(&mut self, address: SocketAddr) {
        tracing::info!(%address, path = %self.options.path, "listening");
        let admission = &mut self.service.endpoint.rules_mut().admission;
        if !address.ip().is_unspecified() {
            admission.allow_ip(address.ip());
        } else if admission.is_loopback_only() {
            tracing::warn!(
                "listening on all addresses but answering to loopback hosts only; \
                 name the host clients use with McpService::allow_host"
            );
        }
    }
}

async fn bind(address: impl ToSocketAddrs + fmt::Display) -> Result<TcpListener, ServeError> {
    let name = address.to_string();
    TcpListener::bind(address).await.map_err(|source| ServeError::Bind { address: name, source })
}

fn watch_signals() -> Result<(StopSignals, StopSignals), ServeError> {
    let watch = || StopSignals::watch().map_err(ServeError::Signals);
    Ok((watch()?, watch()?))
}

impl Server {
    /// Builds the server, binds the address and serves `/mcp` until SIGTERM or Ctrl-C.
    ///
    /// The whole of a `main` for one endpoint with the defaults of [`McpService`] and [`HttpServer`]; use
    /// those for anything else. Running calls finish before it returns, for at most 30 seconds.
    ///
    /// ```no_run
    /// # async fn run() -> Result<(), mrtr::http::ServeError> {
    /// mrtr::server::Server::new("releases", "1.0.0").serve_http("127.0.0.1:8080").await
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// When the server's definition is wrong, the address cannot be bound or signals cannot be watched.
    ///
    /// # Security
    ///
    /// Answers only to loopback hosts and to the IP address it is bound to; see [`McpService`].
    pub async fn serve_http(self, address: impl ToSocketAddrs + fmt::Display) -> Result<(), ServeError> {
        let server = self.build().map_err(ServeError::Build)?;
        HttpServer::new(McpService::new(server)).listen(address).await
    }
}

/// Why a server did not start.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The server's definition is wrong.
    #[error("cannot build the server")]
    Build(#[source] BuildError),
    /// The address cannot be bound: taken, not ours, or not permitted.
    #[error("cannot listen on {address}")]
    Bind {
        /// The address as it was given.
        address: String,
        /// What the system said.
        source: io::Error,
    },
    /// The signals to stop, or SIGHUP, cannot be watched.
    #[error("cannot watch for signals")]
    Signals(#[source] io::Error),
}

/// As `Display` has it, and why: what `main` returns is printed this way.
impl fmt::Debug for ServeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Build(cause) => write!(f, "{self}: {cause}"),
            Self::Bind { source, .. } | Self::Signals(source) => write!(f, "{self}: {source}"),
        }
    }
}
