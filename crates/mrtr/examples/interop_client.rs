//! What `interop/` asks of other SDKs' servers: `interop_client URL`, or `interop_client -- COMMAND ARGS...` over stdio.
//!
//! Prints one line for each scenario, `ok NAME` or `FAIL NAME: WHY`.

use std::env;
use std::error::Error;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::join_all;
use mrtr::client::{
    Answer, Ask, Cache, CallError, Client, Diagnosis, Event, Output, Responder, Responders, Saved, Scripted,
    StdioTransport,
};
use serde_json::{Value, json};
use tokio::time::timeout;

type Outcome<T = ()> = Result<T, Box<dyn Error>>;
type Scenario = fn(Peer) -> Pin<Box<dyn Future<Output = Outcome>>>;

/// The server: every scenario has clients of its own. One that is a command is started once.
#[derive(Clone)]
enum Peer {
    At(String),
    Started(Arc<StdioTransport>),
}

impl Peer {
    fn new(args: &[String]) -> Outcome<Self> {
        match args {
            [dashes, program, args @ ..] if dashes == "--" => {
                Ok(Self::Started(Arc::new(StdioTransport::new(program).args(args))))
            }
            [url] => Ok(Self::At(url.clone())),
            _ => Err("usage: interop_client URL, or interop_client -- COMMAND ARGS...".into()),
        }
    }

    fn client(&self) -> Outcome<Client> {
        match self {
            Self::At(url) => Ok(Client::new(url)?),
            Self::Started(server) => Ok(Client::with_transport(Arc::clone(server))),
        }
    }

    /// A client whose forms are answered by this script, and everything else by the least that is valid.
    fn scripted(&self, script: Scripted) -> Outcome<Client> {
        Ok(self.client()?.responders(responders(script)))
    }

    async fn call(&self, tool: &str, script: Scripted) -> Outcome<Output> {
        Ok(self.scripted(script)?.call_tool(tool, json!({})).await?)
    }
}

fn responders(elicitation: impl Responder + 'static) -> Responders {
    Responders::new()
        .elicitation(elicitation)
        .sampling(Answer::result(json!({
            "role": "assistant", "model": "none", "content": { "type": "text", "text": "Paris." }
        })))
        .roots(Answer::result(json!({ "roots": [{ "uri": "file:///test/root" }] })))
}

fn name() -> Scripted {
    Scripted::new().answer("who", "name", "Alice")
}

#[track_caller]
fn equal(found: impl Into<Value>, expected: impl Into<Value>) -> Outcome {
    let (found, expected) = (found.into(), expected.into());
    if found == expected { Ok(()) } else { Err(format!("expected {expected}, got {found}").into()) }
}

async fn discover(peer: Peer) -> Outcome {
    let discovered = peer.client()?.discover().await?.value();
    let versions = discovered["supportedVersions"].as_array().cloned().unwrap_or_default();
    equal(versions.contains(&json!("2026-07-28")), true)?;
    let info = &discovered["_meta"]["io.modelcontextprotocol/serverInfo"];
    equal(info["name"].clone(), "interop")
}

async fn one_round(peer: Peer) -> Outcome {
    let output = peer.call("greet", name()).await?;
    equal(output.text(), "Hello, Alice!")?;
    equal(output.rounds.len(), 2)
}

async fn two_rounds(peer: Peer) -> Outcome {
    let script = Scripted::new().answer("first", "name", "Alice").answer("second", "color", "blue");
    let output = peer.call("pair", script).await?;
    equal(output.text(), "Alice likes blue.")?;
    equal(output.rounds.len(), 3)
}

async fn batched_round(peer: Peer) -> Outcome {
    let output = peer.call("batch", name()).await?;
    equal(output.text(), "Paris. Alice (1 roots)")?;
    equal(output.rounds.len(), 2)
}

