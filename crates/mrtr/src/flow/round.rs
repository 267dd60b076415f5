//! One round: what the handler's calls share, and when the round ends.
//!
//! It can end when the handler waits for somebody else, something is open and no step is at work: a step is never torn
//! off in the middle because somebody asked a question beside it. Which answer belongs to which call is decided in
//! `replay`.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::task::{Poll, Wake, Waker};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::value::RawValue;

#[cfg(feature = "testing")]
use super::clock::give_way;
use super::journal::{Journal, Kind, State};
use super::notices::Notices;
use super::replay::{Begun, CallId, Phase, Replay, Suspension};
use super::{ClientInfo, Clock, ContextError};
use crate::seal::{Digest, Principal};
use crate::wire::ClientCapabilities;

/// How often a handler with open questions may wake itself before they go out all the same.
const MAX_GIVEN_WAY: u32 = 100;

/// What a round starts with, and what its handler did so far.
///
/// The handler may spread over tasks and threads, so all of that is behind one lock. No foreign code runs under it:
/// wakers are woken and dropped when it is released, since either may come straight back here.
#[derive(Debug)]
pub(crate) struct Round {
    pub(crate) operation: [u8; 16],
    /// Counted from 1.
    pub(crate) number: u32,
    pub(crate) client: ClientInfo,
    pub(crate) principal: Option<Principal>,
    pub(crate) clock: Arc<dyn Clock>,
    /// The caller's place in a trace.
    pub(super) traceparent: Option<Box<str>>,
    notices: Option<Notices>,
    #[cfg(feature = "testing")]
    watch: Option<Arc<dyn super::Watch>>,
    operation_id: OnceLock<String>,
    /// Whether the handler was woken since its poll began: then it has more to do before the round ends.
    woken: AtomicBool,
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
    /// How many questions were declined or cancelled in this round.
    refusals: u64,
    /// How often the handler woke itself although it had something open.
    given_way: u32,
    /// Who polls the handler; `None` once the round is over.
    runner: Option<Waker>,
    /// Who waits for the end of the round.
    left_behind: Vec<Waker>,
    /// Who is to be woken once the lock is released.
    due: Vec<Waker>,
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

/// A begun call. Dropped before it settles, it is withdrawn, as if it had never been.
#[derive(Debug)]
pub(crate) struct CallGuard {
    round: Arc<Round>,
    id: CallId,
}

impl CallGuard {
    pub(super) fn new(round: &Arc<Round>, id: CallId) -> Self {
        Self { round: Arc::clone(round), id }
    }

    /// Settles the call for good. False if its round is over: then nothing was settled.
    #[must_use]
    pub(super) fn settle(self, state: State) -> bool {
        self.decide(Some(state), Phase::Settled)
    }

    /// Leaves the call open: `request` goes out when the round ends.
    pub(super) fn open(&self, state: State, request: Option<String>) {
        self.decide(Some(state), Phase::Open(request));
    }

    /// Keeps a wait between two checks: it goes out as `open` would, but ends no round.
    pub(super) fn hold(&self, state: State, request: Option<String>) {
        self.decide(Some(state), Phase::Holding(request));
    }

    /// Keeps the round from ending while something is at work for this call.
    pub(super) fn busy(&self) {
        self.decide(None, Phase::Busy);
    }

    fn decide(&self, state: Option<State>, phase: Phase) -> bool {
        self.round.update(|core| {
            let moved = !core.over && core.replay.decide(self.id, state, phase);
            // What was at work may have been all that held the round.
            core.look_again();
            moved
        })
    }
}

impl Drop for CallGuard {
    fn drop(&mut self) {
        self.decide(None, Phase::Dropped);
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
            traceparent: None,
            notices: None,
            #[cfg(feature = "testing")]
            watch: None,
            operation_id: OnceLock::new(),
            woken: AtomicBool::new(false),
            core: Mutex::default(),
        }
    }

