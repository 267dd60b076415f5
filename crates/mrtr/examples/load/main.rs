//! Loads a server with what clients do and should not do, ends it in the middle of calls, and counts what goes wrong.
//!
//! ```text
//! $ cargo run --release -p mrtr --example load -- --connections 256 --seconds 60
//! ```
//!
//! The server is a process of its own (`server`), so that its memory can be watched and a signal can end it. Of what
//! its clients do (`client`), nine in ten are calls whose every reply is checked, one in twenty is malformed
//! (`malformed` has the list, with what each is answered) and one in twenty goes away in the middle. Exits with 1 when
//! anything was not as it should be.

#![allow(missing_docs, unreachable_pub, missing_debug_implementations, reason = "a program")]
#![allow(clippy::needless_pass_by_value, reason = "json!(..) reads better without a borrow")]

mod client;
mod http;
mod malformed;
mod server;

use std::error::Error;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::Arc;
use std::time::Duration;

use client::{Load, Score};
use tokio::time::{Instant, interval, sleep, timeout};

/// Calls at work when the server is told to stop.
const AT_THE_END: u64 = 64;
/// How long the server may take to stop.
const PATIENCE: Duration = Duration::from_secs(20);
/// How much the second half of the time may take beyond the first, in KiB.
const GROWTH: u64 = 4 * 1024;

#[tokio::main]
async fn main() -> Result<ExitCode, Box<dyn Error>> {
    if std::env::args().nth(1).as_deref() == Some("server") {
        server::run().await?;
        return Ok(ExitCode::SUCCESS);
    }
    let (connections, seconds) = (argument("--connections", 256)?, argument("--seconds", 60)?);
    let mut process = Command::new(std::env::current_exe()?).arg("server").stdout(Stdio::piped()).spawn()?;
    let mut said = BufReader::new(process.stdout.take().ok_or("no output")?).lines();
    let address = said.next().ok_or("the server did not start")??.parse()?;

    let load = Load::new(address, Instant::now() + Duration::from_secs(seconds));
    let clients: Vec<_> =
        (0..connections).map(|number| tokio::spawn(client::work(Arc::clone(&load), number))).collect();
    let listeners: Vec<_> = (0..8).map(|number| tokio::spawn(client::listen(Arc::clone(&load), number))).collect();
    let memory = watch_memory(process.id(), load.until).await;
    for client in clients {
        client.await?;
    }

    let last: Vec<_> =
        (0..AT_THE_END).map(|number| tokio::spawn(client::last_call(Arc::clone(&load), number))).collect();
    client::wait_for_open_handlers(&load, AT_THE_END).await;
    load.ending.store(true, std::sync::atomic::Ordering::Relaxed);
    signal(&process)?;
    for call in last.into_iter().chain(listeners) {
        call.await?;
    }
    let code = timeout(PATIENCE, ended(&mut process)).await.unwrap_or(None);
    load.expect(code == Some(0), || format!("the server ended with {code:?}"));
    if code.is_none() {
        process.kill()?;
    }
    let end: Vec<String> = said.map_while(Result::ok).collect();
    load.expect(end == [server::NOTHING_LEFT], || format!("the server left something behind: {end:?}"));
    let (first, second) = memory;
    load.expect(second <= first + first / 10 + GROWTH, || format!("memory grew from {first} to {second} KiB"));

    print(&load.score(), seconds, memory, &end.join(" "));
    Ok(if load.score().faults.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The number behind an argument of this name.
fn argument(name: &str, default: u64) -> Result<u64, Box<dyn Error>> {
    match std::env::args().skip_while(|argument| argument != name).nth(1) {
        Some(number) => Ok(number.parse()?),
        None => Ok(default),
    }
}

/// What the server holds in the first and in the second half of the time, in KiB. Its first seconds do not count: pools
/// and buffers fill.
async fn watch_memory(process: u32, until: Instant) -> (u64, u64) {
    sleep((until - Instant::now()) / 10).await;
    let mut samples = Vec::new();
    let mut ticks = interval(Duration::from_millis(250));
    while Instant::now() < until {
        ticks.tick().await;
        samples.extend(resident_kib(process));
    }
    let (first, second) = samples.split_at(samples.len() / 2);
    let mean = |samples: &[u64]| samples.iter().sum::<u64>() / samples.len().max(1) as u64;
    (mean(first), mean(second))
}

/// Where the system tells it.
fn resident_kib(process: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?.split_whitespace().next()?.parse().ok()
}

fn signal(process: &Child) -> Result<(), Box<dyn Error>> {
    let sent = Command::new("kill").args(["-TERM", &process.id().to_string()]).status()?;
    sent.success().then_some(()).ok_or_else(|| "cannot signal the server".into())
}

async fn ended(process: &mut Child) -> Option<i32> {
    loop {
        if let Ok(Some(status)) = process.try_wait() {
            return status.code();
        }
        sleep(Duration::from_millis(20)).await;
    }
}

fn print(score: &Score, seconds: u64, (first, second): (u64, u64), end: &str) {
    println!("legs        {} ({} a second)", score.legs, score.legs / seconds.max(1));
    println!("events      {} before their replies", score.events);
    println!("malformed   {} of {} kinds", score.malformed, malformed::kinds().len());
    println!("left        {} in the middle", score.left);
    println!("at the end  {} calls at work when the server was told to stop: {} answered", AT_THE_END, score.last);
    println!("memory      {first} KiB in the first half, {second} KiB in the second");
    println!("server      {end}");
    println!("faults      {}", score.faults.values().sum::<u64>());
    for (fault, count) in score.faults.iter().take(20) {
        println!("  {count} x {fault}");
    }
}
