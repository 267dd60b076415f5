//! Calling servers: a client that runs an operation to its end.
//!
//! A tool call may take several rounds: the server returns questions, the client has them answered and sends the call
//! again. [`Client::call_tool`] does all of it and gives the final result. Who answers is up to the [`Responders`]: a
//! person, a script, a model. The client declares exactly the capabilities it has responders for, and reads raw JSON, so
//! that an odd schema reaches the responder instead of ending the call.
//!
//! ```no_run
//! use mrtr::client::{Answer, Ask, Client, Responders};
//! use serde_json::json;
//!
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! let client = Client::new("http://127.0.0.1:8080/mcp")?
//!     .name("release-bot", "1.0.0")
//!     .responders(Responders::new().form(async |ask: Ask| {
//!         println!("{} asks: {}", ask.server, ask.message());
//!         Ok(Answer::accept([("confirm".to_owned(), json!(true))]))
//!     }));
//! let output = client.call_tool("deploy_release", json!({ "service": "api", "version": "4.8.1" })).await?;
//! println!("{}", output.text());
//! # Ok(())
//! # }
//! ```
//!
//! # Stopping
//!
//! Every method that calls a server is cancel-safe in this sense: drop its future and the call is abandoned. An open
//! connection closes, or a server that is a child process is sent `notifications/cancelled`; no further answer is sent. `tokio::select!` with a Ctrl-C signal is enough.
//!
//! A responder that is asked at the time is dropped with it: a prompt leaves the screen in its guard's `drop`. An operation
//! that may be wanted again is not lost, if it was saved: see [`Call::on_save`].
//!
//! # Several callers
//!
//! What runs on one client may run for several users or windows. [`Call::context`] gives each question its way home.
//!
//! # Servers that deviate
//!
//! Nothing is guessed. Where a server breaks the specification, the error says by [`CallError::diagnosis`] which rule it is
//! and where that is written.
//!
//! # What it leaves out
//!
//! Revisions of MCP before 2026-07-28 (a server of that sort is recognised and named), and authorization flows: a token
//! that exists already goes in by [`Client::token`].

mod answer;
mod ask;
mod cache;
mod call;
mod chain;
mod child;
mod diagnosis;
mod dialect;
mod driver;
mod error;
mod failure;
mod headers;
mod http;
mod http_options;
mod lists;
mod observe;
mod operation_id;
mod output;
mod pace;
mod pages;
mod request;
mod responder;
mod response;
mod roots;
mod sampling;
mod saved;
#[cfg(feature = "answers")]
pub mod script;
mod scripted;
mod stdio;
#[cfg(test)]
mod tests;
mod tools;
mod transport;

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ::http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Value, json};

pub use self::answer::{Action, Answer, NotAnswered};
pub use self::ask::{Ask, Kind};
pub use self::cache::Cache;
pub use self::call::Call;
pub use self::chain::Or;
pub use self::diagnosis::Diagnosis;
pub use self::error::CallError;
pub use self::http::{HttpTransport, InvalidUrl};
pub use self::http_options::HttpOptions;
pub use self::lists::{Listed, Prompt, PromptArgument, Resource, ResourceTemplate};
pub use self::observe::{Event, Observer, RoundOutcome, RoundTrace};
pub use self::operation_id::OperationId;
pub use self::output::Output;
pub use self::responder::{BoxFuture, Responder, Responders};
pub use self::roots::{InvalidRoot, Roots};
pub use self::sampling::{CommandSampler, HttpSampler, SamplingApi};
pub use self::saved::Saved;
pub use self::scripted::{Misfit, Scripted};
pub use self::stdio::{ChildEvent, StdioTransport};
pub use self::tools::{RejectedTool, Tool, ToolList};
pub use self::transport::{Incoming, Outgoing, Transport, TransportError};

use self::headers::ParamHeader;

/// Calls one server.
///
/// A client may run any number of operations at once; they share connections and nothing else.
pub struct Client {
    transport: Arc<dyn Transport>,
    name: String,
    version: String,
    headers: HeaderMap,
    responders: Responders,
    observers: Vec<Arc<dyn Observer>>,
    max_rounds: u32,
    max_waits: u32,
    max_response_bytes: usize,
    server_timeout: Duration,
    cache: Option<Cache>,
    progress: bool,
    last_id: AtomicI64,
    last_progress: AtomicI64,
    /// The mirrored parameters of the tools listed so far.
    param_headers: Mutex<HashMap<String, Vec<ParamHeader>>>,
}