    /// Adds what earlier rounds settled and what this one brings.
    pub(crate) fn resume(
        mut self,
        journal: Journal,
        answers: BTreeMap<String, Box<RawValue>>,
        accept_unasked: bool,
    ) -> Self {
        let core = self.core.get_mut().unwrap_or_else(PoisonError::into_inner);
        core.replay = Replay::new(journal, answers, accept_unasked);
        self
    }

    /// Adds the caller's place in a trace, as W3C Trace Context writes it.
    pub(crate) fn traced(mut self, traceparent: Option<&str>) -> Self {
        self.traceparent = traceparent.map(Into::into);
        self
    }

    /// Adds what the client wants to be told while this round runs.
    pub(crate) fn telling(mut self, notices: Option<Notices>) -> Self {
        self.notices = notices;
        self
    }

    /// Adds who watches its steps.
    #[cfg(feature = "testing")]
    pub(crate) fn watched(mut self, watch: Option<Arc<dyn super::Watch>>) -> Self {
        self.watch = watch;
        self
    }

    /// A step is about to do its work. Where somebody watches it gives way first: calls polled side by side then really
    /// run side by side, and a call can be torn off here, however little the fakes wait.
    #[cfg(feature = "testing")]
    pub(super) async fn step_begins(&self) -> usize {
        let Some(watch) = &self.watch else { return 0 };
        give_way().await;
        watch.begins()
    }

    /// A step did its work, and is not recorded yet.
    #[cfg(feature = "testing")]
    pub(super) async fn step_done(&self, begun: usize, key: &str) {
        let Some(watch) = &self.watch else { return };
        watch.done(begun, self.operation_id(), key);
        give_way().await;
    }

    /// Where progress and log messages go; `None` where nobody listens, or no longer.
    pub(super) fn notices(&self) -> Option<&Notices> {
        self.notices.as_ref().filter(|_| !self.update(|core| core.over))
    }

    /// The operation as text: stable over all rounds, unguessable.
    pub(crate) fn operation_id(&self) -> &str {
        self.operation_id.get_or_init(|| URL_SAFE_NO_PAD.encode(self.operation))
    }

    /// Begins a call: finds its place in the journal. `asked` is the digest of the question, `None` for steps and waits.
    pub(crate) fn begin(&self, key: &str, kind: Kind, asked: Option<Digest>) -> Result<Begun, ContextError> {
        self.update(|core| {
            if core.over {
                return Err(ContextError::round_over(key));
            }
            match core.fault {
                // Several missing capabilities are reported at once, so asks go on being looked at. Work does not.
                Some(Fault::MissingCapability(_)) if asked.is_some() => {}
                Some(_) => return Ok(Begun::Held),
                None => {}
            }
            if core.replay.has_call(key) {
                let problem = format!("key {key:?} is used twice in one operation; keys must be unique");
                core.fault = Some(Fault::Author(problem));
                return Ok(Begun::Held);
            }
            Ok(core.replay.begin(key, kind, asked))
        })
    }

    /// Ends the operation with a fault, unless another one came first. Missing capabilities add up.
    pub(crate) fn fail(&self, fault: Fault) {
        self.update(|core| {
            match (&mut core.fault, fault) {
                (Some(Fault::MissingCapability(known)), Fault::MissingCapability(more)) => known.merge(*more),
                (Some(_), _) => {}
                (none, fault) => *none = Some(fault),
            }
            core.look_again();
        });
    }

    /// Takes note of a refusal.
    pub(super) fn note_refusal(&self) {
        self.update(|core| core.refusals += 1);
    }

    /// How many questions were declined or cancelled in this round.
    pub(crate) fn refusals(&self) -> u64 {
        self.update(|core| core.refusals)
    }

    /// Resolves when the round is over: to what a call that still waits then gets.
    pub(super) async fn over(&self, key: &str) -> ContextError {
        poll_fn(|task| if self.is_over(task.waker()) { Poll::Ready(()) } else { Poll::Pending }).await;
        ContextError::round_over(key)
    }

