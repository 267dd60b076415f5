//! The figures of a fault run, as a table.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::evidence::Cause;
use super::fleet::Events;
use super::operation::{Answered, Operation};
use super::proxy::Faults;
use super::serve::{LOOKED_UP, REFUND};
use super::verdict::{Tally, Verdict};

/// The figures of one tool, or of both.
struct Column<'a> {
    operations: Vec<&'a Operation>,
    answers: Vec<&'a Answered>,
    tally: Tally,
}

type Figure = fn(&Column<'_>) -> u64;

const ROWS: [(&str, Figure); 14] = [
    ("operations", |column| column.operations.len() as u64),
    ("legs, duplicates among them", |column| column.answers.len() as u64),
    ("  sent in parallel as a duplicate", |column| column.duplicates()),
    ("retries after a lost reply", |column| column.sum(|answered| answered.lost)),
    ("retries the server asked for", |column| column.sum(|answered| answered.told_to_come_again)),
    ("handlers begun", |column| column.tally.handlers),
    ("completed", |column| column.tally.completed),
    ("outcome unknown, paid", |column| column.tally.unknown_and_paid),
    ("outcome unknown, not paid", |column| column.tally.unknown_and_not_paid),
    ("payments", |column| column.tally.payments),
    ("double payments", |column| column.tally.double_payments),
    ("leg time p50, ms", |column| column.time(50)),
    ("leg time p99, ms", |column| column.time(99)),
    ("leg time longest, ms", |column| column.time(100)),
];

const CAUSES: [(Cause, &str); 4] = [
    (Cause::KilledBeforeHandler, "killed before the handler began"),
    (Cause::KilledInHandler, "killed in the handler"),
    (Cause::KilledBeforeSettled, "killed before it was written down"),
    (Cause::RedisAway, "Redis was away"),
];

/// Prints what was done to the fleet, what came of it, and what was not as promised.
pub fn print(operations: &[Operation], verdict: &Verdict, faults: &Faults, events: &Events, time: Duration) {
    let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    let (calls, cut, hung_up) = (count(&faults.calls), count(&faults.cut), count(&faults.hung_up));
    let (kills, rotations, restarts) = (events.kills.len(), events.rotations, events.redis_away.len());
    println!("  {calls} calls, {cut} replies cut off, {hung_up} callers hung up at work");
    println!("  {kills} kills, {rotations} key rotations, {restarts} Redis restarts, {:.1} s\n", time.as_secs_f64());
    let columns = [REFUND, LOOKED_UP, ""].map(|tool| Column::of(tool, operations, verdict));
    println!("{:<36}{REFUND:>12}{LOOKED_UP:>18}{:>10}", "", "both");
    for (name, figure) in ROWS {
        let [plain, looked_up, both] = columns.each_ref().map(figure);
        println!("{name:<36}{plain:>12}{looked_up:>18}{both:>10}");
    }
    println!("\nAnswers that said \"outcome unknown\", and why");
    for (cause, name) in CAUSES {
        println!("  {name:<34}{:>12}", verdict.causes.get(&cause).copied().unwrap_or_default());
    }
    println!("\n{:<36}{:>12}", "violations", verdict.violations.len());
    for violation in verdict.violations.iter().take(40) {
        println!("  {violation}");
    }
}

impl<'a> Column<'a> {
    /// Of the operations with this tool; without one, of all.
    fn of(tool: &str, operations: &'a [Operation], verdict: &Verdict) -> Self {
        let is_of = |name: &str| tool.is_empty() || name == tool;
        let operations: Vec<_> = operations.iter().filter(|operation| is_of(operation.tool)).collect();
        let rounds = operations.iter().flat_map(|operation| &operation.rounds);
        let answers = rounds.flat_map(|round| &round.answers).collect();
        let tallies = verdict.tools.iter().filter(|(name, _)| is_of(name)).map(|(_, tally)| *tally);
        Self { operations, answers, tally: tallies.fold(Tally::default(), Tally::plus) }
    }

    fn duplicates(&self) -> u64 {
        let rounds = self.operations.iter().flat_map(|operation| &operation.rounds);
        rounds.map(|round| round.answers.len() as u64 - 1).sum()
    }

    fn sum(&self, figure: fn(&Answered) -> u64) -> u64 {
        self.answers.iter().map(|answered| figure(answered)).sum()
    }

    fn time(&self, part: usize) -> u64 {
        percentile(self.answers.iter().map(|answered| answered.ended - answered.began).collect(), part)
    }
}

impl Tally {
    fn plus(self, other: Self) -> Self {
        Self {
            completed: self.completed + other.completed,
            unknown_and_paid: self.unknown_and_paid + other.unknown_and_paid,
            unknown_and_not_paid: self.unknown_and_not_paid + other.unknown_and_not_paid,
            payments: self.payments + other.payments,
            double_payments: self.double_payments + other.double_payments,
            handlers: self.handlers + other.handlers,
        }
    }
}

/// The value that so many in a hundred do not exceed.
pub fn percentile(mut values: Vec<u64>, part: usize) -> u64 {
    values.sort_unstable();
    let at = (values.len() * part / 100).min(values.len().saturating_sub(1));
    values.get(at).copied().unwrap_or_default()
}
