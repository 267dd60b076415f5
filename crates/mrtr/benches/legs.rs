//! What a leg costs without a transport: parsing, the state, and whole legs by how much the journal holds
//! (by number of rounds, and by the size of a recorded step).
//!
//! `cargo bench -p mrtr --features __bench --bench legs` measures. For instruction counts, run the program it builds under valgrind with the
//! argument `first-leg` or `second-leg`: then it runs that leg a thousand times, or as often as a second argument says.

use std::future::Future;
use std::hint::black_box;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context as Task, Poll, Waker};

use criterion::Criterion;
use mrtr::bench::{State, parses};
use mrtr::server::{Dispatch, Incoming, SystemClock};
use mrtr::{Context, Keyring, NoArguments, Server, Tool, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

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

#[derive(Deserialize, JsonSchema)]
struct Note {
    text: String,
}

async fn deploy_release(deploy: Deploy, cx: Context) -> Result<String, ToolError> {
    let question = format!("Deploy {} {} to production?", deploy.service, deploy.version);
    let answer: Confirm = cx.elicit("confirm_prod", question).await?;
    if !answer.confirm {
        return Ok("Nothing was deployed.".into());
    }
    let id: String = cx.step("release", async { "r-1".to_owned() }).await?;
    Ok(format!("Deployed {} {} to production ({id}).", deploy.service, deploy.version))
}

/// Asks one question after the other, without end.
async fn interview(_: NoArguments, cx: Context) -> Result<String, ToolError> {
    let mut length = 0;
    for number in 0.. {
        let note: Note = cx.elicit(format!("question_{number:02}"), "And then?").await?;
        length += note.text.len();
    }
    Ok(length.to_string())
}

#[derive(Deserialize, JsonSchema)]
struct Keep {
    bytes: usize,
}

/// Keeps a text in the journal, then asks twice.
async fn keep(keep: Keep, cx: Context) -> Result<String, ToolError> {
    let text: String = cx.step("text", async { "a".repeat(keep.bytes) }).await?;
    let _: Note = cx.elicit("first", "Well?").await?;
    let _: Note = cx.elicit("second", "And then?").await?;
    Ok(text)
}

fn keys() -> Keyring {
    Keyring::new([[7; 32]]).expect("one key")
}

fn server() -> Arc<Dispatch> {
    let server = Server::new("releases", "1.0.0").keys(keys()).clock(Arc::new(SystemClock)).max_state(64 * 1024);
    let server = server.tool(Tool::new("deploy_release", deploy_release)).tool(Tool::new("interview", interview));
    let server = server.tool(Tool::new("keep", keep));
    server.build().expect("a valid server")
}

/// A request as a client sends it.
fn request(tool: &str, arguments: &Value, retry: Option<(&str, Value)>) -> Vec<u8> {
    let mut params = json!({
        "name": tool,
        "arguments": arguments,
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": { "name": "bench", "version": "1.0.0" },
            "io.modelcontextprotocol/clientCapabilities": { "elicitation": { "form": {} } },
        },
    });
    if let Some((state, answers)) = retry {
        params["inputResponses"] = answers;
        params["requestState"] = json!(state);
    }
    json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }).to_string().into_bytes()
}

fn accept(key: &str, content: &Value) -> Value {
    json!({ key: { "action": "accept", "content": content } })
}

fn leg(server: &Dispatch, body: &[u8]) -> Vec<u8> {
    let handled = pin!(server.handle(Incoming::new(body)));
    match handled.poll(&mut Task::from_waker(Waker::noop())) {
        Poll::Ready(reply) => reply.body,
        Poll::Pending => panic!("these handlers wait for nothing but answers"),
    }
}

fn state(reply: &[u8]) -> String {
    let reply: Value = serde_json::from_slice(reply).expect("JSON");
    reply["result"]["requestState"].as_str().unwrap_or_else(|| panic!("no state: {reply}")).to_owned()
}

