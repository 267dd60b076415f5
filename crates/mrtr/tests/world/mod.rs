//! A world of two parties: a client that sends bytes, instances that answer them, a clock moved by hand.

mod effects;
pub mod listening;
mod run;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

pub use effects::{Effects, logged};
use mrtr::server::{Clock, Dispatch, Incoming, Reply, Sleep};
use mrtr::{Keyring, Principal, Server, Tool};
pub use run::to_the_end;
use serde_json::{Map, Value, json};

/// The key every instance shares unless a test says otherwise.
pub fn keys() -> Keyring {
    Keyring::new([[7; 32]]).expect("one key")
}

/// Time that moves only when told to.
#[derive(Debug)]
pub struct HandClock(Mutex<Duration>);

impl HandClock {
    pub fn new() -> Arc<Self> {
        Arc::new(Self(Mutex::new(Duration::from_secs(1_800_000_000))))
    }

    pub fn advance(&self, by: Duration) {
        *self.0.lock().expect("clock") += by;
    }
}

impl Clock for HandClock {
    fn now(&self) -> SystemTime {
        UNIX_EPOCH + *self.0.lock().expect("clock")
    }

    /// A timer is over at once, and the time with it.
    fn sleep(&self, duration: Duration) -> Option<Sleep> {
        self.advance(duration);
        Some(Box::pin(std::future::ready(())))
    }
}

/// The same time, with timers that never ring: for handlers that have to wait for something real.
#[derive(Debug)]
pub struct Untimed(pub Arc<HandClock>);

impl Clock for Untimed {
    fn now(&self) -> SystemTime {
        self.0.now()
    }

    fn sleep(&self, _: Duration) -> Option<Sleep> {
        Some(Box::pin(std::future::pending()))
    }
}

/// A fleet: instances behind a round robin, and the clock they share.
pub struct World {
    pub instances: Vec<Arc<Dispatch>>,
    pub clock: Arc<HandClock>,
    next: AtomicU64,
}

impl World {
    /// Two instances of a server with this tool.
    pub fn with(tool: Tool) -> Self {
        Self::of(|server| server.tool(tool.clone()))
    }

    /// Two instances of a server, each set up by `setup`.
    pub fn of(setup: impl Fn(Server) -> Server) -> Self {
        Self::fleet([&setup as &dyn Fn(Server) -> Server, &setup])
    }

    /// A deployment that is under way: each instance has its own version of the tool, and requests go round.
    pub fn versions<const N: usize>(tools: [Tool; N]) -> Self {
        let setups = tools.map(|tool| move |server: Server| server.tool(tool.clone()));
        Self::fleet(setups.each_ref().map(|setup| setup as &dyn Fn(Server) -> Server))
    }

    /// Instances that share the clock and, unless set up otherwise, the key.
    pub fn fleet<const N: usize>(setups: [&dyn Fn(Server) -> Server; N]) -> Self {
        let clock = HandClock::new();
        let instances = setups.map(|setup| {
            let server = Server::new("test", "1.0.0").keys(keys()).clock(clock.clone() as Arc<dyn Clock>);
            setup(server).build().expect("a valid server")
        });
        Self { instances: instances.into(), clock, next: AtomicU64::new(0) }
    }

    /// As [`with`](Self::with), where time is never up.
    pub fn untimed(tool: Tool) -> Self {
        let clock = HandClock::new();
        let mut world = Self::of(|server| server.tool(tool.clone()).clock(Arc::new(Untimed(clock.clone()))));
        world.clock = clock;
        world
    }

    /// Sends a request body to the next instance in turn.
    pub fn send(&self, body: &str) -> Reply {
        self.send_as(body, None)
    }

    /// Sends a request body as an authenticated caller.
    pub fn send_as(&self, body: &str, principal: Option<Principal>) -> Reply {
        to_the_end(self.instance().handle(Incoming::new(body.as_bytes()).principal(principal)))
    }

    /// Sends a request body from within a runtime.
    pub async fn send_async(&self, body: &str) -> Reply {
        self.instance().handle(Incoming::new(body.as_bytes())).await
    }

    fn instance(&self) -> &Dispatch {
        let turn = self.next.fetch_add(1, Ordering::Relaxed) as usize;
        &self.instances[turn % self.instances.len()]
    }

    /// Starts an operation.
    pub fn call(&self, tool: &str, arguments: Value) -> Leg<'_> {
        self.request("tools/call", json!({ "name": tool, "arguments": arguments }))
    }

    /// Starts an operation of a client with these capabilities.
    pub fn call_with(&self, capabilities: Value, tool: &str, arguments: Value) -> Leg<'_> {
        let params = json!({ "name": tool, "arguments": arguments });
        Call { world: self, method: "tools/call".to_owned(), params, capabilities }.first()
    }

    /// Sends any request, of a client that can be asked everything.
    pub fn request(&self, method: &str, params: Value) -> Leg<'_> {
        Call { world: self, method: method.to_owned(), params, capabilities: everything() }.first()
    }
}

