//! One round: a run of the handler, matched call by call against the journal of the rounds before.
//!
//! A call is *begun* once, and then is *open* (its question goes out when the round ends), *running* (a step at work) or
//! *settled*. The round can end when the handler waits for somebody else, something is open and no step is at work: a
//! step is never torn off in the middle because somebody asked a question beside it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Wake, Waker};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::value::RawValue;
use tracing::warn;

use super::journal::{Entry, Journal, Kind, Place, State};
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
    prior: Vec<Prior>,
    answers: HashMap<String, Box<RawValue>>,
    accept_unasked: bool,
    calls: Vec<Call>,
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

#[derive(Debug)]
struct Prior {
    entry: Entry,
    called: bool,
}

#[derive(Debug)]
struct Call {
    entry: Entry,
    phase: Phase,
}

#[derive(Debug, PartialEq)]
enum Phase {
    /// Begun, nothing decided yet.
    Begun,
    /// A step or an out-of-band check at work.
    Running,
    /// To be asked when the round ends; `None` for a wait that asks nothing.
    Open(Option<String>),
    Settled,
    /// The handler dropped it; as if it had never been.
    Dropped,
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

/// What goes out when a round ends with something open.
#[derive(Debug)]
pub(crate) struct Suspension {
    /// Input requests by key, as JSON.
    pub(crate) requests: Vec<(String, String)>,
    /// Nothing is open but waits, whether they ask something meanwhile or not.
    pub(crate) only_waits: bool,
    pub(crate) journal: Journal,
}

/// A begun call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallId(usize);

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

/// What a begun call starts from.
#[derive(Debug)]
pub(crate) enum Begun {
    /// Settled by an earlier round.
    Replayed(State),
    /// To be asked or run; with what is known about an earlier try, and this round's answer if it counts.
    New(CallId, Open),
    /// Not to be answered in this round: something else has already decided how it ends.
    Held,
}

/// A question that is not settled yet.
#[derive(Debug, Default)]
pub(crate) struct Open {
    pub(crate) attempts: u8,
    pub(crate) kept: Option<String>,
    pub(crate) answer: Option<Box<RawValue>>,
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
        core.prior = journal.into_iter().map(|entry| Prior { entry, called: false }).collect();
        core.answers = answers;
        core.accept_unasked = accept_unasked;
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
        if core.calls.iter().any(|call| call.entry.key == key && call.phase != Phase::Dropped) {
            core.fault =
                Some(Fault::Author(format!("key {key:?} is used twice in one operation; keys must be unique")));
            return Ok(Begun::Held);
        }
        match core.begin(key, kind, asked) {
            // The round fails already; whatever starts now would only be done again.
            Begun::New(id, _) if asked.is_none() && core.fault.is_some() => {
                core.decide(id, None, Phase::Dropped);
                Ok(Begun::Held)
            }
            begun => Ok(begun),
        }
    }

    /// Marks a call as a step at work.
    pub(crate) fn run(&self, id: CallId) {
        self.lock().decide(id, None, Phase::Running);
    }

    /// Leaves a call open: `request` goes out when the round ends.
    pub(crate) fn open(&self, id: CallId, state: State, request: Option<String>) {
        let mut core = self.lock();
        core.decide(id, Some(state), Phase::Open(request));
        self.look_again(&core);
    }

    /// Settles a call for good.
    pub(crate) fn settle(&self, id: CallId, state: State) {
        let mut core = self.lock();
        core.decide(id, Some(state), Phase::Settled);
        // A step that was at work beside an open question held the round; it may end now.
        if core.has_open() {
            self.look_again(&core);
        }
    }

