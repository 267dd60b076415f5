//! Where an operation ends, or starts again: rounds, size, time; and answers to what was never asked.

use std::time::Duration;

use mrtr::{Context, NoArguments, Tool, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::world::{Effects, Leg, World, logged};

#[derive(Deserialize, JsonSchema)]
struct Text {
    text: String,
}

/// Asks `a` then `b`, with a step between.
fn two(effects: &Effects) -> Tool {
    let effects = effects.clone();
    Tool::new("two", move |_: NoArguments, cx: Context| {
        let effects = effects.clone();
        async move {
            let a: Text = cx.elicit("a", "A?").await?;
            let id: String = cx.step("between", async { effects.done("between", "s-1") }).await?;
            let b: Text = cx.elicit("b", "B?").await?;
            effects.happen("end");
            Ok::<_, ToolError>(format!("{} {id} {}", a.text, b.text))
        }
    })
}

fn text(text: &str) -> Value {
    json!({ "text": text })
}

/// A fleet that asks again within an hour.
fn patient() -> (World, Effects) {
    let effects = Effects::default();
    let tool = two(&effects);
    (World::of(|server| server.tool(tool.clone()).reask_expired(Duration::from_secs(3600))), effects)
}

const EXPIRED: Duration = Duration::from_secs(661);

fn offered(asked: &Leg<'_>, key: &str) -> Value {
    asked.schema(key)["properties"]["text"]["default"].clone()
}

#[test]
fn an_expired_operation_asks_again_and_offers_the_earlier_answers() {
    let (world, effects) = patient();
    let b = world.call("two", json!({})).accept("a", text("one")).asks(&["b"]);
    world.clock.advance(EXPIRED);
    let a = b.accept("b", text("two")).asks(&["a"]);
    assert_eq!(offered(&a, "a"), "one");
    let b = a.accept("a", text("uno")).asks(&["b"]);
    assert_eq!(offered(&b, "b"), "two", "what came too late is offered, too");
    b.accept("b", text("dos")).finishes("uno s-1 dos");
    assert_eq!((effects.count("between"), effects.count("end")), (1, 1), "what was done stays done");
}

#[test]
fn an_answer_that_comes_too_late_is_offered_and_does_not_count() {
    let (world, effects) = patient();
    let a = world.call("two", json!({})).asks(&["a"]);
    world.clock.advance(EXPIRED);
    let again = a.accept("a", text("late")).asks(&["a"]);
    assert_eq!(offered(&again, "a"), "late");
    let both =
        json!({ "a": { "action": "accept", "content": text("x") }, "b": { "action": "accept", "content": text("y") } });
    let b = again.respond(both).asks(&["b"]);
    assert_eq!(effects.count("end"), 0);
    b.decline("b").fails("declined");
}

#[test]
fn all_earlier_answers_are_offered_however_many_rounds_it_takes() {
    let (world, _) = patient();
    let b = world.call("two", json!({})).accept("a", text("one")).asks(&["b"]);
    world.clock.advance(EXPIRED);
    let a = b.accept("b", text("two")).asks(&["a"]);
    world.clock.advance(EXPIRED);
    let a = a.respond(json!({})).asks(&["a"]);
    assert_eq!(offered(&a, "a"), "one");
    // Answers to both: only the one that is asked now counts.
    let both =
        json!({ "a": { "action": "accept", "content": text("x") }, "b": { "action": "accept", "content": text("y") } });
    let b = a.respond(both).asks(&["b"]);
    assert_eq!(offered(&b, "b"), "two");
}

#[test]
fn a_refusal_before_the_time_was_up_is_asked_again_too() {
    let effects = Effects::default();
    let tool = Tool::new("t", async |_: NoArguments, cx: Context| {
        let sure = cx.elicit::<Text>("sure", "Sure?").outcome().await?.accepted().is_some();
        let more: Text = cx.elicit("more", "More?").await?;
        Ok::<_, ToolError>(format!("{sure} {}", more.text))
    });
    let world = World::of(|server| server.tool(tool.clone()).reask_expired(Duration::from_secs(3600)));
    let more = world.call("t", json!({})).decline("sure").asks(&["more"]);
    world.clock.advance(EXPIRED);
    let sure = more.accept("more", text("late")).asks(&["sure"]);
    assert_eq!(offered(&sure, "sure"), json!(null));
    sure.accept("sure", text("yes")).asks(&["more"]).accept("more", text("m")).finishes("true m");
    assert_eq!(effects.count("end"), 0);
}

#[test]
fn asking_again_has_its_own_limit() {
    let (world, effects) = patient();
    let a = world.call("two", json!({})).asks(&["a"]);
    world.clock.advance(Duration::from_secs(660 + 3600));
    a.accept("a", text("x")).asks(&["a"]);
    world.clock.advance(Duration::from_millis(1));
    assert_eq!(a.accept("a", text("x")).errors(-32602)["message"], "Invalid or expired requestState");
    assert_eq!(effects.count("between"), 0);
}

#[test]
fn answers_to_what_was_never_asked_do_not_count() {
    let effects = Effects::default();
    let world = World::with(two(&effects));
    let both =
        json!({ "a": { "action": "accept", "content": text("x") }, "b": { "action": "accept", "content": text("y") } });
    let none = |answers: &Value| {
        crate::world::request(
            1,
            "tools/call",
            &crate::world::everything(),
            json!({ "name": "two", "inputResponses": answers }),
        )
    };
    let reply: Value = serde_json::from_slice(&world.send(&none(&both)).body).expect("JSON");
    assert!(reply["result"]["inputRequests"]["a"].is_object(), "{reply}");
    // With a state, only the pinned one counts, and a refusal of the other is as void as its consent.
    let asked = world.call("two", json!({})).asks(&["a"]);
    asked.respond(both).asks(&["b"]);
    asked.respond(json!({ "b": { "action": "decline" } })).asks(&["a"]);
    assert_eq!(effects.count("end"), 0);
}

#[test]
fn a_harmless_tool_may_take_answers_with_the_first_call() {
    let effects = Effects::default();
    let tool = two(&effects).accept_unasked();
    let world = World::with(tool);
    let first = |answers: Value| {
        let params = json!({ "name": "two", "arguments": {}, "inputResponses": answers });
        let body = crate::world::request(1, "tools/call", &crate::world::everything(), params);
        serde_json::from_slice::<Value>(&world.send(&body).body).expect("JSON")
    };
    let both =
        json!({ "a": { "action": "accept", "content": text("x") }, "b": { "action": "accept", "content": text("y") } });
    assert_eq!(first(both)["result"]["content"][0]["text"], "x s-1 y");
    let wrong = first(json!({ "a": { "action": "accept", "content": {} } }));
    assert!(
        wrong["result"]["inputRequests"]["a"]["params"]["message"]
            .as_str()
            .expect("text")
            .contains("\"text\" is required")
    );
    // Once there is a state, answers are held to what it pins.
    let asked = world.call("two", json!({})).asks(&["a"]);
    let both =
        json!({ "a": { "action": "accept", "content": text("x") }, "b": { "action": "accept", "content": text("y") } });
    asked.respond(both).asks(&["b"]);
}

#[test]
fn an_operation_takes_so_many_rounds_and_no_more() {
    let effects = Effects::default();
    let tool = two(&effects);
    let world = World::of(|server| server.tool(tool.clone()).max_rounds(3));
    let third = world.call("two", json!({})).accept("a", text("x")).asks(&["b"]);
    third.accept("b", text("y")).finishes("x s-1 y");
    let log = logged(|| third.respond(json!({})).fails("This took too many rounds and was given up."));
    assert!(log.contains("takes too many rounds"), "{log}");
    let world = World::of(|server| server.tool(tool.clone()).max_rounds(1));
    world.call("two", json!({})).fails("too many rounds");
}

#[test]
fn a_state_over_the_limit_names_the_keys_that_fill_it_in_the_log_only() {
    let tool = Tool::new("t", async |_: NoArguments, cx: Context| {
        let big: String = cx.step("big", async { "x".repeat(2000) }).await?;
        let _: Text = cx.elicit("a", "A?").await?;
        Ok::<_, ToolError>(big)
    });
    let world = World::of(|server| server.tool(tool.clone()).max_state(2000));
    let log = logged(|| {
        let reply = world.call("t", json!({}));
        assert_eq!(
            reply.errors(-32603)["message"],
            "the operation's state is too large; the server's log names the keys"
        );
        assert!(!reply.reply.to_string().contains("big"), "{}", reply.reply);
    });
    assert!(log.contains("the request state is too large: \"big\" 20") && log.contains("\"a\" "), "{log}");
    World::of(|server| server.tool(tool.clone()).max_state(4000)).call("t", json!({})).asks(&["a"]);
}
