//! The verdict: what the clients were told against what the bank wrote down, operation by operation.

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::bank::Bank;
use super::client::Answer;
use super::evidence::{Cause, Evidence};
use super::fleet::{Events, Outcome};
use super::operation::{Operation, Round};
use super::proxy::Faults;
use super::serve::{LOOKED_UP, REFUND};

#[derive(Default)]
pub struct Verdict {
    violations: Vec<String>,
    causes: HashMap<Cause, u64>,
    tools: HashMap<&'static str, Tally>,
    operations: u64,
}

/// What became of the operations of one tool.
#[derive(Default)]
struct Tally {
    completed: u64,
    unknown_and_paid: u64,
    unknown_and_not_paid: u64,
    payments: u64,
    double_payments: u64,
    handlers: u64,
}

impl Verdict {
    pub fn over(operations: &[Operation], bank: &Bank, events: &Events, directory: &Path) -> Outcome<Self> {
        let evidence = Evidence::gather(directory, events)?;
        let payments = bank.by_order();
        let mut verdict = Self { operations: operations.len() as u64, ..Self::default() };
        for operation in operations {
            let paid = payments.get(&operation.order).map_or(&[][..], Vec::as_slice);
            verdict.judge(operation, paid, &evidence);
        }
        let known = |order: &&u64| !operations.iter().any(|operation| operation.order == **order);
        for order in payments.keys().filter(known) {
            verdict.violations.push(format!("order {order}: was paid, and nobody asked for it"));
        }
        Ok(verdict)
    }

    fn judge(&mut self, operation: &Operation, paid: &[String], evidence: &Evidence<'_>) {
        let (order, tool) = (operation.order, operation.tool);
        let mut wrong = Vec::new();
        let tally = self.tools.entry(tool).or_default();
        tally.payments += paid.len() as u64;
        if paid.len() > 1 {
            tally.double_payments += 1;
            wrong.push(format!("was paid {} times, for the operations {}", paid.len(), paid.join(", ")));
        }
        for (round, number) in operation.rounds.iter().zip(1..) {
            let runs = evidence.runs(order, number);
            tally.handlers += runs as u64;
            if tool == REFUND && runs > 1 {
                wrong.push(format!("round {number} was run {runs} times"));
            }
            wrong.extend(differing(round, evidence).map(|what| format!("round {number}: {what}")));
            for answered in &round.answers {
                match (&answered.answer, evidence.cause(order, number, answered)) {
                    (Answer::Refused(reply), _) => wrong.push(format!("round {number} was refused: {reply}")),
                    (Answer::OutcomeUnknown, _) if tool == LOOKED_UP => {
                        wrong.push(format!("round {number} was not looked up"));
                    }
                    (Answer::OutcomeUnknown, Some(cause)) => *self.causes.entry(cause).or_default() += 1,
                    (Answer::OutcomeUnknown, None) => wrong.push(format!("round {number} was known")),
                    _ => {}
                }
            }
        }
        match (operation.done(), operation.rounds.len(), paid.len()) {
            (Some(text), 2, 1) if text.starts_with(&format!("refund of order {order} is payment ")) => {
                tally.completed += 1;
            }
            (Some(text), rounds, paid) => wrong.push(format!("{text:?} after {rounds} rounds, paid {paid} times")),
            (None, 2, 1) => tally.unknown_and_paid += 1,
            (None, 1 | 2, 0) => tally.unknown_and_not_paid += 1,
            (None, rounds, paid) => wrong.push(format!("no result after {rounds} rounds, paid {paid} times")),
        }
        self.violations.extend(wrong.into_iter().map(|what| format!("order {order} ({tool}): {what}")));
    }

    pub fn is_clean(&self, operations: u64) -> bool {
        self.violations.is_empty() && self.operations == operations
    }

    pub fn print(&self, operations: &[Operation], faults: &Faults, events: &Events, time: Duration) {
        let count = |counter: &std::sync::atomic::AtomicU64| counter.load(Ordering::Relaxed);
        println!(
            "  calls {}; replies cut off {}; hung up at work {}",
            count(&faults.calls),
            count(&faults.cut),
            count(&faults.hung_up)
        );
        println!(
            "  kills {}; key rotations {}; Redis restarts {}; wall time {:.1} s\n",
            events.kills.len(),
            events.rotations,
            events.redis_away.len(),
            time.as_secs_f64()
        );
        println!("{:<34}{:>14}{:>18}{:>10}", "", REFUND, LOOKED_UP, "both");
        let of = |tool| operations.iter().filter(move |operation| tool == "" || operation.tool == tool);
        let row = |name: &str, figure: &dyn Fn(&str) -> u64| {
            println!("{name:<34}{:>14}{:>18}{:>10}", figure(REFUND), figure(LOOKED_UP), figure(""));
        };
        let answers = |tool| of(tool).flat_map(|operation| &operation.rounds).flat_map(|round| &round.answers);
        row("operations", &|tool| of(tool).count() as u64);
        row("legs, with duplicates", &|tool| answers(tool).count() as u64);
        row("  sent in parallel as a duplicate", &|tool| {
            of(tool).flat_map(|operation| &operation.rounds).map(|round| round.answers.len() as u64 - 1).sum()
        });
        row("retries after a lost reply", &|tool| answers(tool).map(|answered| answered.lost).sum());
        row("retries the server asked for", &|tool| answers(tool).map(|answered| answered.told_to_come_again).sum());
        let tally = |figure: fn(&Tally) -> u64| {
            move |tool: &str| {
                let of_tool = self.tools.iter().filter(|(name, _)| tool.is_empty() || **name == tool);
                of_tool.map(|(_, tally)| figure(tally)).sum()
            }
        };
        row("handlers begun", &tally(|tally| tally.handlers));
        row("completed", &tally(|tally| tally.completed));
        row("outcome unknown, paid", &tally(|tally| tally.unknown_and_paid));
        row("outcome unknown, not paid", &tally(|tally| tally.unknown_and_not_paid));
        row("payments", &tally(|tally| tally.payments));
        row("double payments", &tally(|tally| tally.double_payments));
        for (name, part) in [("leg time p50, ms", 50), ("leg time p99, ms", 99)] {
            row(name, &|tool| {
                percentile(answers(tool).map(|answered| answered.ended - answered.began).collect(), part)
            });
        }
        println!("\nWhy outcomes were unknown, leg by leg");
        for (cause, name) in [
            (Cause::KilledBeforeHandler, "killed before the handler began"),
            (Cause::KilledInHandler, "killed in the handler"),
            (Cause::KilledBeforeSettled, "killed before it was written down"),
            (Cause::RedisAway, "Redis was away"),
        ] {
            println!("  {name:<34}{:>12}", self.causes.get(&cause).copied().unwrap_or_default());
        }
        println!("\nviolations{:>12}", self.violations.len());
        for violation in self.violations.iter().take(40) {
            println!("  {violation}");
        }
    }
}

/// What is wrong with duplicates that were told different things. One that Redis forgot to be told of is not wrong.
fn differing(round: &Round, evidence: &Evidence<'_>) -> Option<String> {
    let (first, others) = round.answers.split_first()?;
    let other = others.iter().find(|other| other.answer != first.answer)?;
    let is_explained = evidence.was_redis_away(first) || evidence.was_redis_away(other);
    (!is_explained).then(|| format!("two answers: {:?} and {:?}", first.answer, other.answer))
}

pub fn percentile(mut values: Vec<u64>, part: usize) -> u64 {
    values.sort_unstable();
    let at = (values.len() * part / 100).min(values.len().saturating_sub(1));
    values.get(at).copied().unwrap_or_default()
}
