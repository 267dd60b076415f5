//! One run of a tool under one fault: a fresh tool, a fresh fleet, and the script that goes on where the fault left it.

use std::collections::BTreeSet;
use std::time::{Duration, SystemTime};

use serde_json::Value;

use super::fleet::{Fleet, Leg, Operation, SERVER};
use super::reply::{End, Reply};
use super::report::{Fault, Finding, Problem};
use super::{Effects, HandClock, Script};
use crate::flow::{Clock, Journal};
use crate::seal::{Binding, Claims, Digest, Keyring, Opened, Principal, audience};
use crate::server::{BuildError, Tool};
use crate::wire::json;

/// How many rounds a script is played for before it is given up.
const MAX_ROUNDS: usize = 100;

/// Why an operation has no outcome.
#[derive(Debug)]
pub(super) struct Stuck(pub(super) String);

/// The requests of an operation, each with its reply.
pub(super) type Trail = Vec<(Leg, Reply)>;

/// A tool under a fault.
#[derive(Debug)]
pub(super) struct Stage<'s> {
    pub(super) script: &'s Script,
    pub(super) fleet: Fleet,
    pub(super) findings: Vec<Finding>,
    operation: Operation,
    tool: Tool,
    fault: Fault,
    /// The round the fault strikes; 0 where it strikes no single one.
    pub(super) round: usize,
    /// The question it strikes.
    pub(super) key: Option<String>,
    /// What the question it strikes is answered with, whenever it is asked.
    pub(super) refusal: Option<Value>,
    /// Whether the fault made no sense here, so that nothing was tried.
    pub(super) moot: bool,
}

impl<'s> Stage<'s> {
    /// # Errors
    /// When no server can be built with this tool.
    pub(super) fn new(
        build: &dyn Fn(&Effects) -> Tool,
        script: &'s Script,
        (fault, round, key): (Fault, usize, Option<&str>),
    ) -> Result<Self, BuildError> {
        let effects = Effects::new();
        let tool = build(&effects);
        let params = serde_json::json!({ "name": tool.name(), "arguments": script.arguments });
        let keys = key_ring([1]);
        let mut fleet = Fleet::new(HandClock::new(), [keys.clone(), keys], |server| server.tool(tool.clone()))?;
        fleet.effects = effects;
        if fault == Fault::None {
            fleet.instances.truncate(1);
        }
        let operation = Operation::new("tools/call", params);
        let key = key.map(str::to_owned);
        Ok(Self { script, fleet, findings: Vec::new(), operation, tool, fault, round, key, refusal: None, moot: false })
    }

    pub(super) fn tool(&self) -> &Tool {
        &self.tool
    }

    /// Whether the round the fault strikes is done once.
    pub(super) fn is_once(&self) -> bool {
        let (retries, first_calls) = self.tool.is_done_once();
        if self.round == 1 { first_calls } else { retries }
    }

    /// The request every operation begins with.
    pub(super) fn first() -> Leg {
        Leg { caller: Some(user()), ..Leg::default() }
    }

    /// Replaces all instances by new ones with these keys; the world around them, and the time, stay.
    pub(super) fn restart(&mut self, keys: &Keyring) -> Result<(), Stuck> {
        let build = || self.fleet.server(keys.clone()).tool(self.tool.clone()).build();
        let instances = self.fleet.instances.iter().map(|_| build()).collect::<Result<_, _>>();
        self.fleet.instances = instances.map_err(|error| Stuck(error.to_string()))?;
        Ok(())
    }

    /// Sends one request. Everything but a result, a question or a clear error is the end of the run.
    pub(super) fn send(&mut self, leg: &Leg) -> Result<Reply, Stuck> {
        let reply = self.fleet.send(&self.operation, leg).map_err(|hang| Stuck(hang.to_string()))?;
        clear(reply)
    }

    /// Sends one request, and lets the instance die at the handler's `polls`th await; whether it comes to it.
    pub(super) fn send_torn(&mut self, leg: &Leg, polls: u32) -> Result<bool, Stuck> {
        self.fleet.send_torn(&self.operation, leg, polls).map_err(|hang| Stuck(hang.to_string()))
    }

    /// Sends one request to two instances at once.
    pub(super) fn send_both(&mut self, leg: &Leg) -> Result<(Reply, Reply), Stuck> {
        let both = self.fleet.send_both(&self.operation, leg).map_err(|hang| Stuck(hang.to_string()))?;
        Ok((clear(both.0)?, clear(both.1)?))
    }

