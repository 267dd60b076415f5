//! Replay: the handler's calls, matched one by one against the journal of the rounds before.
//!
//! What the journal has for a call counts only while the code still asks the same thing in the same situation. What does
//! not is logged; an answer is then asked for again, and so is every answer after it. What is done stays done.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::value::RawValue;
use tracing::warn;

use super::journal::{Entry, Journal, Kind, Place, State};
use crate::seal::Digest;

/// From how many calls on their keys are kept apart.
const FEW: usize = 24;

/// The calls of one run of the handler.
#[derive(Debug, Default)]
pub(super) struct Replay {
    /// What earlier rounds left, in order.
    prior: Vec<Prior>,
    /// What this round brought.
    answers: BTreeMap<String, Box<RawValue>>,
    accept_unasked: bool,
    /// What the handler has called for in this round, in order.
    calls: Vec<Call>,
    /// Which of them are neither settled nor dropped.
    live: Vec<usize>,
    /// The keys of all that were not dropped, once there are so many that looking through the calls takes longer.
    keys: Option<BTreeSet<String>>,
    /// How many were not dropped.
    standing: usize,
    /// Questions where the journal has something else, and what is said of them once they count.
    out_of_turn: Vec<(usize, String)>,
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

/// How far a call is.
#[derive(Debug, PartialEq)]
pub(super) enum Phase {
    /// Something is at work for it: a step, a check, the judging of an answer. The round does not end meanwhile.
    Busy,
    /// A wait between two checks. It ends no round, and goes out with one that ends.
    Holding(Option<String>),
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
    pub(super) fn new(journal: Journal, answers: BTreeMap<String, Box<RawValue>>, accept_unasked: bool) -> Self {
        let prior = journal.into_iter().map(|entry| Prior { entry, called: false }).collect();
        Self { prior, answers, accept_unasked, ..Self::default() }
    }

