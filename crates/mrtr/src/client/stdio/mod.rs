//! A server as a child process: messages are lines of its stdin and stdout.
//!
//! The server is started by the first request and shared by all that follow. [`process`] is one life of it, [`calls`] who
//! waits for what, [`probe`] the question that tells a server of an older revision. Here is what spans its lives: when it
//! is started again, and which requests are sent again then.

mod calls;
mod lines;
mod probe;
mod process;
#[cfg(all(test, unix))]
mod tests;

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex as SyncMutex, PoisonError};
use std::time::Duration;

use serde_json::json;
use tokio::process::Command;
use tokio::sync::Mutex;
use tokio::time::sleep;

use self::calls::{Head, News, Refused};
use self::process::Process;
use super::pace::Pace;
use super::{BoxFuture, Incoming, Outgoing, Transport, TransportError, child};

/// A transport to a server that it starts as a child process.
///
/// ```no_run
/// use mrtr::client::{ChildEvent, Client, StdioTransport};
/// use serde_json::json;
///
/// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
/// let server = StdioTransport::new("mrtr").args(["demo-server", "--stdio"]).on_event(|event| {
///     if let ChildEvent::Stderr(line) = event {
///         eprintln!("server: {line:?}");
///     }
/// });
/// let client = Client::with_transport(server);
/// let output = client.call_tool("deploy_release", json!({ "service": "api", "version": "4.8.1" })).await?;
/// client.close().await;
/// # let _ = output;
/// # Ok(())
/// # }
/// ```
///
/// # When the server exits
///
/// It is started again when the next request is made. A request that was under way is lost, and sent again to the new
/// process, after a pause, up to [`retries`](Self::retries) times: a request that only reads always, a `tools/call` if it
/// carries a request state or an idempotency key, which [`Client`](super::Client) gives to all of them. The specification
/// has that in mind (basic/transports/stdio#unexpected-termination), and yet the lost request may have run: a server that
/// does not look at idempotency keys then runs it twice. `retries(0)` is for those. A process that exits before it has
/// answered anything is not started again for the same request: its command is most likely wrong.
///
/// # The end
///
/// [`Client::close`](super::Client::close) ends the server by the book: its stdin closes, and if it has not ended
/// after [`grace`](Self::grace), SIGTERM goes to it and what it started, and SIGKILL after as long again. Dropping the
/// transport does the same in the background, as long as the runtime lives; when that ends too, or on a panic, the server is
/// killed. Only if this process itself is killed, the server has nothing but the end of its stdin to learn it from.
///
/// # Security
///
/// The command runs with the rights and the environment of this process. No shell reads it.
pub struct StdioTransport {
    program: OsString,
    args: Vec<OsString>,
    envs: Vec<(OsString, Option<OsString>)>,
    directory: Option<PathBuf>,
    name: String,
    retries: u32,
    grace: Duration,
    probe: Option<Duration>,
    on_event: OnEvent,
    /// Whether any life of the server has written a message.
    has_spoken: AtomicBool,
    /// Held while a server is started, so that it is started once.
    life: Mutex<Life>,
    /// For whoever cannot wait.
    current: SyncMutex<Option<Arc<Process>>>,
}

#[derive(Default)]
struct Life {
    is_probed: bool,
    is_closed: bool,
    process: Option<Arc<Process>>,
}

