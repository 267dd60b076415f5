//! What the tests share: handlers to stand in for a server, bodies that misbehave, a served socket.

use std::{
    collections::VecDeque,
    net::SocketAddr,
    pin::Pin,
    sync::{Arc, Mutex},
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use http::{Request, Response};
use http_body::{Body, Frame};
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::{Semaphore, oneshot},
    task::JoinHandle,
    time::timeout,
};

use crate::{
    http::{
        accept,
        body::ResponseBody,
        endpoint::{Endpoint, Handle, Rules},
        serve::Options,
    },
    server::{Header, Incoming, Reply},
};

/// Long enough for anything that is going to happen on this machine.
pub(super) const SOON: Duration = Duration::from_secs(10);

/// Replies with what arrived, so that a test sees what a server would have seen.
#[derive(Debug, Default)]
pub(super) struct Echo;

impl Handle for Echo {
    async fn handle(&self, incoming: Incoming<'_>) -> Reply {
        let name = match incoming.headers.map(|headers| headers.get("mcp-name")) {
            Some(Header::Value(name)) => name.to_owned(),
            other => format!("{other:?}"),
        };
        let seen = serde_json::json!({
            "body": String::from_utf8_lossy(incoming.body),
            "name": name,
            "caller": incoming.principal.map(|principal| principal.subject),
        });
        Reply { status: 200, body: seen.to_string().into_bytes() }
    }
}

/// Replies with this.
#[derive(Debug)]
pub(super) struct Fixed(pub(super) u16, pub(super) &'static str);

impl Handle for Fixed {
    async fn handle(&self, _: Incoming<'_>) -> Reply {
        Reply { status: self.0, body: self.1.into() }
    }
}

/// A call that runs until the test lets it finish, and tells when it started and when it was dropped.
#[derive(Debug)]
pub(super) struct Gate {
    pub(super) started: Semaphore,
    pub(super) finish: Semaphore,
    pub(super) dropped: Semaphore,
}

impl Default for Gate {
    fn default() -> Self {
        let closed = || Semaphore::new(0);
        Self { started: closed(), finish: closed(), dropped: closed() }
    }
}

impl Handle for Gate {
    async fn handle(&self, _: Incoming<'_>) -> Reply {
        struct Guard<'a>(&'a Gate);
        impl Drop for Guard<'_> {
            fn drop(&mut self) {
                self.0.dropped.add_permits(1);
            }
        }

        let _guard = Guard(self);
        self.started.add_permits(1);
        self.finish.acquire().await.unwrap().forget();
        Reply { status: 200, body: b"\"finished\"".to_vec() }
    }
}

/// Waits for one permit of a gate's semaphore.
pub(super) async fn pass(semaphore: &Semaphore) {
    timeout(SOON, semaphore.acquire()).await.expect("happens soon").unwrap().forget();
}

/// An endpoint over this handler, with rules the test may change.
pub(super) fn endpoint<H>(handle: H, change: impl FnOnce(&mut Rules)) -> Endpoint<H> {
    let mut endpoint = Endpoint::new(Arc::new(handle));
    change(endpoint.rules_mut());
    endpoint
}

/// A request that every endpoint lets through, to be spoiled by the test.
pub(super) fn request<B>(body: B) -> Request<B> {
    Request::post("/mcp")
        .header("host", "localhost:8080")
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream")
        .body(body)
        .unwrap()
}

/// A first `tools/call`, as a client of this revision that can be asked forms, URLs and nothing else.
pub(super) fn call(tool: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": tool,
        "arguments": {},
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": { "elicitation": { "form": {}, "url": {} } },
        },
    } })
}

/// The request that carries a call of this tool.
pub(super) fn called<B: From<String>>(tool: &str, message: &Value) -> Request<B> {
    let mut request = request(B::from(message.to_string()));
    let headers = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", tool)];
    for (name, value) in headers {
        request.headers_mut().insert(name, value.parse().unwrap());
    }
    request
}

/// The body of a response, as JSON.
pub(super) async fn json<B>(response: Response<B>) -> Value
where
    B: Body<Data = Bytes, Error: std::fmt::Debug>,
{
    serde_json::from_slice(&response.into_body().collect().await.unwrap().to_bytes()).unwrap()
}