    /// Begins a call: finds its place in the journal. `asked` is the digest of the question, `None` for steps and waits.
    pub(super) fn begin(&mut self, key: &str, kind: Kind, asked: Option<Digest>) -> Begun {
        self.judge_turns(|phase| *phase == Phase::Settled);
        let alone = self.mark_overlaps();
        let same = |prior: &Prior| !prior.called && prior.entry.key == key && prior.entry.kind == kind;
        let found = self.prior.iter().position(same);
        let recalled = found.and_then(|index| self.recall(index, asked));
        if found.is_none() {
            self.note_new(key, kind);
        }
        let was_beside = found.is_some_and(|index| self.prior[index].entry.place == Place::Beside);
        let place = if alone && !was_beside { Place::Alone } else { Place::Beside };
        let settled = recalled.as_ref().is_some_and(State::is_settled);
        // A placeholder when nothing is recalled: an entry is written only once it opens or settles.
        let state = recalled.clone().unwrap_or(State::Fallback);
        let phase = if settled { Phase::Settled } else { Phase::Busy };
        let id = self.add(Call { entry: Entry { key: key.to_owned(), kind, place, state }, phase });
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

    /// Moves a call on. Says whether there was still a call to move: its round may have ended meanwhile.
    pub(super) fn decide(&mut self, id: CallId, state: Option<State>, phase: Phase) -> bool {
        let Some(call) = self.calls.get_mut(id.0) else { return false };
        if matches!(call.phase, Phase::Settled | Phase::Dropped) {
            return false;
        }
        if let Some(state) = state {
            call.entry.state = state;
        }
        if phase == Phase::Dropped {
            self.standing -= 1;
            if let Some(keys) = &mut self.keys {
                keys.remove(&call.entry.key);
            }
        }
        if matches!(phase, Phase::Settled | Phase::Dropped) {
            self.live.retain(|live| *live != id.0);
        }
        call.phase = phase;
        true
    }

    /// Whether something is left that ends the round.
    pub(super) fn has_open(&self) -> bool {
        self.live().any(|call| matches!(call.phase, Phase::Open(_)))
    }

    /// Whether something is at work that must not be torn off.
    pub(super) fn is_busy(&self) -> bool {
        self.live().any(|call| call.phase == Phase::Busy)
    }

    /// Whether the handler has made a call with this key.
    pub(super) fn has_call(&self, key: &str) -> bool {
        match &self.keys {
            Some(keys) => keys.contains(key),
            None => self.standing_calls().any(|call| call.entry.key == key),
        }
    }

    /// The journal for the next round: this run's calls in order, then what it did not reach. Nothing done is forgotten.
    pub(super) fn suspend(&mut self) -> Suspension {
        self.judge_turns(|phase| *phase != Phase::Dropped);
        self.report_missing();
        let only_waits = self.live().all(|call| call.entry.kind == Kind::Wait);
        let journal = Journal::with_capacity(self.calls.len());
        let mut suspension = Suspension { requests: Vec::new(), only_waits, journal };
        self.live.clear();
        for call in self.calls.drain(..) {
            match call.phase {
                Phase::Settled => {}
                Phase::Open(request) | Phase::Holding(request) => {
                    suspension.requests.extend(request.map(|request| (call.entry.key.clone(), request)));
                }
                Phase::Busy | Phase::Dropped => continue,
            }
            suspension.journal.push(call.entry);
        }
        let unreached = self.prior.drain(..).filter(|prior| !prior.called && prior.entry.state.outlives_a_round());
        suspension.journal.extend(unreached.map(|prior| Entry { place: Place::Unknown, ..prior.entry }));
        suspension
    }

    /// Logs what the journal has and this run of the handler did not call for.
    pub(super) fn report_missing(&self) {
        let missing = self.prior.iter().filter(|prior| !prior.called && prior.entry.place == Place::Alone);
        for Prior { entry, .. } in missing.filter(|prior| prior.entry.state.is_settled()) {
            warn!("journal recorded {entry}, which this replay never reached");
        }
    }

    fn add(&mut self, call: Call) -> CallId {
        let id = self.calls.len();
        self.standing += 1;
        match &mut self.keys {
            Some(keys) => drop(keys.insert(call.entry.key.clone())),
            None if self.calls.len() < FEW => {}
            None => {
                let keys = self.standing_calls().map(|call| call.entry.key.clone());
                self.keys = Some(keys.chain([call.entry.key.clone()]).collect());
            }
        }
        if call.phase == Phase::Busy {
            self.live.push(id);
        }
        self.calls.push(call);
        CallId(id)
    }

    /// All that were not dropped.
    fn standing_calls(&self) -> impl Iterator<Item = &Call> {
        self.calls.iter().filter(|call| call.phase != Phase::Dropped)
    }

    fn live(&self) -> impl Iterator<Item = &Call> {
        self.live.iter().map(|index| &self.calls[*index])
    }

    /// Whether a call that begins now stands alone; if not, whatever stands beside it does not either.
    fn mark_overlaps(&mut self) -> bool {
        for index in &self.live {
            self.calls[*index].entry.place = Place::Beside;
        }
        self.live.is_empty()
    }

    /// What the journal says about a call it knows, unless the code has changed under it.
    fn recall(&mut self, index: usize, asked: Option<Digest>) -> Option<State> {
        let moved = self.prior[index].entry.place == Place::Alone && !self.stands_after(index);
        self.prior[index].called = true;
        let entry = &self.prior[index].entry;
        let changed = asked.is_some() && entry.state.asked().is_some_and(|recorded| Some(recorded) != asked);
        if moved {
            let recorded = self.first_uncalled().map_or_else(|| "another order".to_owned(), Entry::to_string);
            warn!("step {} replayed as {entry}, journal recorded {recorded}", self.standing + 1);
        } else if changed {
            warn!("{entry} asks something else than it did before; the earlier answer is dropped");
        }
        if (moved || changed) && asked.is_some() {
            self.distrust();
            return None;
        }
        Some(self.prior[index].entry.state.clone())
    }

    /// Looks at a call the journal does not have. Steps may come and go; a question where another call is due is out of
    /// turn.
    fn note_new(&mut self, key: &str, kind: Kind) {
        let replayed = |expected: &Entry| {
            format!("step {} replayed as {kind} {key:?}, journal recorded {expected}", self.standing + 1)
        };
        let namesake = self.prior.iter().map(|prior| &prior.entry).find(|entry| entry.key == key && entry.kind != kind);
        if let Some(namesake) = namesake {
            warn!("{}", replayed(namesake));
        }
        let said = self.first_uncalled().filter(|_| kind != Kind::Step).map(replayed);
        self.out_of_turn.extend(said.map(|said| (self.calls.len(), said)));
    }

    /// Has the questions out of turn count whose calls have come so far. One that is dropped, because something beside it
    /// was quicker, never does.
    fn judge_turns(&mut self, far_enough: impl Fn(&Phase) -> bool) {
        let calls = &self.calls;
        let counted: Vec<_> = self.out_of_turn.extract_if(.., |(index, _)| far_enough(&calls[*index].phase)).collect();
        for (_, said) in &counted {
            warn!("{said}");
        }
        if !counted.is_empty() {
            self.distrust();
        }
    }

    /// Takes back the answers the handler has not come to yet: they were given in another situation than it is in now.
    /// They are offered again, as defaults.
    fn distrust(&mut self) {
        for prior in self.prior.iter_mut().filter(|prior| !prior.called) {
            prior.entry.expire(None);
        }
    }

    /// Whether of all that has a known place in the journal exactly what comes before `index` has been called for.
    ///
    /// Steps the journal does not have may stand between: one that failed before, or a new one, contradicts nothing.
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
}
