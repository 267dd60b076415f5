//! The server under load: tools that ask, are slow, say how far they are, and publish changes.

use std::error::Error;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use mrtr::http::{HttpServer, McpService};
use mrtr::server::Dispatch;
use mrtr::{Context, Keyring, NoArguments, Server, Tool, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::net::TcpListener;
use tokio::time::sleep;

/// What a server says last of which nothing is left.
pub const NOTHING_LEFT: &str = "open_handlers=0 tasks=0 panics=0";

#[derive(Deserialize, JsonSchema)]
struct Numbered {
    number: u64,
}

#[derive(Deserialize, JsonSchema)]
struct Slow {
    number: u64,
    millis: u64,
}

#[derive(Deserialize, JsonSchema)]
struct Confirm {
    confirm: bool,
}

async fn ask(call: Numbered, cx: Context) -> Result<String, ToolError> {
    let answer: Confirm = cx.elicit("confirm", format!("Deploy {}?", call.number)).await?;
    Ok(format!("{} {}", call.number, if answer.confirm { "deployed" } else { "kept" }))
}

async fn slow(call: Slow, _: Context) -> String {
    sleep(Duration::from_millis(call.millis)).await;
    format!("{} slowly", call.number)
}

async fn steps(call: Slow, cx: Context) -> Result<String, ToolError> {
    for step in 1..=10_u32 {
        cx.progress(step.into(), Some(10.0), Some("on the way"));
        sleep(Duration::from_millis(call.millis)).await;
    }
    Ok(format!("{} step by step", call.number))
}

/// Serves until it is told to stop, then says what is left.
pub async fn run() -> Result<(), Box<dyn Error>> {
    let panics = count_panics();
    let mut server = Server::new("load", "1.0.0").keys(Keyring::random());
    let (handle, built) = (server.handle(), Arc::new(OnceLock::<Arc<Dispatch>>::new()));
    let touch = move |call: Numbered, _: Context| {
        handle.tools_changed();
        async move { format!("{} touched", call.number) }
    };
    let dispatch = Arc::clone(&built);
    let open = move |_: NoArguments, _: Context| {
        let open = dispatch.get().map_or(0, |dispatch| dispatch.counters().open_handlers);
        async move { open.to_string() }
    };
    let tools = [
        Tool::new("ask", ask),
        Tool::new("slow", slow),
        Tool::new("steps", steps),
        Tool::new("touch", touch),
        Tool::new("open", open),
    ];
    let dispatch = tools.into_iter().fold(server, Server::tool).build()?;
    built.set(Arc::clone(&dispatch)).expect("set once");

    let stop = told_to_stop()?;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("{}", listener.local_addr()?);
    let service = McpService::new(Arc::clone(&dispatch)).max_body(64 * 1024);
    HttpServer::new(service).serve(listener, stop).await;

    let tasks = tasks_left().await;
    let (open, panics) = (dispatch.counters().open_handlers, panics.load(Ordering::Relaxed));
    println!("open_handlers={open} tasks={tasks} panics={panics}");
    Ok(())
}

#[cfg(unix)]
fn told_to_stop() -> std::io::Result<impl Future<Output = ()>> {
    let mut stop = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
    Ok(async move {
        stop.recv().await;
    })
}

#[cfg(not(unix))]
fn told_to_stop() -> std::io::Result<impl Future<Output = ()>> {
    Ok(async { tokio::signal::ctrl_c().await.unwrap_or_default() })
}

/// The tasks that do not end by themselves; one that was waited for may take a moment more to be counted out.
async fn tasks_left() -> usize {
    let metrics = tokio::runtime::Handle::current().metrics();
    for _ in 0..100 {
        if metrics.num_alive_tasks() == 0 {
            break;
        }
        sleep(Duration::from_millis(10)).await;
    }
    metrics.num_alive_tasks()
}

fn count_panics() -> Arc<AtomicU64> {
    let panics = Arc::<AtomicU64>::default();
    let (counted, report) = (Arc::clone(&panics), std::panic::take_hook());
    std::panic::set_hook(Box::new(move |panic| {
        counted.fetch_add(1, Ordering::Relaxed);
        report(panic);
    }));
    panics
}