impl Client {
    /// Creates a client for the MCP endpoint at this URL.
    ///
    /// # Errors
    ///
    /// When the URL is not an absolute `http` or `https` URL, or when no TLS trust store can be loaded for `https`.
    pub fn new(url: &str) -> Result<Self, InvalidUrl> {
        HttpTransport::new(url).map(Self::with_transport)
    }

    /// Creates a client over another transport.
    pub fn with_transport(transport: impl Transport + 'static) -> Self {
        Self {
            transport: Arc::new(transport),
            name: "mrtr".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            headers: HeaderMap::new(),
            responders: Responders::new(),
            observers: Vec::new(),
            max_rounds: 10,
            max_waits: 120,
            max_response_bytes: 16 * 1024 * 1024,
            server_timeout: Duration::from_secs(120),
            cache: None,
            progress: false,
            last_id: AtomicI64::new(0),
            last_progress: AtomicI64::new(0),
            param_headers: Mutex::default(),
        }
    }

    /// Sets the name and version sent as `clientInfo`. Default: this library's.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>, version: impl Into<String>) -> Self {
        self.name = name.into();
        self.version = version.into();
        self
    }

    /// Sets who answers the server's questions, and with it the declared capabilities. Default: nobody, none.
    #[must_use]
    pub fn responders(mut self, responders: Responders) -> Self {
        self.responders = responders;
        self
    }

    /// Adds an HTTP header to every request, such as `Authorization`. The protocol's own headers cannot be replaced.
    #[must_use]
    pub fn header(mut self, name: HeaderName, mut value: HeaderValue) -> Self {
        value.set_sensitive(true);
        self.headers.insert(name, value);
        self
    }

    /// Sends this bearer token with every request, as `Authorization`. It is in no trace and no error.
    ///
    /// # Errors
    ///
    /// When the text cannot be a token: it is empty, or has other than visible ASCII characters in it.
    pub fn token(self, token: &str) -> Result<Self, CallError> {
        let is_token = !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic());
        match HeaderValue::try_from(format!("Bearer {token}")) {
            Ok(value) if is_token => Ok(self.header(::http::header::AUTHORIZATION, value)),
            _ => Err(CallError::Invalid("the token is empty, or has characters no token has".to_owned())),
        }
    }

    /// Asks servers to tell how far an operation is, in notifications that go to observers. Default: no.
    ///
    /// Each operation gets a `progressToken` of its own, unless the caller's `_meta` has one.
    #[must_use]
    pub fn progress(mut self, wanted: bool) -> Self {
        self.progress = wanted;
        self
    }

    /// Shows every message to this observer, after those added before. Default: none.
    #[must_use]
    pub fn observer(mut self, observer: impl Observer + 'static) -> Self {
        self.observers.push(Arc::new(observer));
        self
    }

    /// Ends an operation after this many rounds with questions. Default: 10.
    #[must_use]
    pub fn max_rounds(mut self, rounds: u32) -> Self {
        self.max_rounds = rounds;
        self
    }

    /// Ends an operation after this many rounds in which the server only asks to be called again. Default: 120.
    ///
    /// The client pauses before each such call, from a quarter of a second up to five: the default is some ten minutes.
    #[must_use]
    pub fn max_waits(mut self, waits: u32) -> Self {
        self.max_waits = waits;
        self
    }

    /// Limits the time of one request, from sending it to the end of its response. Default: 120 s.
    ///
    /// The time a responder takes never counts.
    #[must_use]
    pub fn server_timeout(mut self, timeout: Duration) -> Self {
        self.server_timeout = timeout;
        self
    }

    /// Limits the bytes of one response, notifications included. Default: 16 MiB.
    #[must_use]
    pub fn max_response_bytes(mut self, bytes: usize) -> Self {
        self.max_response_bytes = bytes;
        self
    }

    /// Answers from this cache what the server said may be kept, and keeps it there. Default: none, everything is asked for.
    #[must_use]
    pub fn cache(mut self, cache: Cache) -> Self {
        self.cache = Some(cache);
        self
    }

    /// Returns the name under which users know the server: its URL, or its command line.
    pub fn server(&self) -> &str {
        self.transport.server()
    }

    /// Ends what the transport has started, such as the server's process, and waits for it. Operations that still run fail.
    ///
    /// A client that is dropped does the same in the background, see [`StdioTransport`].
    pub async fn close(&self) {
        self.transport.close().await;
    }

    /// Asks the server what it is and what it can do (`server/discover`).
    ///
    /// # Errors
    ///
    /// See [`CallError`].
    pub async fn discover(&self) -> Result<Output, CallError> {
        self.call("server/discover", json!({})).await
    }

    /// Calls a tool and runs the operation to its end.
    ///
    /// If the tool was listed before, parameters it wants mirrored are sent as headers too. If the server then
    /// complains about the headers, the list is read anew and the call sent once more.
    ///
    /// # Errors
    ///
    /// See [`CallError`]. A tool that fails is an `Ok` whose [`Output::is_error`] is true.
    pub async fn call_tool(&self, name: &str, arguments: impl Into<Value>) -> Result<Output, CallError> {
        let params = json!({ "name": name, "arguments": arguments.into() });
        let outcome = self.call("tools/call", params.clone()).await;
        match outcome {
            // Spec: basic/transports/streamable-http#client-behavior. Nothing has happened yet in round 1.
            Err(CallError::Rpc { round: 1, code: -32020, .. }) if self.learns_headers_of(name).await => {
                self.call("tools/call", params).await
            }
            outcome => outcome,
        }
    }

    /// Calls any method and runs the operation to its end. `params` is an object, or null for none.
    ///
    /// Rounds are possible in `tools/call`, `prompts/get` and `resources/read`; elsewhere they are the server's error.
    /// A `_meta` in the parameters is kept, next to what the protocol wants there, and an idempotency key
    /// (`"mrtr/idempotencyKey"`, an extension servers may ignore) that is the same in all requests of the operation.
    ///
    /// A server that answers that it did nothing, and may be asked again (`retryable` in the error's data), is: for some
    /// twenty seconds.
    ///
    /// # Errors
    ///
    /// See [`CallError`]; [`CallError::Invalid`] if `params` is not an object.
    pub async fn call(&self, method: &str, params: impl Into<Value>) -> Result<Output, CallError> {
        self.request(method, params).await
    }

    /// Prepares a call of a tool: as [`call_tool`](Self::call_tool), but for the headers read anew, with more to be said
    /// before it is sent.
    pub fn tool<'c>(&'c self, name: &str, arguments: impl Into<Value>) -> Call<'c> {
        Call::new(self, "tools/call", json!({ "name": name, "arguments": arguments.into() }))
    }

    /// Prepares a call of any method: as [`call`](Self::call), with more to be said before it is sent.
    pub fn request<'c>(&'c self, method: &'c str, params: impl Into<Value>) -> Call<'c> {
        Call::new(self, method, params.into())
    }

    /// Prepares to go on with an operation that was saved, in this process or another one.
    ///
    /// Its open questions are asked, those answered before are not. The operation ends with [`CallError::Invalid`], and
    /// nothing is sent, if it runs on another server, or asks what this client has no responder for.
    pub fn resume(&self, saved: Saved) -> Call<'_> {
        Call::resuming(self, saved)
    }

    fn next_id(&self) -> i64 {
        self.last_id.fetch_add(1, Ordering::Relaxed) + 1
    }

    fn last_id(&self) -> i64 {
        self.last_id.load(Ordering::Relaxed)
    }

    /// Uses no id up to this one.
    fn skip_ids(&self, last: i64) {
        self.last_id.fetch_max(last.clamp(0, i64::MAX / 2), Ordering::Relaxed);
    }

    /// Forgets cached responses that this notification says are outdated.
    fn outdate(&self, notification: &str) {
        if let Some(cache) = &self.cache {
            cache.outdate(self.server(), notification);
        }
    }

    fn next_progress(&self) -> i64 {
        self.last_progress.fetch_add(1, Ordering::Relaxed) + 1
    }

    fn observe(&self, event: &Event<'_>) {
        for observer in &self.observers {
            observer.observe(event);
        }
    }

    fn param_headers_of(&self, tool: &str) -> Vec<ParamHeader> {
        self.param_headers.lock().unwrap_or_else(PoisonError::into_inner).get(tool).cloned().unwrap_or_default()
    }

    fn set_param_headers(&self, tool: &str, params: Vec<ParamHeader>) {
        self.param_headers.lock().unwrap_or_else(PoisonError::into_inner).insert(tool.to_owned(), params);
    }

    /// Lists the tools, and tells whether this one's headers turn out to be others than known.
    async fn learns_headers_of(&self, tool: &str) -> bool {
        let known = self.param_headers_of(tool);
        self.list_tools_anew().await.is_ok() && self.param_headers_of(tool) != known
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("server", &self.server())
            .field("responders", &self.responders)
            .finish_non_exhaustive()
    }
}