/// Something that happened to the server's process.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum ChildEvent<'a> {
    /// It was started.
    Started {
        /// Its process id.
        pid: Option<u32>,
    },
    /// It wrote a line to stderr, which says nothing about success or failure. Show it like any text of a server: with
    /// what a terminal could obey made visible.
    Stderr(&'a str),
    /// It wrote a line to stdout that belongs to no request: it is no message, or comes too late.
    Stray(&'a str),
    /// It exited while a request was under way, and is started again for it.
    Restarting {
        /// How it ended.
        cause: &'a str,
        /// The time until then.
        pause: Duration,
    },
}

impl StdioTransport {
    /// Creates a transport to the server that this program is. Nothing is started yet.
    pub fn new(program: impl Into<OsString>) -> Self {
        let program = program.into();
        Self {
            name: child::command_line([program.as_os_str()]),
            program,
            args: Vec::new(),
            envs: Vec::new(),
            directory: None,
            retries: 2,
            grace: Duration::from_secs(2),
            probe: Some(Duration::from_secs(30)),
            on_event: OnEvent::default(),
            has_spoken: AtomicBool::new(false),
            life: Mutex::default(),
            current: SyncMutex::default(),
        }
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<S: Into<OsString>>(mut self, args: impl IntoIterator<Item = S>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        let words = std::iter::once(&self.program).chain(&self.args).map(OsString::as_os_str);
        self.name = child::command_line(words);
        self
    }

    /// Sets a variable of the server's environment, next to those of this process.
    #[must_use]
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.envs.push((name.as_ref().to_owned(), Some(value.as_ref().to_owned())));
        self
    }

    /// Keeps a variable of this process's environment from the server, such as a secret of this process's own.
    #[must_use]
    pub fn env_remove(mut self, name: impl AsRef<OsStr>) -> Self {
        self.envs.push((name.as_ref().to_owned(), None));
        self
    }

    /// Sets the directory the server runs in. Default: this process's.
    #[must_use]
    pub fn current_dir(mut self, directory: impl Into<PathBuf>) -> Self {
        self.directory = Some(directory.into());
        self
    }

    /// Sets how often a request is sent again whose server exited. Default: 2. See [above](Self#when-the-server-exits).
    #[must_use]
    pub fn retries(mut self, retries: u32) -> Self {
        self.retries = retries;
        self
    }

    /// Sets how long the server is given for each step of the [end](Self#the-end). Default: 2 s.
    #[must_use]
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// Sets how long a server may take to say that it speaks this revision; `None` does not ask. Default: 30 s.
    ///
    /// Before its first request, a client asks `server/discover`: some servers of older revisions would take
    /// a `tools/call` and treat it by other rules, and some never answer. The time starts with the process, and so
    /// includes what `npx` and the like download.
    #[must_use]
    pub fn probe(mut self, timeout: Option<Duration>) -> Self {
        self.probe = timeout;
        self
    }

    /// Tells this function what happens to the process. Default: nobody is told, and stderr is dropped.
    #[must_use]
    pub fn on_event(mut self, on_event: impl Fn(&ChildEvent<'_>) + Send + Sync + 'static) -> Self {
        self.on_event = OnEvent(Some(Arc::new(on_event)));
        self
    }

    /// Returns the id of the running process, if there is one.
    pub fn pid(&self) -> Option<u32> {
        self.current().filter(|process| process.ended().is_none()).and_then(|process| process.pid())
    }

    /// Has the server end by the book, with so long for each step, and waits for it. No request is taken any more.
    pub async fn shutdown(&self, grace: Duration) {
        // Not by way of `life`, which a start that takes long may hold.
        if let Some(process) = self.current() {
            process.close(grace);
            process.wait().await;
        }
        let mut life = self.life.lock().await;
        life.is_closed = true;
        if let Some(process) = life.process.take() {
            process.close(grace);
            process.wait().await;
        }
    }

    /// Kills the server and what it started, without waiting. The runtime has to run on for a moment.
    pub fn kill(&self) {
        if let Some(process) = self.current() {
            process.kill();
        }
    }

    fn current(&self) -> Option<Arc<Process>> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the running server, and starts one if there is none.
    async fn process(&self, head: &Head) -> Result<Arc<Process>, TransportError> {
        let mut life = self.life.lock().await;
        if life.is_closed {
            return Err(self.lost("the client has ended it"));
        }
        let running = life.process.as_ref().filter(|process| process.ended().is_none()).map(Arc::clone);
        let process = match running {
            Some(process) => process,
            None => Arc::clone(life.process.insert(self.start()?)),
        };
        if let (Some(patience), false) = (self.probe, life.is_probed)
            && let Err(finding) = probe::run(&process, head, patience).await
        {
            process.close(self.grace);
            life.process = None;
            return Err(self.explain(finding, &process).await);
        }
        life.is_probed = true;
        Ok(process)
    }

    fn start(&self) -> Result<Arc<Process>, TransportError> {
        let mut command = Command::new(&self.program);
        command.args(&self.args);
        for (name, value) in &self.envs {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        if let Some(directory) = &self.directory {
            command.current_dir(directory);
        }
        let process = Process::start(&mut command, &self.on_event)
            .map_err(|error| TransportError::Start { server: self.name.clone(), cause: error.to_string() })?;
        let process = Arc::new(process);
        *self.current.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&process));
        self.on_event.tell(&ChildEvent::Started { pid: process.pid() });
        Ok(process)
    }

    async fn explain(&self, finding: probe::Finding, process: &Process) -> TransportError {
        let server = self.name.clone();
        match finding {
            probe::Finding::Legacy(detail) => TransportError::Legacy { server, detail },
            probe::Finding::Garbage(line) => self.garbage(&line),
            probe::Finding::Gone => {
                process.wait().await;
                let cause = process.ended().unwrap_or_default();
                TransportError::Start { server, cause: format!("{cause}, before it answered anything") }
            }
        }
    }

    async fn carry_out(
        &self,
        request: &Outgoing,
        notify: &(dyn Fn(&str) + Send + Sync),
    ) -> Result<Incoming, TransportError> {
        let head = Head::read(&request.body).map_err(|error| self.unreadable(format!("our request: {error}")))?;
        let mut pace = Pace::default();
        let mut retries = self.retries;
        loop {
            let process = self.process(&head).await?;
            match self.attempt(&process, &head, request, notify).await {
                Ok(incoming) => return Ok(incoming),
                Err(Ended { may_have_run }) => {
                    process.wait().await;
                    let cause = process.ended().unwrap_or_default();
                    // A command that never answers anything is most likely wrong.
                    let is_server = self.has_spoken.fetch_or(process.calls.has_spoken(), Ordering::Relaxed)
                        || process.calls.has_spoken();
                    if retries == 0 || !is_server || (may_have_run && !head.may_repeat) {
                        let run = if may_have_run { "; the request may have run" } else { "" };
                        return Err(self.lost(&format!("{cause}{run}")));
                    }
                    retries -= 1;
                    let pause = pace.next();
                    self.on_event.tell(&ChildEvent::Restarting { cause: &cause, pause });
                    sleep(pause).await;
                }
                Err(Failed(error)) => return Err(error),
            }
        }
    }

    /// Sends a request to one process, and waits for what comes of it.
    async fn attempt(
        &self,
        process: &Arc<Process>,
        head: &Head,
        request: &Outgoing,
        notify: &(dyn Fn(&str) + Send + Sync),
    ) -> Result<Incoming, Attempt> {
        let limit = request.max_response_bytes;
        let (number, mut news) = match process.calls.open(head, limit) {
            Ok(opened) => opened,
            Err(Refused::Ended) => return Err(Ended { may_have_run: false }),
            Err(Refused::SameId) => {
                let what =
                    format!("another request has the id {} too; each client needs a transport of its own", head.id);
                return Err(Failed(self.unreadable(what)));
            }
        };
        let _cancel = CancelOnDrop { process, number };
        process.send(number, request.body.clone()).await;
        let mut left = limit;
        let too_large = || Failed(TransportError::TooLarge { server: self.name.clone(), limit });
        loop {
            match news.recv().await {
                Some(News::Notification(text)) => {
                    left = left.checked_sub(text.len()).ok_or_else(too_large)?;
                    notify(&text);
                }
                Some(News::Response(text)) if text.len() <= left => return Ok(Incoming::ok(text)),
                Some(News::Response(_) | News::TooLong) => return Err(too_large()),
                Some(News::Garbage(line)) => return Err(Failed(self.garbage(&line))),
                Some(News::Gone) | None => {
                    return Err(Ended { may_have_run: process.calls.is_written(number) });
                }
            }
        }
    }

    fn garbage(&self, line: &str) -> TransportError {
        let line = super::failure::printable(line);
        self.unreadable(format!("its first line on stdout is no JSON-RPC message ({line}); is this an MCP server?"))
    }

    fn unreadable(&self, cause: String) -> TransportError {
        TransportError::Unreadable { server: self.name.clone(), cause }
    }

    fn lost(&self, cause: &str) -> TransportError {
        TransportError::Lost { server: self.name.clone(), cause: cause.to_owned() }
    }
}

/// Why an attempt came to nothing.
enum Attempt {
    /// The process is gone.
    Ended {
        may_have_run: bool,
    },
    Failed(TransportError),
}

use Attempt::{Ended, Failed};

/// Tells the server that nobody waits any more, if it has not answered.
struct CancelOnDrop<'a> {
    process: &'a Process,
    number: u64,
}

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        let Some(id) = self.process.calls.close(self.number) else { return };
        // Spec: basic/transports/stdio#cancellation.
        let id: serde_json::Value = serde_json::from_str(&id).unwrap_or_default();
        let cancelled = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } });
        self.process.notify(cancelled.to_string());
    }
}

impl Transport for StdioTransport {
    fn server(&self) -> &str {
        &self.name
    }

    /// A server of this kind knows its user by what it was started with.
    fn identity(&self) -> Vec<u8> {
        format!("{:?} {:?}", self.envs, self.directory).into_bytes()
    }

    fn exchange<'a>(
        &'a self,
        request: &'a Outgoing,
        notify: &'a (dyn Fn(&str) + Send + Sync),
    ) -> BoxFuture<'a, Result<Incoming, TransportError>> {
        Box::pin(self.carry_out(request, notify))
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.shutdown(self.grace))
    }
}

impl Drop for StdioTransport {
    fn drop(&mut self) {
        if let Some(process) = self.current() {
            process.close(self.grace);
        }
    }
}

impl fmt::Debug for StdioTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StdioTransport").field("server", &self.name).finish_non_exhaustive()
    }
}

/// Who is told what happens.
#[derive(Clone, Default)]
struct OnEvent(Option<Arc<Listen>>);

type Listen = dyn Fn(&ChildEvent<'_>) + Send + Sync;

impl OnEvent {
    fn tell(&self, event: &ChildEvent<'_>) {
        if let Some(on_event) = &self.0 {
            on_event(event);
        }
    }
}