    /// Plays the script from this request on, for so many rounds or to the end.
    pub(super) fn play_for(&mut self, leg: Leg, rounds: usize) -> Result<Trail, Stuck> {
        let mut trail = Trail::new();
        let mut next = Some(leg);
        while let Some(leg) = next.take() {
            let reply = self.send(&leg)?;
            if reply.end() == End::Asks && trail.len() + 1 < rounds {
                next = Some(self.answer(&reply)?);
            }
            trail.push((leg, reply));
        }
        Ok(trail)
    }

    /// Plays the script from this request to the end.
    pub(super) fn play(&mut self, leg: Leg) -> Result<Trail, Stuck> {
        let trail = self.play_for(leg, MAX_ROUNDS)?;
        match trail.last() {
            Some((_, reply)) if reply.end() == End::Asks => {
                Err(Stuck(format!("after {MAX_ROUNDS} rounds it still {reply}")))
            }
            _ => Ok(trail),
        }
    }

    /// Plays the script up to the request of the round the fault strikes, which is not sent.
    pub(super) fn up_to_the_fault(&mut self) -> Result<(Leg, Reply), Stuck> {
        let trail = self.play_for(Self::first(), self.round - 1)?;
        match trail.into_iter().next_back() {
            Some((_, reply)) if reply.end() == End::Asks => Ok((self.answer(&reply)?, reply)),
            _ => Err(Stuck(format!("without a fault it asks in round {}, and now it does not", self.round - 1))),
        }
    }

    /// The retry that answers everything a reply asks, as the script says.
    pub(super) fn answer(&self, reply: &Reply) -> Result<Leg, Stuck> {
        let mut answers = self
            .script
            .answer_all(reply)
            .map_err(|question| Stuck(format!("it asks {question}, and the script has no answer for that")))?;
        if let (Some(key), Some(refusal)) = (&self.key, &self.refusal)
            && reply.question(key).is_some()
        {
            answers[key] = refusal.clone();
        }
        Ok(Leg { state: reply.state().map(str::to_owned), answers: Some(answers), caller: Some(user()) })
    }

    /// Takes down what went wrong.
    pub(super) fn found(&mut self, problem: Problem) {
        let Self { fault, round, key, .. } = self;
        self.findings.push(Finding { problem, fault: *fault, round: *round, key: key.clone() });
    }

    /// Takes down that something else happened.
    pub(super) fn unexpected(&mut self, expected: impl Into<String>, reply: &Reply) {
        self.found(Problem::Unexpected { expected: expected.into(), got: reply.to_string() });
    }

    /// The keys of what this state has asked, waits left out: no answer is needed for them.
    pub(super) fn pinned(&self, state: &str) -> BTreeSet<String> {
        let claims = self.open(state);
        let asked = claims.into_iter().flat_map(|claims| claims.journal).filter(|entry| entry.is_pinned());
        asked.map(|entry| entry.key).collect()
    }

    /// The same state as a version of the tool would have sealed it that asked other questions.
    pub(super) fn of_other_questions(&self, state: &str) -> Option<String> {
        let mut claims = self.open(state)?;
        let pinned = claims.journal.iter_mut().filter(|entry| entry.is_pinned());
        pinned.for_each(|entry| entry.repin(Digest::of("question", &[b"another one"])));
        Some(claims.seal_at(&key_ring([1]), rand::random(), self.now(), Duration::from_secs(600)))
    }

    fn open(&self, state: &str) -> Option<Claims<Journal>> {
        let canonical = json::canonical(&self.script.arguments.to_string()).ok()?;
        let binding = Binding::new("tools/call", self.tool.name(), &canonical, Some(&user()), audience(SERVER));
        match Claims::open_at(&key_ring([1]), state, &binding, self.now()) {
            Ok(Opened::Live(claims)) => Some(claims),
            _ => None,
        }
    }

    fn now(&self) -> SystemTime {
        self.fleet.clock.now()
    }
}

/// Keys that differ in this byte.
pub(super) fn key_ring<const N: usize>(keys: [u8; N]) -> Keyring {
    Keyring::new(keys.map(|key| [key; 32])).expect("keys of 32 bytes, all different")
}

fn user() -> Principal {
    Principal::new("https://issuer.example", "ann")
}

/// A reply that says what is to be said, if this one does.
fn clear(reply: Reply) -> Result<Reply, Stuck> {
    match reply.end() {
        End::Nothing | End::Errs(-32603) => Err(Stuck(format!("the server has a fault: {reply}"))),
        _ => Ok(reply),
    }
}
