//! `mrtr demo-server`: one instance of the example server.

use std::env;
use std::future::pending;
use std::io::{self, IsTerminal};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use mrtr::Keyring;
use mrtr::http::{HttpServer, McpService};
use mrtr::server::Dispatch;
use mrtr::stdio::StdioServer;
use tokio::net::TcpListener;
use tracing_subscriber::EnvFilter;

use crate::args::DemoServerArgs;
use crate::demo::{INSTANCE_HEADER, tools};
use crate::exit::{Exit, Failure};
use crate::{signal, term};

/// Runs the command.
pub(crate) async fn run(args: DemoServerArgs) -> Result<Exit, Failure> {
    log(if args.until_stdin_closes { "warn" } else { "info" });
    let mut server = tools::server();
    if let Some(keys) = keys(args.keys.as_deref())? {
        let failed = |error| failed(format!("cannot watch for SIGHUP: {error}"));
        signal::reload_on_hangup(keys.clone()).map_err(failed)?;
        server = server.keys(keys);
    }
    let server = server.build().map_err(|error| failed(error.to_string()))?;
    if args.stdio { stdio(server).await } else { http(server, &args).await }
}

/// The keys of the fleet, where there are any.
fn keys(file: Option<&Path>) -> Result<Option<Keyring>, Failure> {
    let keys = match file {
        Some(file) => Keyring::from_file(file).map_err(|error| Failure::usage(format!("--keys: {error}"))),
        None if env::var_os(KEYS).is_none() => return Ok(None),
        None => Keyring::from_env(KEYS).map_err(|error| Failure::usage(format!("{KEYS}: {error}"))),
    };
    keys.map(Some)
}

async fn stdio(server: Arc<Dispatch>) -> Result<Exit, Failure> {
    // Its `Debug` says the cause too.
    StdioServer::new(server).drain_timeout(DRAIN).run().await.map_err(|error| failed(format!("{error:?}")))?;
    Ok(Exit::Completed)
}

async fn http(server: Arc<Dispatch>, args: &DemoServerArgs) -> Result<Exit, Failure> {
    let service = args.allow_host.iter().fold(McpService::new(server), McpService::allow_host);
    let instance = args.name.parse().map_err(|_| Failure::usage("--name is not a name"))?;
    let service = service.response_header(INSTANCE_HEADER.parse().expect("a valid header name"), instance);

    // Watched before anybody can know that there is something to stop.
    let (signal, again) = signal::stop_twice().map_err(|error| failed(format!("cannot watch for signals: {error}")))?;
    let cannot_listen = |error: io::Error| failed(format!("cannot listen on {}: {error}", args.listen));
    let listener = TcpListener::bind(&args.listen).await.map_err(cannot_listen)?;
    let address = listener.local_addr().map_err(cannot_listen)?;
    term::print_text(&format!("listening on http://{address}/mcp"))?;

    let stop = async {
        tokio::select! {
            () = signal => {}
            () = stdin_closes(), if args.until_stdin_closes => {}
        }
    };
    let server = HttpServer::new(service).drain_delay(Duration::from_secs(args.drain_delay)).drain_timeout(DRAIN);
    tokio::select! {
        () = server.serve(listener, stop) => {}
        () = again => term::note("told to stop twice; dropping what still runs"),
    }
    Ok(Exit::Completed)
}

fn failed(message: String) -> Failure {
    Failure::new(Exit::Failed, message)
}

/// Prints the log to stderr. `RUST_LOG` says how much of it.
fn log(level: &str) {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(level));
    let is_plain = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        .with_ansi(io::stderr().is_terminal() && !is_plain)
        .init();
}

/// Waits for the end of standard input: whoever held its other end is gone.
async fn stdin_closes() {
    // The thread is not waited for when the program ends.
    let read = tokio::task::spawn_blocking(|| io::copy(&mut io::stdin(), &mut io::sink()));
    if !matches!(read.await, Ok(Ok(_))) {
        pending::<()>().await;
    }
}

/// Where the keys are.
const KEYS: &str = "MRTR_KEYS";
/// How long running calls may go on after the signal to stop.
const DRAIN: Duration = Duration::from_secs(5);
