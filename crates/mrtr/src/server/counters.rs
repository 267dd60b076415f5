//! Counters: what an operator watches a server by.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::seal::StateError;

/// What a server has counted since it was built, and how many handlers are at work now.
///
/// Read with [`Dispatch::counters`](super::Dispatch::counters), as often as an exporter wants to; whatever exporter that
/// is, [`iter`](Self::iter) names every value.
///
/// ```
/// # let server = mrtr::Server::new("s", "1").build()?;
/// let text: String = server
///     .counters()
///     .iter()
///     .map(|(name, label, value)| match label {
///         Some((key, label)) => format!("mrtr_{name}{{{key}=\"{label}\"}} {value}\n"),
///         None => format!("mrtr_{name} {value}\n"),
///     })
///     .collect();
/// assert!(text.contains("mrtr_rounds_total 0\n"));
/// # Ok::<(), mrtr::server::BuildError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counters {
    /// Operations that were begun.
    pub operations: u64,
    /// Rounds that were run, the first one of each operation included.
    pub rounds: u64,
    /// Questions that went out.
    pub asks: u64,
    /// Questions a user declined or cancelled.
    pub refusals: u64,
    /// Rounds that ended an operation with a result, tool errors among them.
    pub completed: u64,
    /// Rounds that ended with a JSON-RPC error.
    pub failed: u64,
    /// Rounds that nobody waited for any more: their client was gone.
    pub abandoned: u64,
    /// Handlers at work now.
    pub open_handlers: u64,
    /// Rounds that were done before and got the same answer again.
    pub answered_again: u64,
    /// States that came back with other content than they were used with.
    pub forks_refused: u64,
    /// Rounds whose outcome nobody could tell.
    pub unknown_outcomes: u64,
    /// Steps the ledger failed to do.
    pub ledger_failures: u64,
    /// Request states that were refused, by reason.
    pub rejected_states: RejectedStates,
}

/// Request states that were refused, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RejectedStates([u64; StateError::ALL.len()]);

impl RejectedStates {
    /// All of them.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Every reason there is, as a short name, and how often it was the reason.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> {
        StateError::ALL.into_iter().map(|reason| reason.name()).zip(self.0)
    }
}

impl Counters {
    /// Every value: its name, what it is about where that is told apart, and the value.
    ///
    /// Names end in `_total` where the value only grows.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, Option<(&'static str, &'static str)>, u64)> {
        let plain = [
            ("operations_total", self.operations),
            ("rounds_total", self.rounds),
            ("asks_total", self.asks),
            ("refusals_total", self.refusals),
            ("completed_total", self.completed),
            ("failed_total", self.failed),
            ("abandoned_total", self.abandoned),
            ("open_handlers", self.open_handlers),
            ("answered_again_total", self.answered_again),
            ("forks_refused_total", self.forks_refused),
            ("unknown_outcomes_total", self.unknown_outcomes),
            ("ledger_failures_total", self.ledger_failures),
        ];
        let rejected = self.rejected_states;
        plain.into_iter().map(|(name, value)| (name, None, value)).chain(
            rejected
                .0
                .into_iter()
                .zip(StateError::ALL)
                .map(|(value, reason)| ("rejected_states_total", Some(("reason", reason.name())), value)),
        )
    }
}

/// The counters of a running server.
#[derive(Debug, Default)]
pub(super) struct Tally {
    operations: AtomicU64,
    rounds: AtomicU64,
    pub(super) asks: AtomicU64,
    pub(super) refusals: AtomicU64,
    completed: AtomicU64,
    failed: AtomicU64,
    abandoned: AtomicU64,
    open_handlers: AtomicU64,
    pub(super) answered_again: AtomicU64,
    pub(super) forks_refused: AtomicU64,
    pub(super) unknown_outcomes: AtomicU64,
    pub(super) ledger_failures: AtomicU64,
    rejected_states: [AtomicU64; StateError::ALL.len()],
}

/// How a round ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Completed,
    Suspended,
    Failed,
    Abandoned,
}

impl Outcome {
    /// As the span of the round has it.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Completed => "complete",
            Self::Suspended => "input_required",
            Self::Failed => "error",
            Self::Abandoned => "abandoned",
        }
    }
}

/// A handler at work; counted out when it is dropped.
#[derive(Debug)]
pub(super) struct AtWork<'t> {
    tally: &'t Tally,
    pub(super) outcome: Outcome,
}

impl Tally {
    /// Counts a round in. It is abandoned unless it is told otherwise.
    pub(super) fn begin(&self, is_first: bool) -> AtWork<'_> {
        if is_first {
            add(&self.operations, 1);
        }
        add(&self.rounds, 1);
        add(&self.open_handlers, 1);
        AtWork { tally: self, outcome: Outcome::Abandoned }
    }

    pub(super) fn reject(&self, reason: StateError) {
        if let Some(index) = StateError::ALL.iter().position(|known| *known == reason) {
            add(&self.rejected_states[index], 1);
        }
    }

    pub(super) fn read(&self) -> Counters {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Counters {
            operations: read(&self.operations),
            rounds: read(&self.rounds),
            asks: read(&self.asks),
            refusals: read(&self.refusals),
            completed: read(&self.completed),
            failed: read(&self.failed),
            abandoned: read(&self.abandoned),
            open_handlers: read(&self.open_handlers),
            answered_again: read(&self.answered_again),
            forks_refused: read(&self.forks_refused),
            unknown_outcomes: read(&self.unknown_outcomes),
            ledger_failures: read(&self.ledger_failures),
            rejected_states: RejectedStates(self.rejected_states.each_ref().map(read)),
        }
    }
}

impl Drop for AtWork<'_> {
    fn drop(&mut self) {
        self.tally.open_handlers.fetch_sub(1, Ordering::Relaxed);
        match self.outcome {
            Outcome::Completed => add(&self.tally.completed, 1),
            Outcome::Suspended => {}
            Outcome::Failed => add(&self.tally.failed, 1),
            Outcome::Abandoned => add(&self.tally.abandoned, 1),
        }
    }
}

pub(super) fn add(counter: &AtomicU64, by: u64) {
    counter.fetch_add(by, Ordering::Relaxed);
}
