//! Handlers that change between two rounds of an operation, as in a deployment that is under way.

use std::sync::Arc;

use mrtr::form::Form;
use mrtr::{Context, NoArguments, Tool, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::world::{Effects, World, logged};

#[derive(Deserialize, JsonSchema)]
struct Yes {
    yes: bool,
}

fn yes() -> Value {
    json!({ "yes": true })
}

/// What a handler does, one call after the other.
#[derive(Clone, Copy)]
enum Do {
    Ask(&'static str),
    /// A key and another text than the key's own.
    Say(&'static str, &'static str),
    Url(&'static str),
    Step(&'static str),
}

/// A version of the tool: these calls in this order, then the end.
fn version<const N: usize>(calls: [Do; N], effects: &Effects) -> Tool {
    let effects = effects.clone();
    Tool::new("t", move |_: NoArguments, cx: Context| {
        let effects = effects.clone();
        async move {
            for call in calls {
                match call {
                    Do::Ask(key) => assert!(cx.elicit::<Yes>(key, format!("{key}?")).await?.yes),
                    Do::Say(key, text) => assert!(cx.elicit::<Yes>(key, text).await?.yes),
                    Do::Url(key) => cx.elicit_url(key, format!("{key}?"), "https://example.com/").await?,
                    Do::Step(key) => drop(cx.step(key, async { effects.done(key, key) }).await?),
                }
            }
            Ok::<_, ToolError>("done")
        }
    })
}

/// Requests go to the first version, then to the second, and so on.
fn rolling<const N: usize, const M: usize>(old: [Do; N], new: [Do; M], effects: &Effects) -> World {
    World::versions([version(old, effects), version(new, effects)])
}

fn no_effects() -> Effects {
    Effects::default()
}

#[test]
fn an_answer_for_another_question_never_counts() {
    let (old, new) = (Do::Say("ok", "Delete 3 files?"), Do::Say("ok", "Delete 3000 files?"));
    let world = rolling([old], [new], &no_effects());
    let log = logged(|| {
        let asked = world.call("t", json!({})).asks(&["ok"]);
        let again = asked.accept("ok", yes()).asks(&["ok"]);
        assert_eq!(again.message("ok"), "Delete 3000 files?");
        // Back at the old version the new question's answer is worth nothing either.
        let back = again.accept("ok", yes()).asks(&["ok"]);
        assert_eq!(back.message("ok"), "Delete 3 files?");
    });
    assert!(
        log.contains("elicit \"ok\" asks something else than it did before; the earlier answer is dropped"),
        "{log}"
    );
}

#[test]
fn an_answer_given_rounds_ago_is_dropped_when_its_question_changes() {
    let old = [Do::Say("ok", "Delete 3 files?"), Do::Ask("b"), Do::Ask("c")];
    let new = [Do::Say("ok", "Delete 3000 files?"), Do::Ask("b"), Do::Ask("c")];
    let effects = no_effects();
    let world = World::versions([version(old, &effects), version(old, &effects), version(new, &effects)]);
    let b = world.call("t", json!({})).accept("ok", yes()).asks(&["b"]);
    let again = b.accept("b", yes()).asks(&["ok"]);
    assert_eq!(again.message("ok"), "Delete 3000 files?");
    again.decline("ok").asks(&["ok"]);
}

#[test]
fn what_was_answered_after_a_question_that_has_changed_is_asked_again_too() {
    let old = [Do::Say("env", "Staging?"), Do::Ask("go"), Do::Ask("c")];
    let new = [Do::Say("env", "Production?"), Do::Ask("go"), Do::Ask("c")];
    let effects = no_effects();
    let world = World::versions([old, old, old, new, new, new, new].map(|calls| version(calls, &effects)));
    let c = world.call("t", json!({})).accept("env", yes()).asks(&["go"]).accept("go", yes()).asks(&["c"]);
    let env = c.accept("c", yes()).asks(&["env"]);
    let go = env.accept("env", yes()).asks(&["go"]);
    assert_eq!(go.schema("go")["properties"]["yes"]["default"], true, "the earlier answer is offered, and no more");
    go.accept("go", yes()).asks(&["c"]).accept("c", yes()).finishes("done");
}

#[test]
fn what_was_answered_after_a_new_question_is_asked_again_too() {
    let old = [Do::Ask("go"), Do::Ask("c")];
    let new = [Do::Ask("env"), Do::Ask("go"), Do::Ask("c")];
    let effects = no_effects();
    let world = World::versions([
        version(old, &effects),
        version(old, &effects),
        version(new, &effects),
        version(new, &effects),
        version(new, &effects),
    ]);
    let c = world.call("t", json!({})).accept("go", yes()).asks(&["c"]);
    let mut env = None;
    let log = logged(|| env = Some(c.accept("c", yes()).asks(&["env"])));
    assert!(log.contains(r#"step 1 replayed as elicit "env", journal recorded elicit "go""#), "{log}");
    env.expect("asked").accept("env", yes()).asks(&["go"]).accept("go", yes()).asks(&["c"]);
}

#[test]
fn a_refusal_of_another_question_does_not_count_either() {
    let world = rolling([Do::Say("ok", "Keep them?")], [Do::Say("ok", "Delete them?")], &no_effects());
    world.call("t", json!({})).asks(&["ok"]).decline("ok").asks(&["ok"]);
    let world = rolling([Do::Say("ok", "Keep them?")], [Do::Say("ok", "Delete them?")], &no_effects());
    world.call("t", json!({})).asks(&["ok"]).cancel("ok").asks(&["ok"]);
}

#[test]
fn an_answer_to_another_form_never_counts() {
    let with = |schema: Value| {
        let form = Arc::new(Form::from_schema(schema).expect("a form"));
        Tool::new("t", move |_: NoArguments, cx: Context| {
            let form = Arc::clone(&form);
            async move {
                Ok::<_, ToolError>(Value::Object(cx.elicit_with_schema("n", "How many?", form).await?).to_string())
            }
        })
    };
    let schema = |most: u8| json!({ "type": "object", "properties": { "n": { "type": "integer", "maximum": most } } });
    let world = World::versions([with(schema(10)), with(schema(100)), with(schema(100))]);
    let again = world.call("t", json!({})).asks(&["n"]).accept("n", json!({ "n": 5 })).asks(&["n"]);
    assert_eq!(again.schema("n")["properties"]["n"], json!({ "type": "integer", "maximum": 100 }));
    again.accept("n", json!({ "n": 6 })).finishes(r#"{"n":6}"#);
}

#[test]
fn a_step_that_is_gone_is_said_and_what_follows_is_asked_again() {
    let effects = no_effects();
    let old = [Do::Ask("a"), Do::Step("x"), Do::Step("reserve"), Do::Ask("confirm")];
    let new = [Do::Ask("a"), Do::Step("x"), Do::Ask("confirm")];
    let world = World::versions([version(old, &effects), version(old, &effects), version(new, &effects)]);
    let log = logged(|| {
        let confirm = world.call("t", json!({})).accept("a", yes()).asks(&["confirm"]);
        confirm.accept("confirm", yes()).asks(&["confirm"]);
    });
    assert!(log.contains(r#"step 3 replayed as elicit "confirm", journal recorded step "reserve""#), "{log}");
    assert_eq!((effects.count("x"), effects.count("reserve")), (1, 1));
}

#[test]
fn a_question_that_is_gone_is_said_and_what_follows_is_asked_again() {
    let world = rolling([Do::Ask("a"), Do::Ask("b")], [Do::Ask("b")], &no_effects());
    let log = logged(|| {
        let b = world.call("t", json!({})).respond(json!({})).asks(&["b"]);
        b.accept("b", yes()).asks(&["a"]).accept("a", yes()).asks(&["b"]);
    });
    assert!(log.contains(r#"step 1 replayed as elicit "b", journal recorded elicit "a""#), "{log}");
}

#[test]
fn a_key_of_another_kind_is_said_and_its_answer_dropped() {
    let world = rolling([Do::Ask("k")], [Do::Url("k")], &no_effects());
    let log = logged(|| {
        let asked = world.call("t", json!({})).asks(&["k"]);
        assert_eq!(asked.accept("k", yes()).asks(&["k"]).requests()["k"]["params"]["mode"], "url");
    });
    assert!(log.contains(r#"step 1 replayed as elicit_url "k", journal recorded elicit "k""#), "{log}");
}

#[test]
fn questions_that_changed_places_are_said_and_asked_again() {
    let old = [Do::Ask("a"), Do::Ask("b"), Do::Ask("c")];
    let new = [Do::Ask("b"), Do::Ask("a"), Do::Ask("c")];
    let effects = no_effects();
    let world = World::versions([
        version(old, &effects),
        version(old, &effects),
        version(old, &effects),
        version(new, &effects),
    ]);
    let log = logged(|| {
        let c = world.call("t", json!({})).accept("a", yes()).accept("b", yes()).asks(&["c"]);
        c.accept("c", yes()).asks(&["b"]);
    });
    assert!(log.contains(r#"step 1 replayed as elicit "b", journal recorded elicit "a""#), "{log}");
}

#[test]
fn a_step_done_once_stays_done_while_versions_come_and_go() {
    let effects = no_effects();
    let world = rolling([Do::Step("reserve"), Do::Ask("a")], [Do::Ask("a")], &effects);
    let mut asked = world.call("t", json!({})).asks(&["a"]);
    for _ in 0..4 {
        asked = asked.respond(json!({})).asks(&["a"]);
    }
    // The version without the step asks again, since it finds less than was recorded; the one with it goes on.
    asked.accept("a", yes()).asks(&["a"]).accept("a", yes()).finishes("done");
    assert_eq!(effects.count("reserve"), 1);
}

#[test]
fn a_step_survives_a_version_that_asks_a_question_under_its_key() {
    let effects = no_effects();
    let world = rolling([Do::Step("k"), Do::Ask("a")], [Do::Ask("k"), Do::Ask("a")], &effects);
    let log = logged(|| {
        let asked = world.call("t", json!({})).asks(&["a"]).accept("a", yes()).asks(&["k"]);
        asked.accept("k", yes()).asks(&["a"]);
    });
    assert!(log.contains(r#"step 1 replayed as elicit "k", journal recorded step "k""#), "{log}");
    assert_eq!(effects.count("k"), 1);
}

#[test]
fn a_moved_step_is_said_and_still_done() {
    let effects = no_effects();
    let world =
        rolling([Do::Step("x"), Do::Step("y"), Do::Ask("a")], [Do::Step("y"), Do::Step("x"), Do::Ask("a")], &effects);
    let log = logged(|| drop(world.call("t", json!({})).asks(&["a"]).accept("a", yes())));
    assert!(log.contains(r#"step 1 replayed as step "y", journal recorded step "x""#), "{log}");
    assert_eq!((effects.count("x"), effects.count("y")), (1, 1));
}

#[test]
fn a_step_put_before_a_question_does_not_cost_its_answer() {
    let effects = no_effects();
    let world = rolling([Do::Ask("a"), Do::Ask("b")], [Do::Step("x"), Do::Ask("a"), Do::Ask("b")], &effects);
    world.call("t", json!({})).asks(&["a"]).accept("a", yes()).asks(&["b"]);
    assert_eq!(effects.count("x"), 1);
}

#[test]
fn a_replay_that_changes_nothing_logs_nothing() {
    let calls = [Do::Step("x"), Do::Ask("a"), Do::Step("y"), Do::Url("u"), Do::Ask("b")];
    let world = rolling(calls, calls, &no_effects());
    let log = logged(|| {
        let u = world.call("t", json!({})).accept("a", yes()).asks(&["u"]);
        let b = u.respond(json!({ "u": { "action": "accept" } })).asks(&["b"]);
        b.respond(json!({})).accept("b", yes()).finishes("done");
    });
    assert_eq!(log, "");
}
