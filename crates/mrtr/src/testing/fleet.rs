//! Instances of a server that share a clock, and what is sent to them: the one place where the kit makes requests.

use futures_util::future::join;
use serde_json::{Value, json};
use std::sync::Arc;

use super::HandClock;
use super::clock::LONG;
use super::effects::Effects;
use super::reply::Reply;
use super::run::{Hang, run, run_for};
use crate::ledger::MemoryLedger;
use crate::seal::{Keyring, Principal};
use crate::server::{BuildError, Clock, Dispatch, Incoming, Server};
use crate::wire::{PROTOCOL_VERSION, meta_key};

/// The name of the kit's servers, which their states are made for.
pub(super) const SERVER: &str = "mrtr-testing";

/// Instances, asked in turn.
#[derive(Debug)]
pub(super) struct Fleet {
    pub(super) instances: Vec<Arc<Dispatch>>,
    pub(super) clock: HandClock,
    pub(super) ledger: Arc<MemoryLedger>,
    /// Who takes note of the steps.
    pub(super) effects: Effects,
    /// Requests sent so far.
    pub(super) sent: usize,
}

/// What every leg of an operation has in common.
#[derive(Clone, Debug)]
pub(super) struct Operation {
    pub(super) method: &'static str,
    pub(super) params: Value,
    pub(super) capabilities: Value,
}

/// One request of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Leg {
    pub(super) state: Option<String>,
    /// The member `inputResponses`.
    pub(super) answers: Option<Value>,
    pub(super) caller: Option<Principal>,
}

impl Fleet {
    /// Instances of what `setup` makes, one for each of the key rings.
    pub(super) fn new<const N: usize>(
        clock: HandClock,
        keys: [Keyring; N],
        setup: impl Fn(Server) -> Server,
    ) -> Result<Self, BuildError> {
        let ledger = Arc::new(MemoryLedger::new().clock(Arc::new(clock.clone())));
        let mut fleet = Self { instances: Vec::new(), clock, ledger, effects: Effects::new(), sent: 0 };
        fleet.instances = keys.into_iter().map(|keys| setup(fleet.server(keys)).build()).collect::<Result<_, _>>()?;
        Ok(fleet)
    }

    /// A server of this fleet, without anything on it yet.
    pub(super) fn server(&self, keys: Keyring) -> Server {
        let clock = Arc::new(self.clock.clone()) as Arc<dyn Clock>;
        let server = Server::new(SERVER, "1.0.0").keys(keys).clock(clock).ledger(Arc::clone(&self.ledger));
        // The clock goes on by itself when a handler waits. That must not use up the handler's time, nor go on for ever
        // because a claim is renewed again and again.
        server.handler_time(2 * LONG).lease(4 * LONG)
    }

    /// Sends a leg to the next instance in turn.
    pub(super) fn send(&mut self, operation: &Operation, leg: &Leg) -> Result<Reply, Hang> {
        let body = operation.request(self.sent, leg);
        let call = self.call(&body, leg);
        self.sent += 1;
        run(&self.clock, call)
    }

    /// Sends a leg to the next instance in turn, which dies when it has come to its `polls`th await; whether it did.
    pub(super) fn send_torn(&mut self, operation: &Operation, leg: &Leg, polls: u32) -> Result<bool, Hang> {
        let body = operation.request(self.sent, leg);
        let call = self.call(&body, leg);
        self.sent += 1;
        match run_for(&self.clock, call, polls) {
            Ok(_) => Ok(false),
            Err(Hang::Spins) => Ok(true),
            Err(hang) => Err(hang),
        }
    }

    /// Sends a leg twice, to two instances, which work on it side by side.
    pub(super) fn send_both(&mut self, operation: &Operation, leg: &Leg) -> Result<(Reply, Reply), Hang> {
        let body = operation.request(self.sent, leg);
        let first = self.call(&body, leg);
        self.sent += 1;
        let second = self.call(&body, leg);
        self.sent += 1;
        run(&self.clock, join(first, second))
    }

    /// A call of the next instance in turn.
    fn call<'a>(&self, body: &'a str, leg: &Leg) -> impl Future<Output = Reply> + use<'a> {
        let instance = Arc::clone(&self.instances[self.sent % self.instances.len()]);
        let incoming = Incoming::new(body.as_bytes()).principal(leg.caller.clone());
        let incoming = incoming.watched(Arc::new(self.effects.clone()));
        async move { Reply::read(&instance.handle(incoming).await.body) }
    }
}

impl Operation {
    /// Of a client that can be asked everything.
    pub(super) fn new(method: &'static str, params: Value) -> Self {
        let capabilities =
            json!({ "elicitation": { "form": {}, "url": {} }, "sampling": { "tools": {} }, "roots": {} });
        Self { method, params, capabilities }
    }

    fn request(&self, id: usize, leg: &Leg) -> String {
        let mut params = self.params.clone();
        params["_meta"] = json!({
            meta_key::PROTOCOL_VERSION: PROTOCOL_VERSION,
            meta_key::CLIENT_INFO: { "name": SERVER, "version": "1.0.0" },
            meta_key::CLIENT_CAPABILITIES: self.capabilities,
            // One call is all that is made of a fleet.
            meta_key::IDEMPOTENCY_KEY: "the only call",
        });
        if let Some(state) = &leg.state {
            params["requestState"] = json!(state);
        }
        if let Some(answers) = &leg.answers {
            params["inputResponses"] = answers.clone();
        }
        json!({ "jsonrpc": "2.0", "id": id, "method": self.method, "params": params }).to_string()
    }
}