async fn every_field(peer: Peer) -> Outcome {
    let whole = json!({
        "email": "a@example.com", "day": "2026-07-28", "count": 3, "ratio": 0.1, "agree": true, "size": "large",
        "extras": ["metrics", "backup"], "note": "",
    });
    let mut least = whole.clone();
    for optional in ["agree", "note"] {
        least.as_object_mut().and_then(|least| least.remove(optional));
    }
    for content in [whole, least] {
        let given = content.clone();
        let person = move |ask: Ask| {
            let count = ask.requested_schema()["properties"].as_object().map_or(0, serde_json::Map::len);
            let answer = given.as_object().cloned().unwrap_or_default();
            std::future::ready(if count == 8 { Ok(Answer::accept(answer)) } else { Ok(Answer::cancel()) })
        };
        let client = peer.client()?.responders(responders(person));
        let output = client.call_tool("fields", json!({})).await?;
        equal(serde_json::from_str::<Value>(&output.text())?, content)?;
    }
    Ok(())
}

async fn url(peer: Peer) -> Outcome {
    let person = async |ask: Ask| match (ask.message().as_str(), ask.url().as_deref()) {
        ("Visit the page", Some("https://example.com/visit")) => Ok(Answer::accept([])),
        _ => Ok(Answer::cancel()),
    };
    let client = peer.client()?.responders(responders(person));
    equal(client.call_tool("visit", json!({})).await?.text(), "visited")
}

async fn url_declined(peer: Peer) -> Outcome {
    let output = peer.call("visit", Scripted::new().decline("page")).await?;
    equal(output.text(), "not visited")?;
    equal(output.refusals.len(), 1)
}

async fn decline(peer: Peer) -> Outcome {
    equal(peer.call("greet", Scripted::new().decline("who")).await?.text(), "You said decline.")
}

async fn cancel(peer: Peer) -> Outcome {
    equal(peer.call("greet", Scripted::new().cancel("who")).await?.text(), "You said cancel.")
}

async fn state_only(peer: Peer) -> Outcome {
    let output = peer.call("later", Scripted::new()).await?;
    equal(output.text(), "ready")?;
    equal(output.rounds.len(), 2)
}

async fn prompt_asks(peer: Peer) -> Outcome {
    let client = peer.scripted(Scripted::new().answer("tone", "tone", "dry"))?;
    let params = json!({ "name": "write_about", "arguments": { "topic": "tea" } });
    let prompt = client.call("prompts/get", params).await?.value();
    equal(prompt["messages"][0]["content"]["text"].clone(), "Write about tea in a dry tone.")
}

async fn resource_asks(peer: Peer) -> Outcome {
    let client = peer.scripted(Scripted::new().answer("tone", "tone", "dry"))?;
    let read = client.call("resources/read", json!({ "uri": "interop://notes/7" })).await?.value();
    equal(read["contents"][0]["text"].clone(), "Note 7 in a dry tone.")
}

async fn tool_error(peer: Peer) -> Outcome {
    let output = peer.call("fails", Scripted::new()).await?;
    equal(output.is_error(), true)?;
    equal(output.text(), "out of stock")
}

async fn unknown_tool(peer: Peer) -> Outcome {
    match peer.scripted(Scripted::new())?.call_tool("nowhere", json!({})).await {
        Err(CallError::Rpc { code: -32602, message, .. }) if message.contains("nowhere") => Ok(()),
        other => Err(format!("expected the error -32602, got {other:?}").into()),
    }
}

/// A server must not ask what was not declared. SDKs that leave that to the handler ask all the same, and the client says
/// which rule that breaks.
async fn not_declared(peer: Peer) -> Outcome {
    match peer.client()?.call_tool("greet", json!({})).await {
        Err(CallError::Rpc { code: -32021, .. }) => Ok(()),
        Err(error) if error.diagnosis() == Some(Diagnosis::KindUndeclared) => Ok(()),
        other => Err(format!("expected the error -32021, got {other:?}").into()),
    }
}

