//! A tool put through everything that can happen to it.

use std::collections::BTreeMap;

use super::effects::Named;
use super::faults;
use super::reply::{End, Kind};
use super::report::{Fault, Finding, Problem, Report};
use super::stage::{Stage, Stuck, Trail};
use super::{Effects, Script};
use crate::server::Tool;

/// At how many awaits of a round a handler is torn off.
const MAX_TORN: u32 = 8;

/// Runs a tool through every fault of [`Fault`], in every round where it makes sense, and reports what went wrong.
///
/// `tool` builds it afresh for every run, with fakes in place of what it does to the world: they write that down in the
/// [`Effects`], and steps write themselves down. `script` is what the tool is called with and how it is answered.
///
/// ```
/// use mrtr::testing::{Effects, Script, torture};
/// use mrtr::{Context, Tool, ToolError};
/// use serde_json::json;
///
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Refund { order: u32 }
///
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Confirm { sure: bool }
///
/// async fn refund(refund: Refund, bank: Effects, cx: Context) -> Result<String, ToolError> {
///     let confirm: Confirm = cx.elicit("confirm", format!("Refund order {}?", refund.order)).await?;
///     if confirm.sure {
///         cx.step("refund", async { bank.record(&cx, "refund paid") }).await?;
///     }
///     Ok("Done.".into())
/// }
///
/// let report = torture(
///     |bank| {
///         let bank = bank.clone();
///         Tool::new("refund", move |arguments, cx| refund(arguments, bank.clone(), cx))
///     },
///     &Script::new(json!({ "order": 7 })).answer("confirm", json!({ "sure": true })),
/// );
/// // A reply that is lost after the money went out is asked for again, and the money goes out again.
/// assert!(report.to_string().contains("2 times: lost reply, round 2"), "{report}");
/// ```
///
/// # Panics
/// When no server can be built with the tool.
pub fn torture(tool: impl Fn(&Effects) -> Tool, script: &Script) -> Report {
    let mut torture = Torture {
        build: &tool,
        script,
        plain: Trail::new(),
        usual: BTreeMap::new(),
        report: Report { tool: String::new(), rounds: 0, requests: 0, runs: BTreeMap::new(), findings: Vec::new() },
    };
    torture.plain();
    // What does not even work when nothing happens has nothing to say about what happens under faults.
    if !torture.plain.is_empty() {
        torture.faults();
    }
    torture.report
}

struct Torture<'t> {
    build: &'t dyn Fn(&Effects) -> Tool,
    script: &'t Script,
    /// The call as it should be.
    plain: Trail,
    /// How often each effect happens then.
    usual: BTreeMap<Named, usize>,
    report: Report,
}

impl Torture<'_> {
    /// The call as it should be, which everything else is compared with.
    fn plain(&mut self) {
        let mut trail = Trail::new();
        let effects = self.run(Fault::None, 0, None, |stage, _| {
            trail = stage.play(Stage::first())?;
            Ok(())
        });
        self.report.rounds = trail.len();
        let asked = |key: &str| trail.iter().any(|(_, reply)| reply.question(key).is_some());
        for key in self.script.keys().filter(|key| !asked(key)) {
            let expected = format!("{key:?} is asked, which the script answers");
            self.note(Problem::Unexpected { expected, got: "is never asked".to_owned() });
        }
        match trail.last().map(|(_, reply)| (reply.end(), reply.to_string())) {
            None => {}
            Some((End::Finishes | End::Fails, _)) => (self.usual, self.plain) = (effects.unwrap_or_default(), trail),
            Some((_, reply)) => self.note(Problem::NoOutcome { why: format!("the script ends with: {reply}") }),
        }
    }

    fn note(&mut self, problem: Problem) {
        self.report.findings.push(Finding { problem, fault: Fault::None, round: 0, key: None });
    }

    fn faults(&mut self) {
        self.run(Fault::TwoInstances, 0, None, |stage, plain| faults::ends_as(stage, Stage::first(), plain));
        for round in 1..=self.plain.len() {
            self.run(Fault::LostReply, round, None, faults::lost_reply);
            let torn = |polls| move |stage: &mut Stage<'_>, plain: &Trail| faults::torn_off(stage, plain, polls);
            // At every await of the handler, as far as there are any.
            let mut awaits = 1..=MAX_TORN;
            while awaits.next().is_some_and(|polls| self.run(Fault::TornOff, round, None, torn(polls)).is_some()) {}
        }
        for round in 2..=self.plain.len() {
            self.run(Fault::LateDuplicate, round, None, faults::late_duplicate);
            self.run(Fault::ParallelDuplicate, round, None, faults::parallel_duplicate);
            self.run(Fault::Fork, round, None, faults::fork);
            self.run(Fault::ForkRefused, round, None, faults::fork_refused);
            self.run(Fault::Drift, round, None, faults::drift);
            self.run(Fault::Expiry, round, None, faults::expiry);
            self.run(Fault::Rotation, round, None, faults::rotation);
            self.run(Fault::Rotation, round, None, faults::rotation_back);
            self.run(Fault::KeyGone, round, None, faults::key_gone);
            self.run(Fault::TamperedState, round, None, faults::tampered);
            self.run(Fault::OtherCaller, round, None, faults::other_caller);
            for (key, kind) in self.asked_before(round) {
                if matches!(kind, Kind::Form | Kind::Url) {
                    self.run(Fault::Decline, round, Some(&key), |stage, _| faults::refused(stage, "decline"));
                    self.run(Fault::Cancel, round, Some(&key), |stage, _| faults::refused(stage, "cancel"));
                }
                self.run(Fault::MissingAnswer, round, Some(&key), faults::missing);
                for nth in 0..3 {
                    self.run(Fault::InvalidAnswer, round, Some(&key), |stage, plain| {
                        faults::invalid(stage, plain, nth)
                    });
                }
            }
        }
    }

    /// What the plain call is asked in the round before this one.
    fn asked_before(&self, round: usize) -> Vec<(String, Kind)> {
        let (_, reply) = &self.plain[round - 2];
        reply.questions().map(|(key, question)| (key.clone(), Kind::of(question))).collect()
    }

    /// Runs the tool through one fault, and reports what went wrong. Gives how often each effect happened;
    /// `None` where the fault makes no sense.
    fn run(
        &mut self,
        fault: Fault,
        round: usize,
        key: Option<&str>,
        act: impl FnOnce(&mut Stage<'_>, &Trail) -> Result<(), Stuck>,
    ) -> Option<BTreeMap<Named, usize>> {
        let stage = Stage::new(self.build, self.script, (fault, round, key));
        let mut stage = stage.unwrap_or_else(|error| panic!("no server can be built with this tool: {error}"));
        stage.tool().name().clone_into(&mut self.report.tool);
        match act(&mut stage, &self.plain) {
            Ok(()) => {}
            Err(Stuck(why)) => stage.found(Problem::NoOutcome { why }),
        }
        self.report.requests += stage.fleet.sent;
        if stage.moot {
            return None;
        }
        // A first request sent twice begins two operations, and is one call all the same.
        let effects = stage.fleet.effects.most(round == 1);
        for (name, times) in &effects {
            let usual = self.usual.get(name).copied().unwrap_or(1).max(1);
            if *times > usual && !self.script.may_repeat(name.name()) {
                let is_step = matches!(name, Named::Step(_));
                stage.found(Problem::Repeated { effect: name.name().to_owned(), is_step, times: *times });
            }
        }
        *self.report.runs.entry(fault).or_default() += 1;
        self.report.findings.append(&mut stage.findings);
        Some(effects)
    }
}