/// A client that can be asked everything.
pub fn everything() -> Value {
    json!({ "elicitation": { "form": {}, "url": {} }, "sampling": { "tools": {} }, "roots": {} })
}

/// A request body, with any parameters.
pub fn request(id: u64, method: &str, capabilities: &Value, params: Value) -> String {
    let mut all = params;
    all["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "world", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": capabilities,
    });
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": all }).to_string()
}

/// One logical call.
#[derive(Clone)]
struct Call<'w> {
    world: &'w World,
    method: String,
    params: Value,
    capabilities: Value,
}

impl<'w> Call<'w> {
    fn first(self) -> Leg<'w> {
        let params = self.params.clone();
        self.send(1, params)
    }

    fn send(self, round: u64, params: Value) -> Leg<'w> {
        let reply = self.world.send(&request(round, &self.method, &self.capabilities, params));
        let message = serde_json::from_slice(&reply.body).expect("a JSON reply");
        Leg { call: self, round, reply: message, status: reply.status }
    }
}

/// One leg's reply, and the way to the next leg.
pub struct Leg<'w> {
    call: Call<'w>,
    round: u64,
    pub reply: Value,
    pub status: u16,
}

impl<'w> Leg<'w> {
    /// Asserts that exactly these keys are asked, in this order.
    #[track_caller]
    pub fn asks(self, keys: &[&str]) -> Self {
        assert_eq!(self.reply["result"]["resultType"], "input_required", "{}", self.reply);
        let asked: Vec<String> = self.requests().keys().cloned().collect();
        assert_eq!(asked, keys, "{}", self.reply);
        assert!(self.reply["result"]["requestState"].is_string(), "{}", self.reply);
        self
    }

    /// The input requests of this reply.
    pub fn requests(&self) -> Map<String, Value> {
        self.reply["result"]["inputRequests"].as_object().cloned().unwrap_or_default()
    }

    /// The message of one question.
    pub fn message(&self, key: &str) -> String {
        self.reply["result"]["inputRequests"][key]["params"]["message"].as_str().unwrap_or_default().to_owned()
    }

    /// The schema of one question.
    pub fn schema(&self, key: &str) -> Value {
        self.reply["result"]["inputRequests"][key]["params"]["requestedSchema"].clone()
    }

    pub fn state(&self) -> String {
        self.reply["result"]["requestState"].as_str().expect("a state").to_owned()
    }

    /// Retries with these answers, as they are.
    pub fn respond(&self, answers: Value) -> Self {
        self.respond_with(answers, Some(self.state()))
    }

    /// Retries with these answers and this state.
    pub fn respond_with(&self, answers: Value, state: Option<String>) -> Self {
        let call = self.call.clone();
        let mut params = call.params.clone();
        params["inputResponses"] = answers;
        if let Some(state) = state {
            params["requestState"] = json!(state);
        }
        call.send(self.round + 1, params)
    }

    /// Retries accepting one question with this content.
    pub fn accept(&self, key: &str, content: Value) -> Self {
        self.respond(json!({ key: { "action": "accept", "content": content } }))
    }

    /// Retries with one question declined.
    pub fn decline(&self, key: &str) -> Self {
        self.respond(json!({ key: { "action": "decline" } }))
    }

    /// Retries with one question cancelled.
    pub fn cancel(&self, key: &str) -> Self {
        self.respond(json!({ key: { "action": "cancel" } }))
    }

    /// The same operation, continued by a client with other capabilities.
    pub fn capable(mut self, capabilities: Value) -> Self {
        self.call.capabilities = capabilities;
        self
    }

    /// Asserts a complete result with this text.
    #[track_caller]
    pub fn finishes(&self, text: &str) {
        assert_eq!(self.reply["result"]["resultType"], "complete", "{}", self.reply);
        assert_eq!(self.text(), text, "{}", self.reply);
        assert_ne!(self.reply["result"]["isError"], true, "{}", self.reply);
    }

    /// Asserts a tool error whose text contains `text`.
    #[track_caller]
    pub fn fails(&self, text: &str) {
        assert_eq!(self.reply["result"]["isError"], true, "{}", self.reply);
        assert!(self.text().contains(text), "{}", self.reply);
    }

    /// Asserts a JSON-RPC error of this code.
    #[track_caller]
    pub fn errors(&self, code: i64) -> &Value {
        assert_eq!(self.reply["error"]["code"], code, "{}", self.reply);
        &self.reply["error"]
    }

    /// The members of a complete result.
    #[track_caller]
    pub fn result(&self) -> &Value {
        assert_eq!(self.reply["result"]["resultType"], "complete", "{}", self.reply);
        &self.reply["result"]
    }

    pub fn text(&self) -> String {
        self.reply["result"]["content"][0]["text"].as_str().unwrap_or_default().to_owned()
    }
}
