//! Running a server: on this process's streams until a signal, or on any streams until the embedder says so.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;
use std::{fmt, io};

use tokio::io::{AsyncRead, AsyncWrite};

use super::connection;
use super::process::{Input, Output};
use crate::runtime::{KeyWatch, StopSignals};
use crate::seal::Principal;
use crate::server::{BuildError, Dispatch, Server};

/// A server over two streams of bytes, one JSON message per line.
///
/// ```no_run
/// use mrtr::{server::Server, stdio::StdioServer};
///
/// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
/// let server = StdioServer::new(Server::new("releases", "1.0.0").build()?);
/// let socket = tokio::net::TcpListener::bind("127.0.0.1:7000").await?;
/// loop {
///     let (client, _) = socket.accept().await?;
///     let (reader, writer) = client.into_split();
///     tokio::spawn(server.clone().serve(reader, writer));
/// }
/// # }
/// ```
///
/// It is cheap to clone: one built server serves any number of connections.
#[derive(Clone, Debug)]
#[must_use = "a server does nothing until it is run or serves"]
pub struct StdioServer {
    dispatch: Arc<Dispatch>,
    options: Options,
}

/// What [`StdioServer`] can be told about serving.
#[derive(Clone, Debug)]
pub(super) struct Options {
    pub(super) max_line: usize,
    pub(super) max_running: usize,
    pub(super) drain_timeout: Duration,
    pub(super) principal: Option<Principal>,
}

impl Default for Options {
    fn default() -> Self {
        Self { max_line: 4 * 1024 * 1024, max_running: 256, drain_timeout: Duration::from_secs(5), principal: None }
    }
}

impl StdioServer {
    /// Serves what [`Server::build`] made.
    pub fn new(server: Arc<Dispatch>) -> Self {
        Self { dispatch: server, options: Options::default() }
    }

    /// Sets the longest line that is read, in bytes without its end; default 4 MiB.
    ///
    /// A longer one is answered with an error that has no id, and skipped. Lines of requests that are not answered yet
    /// are kept, up to 16 of the longest in all.
    pub fn max_line(mut self, bytes: usize) -> Self {
        self.options.max_line = bytes.max(1);
        self
    }

    /// Sets how many requests may run at once, at least one; default 256. Subscriptions are among them.
    ///
    /// A request runs until its reply is being written. Of those beyond, 1024 are read ahead and wait for their turn;
    /// then reading waits.
    pub fn max_running(mut self, requests: usize) -> Self {
        self.options.max_running = requests.clamp(1, MOST_RUNNING);
        self
    }

    /// Sets how long running calls may go on after the input has ended or the server was told to stop; then they are
    /// dropped. Default: 5 seconds.
    ///
    /// Keep it below the time clients wait between closing the input and SIGKILL.
    pub fn drain_timeout(mut self, timeout: Duration) -> Self {
        self.options.drain_timeout = timeout;
        self
    }

    /// Names who is at the other end; states are bound to it. Default: nobody, as over stdin and stdout.
    pub fn principal(mut self, principal: impl Into<Option<Principal>>) -> Self {
        self.options.principal = principal.into();
        self
    }

    /// Serves this process's stdin and stdout until the input ends, or SIGTERM or Ctrl-C, then stops as
    /// [`serve`](Self::serve) does. A signal that arrives while it stops drops the running calls at once.
    ///
    /// Nothing is left behind that would keep the process alive: `main` may return while the client still has its
    /// end of stdin open. What is read ahead from stdin is lost to others, so call it once in a process.
    ///
    /// On Unix SIGHUP is watched too if the server's [`Keyring`](crate::Keyring) is from a file or a function: it is
    /// [reloaded](crate::Keyring::reload) then.
    ///
    /// # Errors
    ///
    /// When the signals cannot be watched, or reading or writing fails for another reason than that the client is gone.
    pub async fn run(self) -> Result<(), ServeError> {
        let watch = || StopSignals::watch().map_err(ServeError::Signals);
        let (mut first, mut second) = (watch()?, watch()?);
        let _keys = KeyWatch::hangup(self.dispatch.keys()).map_err(ServeError::Signals)?;
        let reader = Input::start(io::stdin()).map_err(ServeError::Read)?;
        let writer = Output::start(io::stdout()).map_err(ServeError::Write)?;
        tokio::select! {
            served = self.serve_until(reader, writer, first.next()) => served,
            () = async { second.next().await; second.next().await } => {
                tracing::warn!("told to stop twice; dropping what still runs");
                Ok(())
            }
        }
    }

    /// Serves these streams until the input ends or the output is closed by its reader.
    ///
    /// At the end of the input subscriptions end, running calls finish and their replies are written, within the
    /// [drain timeout](Self::drain_timeout). A broken output drops everything at once; it is no error, the client is
    /// gone. Dropping the future does the same. A [`Keyring`](crate::Keyring) from a file follows the file meanwhile.
    ///
    /// # Errors
    ///
    /// When reading or writing fails for another reason.
    pub async fn serve<R, W>(self, reader: R, writer: W) -> Result<(), ServeError>
    where
        R: AsyncRead + Unpin,
        W: AsyncWrite + Unpin,
    {
        self.serve_until(reader, writer, pending()).await
    }

    /// As [`serve`](Self::serve), and until `stop` is ready: then nothing more is read. If it is ready only after the
    /// input has ended, the running calls are dropped.
    ///
    /// # Errors
    ///
    /// Those of [`serve`](Self::serve).
    pub async fn serve_until<R, W>(self, reader: R, writer: W, stop: impl Future<Output = ()>) -> Result<(), ServeError>
    where
        R: AsyncRead + Unpin,
        W: AsyncWrite + Unpin,
    {
        let _keys = KeyWatch::file(self.dispatch.keys());
        connection::run(self.dispatch, &self.options, reader, writer, stop).await
    }
}

impl Server {
    /// Builds the server and serves this process's stdin and stdout until the input ends, or SIGTERM or Ctrl-C.
    ///
    /// The whole of a `main`, with the defaults of [`StdioServer`]. Running calls finish
    /// before it returns, for at most 5 seconds. Nothing else may write to stdout: logs go to stderr.
    ///
    /// ```no_run
    /// #[tokio::main]
    /// async fn main() -> Result<(), mrtr::stdio::ServeError> {
    ///     mrtr::server::Server::new("releases", "1.0.0").serve_stdio().await
    /// }
    /// ```
    ///
    /// # Errors
    ///
    /// When the server's definition is wrong, and those of [`StdioServer::run`].
    pub async fn serve_stdio(self) -> Result<(), ServeError> {
        StdioServer::new(self.build().map_err(ServeError::Build)?).run().await
    }
}

/// Why a server did not start, or ended before its input.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The server's definition is wrong.
    #[error("cannot build the server")]
    Build(#[source] BuildError),
    /// The signals to stop, or SIGHUP, cannot be watched.
    #[error("cannot watch for signals")]
    Signals(#[source] io::Error),
    /// The input cannot be read.
    #[error("cannot read the client's messages")]
    Read(#[source] io::Error),
    /// The output cannot be written, and not because the client is gone.
    #[error("cannot write to the client")]
    Write(#[source] io::Error),
}

/// As `Display` has it, and why: what `main` returns is printed this way.
impl fmt::Debug for ServeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Build(cause) => write!(f, "{self}: {cause}"),
            Self::Signals(source) | Self::Read(source) | Self::Write(source) => write!(f, "{self}: {source}"),
        }
    }
}

/// As many as a semaphore can have, which is more than anybody means.
const MOST_RUNNING: usize = tokio::sync::Semaphore::MAX_PERMITS;
