//! Replay: the handler's calls, matched one by one against the journal of the rounds before.
//!
//! A call is *begun* once, and then is *open* (its question goes out when the round ends), *running* (a step at work) or
//! *settled*. What the journal has for it counts only while the code still asks the same thing in the same situation;
//! what does not is logged, and asked again.

use std::collections::HashMap;

use serde_json::value::RawValue;
use tracing::warn;

use super::journal::{Entry, Journal, Kind, Place, State};
use crate::seal::Digest;

/// The calls of one run of the handler.
#[derive(Debug, Default)]
pub(super) struct Replay {
    /// What earlier rounds left, in order.
    prior: Vec<Prior>,
    /// What this round brought.
    answers: HashMap<String, Box<RawValue>>,
    accept_unasked: bool,
    /// What the handler has called for in this round, in order.
    calls: Vec<Call>,
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
pub(super) enum Phase {
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

impl Replay {
    pub(super) fn new(journal: Journal, answers: HashMap<String, Box<RawValue>>, accept_unasked: bool) -> Self {
        let prior = journal.into_iter().map(|entry| Prior { entry, called: false }).collect();
        Self { prior, answers, accept_unasked, calls: Vec::new() }
    }

    /// Begins a call: finds its place in the journal. `asked` is the digest of the question, `None` for steps.
    pub(super) fn begin(&mut self, key: &str, kind: Kind, asked: Option<Digest>) -> Begun {
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
    pub(super) fn decide(&mut self, id: CallId, state: Option<State>, phase: Phase) {
        if let Some(call) = self.calls.get_mut(id.0).filter(|call| call.phase != Phase::Settled) {
            call.phase = phase;
            if let Some(state) = state {
                call.entry.state = state;
            }
        }
    }

    pub(super) fn has_open(&self) -> bool {
        self.calls.iter().any(|call| matches!(call.phase, Phase::Open(_)))
    }

    pub(super) fn is_running(&self) -> bool {
        self.calls.iter().any(|call| call.phase == Phase::Running)
    }

    /// Whether the handler has made a call with this key.
    pub(super) fn has_call(&self, key: &str) -> bool {
        self.calls.iter().any(|call| call.entry.key == key && call.phase != Phase::Dropped)
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
    pub(super) fn report_missing(&self) {
        let missing = self.prior.iter().filter(|prior| !prior.called && prior.entry.place == Place::Alone);
        for Prior { entry, .. } in missing.filter(|prior| prior.entry.state.is_settled()) {
            warn!("journal recorded {entry}, which this replay never reached");
        }
    }

    /// The journal for the next round: this run's calls in order, then what it did not reach. Nothing done is forgotten.
    pub(super) fn suspend(&mut self) -> Suspension {
        self.report_missing();
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
