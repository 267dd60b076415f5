//! A tool put through everything that can happen to it.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};

use super::effects::Named;
use super::fleet::Leg;
use super::reply::{End, Kind, Reply};
use super::report::{Fault, Problem, Report};
use super::stage::{Stage, Stuck, Trail, key_ring};
use super::{Effects, Script, vary};
use crate::seal::Principal;
use crate::server::Tool;
use crate::wire::OUTCOME_UNKNOWN;

/// What a state that does not count is refused with.
const REFUSED: End = End::Errs(-32602);
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
        self.report.findings.push(super::Finding { problem, fault: Fault::None, round: 0, key: None });
    }

    fn faults(&mut self) {
        self.run(Fault::TwoInstances, 0, None, |stage, plain| ends_as(stage, Stage::first(), plain));
        for round in 1..=self.plain.len() {
            self.run(Fault::LostReply, round, None, lost_reply);
            let torn = |polls| move |stage: &mut Stage<'_>, plain: &Trail| torn_off(stage, plain, polls);
            // At every await of the handler, as far as there are any.
            let mut awaits = 1..=MAX_TORN;
            while awaits.next().is_some_and(|polls| self.run(Fault::TornOff, round, None, torn(polls)).is_some()) {}
        }
        for round in 2..=self.plain.len() {
            self.run(Fault::LateDuplicate, round, None, late_duplicate);
            self.run(Fault::ParallelDuplicate, round, None, parallel_duplicate);
            self.run(Fault::Fork, round, None, fork);
            self.run(Fault::ForkRefused, round, None, fork_refused);
            self.run(Fault::Drift, round, None, drift);
            self.run(Fault::Expiry, round, None, expiry);
            self.run(Fault::Rotation, round, None, rotation);
            self.run(Fault::Rotation, round, None, rotation_back);
            self.run(Fault::KeyGone, round, None, key_gone);
            self.run(Fault::TamperedState, round, None, tampered);
            self.run(Fault::OtherCaller, round, None, other_caller);
            for (key, kind) in self.asked_before(round) {
                if matches!(kind, Kind::Form | Kind::Url) {
                    self.run(Fault::Decline, round, Some(&key), |stage, _| refused(stage, "decline"));
                    self.run(Fault::Cancel, round, Some(&key), |stage, _| refused(stage, "cancel"));
                }
                self.run(Fault::MissingAnswer, round, Some(&key), missing);
                for nth in 0..3 {
                    self.run(Fault::InvalidAnswer, round, Some(&key), |stage, plain| invalid(stage, plain, nth));
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

/// Plays the script on, and expects the end of the plain call.
fn ends_as(stage: &mut Stage<'_>, leg: Leg, plain: &Trail) -> Result<(), Stuck> {
    let trail = stage.play(leg)?;
    compare(stage, trail.last(), plain.last());
    Ok(())
}

/// Expects a reply that ends in the same way as the plain call's.
fn compare(stage: &mut Stage<'_>, got: Option<&(Leg, Reply)>, plain: Option<&(Leg, Reply)>) {
    let (Some((_, got)), Some((_, plain))) = (got, plain) else { return };
    if got.end() != plain.end() {
        stage.unexpected(format!("it {}", said(plain.end())), got);
    }
}

fn said(end: End) -> &'static str {
    match end {
        End::Asks => "asks",
        End::Finishes => "finishes",
        End::Fails => "reports an error to the model",
        End::Errs(_) => "is refused",
        End::Nothing => "replies",
    }
}

/// Expects that this request is refused, and that nothing happens.
fn is_refused(stage: &mut Stage<'_>, leg: &Leg, what: &str) -> Result<(), Stuck> {
    let seen = stage.fleet.effects.len();
    let reply = stage.send(leg)?;
    if reply.end() != REFUSED {
        stage.unexpected(format!("{what} is refused with error -32602"), &reply);
    }
    for effect in stage.fleet.effects.since(seen) {
        stage.unexpected(format!("{what} has no effect, and not {effect}"), &reply);
    }
    Ok(())
}

fn lost_reply(stage: &mut Stage<'_>, plain: &Trail) -> Result<(), Stuck> {
    let leg = if stage.round == 1 { Stage::first() } else { stage.up_to_the_fault()?.0 };
    let lost = stage.send(&leg)?;
    let trail = stage.play(leg)?;
    compare(stage, trail.last(), plain.last());
    if let Some((_, again)) = trail.first() {
        is_same(stage, &lost, again);
    }
    Ok(())
}

/// What is done once is answered with the same again, whoever asks.
fn is_same(stage: &mut Stage<'_>, one: &Reply, other: &Reply) {
    if stage.is_once() && one.result() != other.result() {
        stage.unexpected(format!("the answer is the same again ({one})"), other);
    }
}

fn torn_off(stage: &mut Stage<'_>, plain: &Trail, polls: u32) -> Result<(), Stuck> {
    let leg = if stage.round == 1 { Stage::first() } else { stage.up_to_the_fault()?.0 };
    if !stage.send_torn(&leg, polls)? {
        stage.moot = true;
        return Ok(());
    }
    let trail = stage.play(leg)?;
    let unknown = End::Errs(OUTCOME_UNKNOWN.into());
    // Done once, it may be that nobody can tell whether it was done at all: that is said, and is an outcome.
    if !(stage.is_once() && trail.last().is_some_and(|(_, reply)| reply.end() == unknown)) {
        compare(stage, trail.last(), plain.last());
    }
    Ok(())
}

fn late_duplicate(stage: &mut Stage<'_>, plain: &Trail) -> Result<(), Stuck> {
    let trail = stage.play(Stage::first())?;
    compare(stage, trail.last(), plain.last());
    let Some((leg, reply)) = trail.get(stage.round - 1) else { return Ok(()) };
    let again = stage.send(leg)?;
    if again.end() != reply.end() {
        stage.unexpected(format!("it {} again", said(reply.end())), &again);
    }
    is_same(stage, reply, &again);
    Ok(())
}

fn parallel_duplicate(stage: &mut Stage<'_>, plain: &Trail) -> Result<(), Stuck> {
    let (leg, _) = stage.up_to_the_fault()?;
    let (one, other) = stage.send_both(&leg)?;
    let expected = plain.get(stage.round - 1).map(|(_, reply)| reply.end());
    for reply in [&one, &other] {
        if let Some(end) = expected.filter(|end| *end != reply.end()) {
            stage.unexpected(format!("it {}", said(end)), reply);
        }
    }
    is_same(stage, &one, &other);
    if one.end() != End::Asks {
        return Ok(());
    }
    let next = stage.answer(&one)?;
    ends_as(stage, next, plain)
}

fn fork(stage: &mut Stage<'_>, plain: &Trail) -> Result<(), Stuck> {
    let (leg, asked) = stage.up_to_the_fault()?;
    let mut answers = leg.answers.clone().unwrap_or_default();
    let mut varied = false;
    for (key, question) in asked.questions() {
        if let Some(other) = vary::another(question, &answers[key]) {
            answers[key] = other;
            varied = true;
        }
    }
    if !varied {
        stage.moot = true;
        return Ok(());
    }
    branch(stage, leg, answers, plain)
}

fn fork_refused(stage: &mut Stage<'_>, plain: &Trail) -> Result<(), Stuck> {
    let (leg, asked) = stage.up_to_the_fault()?;
    let refusable = |question: &Value| matches!(Kind::of(question), Kind::Form | Kind::Url);
    let Some((key, _)) = asked.questions().find(|(_, question)| refusable(question)) else {
        stage.moot = true;
        return Ok(());
    };
    let mut answers = leg.answers.clone().unwrap_or_default();
    answers[key] = json!({ "action": "decline" });
    branch(stage, leg, answers, plain)
}

/// Plays the script to its end, then comes back with the same state and other answers. What is done once says that the
/// state was used; otherwise whatever is clear will do, and the effects show whether anything happened twice.
fn branch(stage: &mut Stage<'_>, leg: Leg, answers: Value, plain: &Trail) -> Result<(), Stuck> {
    let other = Leg { answers: Some(answers), ..leg.clone() };
    ends_as(stage, leg, plain)?;
    if stage.is_once() {
        let reply = stage.send(&other)?;
        if reply.end() != REFUSED || !reply.text().contains("already used") {
            stage.unexpected("a fork is refused as already used, with error -32602", &reply);
        }
        return Ok(());
    }
    stage.play(other)?;
    Ok(())
}

fn drift(stage: &mut Stage<'_>, plain: &Trail) -> Result<(), Stuck> {
    let (mut leg, asked) = stage.up_to_the_fault()?;
    let pinned = asked.state().map(|state| stage.pinned(state)).unwrap_or_default();
    leg.state = asked.state().and_then(|state| stage.of_other_questions(state));
    if pinned.is_empty() || leg.state.is_none() {
        stage.moot = true;
        return Ok(());
    }
    let again = stage.send(&leg)?;
    if again.end() != End::Asks || pinned.iter().any(|key| again.question(key).is_none()) {
        stage.unexpected("it asks again what has changed since it was asked", &again);
        return Ok(());
    }
    let next = stage.answer(&again)?;
    ends_as(stage, next, plain)
}

fn expiry(stage: &mut Stage<'_>, _: &Trail) -> Result<(), Stuck> {
    let (leg, _) = stage.up_to_the_fault()?;
    // The kit's servers keep states for ten minutes, and clocks may be a minute apart.
    stage.fleet.clock.advance(Duration::from_secs(11 * 60 + 1));
    is_refused(stage, &leg, "an expired state")
}

/// `[old, new]`, then `[new, old]` from this round on.
fn rotation(stage: &mut Stage<'_>, plain: &Trail) -> Result<(), Stuck> {
    stage.restart(&key_ring([1, 2]))?;
    let (leg, _) = stage.up_to_the_fault()?;
    stage.restart(&key_ring([2, 1]))?;
    ends_as(stage, leg, plain)
}

/// `[new, old]`, then back to `[old, new]`, as an instance that is not rotated yet has it.
fn rotation_back(stage: &mut Stage<'_>, plain: &Trail) -> Result<(), Stuck> {
    stage.restart(&key_ring([2, 1]))?;
    let (leg, _) = stage.up_to_the_fault()?;
    stage.restart(&key_ring([1, 2]))?;
    ends_as(stage, leg, plain)
}

/// `[old, new]`, then `[new]` alone: what the old key sealed is refused.
fn key_gone(stage: &mut Stage<'_>, _: &Trail) -> Result<(), Stuck> {
    stage.restart(&key_ring([1, 2]))?;
    let (leg, _) = stage.up_to_the_fault()?;
    stage.restart(&key_ring([2]))?;
    is_refused(stage, &leg, "a state whose key is gone")
}

fn tampered(stage: &mut Stage<'_>, plain: &Trail) -> Result<(), Stuck> {
    let (leg, _) = stage.up_to_the_fault()?;
    let state = leg.state.clone().unwrap_or_default();
    let (head, tail) = state.split_at(state.len() / 2);
    let flipped = if tail.starts_with('A') { "B" } else { "A" };
    for changed in [format!("{head}{flipped}{}", &tail[1..]), head.to_owned(), format!("{state}A")] {
        is_refused(stage, &Leg { state: Some(changed), ..leg.clone() }, "a changed state")?;
    }
    ends_as(stage, leg, plain)
}

fn other_caller(stage: &mut Stage<'_>, plain: &Trail) -> Result<(), Stuck> {
    let (leg, _) = stage.up_to_the_fault()?;
    for caller in [Some(Principal::new("https://issuer.example", "mallory")), None] {
        is_refused(stage, &Leg { caller, ..leg.clone() }, "somebody else's state")?;
    }
    ends_as(stage, leg, plain)
}

fn refused(stage: &mut Stage<'_>, action: &str) -> Result<(), Stuck> {
    let (_, asked) = stage.up_to_the_fault()?;
    stage.refusal = Some(json!({ "action": action }));
    let leg = stage.answer(&asked)?;
    let seen = stage.fleet.effects.len();
    stage.play(leg)?;
    if stage.key.as_ref().is_some_and(|key| stage.script.is_optional(key)) {
        return Ok(());
    }
    for effect in stage.fleet.effects.since(seen) {
        if !stage.script.may_follow_a_refusal(effect.name()) {
            stage.found(Problem::AfterRefusal { effect: effect.name().to_owned() });
        }
    }
    Ok(())
}

fn missing(stage: &mut Stage<'_>, plain: &Trail) -> Result<(), Stuck> {
    let (mut leg, asked) = stage.up_to_the_fault()?;
    let Some(key) = asked_for(stage, &asked) else {
        stage.moot = true;
        return Ok(());
    };
    if let Some(answers) = leg.answers.as_mut().and_then(Value::as_object_mut) {
        answers.remove(&key);
    }
    let again = stage.send(&leg)?;
    if again.question(&key).is_none() {
        stage.unexpected(format!("it asks {key:?} again"), &again);
        return Ok(());
    }
    let next = stage.answer(&again)?;
    ends_as(stage, next, plain)
}

/// The `nth` way to answer invalidly, if there is one for this kind of question.
fn invalid(stage: &mut Stage<'_>, plain: &Trail, nth: usize) -> Result<(), Stuck> {
    let (mut leg, asked) = stage.up_to_the_fault()?;
    let Some(key) = asked_for(stage, &asked) else {
        stage.moot = true;
        return Ok(());
    };
    let mut answers = leg.answers.take().unwrap_or_default();
    let question = asked.question(&key).cloned().unwrap_or_default();
    let Some(answer) = vary::invalid(&question, &answers[&key]).into_iter().nth(nth) else {
        stage.moot = true;
        return Ok(());
    };
    answers[&key] = answer;
    leg.answers = Some(answers);
    let again = stage.send(&leg)?;
    match again.end() {
        End::Asks if again.question(&key).is_some() => {
            let next = stage.answer(&again)?;
            ends_as(stage, next, plain)
        }
        // It takes no second attempt.
        End::Fails => Ok(()),
        _ => {
            stage.unexpected(format!("it asks {key:?} again, or gives up"), &again);
            Ok(())
        }
    }
}

/// The question the fault strikes, if an answer to it is needed at all: a wait needs none.
fn asked_for(stage: &Stage<'_>, asked: &Reply) -> Option<String> {
    let pinned = stage.pinned(asked.state()?);
    stage.key.clone().filter(|key| pinned.contains(key))
}
