//! What clients do: calls that are checked, requests that are malformed, connections that end anywhere.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::http::{Connection, Post};
use super::malformed::{self, Kind};

/// What all clients share.
pub struct Load {
    pub address: SocketAddr,
    pub until: Instant,
    /// The server was told to stop.
    pub ending: AtomicBool,
    kinds: Vec<Kind>,
    score: Mutex<Score>,
}

/// What was counted.
#[derive(Clone, Default)]
pub struct Score {
    pub legs: u64,
    pub events: u64,
    pub malformed: u64,
    pub left: u64,
    pub last: u64,
    pub faults: BTreeMap<String, u64>,
}

impl Load {
    pub fn new(address: SocketAddr, until: Instant) -> Arc<Self> {
        let (ending, score) = (AtomicBool::new(false), Mutex::default());
        Arc::new(Self { address, until, ending, kinds: malformed::kinds(), score })
    }

    pub fn score(&self) -> Score {
        self.scored().clone()
    }

    /// Counts a fault, unless it is so.
    pub fn expect(&self, holds: bool, fault: impl FnOnce() -> String) {
        if !holds {
            *self.scored().faults.entry(fault()).or_default() += 1;
        }
    }

    fn failed(&self, what: &str, error: &io::Error) {
        self.expect(false, || format!("{what}: {error}"));
    }

    fn scored(&self) -> MutexGuard<'_, Score> {
        self.score.lock().expect("no panic meanwhile")
    }

    async fn connect(&self) -> io::Result<Connection> {
        Connection::open(self.address).await
    }
}

