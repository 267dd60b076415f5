//! Ten thousand calls whose question is never answered cost the server nothing: what they wait for lives in the client.
//!
//! ```text
//! $ cargo run -p mrtr --example open_questions
//! resident before: 8692 KiB
//! resident after 10000 open questions: 8692 KiB
//! the last of them answered: "Deployed."
//! ```

use std::error::Error;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context as Task, Poll, Waker};

use mrtr::server::{Dispatch, Incoming, SystemClock};
use mrtr::{Context, Keyring, Server, Tool, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

const CALLS: u32 = 10_000;
/// How much the process may grow, in KiB.
const MOST: u64 = 1024;

#[derive(Deserialize, JsonSchema)]
struct Deploy {
    service: String,
    version: String,
}

#[derive(Deserialize, JsonSchema)]
struct Confirm {
    /// Confirm production deploy
    confirm: bool,
}

async fn deploy_release(deploy: Deploy, cx: Context) -> Result<String, ToolError> {
    let question = format!("Deploy {} {} to production?", deploy.service, deploy.version);
    let answer: Confirm = cx.elicit("confirm_prod", question).await?;
    Ok(if answer.confirm { "Deployed." } else { "Nothing was deployed." }.to_owned())
}

fn main() -> Result<(), Box<dyn Error>> {
    let server = Server::new("releases", "1.0.0").keys(Keyring::random()).clock(Arc::new(SystemClock));
    let server = server.tool(Tool::new("deploy_release", deploy_release)).build()?;
    // Schemas, thread-locals and the allocator's pools exist after the first calls.
    for call in 0..CALLS / 10 {
        ask(&server, call)?;
    }
    let before = resident_kib()?;
    let mut last = String::new();
    for call in 0..CALLS {
        last = ask(&server, call)?;
    }
    let after = resident_kib()?;
    println!("resident before: {before} KiB");
    println!("resident after {CALLS} open questions: {after} KiB");

    let answers = json!({ "confirm_prod": { "action": "accept", "content": { "confirm": true } } });
    let reply = send(&server, CALLS - 1, &json!({ "requestState": last, "inputResponses": answers }))?;
    println!("the last of them answered: {}", reply["result"]["content"][0]["text"]);
    if reply["result"]["content"][0]["text"] != "Deployed." {
        return Err(format!("the answer did not complete the call: {reply}").into());
    }
    match after.saturating_sub(before) {
        grown if grown < MOST => Ok(()),
        grown => Err(format!("{CALLS} open questions cost {grown} KiB, expected less than {MOST}").into()),
    }
}

/// Makes a first call and returns the state a client would keep.
fn ask(server: &Dispatch, call: u32) -> Result<String, Box<dyn Error>> {
    let reply = send(server, call, &json!({}))?;
    let state = reply["result"]["requestState"].as_str().ok_or_else(|| format!("no question: {reply}"))?;
    Ok(state.to_owned())
}

fn send(server: &Dispatch, call: u32, retry: &Value) -> Result<Value, Box<dyn Error>> {
    let mut params = json!({
        "name": "deploy_release",
        "arguments": { "service": "api", "version": format!("4.8.{call}") },
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": { "elicitation": {} },
        },
    });
    for (field, value) in retry.as_object().into_iter().flatten() {
        params[field] = value.clone();
    }
    let body = json!({ "jsonrpc": "2.0", "id": call, "method": "tools/call", "params": params }).to_string();
    let reply = pin!(server.handle(Incoming::new(body.as_bytes())));
    match reply.poll(&mut Task::from_waker(Waker::noop())) {
        Poll::Ready(reply) => Ok(serde_json::from_slice(&reply.body)?),
        Poll::Pending => Err("the handler waits for something else than answers".into()),
    }
}

fn resident_kib() -> Result<u64, Box<dyn Error>> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no VmRSS: this needs Linux")?;
    Ok(line.trim().trim_end_matches(" kB").parse()?)
}