/// The README's two legs.
fn deploy_legs(server: &Dispatch) -> (Vec<u8>, Vec<u8>, String) {
    let arguments = json!({ "service": "api", "version": "4.8.1" });
    let first = request("deploy_release", &arguments, None);
    let token = state(&leg(server, &first));
    let answers = accept("confirm_prod", &json!({ "confirm": true }));
    let second = request("deploy_release", &arguments, Some((&token, answers)));
    assert!(String::from_utf8_lossy(&leg(server, &second)).contains("(r-1)"));
    (first, second, token)
}

/// The request that opens each round of an interview, and the state it carries.
fn interview_legs(server: &Dispatch, rounds: usize) -> Vec<(Vec<u8>, usize)> {
    let mut legs = vec![(request("interview", &json!({}), None), 0)];
    while legs.len() < rounds {
        let (last, _) = legs.last().expect("a first leg");
        let token = state(&leg(server, last));
        let answers = accept(&format!("question_{:02}", legs.len() - 1), &json!({ "text": "a short answer" }));
        legs.push((request("interview", &json!({}), Some((&token, answers))), token.len()));
    }
    legs
}

/// A round in the middle of an operation whose journal holds a step of that many bytes: it opens a state and seals one.
fn keep_leg(server: &Dispatch, bytes: usize) -> (Vec<u8>, usize) {
    let arguments = json!({ "bytes": bytes });
    let token = state(&leg(server, &request("keep", &arguments, None)));
    let answers = accept("first", &json!({ "text": "a short answer" }));
    (request("keep", &arguments, Some((&token, answers))), token.len())
}

fn benches(criterion: &mut Criterion) {
    let server = server();
    let (first, second, token) = deploy_legs(&server);
    println!("the README flow's state has {} characters", token.len());

    let arguments = r#"{"service":"api","version":"4.8.1"}"#;
    let mut sealed = State::of(keys(), "releases", "deploy_release", arguments, &token);
    criterion.bench_function("state/open", |bencher| bencher.iter(|| assert!(sealed.opens(black_box(&token)))));
    criterion.bench_function("state/seal", |bencher| bencher.iter(|| sealed.seal()));
    criterion.bench_function("state/seal and open", |bencher| {
        bencher.iter(|| {
            let token = sealed.seal();
            assert!(sealed.opens(&token));
        });
    });
    for (name, body) in [("first", &first), ("second", &second)] {
        criterion.bench_function(&format!("parse/{name}"), |bencher| bencher.iter(|| assert!(parses(black_box(body)))));
        criterion.bench_function(&format!("leg/{name}"), |bencher| bencher.iter(|| leg(&server, black_box(body))));
    }
    let legs = interview_legs(&server, 20);
    for round in [1, 2, 5, 10, 15, 20] {
        let (body, state) = &legs[round - 1];
        let name = format!("round/{round:02}, state of {state}");
        criterion.bench_function(&name, |bencher| bencher.iter(|| leg(&server, black_box(body))));
    }
    for bytes in [100, 1024, 8 * 1024] {
        let (body, state) = keep_leg(&server, bytes);
        let name = format!("journal/{bytes} bytes, state of {state}");
        criterion.bench_function(&name, |bencher| bencher.iter(|| leg(&server, black_box(&body))));
    }
}

/// Runs a leg often enough for its instructions to stand out.
fn repeat(which: &str, times: u32) {
    let server = server();
    let (first, second, _) = deploy_legs(&server);
    let body = if which == "first-leg" { &first } else { &second };
    for _ in 0..times {
        black_box(leg(&server, black_box(body)));
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    match arguments.next().as_deref() {
        Some(which @ ("first-leg" | "second-leg")) => {
            repeat(which, arguments.next().and_then(|times| times.parse().ok()).unwrap_or(1000));
        }
        _ => {
            let mut criterion = Criterion::default().configure_from_args();
            benches(&mut criterion);
            criterion.final_summary();
        }
    }
}
