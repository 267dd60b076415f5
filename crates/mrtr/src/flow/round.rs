//! One round: what the handler's calls share, and when the round ends.
//!
//! It can end when the handler waits for somebody else, something is open and no step is at work: a step is never torn
//! off in the middle because somebody asked a question beside it. Which answer belongs to which call is decided in
//! `replay`.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Wake, Waker};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::value::RawValue;

use super::journal::{Journal, Kind, State};
use super::replay::{Begun, CallId, Phase, Replay, Suspension};
use super::{ClientInfo, Clock, ContextError};
use crate::seal::{Digest, Principal};
use crate::wire::ClientCapabilities;

/// How often a handler with open questions may wake itself before they go out all the same.
const MAX_GIVEN_WAY: u32 = 100;

/// What a round starts with, and what its handler did so far.
#[derive(Debug)]
pub(crate) struct Round {
    pub(crate) operation: [u8; 16],
    /// Counted from 1.
    pub(crate) number: u32,
    pub(crate) client: ClientInfo,
    pub(crate) principal: Option<Principal>,
    pub(crate) clock: Arc<dyn Clock>,
    operation_id: OnceLock<String>,
    /// Whether the handler was woken since its poll began: then it has more to do before the round ends.
    woken: AtomicBool,
    /// Who polls the handler; `None` once the round is over. Apart from `core`, so that waking needs no other lock.
    runner: Mutex<Option<Waker>>,
    core: Mutex<Core>,
}

#[derive(Debug, Default)]
struct Core {
    replay: Replay,
    /// The most recent URL question, for a wait to send again.
    last_url: Option<UrlQuestion>,
    fault: Option<Fault>,
    over: bool,
    /// The handler is being polled: whatever it opens or settles is looked at right after that.
    polling: bool,
    /// How often the handler woke itself although it had something open.
    given_way: u32,
    left_behind: Vec<Waker>,
}

/// A URL question as it went out.
#[derive(Clone, Debug)]
pub(crate) struct UrlQuestion {
    pub(crate) message: String,
    pub(crate) url: String,
}

/// What ends an operation whatever the handler makes of it.
#[derive(Debug, PartialEq)]
pub(crate) enum Fault {
    /// The client cannot be asked this.
    MissingCapability(Box<ClientCapabilities>),
    /// The author's code broke a rule; the text is for the log.
    Author(String),
    /// The handler panicked; the text is for the log.
    Panicked(String),
    /// The handler took too long.
    TimedOut,
}

/// Where a handler stands after a poll.
#[derive(Debug)]
pub(crate) enum Standing<T> {
    /// Its round is over.
    Ended(T),
    /// It has questions open and woke itself, as combinators and runtimes do for fairness: there may be more to ask.
    GaveWay,
    /// It waits for something else than answers.
    Waits,
}

/// Keeps a begun call alive: dropped before the call settles, it withdraws it.
#[derive(Debug)]
pub(crate) struct CallGuard {
    pub(crate) round: Arc<Round>,
    pub(crate) id: CallId,
}

impl Drop for CallGuard {
    fn drop(&mut self) {
        self.round.abandon(self.id);
    }
}

impl Round {
    pub(crate) fn new(
        operation: [u8; 16],
        number: u32,
        client: ClientInfo,
        principal: Option<Principal>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self {
            operation,
            number,
            client,
            principal,
            clock,
            operation_id: OnceLock::new(),
            woken: AtomicBool::new(false),
            runner: Mutex::default(),
            core: Mutex::default(),
        }
    }

    /// Adds what earlier rounds settled and what this one brings.
    pub(crate) fn resume(
        mut self,
        journal: Journal,
        answers: HashMap<String, Box<RawValue>>,
        accept_unasked: bool,
    ) -> Self {
        let core = self.core.get_mut().unwrap_or_else(PoisonError::into_inner);
        core.replay = Replay::new(journal, answers, accept_unasked);
        self
    }

    /// The operation as text: stable over all rounds, unguessable.
    pub(crate) fn operation_id(&self) -> &str {
        self.operation_id.get_or_init(|| URL_SAFE_NO_PAD.encode(self.operation))
    }

    /// Begins a call: finds its place in the journal. `asked` is the digest of the question, `None` for steps.
    pub(crate) fn begin(&self, key: &str, kind: Kind, asked: Option<Digest>) -> Result<Begun, ContextError> {
        let mut core = self.lock();
        if core.over {
            return Err(ContextError::RoundOver { key: key.to_owned() });
        }
        if matches!(&core.fault, Some(fault) if !matches!(fault, Fault::MissingCapability(_))) {
            return Ok(Begun::Held);
        }
        if core.replay.has_call(key) {
            core.fault =
                Some(Fault::Author(format!("key {key:?} is used twice in one operation; keys must be unique")));
            return Ok(Begun::Held);
        }
        match core.replay.begin(key, kind, asked) {
            // The round fails already; whatever starts now would only be done again.
            Begun::New(id, _) if asked.is_none() && core.fault.is_some() => {
                core.replay.decide(id, None, Phase::Dropped);
                Ok(Begun::Held)
            }
            begun => Ok(begun),
        }
    }