/// The body of a response, as text.
pub(super) async fn text(response: Response<ResponseBody>) -> String {
    let body = response.into_body().collect().await.unwrap().to_bytes();
    String::from_utf8(body.to_vec()).unwrap()
}

/// A body that does as it is told: chunks, then an end, an error, or silence.
#[derive(Debug)]
pub(super) struct Script {
    pub(super) chunks: VecDeque<&'static str>,
    pub(super) end: End,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum End {
    Proper,
    Error,
    Never,
}

impl Script {
    pub(super) fn new(chunks: impl IntoIterator<Item = &'static str>, end: End) -> Self {
        Self { chunks: chunks.into_iter().collect(), end }
    }
}

impl Body for Script {
    type Data = Bytes;
    type Error = &'static str;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, &'static str>>> {
        match (self.chunks.pop_front(), self.end) {
            (Some(chunk), _) => Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(chunk.as_bytes()))))),
            (None, End::Proper) => Poll::Ready(None),
            (None, End::Error) => Poll::Ready(Some(Err("cut"))),
            (None, End::Never) => Poll::Pending,
        }
    }
}

/// What is logged.
#[derive(Clone, Default)]
pub(super) struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    /// What was logged since the last look.
    pub(super) fn take(&self) -> String {
        String::from_utf8(std::mem::take(&mut *self.0.lock().unwrap())).unwrap()
    }
}

impl std::io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Collects what this thread logs, for as long as the guard lives.
pub(super) fn logged() -> (Log, tracing::subscriber::DefaultGuard) {
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(move || writer.clone())
        .with_ansi(false)
        .finish();
    (log, tracing::subscriber::set_default(subscriber))
}

/// An endpoint served on a loopback port of its own.
#[derive(Debug)]
pub(super) struct Served {
    pub(super) address: SocketAddr,
    stop: oneshot::Sender<()>,
    running: JoinHandle<()>,
}

impl Served {
    pub(super) async fn start<H: Handle>(endpoint: Endpoint<H>, options: Options) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel();
        let running = tokio::spawn(async move {
            // A test that never says stop may drop this handle while its peers go on.
            let stopped = async {
                if stopped.await.is_err() {
                    std::future::pending::<()>().await;
                }
            };
            accept::run(listener, endpoint, &options, stopped).await;
        });
        Self { address, stop, running }
    }

    pub(super) async fn connect(&self) -> Peer {
        Peer(TcpStream::connect(self.address).await.unwrap())
    }

    /// Tells the server to stop; the handle ends when it has.
    pub(super) fn stop(self) -> JoinHandle<()> {
        self.stop.send(()).unwrap();
        self.running
    }
}

/// A client that writes and reads bytes.
#[derive(Debug)]
pub(super) struct Peer(pub(super) TcpStream);

impl Peer {
    pub(super) async fn send(&mut self, text: &str) {
        self.0.write_all(text.as_bytes()).await.unwrap();
    }

    /// Reads until what arrived contains this.
    pub(super) async fn read_until(&mut self, end: &str) -> String {
        let mut seen = Vec::new();
        let read = async {
            while !String::from_utf8_lossy(&seen).contains(end) {
                let n = self.0.read_buf(&mut seen).await.unwrap();
                assert_ne!(n, 0, "closed after {:?}", String::from_utf8_lossy(&seen));
            }
        };
        timeout(SOON, read).await.expect("arrives soon");
        String::from_utf8(seen).unwrap()
    }

    /// Reads until the server closes the connection.
    pub(super) async fn read_to_end(&mut self) -> String {
        let mut seen = Vec::new();
        timeout(SOON, self.0.read_to_end(&mut seen)).await.expect("closes soon").unwrap();
        String::from_utf8(seen).unwrap()
    }
}

/// The text of a POST to `/mcp` with this body.
pub(super) fn post(body: &str) -> String {
    format!("{}Content-Length: {}\r\n\r\n{body}", head(), body.len())
}

/// The text of a POST to `/mcp` up to where the body's framing would be said.
pub(super) fn head() -> &'static str {
    "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
     Accept: application/json, text/event-stream\r\n"
}