async fn resumed(peer: Peer) -> Outcome {
    let kept = Mutex::new(None);
    let nobody = Responders::new().elicitation(name());
    let nobody = nobody
        .sampling(async |_: Ask| Err(mrtr::client::NotAnswered::Nobody))
        .roots(async |_: Ask| Err(mrtr::client::NotAnswered::Nobody));
    let first = peer.client()?.responders(nobody);
    let keep = |saved: Saved| {
        if let Ok(mut kept) = kept.lock() {
            *kept = serde_json::to_string(&saved).ok();
        }
    };
    let outcome = first.tool("batch", json!({})).on_save(keep).await;
    if !matches!(outcome, Err(CallError::Unanswered { .. })) {
        return Err(format!("expected open questions, got {outcome:?}").into());
    }
    drop(first);
    let saved = kept.into_inner()?.ok_or("nothing was saved")?;
    // The form was answered: it must not be asked again.
    let second = peer.scripted(Scripted::new())?;
    let output = second.resume(serde_json::from_str(&saved)?).await?;
    equal(output.text(), "Paris. Alice (1 roots)")
}

async fn cached(peer: Peer) -> Outcome {
    let hits = Arc::new(Mutex::new(0));
    let log = Arc::clone(&hits);
    let client = peer.client()?.cache(Cache::new()).observer(move |event: &Event<'_>| {
        if let (Event::Cached { .. }, Ok(mut hits)) = (event, log.lock()) {
            *hits += 1;
        }
    });
    let first = client.request("tools/list", json!({})).await?.value();
    let second = client.request("tools/list", json!({})).await?.value();
    equal(second["tools"].clone(), first["tools"].clone())?;
    let keeps = first["ttlMs"].as_i64().is_some_and(|ttl| ttl > 0);
    let hits = hits.lock().map(|hits| *hits).unwrap_or_default();
    equal(hits, u32::from(keeps))
}

async fn many_at_once(peer: Peer) -> Outcome {
    let person = async |ask: Ask| match ask.context::<usize>() {
        Some(number) => Ok(Answer::accept([("name".to_owned(), json!(format!("caller {number}")))])),
        None => Ok(Answer::cancel()),
    };
    let client = peer.client()?.responders(responders(person));
    let call = |number: usize| client.tool("greet", json!({})).context(number).into_future();
    let outputs = join_all((0..20).map(call)).await;
    for (number, output) in outputs.into_iter().enumerate() {
        equal(output?.text(), format!("Hello, caller {number}!"))?;
    }
    Ok(())
}

fn scenarios() -> Vec<(&'static str, Scenario)> {
    vec![
        ("discover", |peer| Box::pin(discover(peer))),
        ("one-round", |peer| Box::pin(one_round(peer))),
        ("two-rounds", |peer| Box::pin(two_rounds(peer))),
        ("batched-round", |peer| Box::pin(batched_round(peer))),
        ("every-field", |peer| Box::pin(every_field(peer))),
        ("url", |peer| Box::pin(url(peer))),
        ("url-declined", |peer| Box::pin(url_declined(peer))),
        ("decline", |peer| Box::pin(decline(peer))),
        ("cancel", |peer| Box::pin(cancel(peer))),
        ("state-only", |peer| Box::pin(state_only(peer))),
        ("prompt-asks", |peer| Box::pin(prompt_asks(peer))),
        ("resource-asks", |peer| Box::pin(resource_asks(peer))),
        ("tool-error", |peer| Box::pin(tool_error(peer))),
        ("unknown-tool", |peer| Box::pin(unknown_tool(peer))),
        ("not-declared", |peer| Box::pin(not_declared(peer))),
        ("resumed", |peer| Box::pin(resumed(peer))),
        ("cached", |peer| Box::pin(cached(peer))),
        ("many-at-once", |peer| Box::pin(many_at_once(peer))),
    ]
}

#[tokio::main]
async fn main() -> Outcome {
    let args: Vec<_> = env::args().skip(1).collect();
    let peer = Peer::new(&args)?;
    for (name, scenario) in scenarios() {
        match timeout(LONGEST, scenario(peer.clone())).await {
            Ok(Ok(())) => println!("ok {name}"),
            Ok(Err(error)) => println!("FAIL {name}: {}", error.to_string().replace('\n', " ")),
            Err(_) => println!("FAIL {name}: no end after {} s", LONGEST.as_secs()),
        }
    }
    peer.client()?.close().await;
    Ok(())
}

/// How long a scenario may take.
const LONGEST: Duration = Duration::from_secs(30);
