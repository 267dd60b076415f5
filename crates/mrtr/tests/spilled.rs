//! States too large to travel: the ledger keeps them, and a short handle travels.

use std::time::Duration;

use mrtr::{Context, NoArguments, Tool, ToolError};
use serde_json::{Value, json};

use crate::once::{Fault, Faulty, fleet, yes};
use crate::world::World;

/// Asks for a note, then for a confirmation.
fn note() -> Tool {
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct Note {
        text: String,
    }
    Tool::new("note", async |_: NoArguments, cx: Context| -> Result<String, ToolError> {
        let note: Note = cx.elicit("note", "What?").await?;
        cx.elicit::<NoArguments>("confirm", "Sure?").await?;
        Ok(format!("{} characters", note.text.len()))
    })
}

fn long_note(length: usize) -> Value {
    json!({ "note": { "action": "accept", "content": { "text": "x".repeat(length) } } })
}

#[test]
fn a_state_too_large_to_travel_is_spilled_and_the_client_sees_a_short_one() {
    let world = fleet(|server| server.tool(note()).spill_states(100_000));
    let asked = world.call("note", json!({})).asks(&["note"]);
    assert!(asked.state().starts_with("m1."));
    let spilled = asked.respond(long_note(20_000)).asks(&["confirm"]);
    assert!(spilled.state().starts_with("s1.") && spilled.state().len() < 200, "{}", spilled.state().len());
    spilled.respond(yes()).finishes("20000 characters");
    let tampered = spilled.respond_with(yes(), Some(spilled.state().replace("s1.", "m1.")));
    assert_eq!(tampered.errors(-32602)["message"], "Invalid or expired requestState");
}

#[test]
fn a_spilled_state_is_bound_and_expires_like_any_other() {
    let world = fleet(|server| server.tool(note()).spill_states(100_000));
    let spilled = world.call("note", json!({})).respond(long_note(20_000)).asks(&["confirm"]);
    let other = world.call("note", json!({ "other": 1 }));
    assert_eq!(
        other.respond_with(yes(), Some(spilled.state())).errors(-32602)["message"],
        "Invalid or expired requestState"
    );
    world.clock.advance(Duration::from_secs(700));
    assert_eq!(spilled.respond(yes()).errors(-32602)["message"], "Invalid or expired requestState");
    world.clock.advance(Duration::from_secs(7000));
    assert_eq!(spilled.respond(yes()).errors(-32602)["message"], "Invalid or expired requestState");
}

#[test]
fn a_state_larger_than_what_may_be_spilled_is_a_clear_error() {
    let world = fleet(|server| server.tool(note()).spill_states(10_000));
    let refused = world.call("note", json!({})).respond(long_note(20_000));
    assert!(refused.errors(-32603)["message"].as_str().is_some_and(|text| text.contains("too large")));
}

#[test]
fn a_ledger_that_is_down_keeps_no_state_and_says_so() {
    let world = World::of(|server| server.tool(note()).spill_states(100_000).ledger(Faulty(|_| Fault::Down)));
    let refused = world.call("note", json!({})).respond(long_note(20_000));
    let error = refused.errors(-32603);
    assert_eq!((refused.status, &error["data"]["reason"]), (503, &json!("state_not_kept")), "{error}");
    assert!(error["data"]["retryable"].is_null(), "what the handler did would be done again: {error}");
}
