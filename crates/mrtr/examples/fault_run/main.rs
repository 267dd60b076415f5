//! Refunds on a fleet that dies all the time, checked against an independent record of what was paid.
//!
//! ```text
//! $ scripts/fault-run [--quick] [--seed N]
//! $ scripts/fault-run --rolling [--quick]
//! $ scripts/fault-run --without-once
//! ```
//!
//! This program is everything in one: an instance (`serve`), the `bank` that records payments and does not deduplicate,
//! the faulty `proxy`, the clients (`client`, `operation`), the `fleet` of instances behind `nginx` with a Redis of its own,
//! what is done to it (`faults`, `rolling`), and the `verdict` with its `evidence` and `figures`. It needs nginx and redis-server, uses free
//! loopback ports and a directory of its own, and exits with 1 when anything was not as promised; then the directory stays.

#![allow(missing_docs, unreachable_pub, missing_debug_implementations, reason = "a program")]
#![allow(clippy::needless_pass_by_value, reason = "json!(..) reads better without a borrow")]

mod bank;
mod client;
mod evidence;
mod faults;
mod figures;
mod fleet;
mod http;
mod load;
mod nginx;
mod operation;
mod proxy;
mod rolling;
mod serve;
mod verdict;

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use fleet::Outcome;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::sleep;

#[tokio::main]
async fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let done = match arguments.first().map(String::as_str) {
        Some("serve") => {
            serve::run(arguments.get(1).map_or("", String::as_str)).await.map_err(|error| error.to_string())
        }
        _ => run(&arguments).await.map_err(|error| error.to_string()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("fault-run: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs what the arguments say, in a directory of its own and within bounds.
async fn run(arguments: &[String]) -> Outcome<()> {
    let is_quick = arguments.iter().any(|argument| argument == "--quick");
    let seed = match arguments.iter().skip_while(|argument| *argument != "--seed").nth(1) {
        Some(seed) => seed.parse()?,
        None => u64::from(rand::random::<u32>()),
    };
    let directory = std::env::temp_dir().join(format!("mrtr-fault-run-{}", std::process::id()));
    std::fs::create_dir(&directory)?;
    let limit = Duration::from_secs(if is_quick { 55 } else { 420 });
    let mut terminate = signal(SignalKind::terminate())?;
    let is_clean = tokio::select! {
        is_clean = scenario(arguments, seed, &directory) => is_clean,
        () = sleep(limit) => Err(format!("not done after {} s", limit.as_secs()).into()),
        _ = terminate.recv() => Err("told to stop".into()),
        _ = tokio::signal::ctrl_c() => Err("interrupted".into()),
    };
    if is_clean.as_ref().is_ok_and(|is_clean| *is_clean) {
        std::fs::remove_dir_all(&directory)?;
        return Ok(());
    }
    eprintln!("fault-run: the logs are in {}; the seed is {seed}", directory.display());
    is_clean.and(Err("not everything is as promised".into()))
}

async fn scenario(arguments: &[String], seed: u64, directory: &Path) -> Outcome<bool> {
    let has = |name: &str| arguments.iter().any(|argument| argument == name);
    let operations = |few, many| if has("--quick") { few } else { many };
    if has("--rolling") {
        rolling::run(operations(600, 10_000), directory).await
    } else {
        faults::run(operations(200, 2_000), seed, has("--without-once"), directory).await
    }
}
