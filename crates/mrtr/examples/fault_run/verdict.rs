//! The verdict: what the clients were told against what the bank wrote down, operation by operation.

use std::collections::HashMap;
use std::path::Path;

use super::bank::Bank;
use super::client::Answer;
use super::evidence::{Cause, Evidence};
use super::fleet::{Events, Outcome};
use super::operation::{Operation, Round};
use super::serve::{LOOKED_UP, REFUND};

#[derive(Default)]
pub struct Verdict {
    /// What was not as promised, operation by operation.
    pub violations: Vec<String>,
    /// Why outcomes were unknown, answer by answer.
    pub causes: HashMap<Cause, u64>,
    pub tools: HashMap<&'static str, Tally>,
    operations: u64,
}

/// What became of the operations of one tool.
#[derive(Clone, Copy, Default)]
pub struct Tally {
    pub completed: u64,
    pub unknown_and_paid: u64,
    pub unknown_and_not_paid: u64,
    pub payments: u64,
    pub double_payments: u64,
    /// How often a handler began.
    pub handlers: u64,
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
        if !wrong.is_empty() {
            self.violations.push(format!("order {order} ({tool}): {}", wrong.join("; ")));
        }
    }

    pub fn is_clean(&self, operations: u64) -> bool {
        self.violations.is_empty() && self.operations == operations
    }
}

/// What is wrong with duplicates that were told different things. One that Redis forgot to be told of is not wrong.
fn differing(round: &Round, evidence: &Evidence<'_>) -> Option<String> {
    let (first, others) = round.answers.split_first()?;
    let other = others.iter().find(|other| other.answer != first.answer)?;
    let is_explained = evidence.was_redis_away(first) || evidence.was_redis_away(other);
    (!is_explained).then(|| format!("two answers, {} and {}", first.answer, other.answer))
}