    /// Marks a call as a step at work.
    pub(crate) fn run(&self, id: CallId) {
        self.lock().replay.decide(id, None, Phase::Running);
    }

    /// Leaves a call open: `request` goes out when the round ends.
    pub(crate) fn open(&self, id: CallId, state: State, request: Option<String>) {
        let mut core = self.lock();
        core.replay.decide(id, Some(state), Phase::Open(request));
        self.look_again(&core);
    }

    /// Settles a call for good.
    pub(crate) fn settle(&self, id: CallId, state: State) {
        let mut core = self.lock();
        core.replay.decide(id, Some(state), Phase::Settled);
        // A step that was at work beside an open question held the round; it may end now.
        if core.replay.has_open() {
            self.look_again(&core);
        }
    }

    /// Forgets a call the handler dropped before it was settled.
    fn abandon(&self, id: CallId) {
        let mut core = self.lock();
        if !core.over {
            core.replay.decide(id, None, Phase::Dropped);
            if core.replay.has_open() {
                self.look_again(&core);
            }
        }
    }

    /// Ends the operation with a fault, unless another one came first. Missing capabilities add up.
    pub(crate) fn fail(&self, fault: Fault) {
        let mut core = self.lock();
        match (&mut core.fault, fault) {
            (Some(Fault::MissingCapability(known)), Fault::MissingCapability(more)) => known.merge(*more),
            (Some(_), _) => {}
            (none, fault) => *none = Some(fault),
        }
        self.look_again(&core);
    }

    /// Whether the round is over; if not, `waker` is woken when it is.
    pub(crate) fn is_over(&self, waker: &Waker) -> bool {
        let mut core = self.lock();
        if !core.over && !core.left_behind.iter().any(|known| known.will_wake(waker)) {
            core.left_behind.push(waker.clone());
        }
        core.over
    }

    pub(crate) fn remember_url(&self, question: UrlQuestion) {
        self.lock().last_url = Some(question);
    }

    pub(crate) fn last_url(&self) -> Option<UrlQuestion> {
        self.lock().last_url.clone()
    }

    /// Starts a poll of the handler on behalf of `runner`'s task.
    pub(super) fn start_poll(&self, runner: &Waker) {
        self.woken.store(false, Ordering::Release);
        self.lock().polling = true;
        let mut known = self.runner.lock().unwrap_or_else(PoisonError::into_inner);
        if !known.as_ref().is_some_and(|known| known.will_wake(runner)) {
            *known = Some(runner.clone());
        }
    }

    /// Ends the round if it can end: the handler waits, and a fault or an open call says why.
    pub(super) fn try_suspend(&self) -> Standing<Result<Suspension, Fault>> {
        let mut core = self.lock();
        core.polling = false;
        if core.replay.is_running() {
            return Standing::Waits;
        }
        if let Some(fault) = core.fault.take() {
            self.close_core(&mut core);
            return Standing::Ended(Err(fault));
        }
        if !core.replay.has_open() {
            return Standing::Waits;
        }
        if self.woken.load(Ordering::Acquire) && core.given_way < MAX_GIVEN_WAY {
            core.given_way += 1;
            return Standing::GaveWay;
        }
        self.close_core(&mut core);
        Standing::Ended(Ok(core.replay.suspend()))
    }

    /// Ends the round because the handler did; returns the fault that overrides what it returned.
    pub(super) fn finish(&self) -> Option<Fault> {
        let mut core = self.lock();
        self.close_core(&mut core);
        core.replay.report_missing();
        core.fault.take()
    }

    /// Ends the round from outside: the client is gone.
    pub(super) fn close(&self) {
        self.close_core(&mut self.lock());
    }

    /// Nobody polls the handler any more; whoever still waits for it is told.
    fn close_core(&self, core: &mut Core) {
        core.over = true;
        self.runner.lock().unwrap_or_else(PoisonError::into_inner).take();
        core.left_behind.drain(..).for_each(Waker::wake);
    }

    /// Has the end of the round considered again, unless that is about to happen anyway.
    fn look_again(&self, core: &Core) {
        if !core.polling {
            self.wake_runner();
        }
    }

    fn wake_runner(&self) {
        let runner = self.runner.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(runner) = runner {
            runner.wake();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Core> {
        // A panic while the lock is held leaves a round that only ends; nothing half-done survives it.
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The handler's own waker: takes note that it was used, and passes it on.
impl Wake for Round {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.woken.store(true, Ordering::Release);
        self.wake_runner();
    }
}
