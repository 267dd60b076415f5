//! The faults, each as something that happens to a call; what should come of it, and whether it did.

use std::time::Duration;

use serde_json::{Value, json};

use super::fleet::Leg;
use super::reply::{End, Kind, Reply};
use super::report::Problem;
use super::stage::{Stage, Stuck, Trail, key_ring};
use super::vary;
use crate::seal::Principal;
use crate::wire::OUTCOME_UNKNOWN;

/// What a state that does not count is refused with.
const REFUSED: End = End::Errs(-32602);

/// Plays the script on, and expects the end of the plain call.
pub(super) fn ends_as(stage: &mut Stage<'_>, leg: Leg, plain: &Trail) -> Result<(), Stuck> {
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

pub(super) fn lost_reply(stage: &mut Stage<'_>, plain: &Trail) -> Result<(), Stuck> {
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

pub(super) fn torn_off(stage: &mut Stage<'_>, plain: &Trail, polls: u32) -> Result<(), Stuck> {
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

pub(super) fn late_duplicate(stage: &mut Stage<'_>, plain: &Trail) -> Result<(), Stuck> {
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

pub(super) fn parallel_duplicate(stage: &mut Stage<'_>, plain: &Trail) -> Result<(), Stuck> {
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

pub(super) fn fork(stage: &mut Stage<'_>, plain: &Trail) -> Result<(), Stuck> {
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

pub(super) fn fork_refused(stage: &mut Stage<'_>, plain: &Trail) -> Result<(), Stuck> {
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

pub(super) fn drift(stage: &mut Stage<'_>, plain: &Trail) -> Result<(), Stuck> {
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

pub(super) fn expiry(stage: &mut Stage<'_>, _: &Trail) -> Result<(), Stuck> {
    let (leg, _) = stage.up_to_the_fault()?;
    // The kit's servers keep states for ten minutes, and clocks may be a minute apart.
    stage.fleet.clock.advance(Duration::from_secs(11 * 60 + 1));
    is_refused(stage, &leg, "an expired state")
}

/// `[old, new]`, then `[new, old]` from this round on.
pub(super) fn rotation(stage: &mut Stage<'_>, plain: &Trail) -> Result<(), Stuck> {
    stage.restart(&key_ring([1, 2]))?;
    let (leg, _) = stage.up_to_the_fault()?;
    stage.restart(&key_ring([2, 1]))?;
    ends_as(stage, leg, plain)
}

/// `[new, old]`, then back to `[old, new]`, as an instance that is not rotated yet has it.
pub(super) fn rotation_back(stage: &mut Stage<'_>, plain: &Trail) -> Result<(), Stuck> {
    stage.restart(&key_ring([2, 1]))?;
    let (leg, _) = stage.up_to_the_fault()?;
    stage.restart(&key_ring([1, 2]))?;
    ends_as(stage, leg, plain)
}

/// `[old, new]`, then `[new]` alone: what the old key sealed is refused.
pub(super) fn key_gone(stage: &mut Stage<'_>, _: &Trail) -> Result<(), Stuck> {
    stage.restart(&key_ring([1, 2]))?;
    let (leg, _) = stage.up_to_the_fault()?;
    stage.restart(&key_ring([2]))?;
    is_refused(stage, &leg, "a state whose key is gone")
}

pub(super) fn tampered(stage: &mut Stage<'_>, plain: &Trail) -> Result<(), Stuck> {
    let (leg, _) = stage.up_to_the_fault()?;
    let state = leg.state.clone().unwrap_or_default();
    let (head, tail) = state.split_at(state.len() / 2);
    let flipped = if tail.starts_with('A') { "B" } else { "A" };
    for changed in [format!("{head}{flipped}{}", &tail[1..]), head.to_owned(), format!("{state}A")] {
        is_refused(stage, &Leg { state: Some(changed), ..leg.clone() }, "a changed state")?;
    }
    ends_as(stage, leg, plain)
}

pub(super) fn other_caller(stage: &mut Stage<'_>, plain: &Trail) -> Result<(), Stuck> {
    let (leg, _) = stage.up_to_the_fault()?;
    for caller in [Some(Principal::new("https://issuer.example", "mallory")), None] {
        is_refused(stage, &Leg { caller, ..leg.clone() }, "somebody else's state")?;
    }
    ends_as(stage, leg, plain)
}

pub(super) fn refused(stage: &mut Stage<'_>, action: &str) -> Result<(), Stuck> {
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

pub(super) fn missing(stage: &mut Stage<'_>, plain: &Trail) -> Result<(), Stuck> {
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
pub(super) fn invalid(stage: &mut Stage<'_>, plain: &Trail, nth: usize) -> Result<(), Stuck> {
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