    /// Forgets a call the handler dropped before it was settled.
    fn abandon(&self, id: CallId) {
        let mut core = self.lock();
        if !core.over {
            core.decide(id, None, Phase::Dropped);
            if core.has_open() {
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
        if core.calls.iter().any(|call| call.phase == Phase::Running) {
            return Standing::Waits;
        }
        if let Some(fault) = core.fault.take() {
            self.close_core(&mut core);
            return Standing::Ended(Err(fault));
        }
        if !core.has_open() {
            return Standing::Waits;
        }
        if self.woken.load(Ordering::Acquire) && core.given_way < MAX_GIVEN_WAY {
            core.given_way += 1;
            return Standing::GaveWay;
        }
        self.close_core(&mut core);
        Standing::Ended(Ok(core.suspension(self)))
    }

    /// Ends the round because the handler did; returns the fault that overrides what it returned.
    pub(super) fn finish(&self) -> Option<Fault> {
        let mut core = self.lock();
        self.close_core(&mut core);
        core.report_missing(self);
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

impl Core {
    fn begin(&mut self, key: &str, kind: Kind, asked: Option<Digest>) -> Begun {
        let alone = self.mark_overlaps();
        let same = |prior: &Prior| !prior.called && prior.entry.key == key && prior.entry.kind == kind;
        let found = self.prior.iter().position(same);
        let position = self.calls.iter().filter(|call| call.phase != Phase::Dropped).count() + 1;
        let recalled = match found {
            Some(index) => self.recall(index, position, asked),
            None => {
                self.report_new(position, key, kind);
                None
            }
        };
        let was_beside = found.is_some_and(|index| self.prior[index].entry.place == Place::Beside);
        let place = if alone && !was_beside { Place::Alone } else { Place::Beside };
        // A placeholder when nothing is recalled: an entry is written only once it opens or settles.
        let state = recalled.clone().unwrap_or(State::Fallback);
        let entry = Entry { key: key.to_owned(), kind, place, state };
        let id = CallId(self.calls.len());
        let settled = recalled.as_ref().is_some_and(State::is_settled);
        let phase = if settled { Phase::Settled } else { Phase::Begun };
        self.calls.push(Call { entry, phase });
        match recalled {
            Some(state) if settled => Begun::Replayed(state),
            Some(State::Open { attempts, kept, .. }) => {
                Begun::New(id, Open { attempts, kept, answer: self.answers.remove(key) })
            }
            Some(State::Expired { kept, .. }) => Begun::New(id, Open { kept, ..Open::default() }),
            _ if self.accept_unasked && asked.is_some() => {
                Begun::New(id, Open { answer: self.answers.remove(key), ..Open::default() })
            }
            _ => Begun::New(id, Open::default()),
        }
    }

    /// Moves a call on. The round may have ended meanwhile, and the call with it: then there is nothing to move.
    fn decide(&mut self, id: CallId, state: Option<State>, phase: Phase) {
        if let Some(call) = self.calls.get_mut(id.0).filter(|call| call.phase != Phase::Settled) {
            call.phase = phase;
            if let Some(state) = state {
                call.entry.state = state;
            }
        }
    }

    fn has_open(&self) -> bool {
        self.calls.iter().any(|call| matches!(call.phase, Phase::Open(_)))
    }

    /// Whether a call that begins now stands alone; if not, whatever stands beside it does not either.
    fn mark_overlaps(&mut self) -> bool {
        let mut alone = true;
        for call in &mut self.calls {
            if matches!(call.phase, Phase::Begun | Phase::Running | Phase::Open(_)) {
                call.entry.place = Place::Beside;
                alone = false;
            }
        }
        alone
    }

    /// What the journal says about a call it knows, unless the code has changed under it.
    fn recall(&mut self, index: usize, position: usize, asked: Option<Digest>) -> Option<State> {
        let moved = self.prior[index].entry.place == Place::Alone && !self.stands_after(index);
        self.prior[index].called = true;
        let entry = &self.prior[index].entry;
        if moved {
            let recorded = self.first_uncalled().map_or_else(|| "another order".to_owned(), Entry::to_string);
            warn!("step {position} replayed as {entry}, journal recorded {recorded}");
            // What is done stays done; what was answered is asked again, since it was answered in another situation.
            return (asked.is_none()).then(|| entry.state.clone());
        }
        if asked.is_some() && entry.state.asked().is_some_and(|recorded| Some(recorded) != asked) {
            warn!("{entry} asks something else than it did before; the earlier answer is dropped");
            return None;
        }
        Some(entry.state.clone())
    }

    /// Whether of all that has a known place in the journal exactly what comes before `index` has been called for.
    ///
    /// Calls the journal does not have may stand between: a step that failed before, or a new one, contradicts nothing.
    /// Calls that ran side by side may still come: a step that took its time when it ran takes none when it is replayed,
    /// so what follows it can now be reached before what had been done beside it.
    fn stands_after(&self, index: usize) -> bool {
        let (before, after) = self.prior.split_at(index);
        before.iter().filter(|prior| prior.entry.place == Place::Alone).all(|prior| prior.called)
            && !after.iter().filter(|prior| prior.entry.place != Place::Unknown).any(|prior| prior.called)
    }

    /// The first call the journal has that was not made yet although its turn is certain.
    fn first_uncalled(&self) -> Option<&Entry> {
        self.prior.iter().find(|prior| !prior.called && prior.entry.place == Place::Alone).map(|prior| &prior.entry)
    }

    /// Logs a call the journal does not have where it has another one. Steps may come and go.
    fn report_new(&self, position: usize, key: &str, kind: Kind) {
        let namesake = self.prior.iter().map(|prior| &prior.entry).find(|entry| entry.key == key && entry.kind != kind);
        let expected = self.first_uncalled().filter(|_| kind != Kind::Step);
        if let Some(expected) = namesake.or(expected) {
            warn!("step {position} replayed as {kind} {key:?}, journal recorded {expected}");
        }
    }

    /// Logs what the journal has and this run of the handler did not call for.
    fn report_missing(&self, round: &Round) {
        let missing = self.prior.iter().filter(|prior| !prior.called && prior.entry.place == Place::Alone);
        for Prior { entry, .. } in missing.filter(|prior| prior.entry.state.is_settled()) {
            warn!(round = round.number, "journal recorded {entry}, which this replay never reached");
        }
    }

    /// The journal for the next round: this run's calls in order, then what it did not reach. Nothing done is forgotten.
    fn suspension(&mut self, round: &Round) -> Suspension {
        self.report_missing(round);
        let mut open = self.calls.iter().filter(|call| matches!(call.phase, Phase::Open(_)));
        let only_waits = open.all(|call| call.entry.kind == Kind::Wait);
        let journal = Journal::with_capacity(self.calls.len());
        let mut suspension = Suspension { requests: Vec::new(), only_waits, journal };
        for call in self.calls.drain(..) {
            match call.phase {
                Phase::Settled => {}
                Phase::Open(Some(request)) => suspension.requests.push((call.entry.key.clone(), request)),
                Phase::Open(None) => {}
                Phase::Begun | Phase::Running | Phase::Dropped => continue,
            }
            suspension.journal.push(call.entry);
        }
        let unreached = self.prior.drain(..).filter(|prior| !prior.called && prior.entry.state.outlives_a_round());
        suspension.journal.extend(unreached.map(|prior| Entry { place: Place::Unknown, ..prior.entry }));
        suspension
    }
}