/// One client: call after call, until the time is over.
pub async fn work(load: Arc<Load>, client: u64) {
    let mut random = Random(client.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let (mut connection, mut number) = (None, client << 32);
    while Instant::now() < load.until {
        number += 1;
        let done = match random.below(20) {
            0 => malformed(&load, random.below(load.kinds.len() as u64) as usize).await,
            1 => leave(&load, random.below(3), number).await,
            _ => good(&load, &mut connection, random.below(8), number).await,
        };
        if let Err(error) = done {
            load.failed("a client", &error);
            connection = None;
        }
    }
}

/// A call from its first leg to its result.
async fn good(load: &Load, kept: &mut Option<Connection>, which: u64, number: u64) -> io::Result<()> {
    if kept.is_none() {
        *kept = Some(load.connect().await?);
    }
    let connection = kept.as_mut().expect("just opened");
    match which {
        0 => {
            let slow = Post::call("slow", json!({ "number": number, "millis": 5 }));
            finishes(load, &leg(load, connection, &slow).await?, &format!("{number} slowly"));
        }
        1 => stepwise(load, connection, number, 2).await?,
        2 => {
            let touch = Post::call("touch", json!({ "number": number }));
            finishes(load, &leg(load, connection, &touch).await?, &format!("{number} touched"));
        }
        _ => {
            let first = Post::call("ask", json!({ "number": number }));
            let asked = leg(load, connection, &first).await?;
            let message = &asked["result"]["inputRequests"]["confirm"]["params"]["message"];
            load.expect(*message == format!("Deploy {number}?"), || format!("not the question: {asked}"));
            let confirm = number.is_multiple_of(2);
            let answers = json!({ "confirm": { "action": "accept", "content": { "confirm": confirm } } });
            let second = first
                .set("/params/inputResponses", answers)
                .set("/params/requestState", asked["result"]["requestState"].clone());
            let expected = format!("{number} {}", if confirm { "deployed" } else { "kept" });
            finishes(load, &leg(load, connection, &second).await?, &expected);
        }
    }
    Ok(())
}

/// Sends a request and reads its reply, which is no stream.
async fn leg(load: &Load, connection: &mut Connection, post: &Post) -> io::Result<Value> {
    connection.send(&post.bytes()).await?;
    let head = connection.head().await?;
    let reply = connection.body(&head).await?;
    load.expect(head.status == 200, || format!("status {}: {reply}", head.status));
    load.scored().legs += 1;
    Ok(reply)
}

fn finishes(load: &Load, reply: &Value, text: &str) {
    let said = &reply["result"]["content"][0]["text"];
    load.expect(said == text, || format!("expected {text:?}, got {reply}"));
}

/// A call that says how far it is, up to its reply.
async fn stepwise(load: &Load, connection: &mut Connection, number: u64, millis: u64) -> io::Result<()> {
    connection.send(&steps(number, millis).bytes()).await?;
    let head = connection.head().await?;
    load.expect(head.is_stream(), || format!("no stream: status {}", head.status));
    let mut messages = Vec::new();
    while let Some(events) = connection.events().await? {
        messages.extend(events);
    }
    finishes(load, &messages.pop().unwrap_or_default(), &format!("{number} step by step"));
    let told: Vec<_> = messages.iter().filter_map(|message| message["params"]["progress"].as_u64()).collect();
    load.expect(told == (1..=10).collect::<Vec<_>>(), || format!("not all the progress: {told:?}"));
    let mut score = load.scored();
    score.legs += 1;
    score.events += messages.len() as u64;
    Ok(())
}

fn steps(number: u64, millis: u64) -> Post {
    let mut call = Post::call("steps", json!({ "number": number, "millis": millis }));
    call.body["params"]["_meta"]["progressToken"] = number.into();
    call
}

async fn malformed(load: &Load, which: usize) -> io::Result<()> {
    let Kind { name, request, status, code } = &load.kinds[which];
    let mut connection = load.connect().await?;
    connection.send(request).await?;
    let head = connection.head().await?;
    let reply = connection.body(&head).await?;
    let got = (head.status, reply["error"]["code"].as_i64());
    load.expect(head.status == *status && (code.is_none() || got.1 == *code), || {
        format!("{name}: expected {status} {code:?}, got {got:?}")
    });
    load.scored().malformed += 1;
    Ok(())
}

/// Goes away: before the body is complete, after it, or in the middle of a stream.
async fn leave(load: &Load, where_from: u64, number: u64) -> io::Result<()> {
    let mut connection = load.connect().await?;
    let call = steps(number, 1_000).bytes();
    match where_from {
        0 => connection.send(&call[..call.len() - 20]).await?,
        1 => {
            connection.send(&Post::call("slow", json!({ "number": number, "millis": 60_000 })).bytes()).await?;
            sleep(Duration::from_millis(2)).await;
        }
        _ => {
            connection.send(&call).await?;
            connection.head().await?;
            connection.events().await?;
        }
    }
    load.scored().left += 1;
    Ok(())
}

/// Listens for changes until the server ends the subscription, which it does when it is told to stop and not before.
pub async fn listen(load: Arc<Load>, number: u64) {
    let listening = async {
        let mut connection = load.connect().await?;
        let mut listen =
            Post::new("subscriptions/listen", None, json!({ "notifications": { "toolsListChanged": true } }));
        listen.body["id"] = number.into();
        connection.send(&listen.bytes()).await?;
        connection.head().await?;
        let mut last = Value::Null;
        let mut changes = 0;
        while let Some(events) = connection.events().await? {
            let is_change = |event: &&Value| event["method"] == "notifications/tools/list_changed";
            changes += events.iter().filter(is_change).count() as u64;
            last = events.into_iter().next_back().unwrap_or(last);
        }
        load.expect(load.ending.load(Ordering::Relaxed), || format!("a subscription ended early: {last}"));
        load.expect(last["result"]["resultType"] == "complete", || format!("no graceful end: {last}"));
        load.expect(changes > 0, || "a listener heard nothing".to_owned());
        load.scored().events += changes;
        Ok(())
    };
    if let Err(error) = listening.await {
        load.failed("a listener", &error);
    }
}

/// A call that is at work when the server is told to stop; one of two streams.
pub async fn last_call(load: Arc<Load>, number: u64) {
    let calling = async {
        let mut connection = load.connect().await?;
        if number.is_multiple_of(2) {
            return stepwise(&load, &mut connection, number, 200).await;
        }
        let slow = Post::call("slow", json!({ "number": number, "millis": 2_000 }));
        finishes(&load, &leg(&load, &mut connection, &slow).await?, &format!("{number} slowly"));
        Ok(())
    };
    match calling.await {
        Ok(()) => load.scored().last += 1,
        Err(error) => load.failed("a call at the end", &error),
    }
}

/// Waits until as many calls are at work, besides the one that asks; those that clients left are gone by then.
pub async fn wait_for_open_handlers(load: &Load, count: u64) {
    let mut open = String::new();
    for _ in 0..100 {
        let asked = async { leg(load, &mut load.connect().await?, &Post::call("open", json!({}))).await };
        match asked.await {
            Ok(reply) => reply["result"]["content"][0]["text"].as_str().unwrap_or_default().clone_into(&mut open),
            Err(error) => load.failed("asking for open handlers", &error),
        }
        if open == (count + 1).to_string() {
            return;
        }
        sleep(Duration::from_millis(10)).await;
    }
    load.expect(false, || format!("{open} handlers are at work, expected {}", count + 1));
}

/// Marsaglia's xorshift: the same load every time.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) % limit
    }
}