    /// Whether the round is over; if not, `waker` is woken when it is.
    pub(crate) fn is_over(&self, waker: &Waker) -> bool {
        self.update(|core| {
            if !core.over && !core.left_behind.iter().any(|known| known.will_wake(waker)) {
                core.left_behind.push(waker.clone());
            }
            core.over
        })
    }

    pub(crate) fn remember_url(&self, question: UrlQuestion) {
        self.update(|core| core.last_url = Some(question));
    }

    pub(crate) fn last_url(&self) -> Option<UrlQuestion> {
        self.update(|core| core.last_url.clone())
    }

    /// Starts a poll of the handler on behalf of `runner`'s task.
    pub(super) fn start_poll(&self, runner: &Waker) {
        self.woken.store(false, Ordering::Release);
        let replaced = self.update(|core| {
            core.polling = true;
            let known = core.runner.as_ref().is_some_and(|known| known.will_wake(runner));
            if known { None } else { core.runner.replace(runner.clone()) }
        });
        drop(replaced);
    }

    /// Ends the round if it can end: the handler waits, nothing is at work, and a fault or an open call says why.
    pub(super) fn try_suspend(&self) -> Standing<Result<Suspension, Fault>> {
        self.ending(|core| {
            core.polling = false;
            if core.replay.is_busy() {
                return Standing::Waits;
            }
            if let Some(fault) = core.fault.take() {
                return Standing::Ended(Err(fault));
            }
            if !core.replay.has_open() {
                return Standing::Waits;
            }
            if self.woken.load(Ordering::Acquire) && core.given_way < MAX_GIVEN_WAY {
                core.given_way += 1;
                return Standing::GaveWay;
            }
            Standing::Ended(Ok(core.replay.suspend()))
        })
    }

    /// Ends the round because the handler did; returns the fault that overrides what it returned.
    pub(super) fn finish(&self) -> Option<Fault> {
        let Standing::Ended(fault) = self.ending(|core| {
            core.replay.report_missing();
            Standing::Ended(core.fault.take())
        }) else {
            return None;
        };
        fault
    }

    /// Ends the round from outside: the client is gone, or its handler failed.
    pub(crate) fn close(&self) {
        self.ending(|_| Standing::Ended(()));
    }

    /// Makes a change that may end the round: then nobody is polled any more, and whoever still waits for it is told.
    fn ending<T>(&self, change: impl FnOnce(&mut Core) -> Standing<T>) -> Standing<T> {
        let (standing, runner) = self.update(|core| {
            let standing = change(core);
            let ended = matches!(standing, Standing::Ended(_));
            if ended {
                core.over = true;
                core.due.append(&mut core.left_behind);
            }
            (standing, if ended { core.runner.take() } else { None })
        });
        drop(runner);
        standing
    }

    /// Makes a change under the lock, and wakes whom it concerns after that.
    fn update<T>(&self, change: impl FnOnce(&mut Core) -> T) -> T {
        // A panic under the lock leaves a round that only ends; nothing half-done survives it.
        let mut core = self.core.lock().unwrap_or_else(PoisonError::into_inner);
        let result = change(&mut core);
        let due = std::mem::take(&mut core.due);
        drop(core);
        due.into_iter().for_each(Waker::wake);
        result
    }
}

impl Core {
    /// Has the end of the round considered again, unless that is about to happen anyway, or nothing asks for it.
    fn look_again(&mut self) {
        if !self.polling && (self.fault.is_some() || self.replay.has_open()) {
            self.due.extend(self.runner.clone());
        }
    }
}

/// The handler's own waker: takes note that it was used, and passes it on.
impl Wake for Round {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.woken.store(true, Ordering::Release);
        self.update(|core| core.due.extend(core.runner.clone()));
    }
}
