//! What the tests share: tools, and a client that writes and reads lines.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, duplex};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use crate::stdio::{ServeError, StdioServer};
use crate::{Context, NoArguments, Server, Tool, ToolError};

/// Long enough for anything that is going to happen. On paused time it costs nothing.
pub(super) const SOON: Duration = Duration::from_secs(2);

/// How much a pipe holds, in bytes.
pub(super) const PIPE: usize = 16 * 1024;

#[derive(serde::Deserialize, schemars::JsonSchema)]
pub(super) struct Confirm {
    confirm: bool,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
pub(super) struct Ms {
    ms: u64,
}

async fn deploy(_: NoArguments, cx: Context) -> Result<&'static str, ToolError> {
    let answer: Confirm = cx.elicit("confirm", "Deploy?").await?;
    Ok(if answer.confirm { "deployed" } else { "nothing was deployed" })
}

/// Takes its time, and tells when it is done or dropped.
async fn wait(Ms { ms }: Ms, cx: Context) -> String {
    cx.progress(1.0, None, None);
    sleep(Duration::from_millis(ms)).await;
    format!("waited {ms}")
}

async fn panics(_: NoArguments, _: Context) -> &'static str {
    panic!("on purpose")
}

/// A server with these tools and others a test brings.
pub(super) fn server(tools: impl IntoIterator<Item = Tool>) -> StdioServer {
    let mut server = Server::new("test", "1.0.0")
        .keys(crate::Keyring::random())
        .tool(Tool::new("deploy", deploy))
        .tool(Tool::new("wait", wait))
        .tool(Tool::new("panic", panics));
    for tool in tools {
        server = server.tool(tool);
    }
    StdioServer::new(server.build().unwrap())
}

/// A tool that runs until it is dropped, and two semaphores that count how often it started and was dropped.
pub(super) fn endless() -> (Tool, Arc<Semaphore>, Arc<Semaphore>) {
    struct Guard(Arc<Semaphore>);
    impl Drop for Guard {
        fn drop(&mut self) {
            self.0.add_permits(1);
        }
    }

    let (started, dropped) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let (start, end) = (started.clone(), dropped.clone());
    let tool = Tool::new("endless", move |_: NoArguments, _: Context| {
        let (start, guard) = (start.clone(), Guard(end.clone()));
        async move {
            let _guard = guard;
            start.add_permits(1);
            std::future::pending::<&'static str>().await
        }
    });
    (tool, started, dropped)
}

/// A call of this tool, as a client that can be asked forms.
pub(super) fn call(id: impl Into<Value>, tool: &str, arguments: Value) -> Value {
    static META: LazyLock<Value> = LazyLock::new(|| {
        json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": { "elicitation": {} },
        })
    });
    let params = json!({ "name": tool, "arguments": arguments, "_meta": *META });
    json!({ "jsonrpc": "2.0", "id": id.into(), "method": "tools/call", "params": params })
}

/// The same call, of a client that wants to be told of progress.
pub(super) fn told(mut call: Value) -> Value {
    call["params"]["_meta"]["progressToken"] = call["id"].clone();
    call
}

pub(super) fn cancel(id: impl Into<Value>) -> Value {
    json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id.into(), "reason": "test" } })
}

/// The text a reply brings, whichever call it is for.
pub(super) fn text(reply: &Value) -> &str {
    reply["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text: {reply}"))
}

/// Waits for one permit.
pub(super) async fn pass(semaphore: &Semaphore) {
    timeout(SOON, semaphore.acquire()).await.expect("happens soon").unwrap().forget();
}

/// A client and the server it talks to.
pub(super) struct Client {
    input: DuplexStream,
    output: Lines<BufReader<DuplexStream>>,
    pub(super) served: JoinHandle<Result<(), ServeError>>,
}

impl Client {
    pub(super) fn of(server: StdioServer) -> Self {
        Self::until(server, std::future::pending())
    }

    pub(super) fn until(server: StdioServer, stop: impl Future<Output = ()> + Send + 'static) -> Self {
        let (input, reader) = duplex(PIPE);
        let (writer, output) = duplex(PIPE);
        let served = tokio::spawn(server.serve_until(reader, writer, stop));
        Self { input, output: BufReader::new(output).lines(), served }
    }

    pub(super) async fn send(&mut self, message: Value) {
        self.write(&format!("{message}\n")).await;
    }

    pub(super) async fn write(&mut self, text: &str) {
        timeout(SOON, self.input.write_all(text.as_bytes())).await.expect("the server reads").unwrap();
    }

    /// Writes as long as the server reads; how much that was, in messages.
    pub(super) async fn flood(&mut self, mut message: impl FnMut(u64) -> Value) -> u64 {
        for sent in 0.. {
            let line = format!("{}\n", message(sent));
            if timeout(SOON, self.input.write_all(line.as_bytes())).await.is_err() {
                return sent;
            }
        }
        unreachable!("the server reads without end")
    }

    /// The next message, which is one.
    pub(super) async fn read(&mut self) -> Value {
        let line = timeout(SOON, self.output.next_line()).await.expect("a message").unwrap().expect("not the end");
        message(&line)
    }

    /// A message, if one is there already.
    pub(super) async fn read_now(&mut self) -> Option<Value> {
        let line = timeout(Duration::ZERO, self.output.next_line()).await.ok()?;
        Some(message(&line.unwrap().expect("not the end")))
    }

    /// Asserts that the server says nothing.
    pub(super) async fn nothing(&mut self) {
        let line = timeout(SOON, self.output.next_line()).await;
        assert!(line.is_err(), "nothing is to be written, and this was: {line:?}");
    }

    /// Closes the input; all that is still written, and how serving ended.
    pub(super) async fn end(self) -> (Vec<Value>, Result<(), ServeError>) {
        let Self { input, output, served } = self;
        drop(input);
        let mut rest = String::new();
        output.into_inner().read_to_string(&mut rest).await.unwrap();
        (rest.lines().map(message).collect(), served.await.unwrap())
    }

    /// The other end of both pipes is gone.
    pub(super) fn leave(self) -> JoinHandle<Result<(), ServeError>> {
        self.served
    }

    /// Closes the output alone.
    pub(super) fn stop_reading(self) -> (DuplexStream, JoinHandle<Result<(), ServeError>>) {
        (self.input, self.served)
    }
}

/// A line as the message it must be.
#[track_caller]
pub(super) fn message(line: &str) -> Value {
    let message: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line:?}"));
    assert_eq!(message["jsonrpc"], "2.0", "{line}");
    message
}
