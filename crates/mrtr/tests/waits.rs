//! Waiting for what happens elsewhere: held requests, the question sent again, rounds that only wait.

use std::time::Duration;

use mrtr::{Context, NoArguments, Tool, ToolError};
use serde_json::{Value, json};

use crate::world::{Effects, Leg, World, everything};

/// Pays behind a URL; paid once the check has been made `after` times.
fn pay(effects: &Effects, after: u32, state_only: bool) -> Tool {
    let effects = effects.clone();
    Tool::new("pay", move |_: NoArguments, cx: Context| {
        let effects = effects.clone();
        async move {
            let invoice = format!("https://pay.example/{}", cx.operation_id());
            cx.elicit_url("pay", "Pay the invoice", invoice).await?;
            let paid = async || {
                effects.happen("check");
                (effects.count("check") >= after).then(|| "r-1".to_owned())
            };
            let until = cx.until("paid", paid);
            let receipt = if state_only { until.state_only() } else { until }.await?;
            effects.happen("delivered");
            Ok::<_, ToolError>(format!("paid {receipt}"))
        }
    })
}

fn agree(asked: &Leg<'_>, key: &str) -> Value {
    assert_eq!(asked.requests()[key]["params"]["mode"], "url");
    json!({ key: { "action": "accept" } })
}

#[test]
fn agreeing_to_visit_a_page_is_not_having_been_there() {
    let effects = Effects::default();
    let world = World::with(pay(&effects, 1000, false));
    let asked = world.call("pay", json!({})).asks(&["pay"]);
    let wait = asked.respond(agree(&asked, "pay")).asks(&["paid"]);
    assert_eq!(wait.message("paid"), "Not finished yet. Pay the invoice");
    assert_eq!(wait.requests()["paid"]["params"]["url"], asked.requests()["pay"]["params"]["url"]);
    let again = wait.respond(agree(&wait, "paid")).asks(&["paid"]);
    again.respond(json!({})).asks(&["paid"]);
    again.respond(json!({ "paid": { "action": "yes" } })).asks(&["paid"]);
    assert_eq!(effects.count("delivered"), 0);
}

#[test]
fn a_request_is_held_for_a_while_and_ends_when_the_result_is_there() {
    let effects = Effects::default();
    let world = World::with(pay(&effects, 6, false));
    let asked = world.call("pay", json!({})).asks(&["pay"]);
    let before = mrtr::server::Clock::now(&*world.clock);
    asked.respond(agree(&asked, "pay")).finishes("paid r-1");
    let held = mrtr::server::Clock::now(&*world.clock).duration_since(before).expect("forwards");
    assert_eq!((held, effects.count("check")), (Duration::from_secs(5), 6));
}

#[test]
fn a_request_is_held_for_twenty_seconds_at_most() {
    let effects = Effects::default();
    let world = World::with(pay(&effects, 30, false));
    let asked = world.call("pay", json!({})).asks(&["pay"]);
    let before = mrtr::server::Clock::now(&*world.clock);
    let wait = asked.respond(agree(&asked, "pay")).asks(&["paid"]);
    let held = mrtr::server::Clock::now(&*world.clock).duration_since(before).expect("forwards");
    assert_eq!((held, effects.count("check")), (Duration::from_secs(20), 21));
    wait.respond(agree(&wait, "paid")).finishes("paid r-1");
}

#[test]
fn a_user_who_has_enough_ends_the_wait() {
    let effects = Effects::default();
    let world = World::with(pay(&effects, 1000, false));
    let asked = world.call("pay", json!({})).asks(&["pay"]);
    asked.decline("pay").fails("The user declined \"pay\".");
    let wait = asked.respond(agree(&asked, "pay")).asks(&["paid"]);
    let checks = effects.count("check");
    wait.decline("paid").fails("The user declined \"paid\".");
    wait.cancel("paid").fails("The user dismissed \"paid\"");
    assert_eq!((effects.count("check"), effects.count("delivered")), (checks, 0));
}

#[test]
fn a_state_without_a_question_goes_out_only_when_told_so() {
    let effects = Effects::default();
    let world = World::with(pay(&effects, 30, true));
    let asked = world.call("pay", json!({})).asks(&["pay"]);
    let wait = asked.respond(agree(&asked, "pay")).asks(&[]);
    assert!(wait.reply["result"].get("inputRequests").is_none(), "{}", wait.reply);
    wait.respond(Value::Null).finishes("paid r-1");
}

#[test]
fn a_client_that_takes_no_urls_waits_without_a_question() {
    let world = World::with(Tool::new("t", async |_: NoArguments, cx: Context| {
        let never = cx.until("never", async || None::<u8>);
        Ok::<_, ToolError>(never.every(Duration::from_millis(300)).hold(Duration::from_secs(1)).await?.to_string())
    }));
    world.call_with(json!({ "elicitation": {} }), "t", json!({})).asks(&[]).respond(json!({})).asks(&[]);
    world.call("t", json!({})).asks(&[]);
}

/// Waits for ever, and holds no request.
fn waiting(state_only: bool) -> Tool {
    Tool::new("t", move |_: NoArguments, cx: Context| async move {
        cx.elicit_url("u", "Go there", "https://example.com/").await?;
        let until = cx.until("w", async || None::<u8>).hold(Duration::ZERO);
        Ok::<_, ToolError>(if state_only { until.state_only() } else { until }.await?.to_string())
    })
}

#[test]
fn rounds_that_only_wait_are_counted_apart_whether_they_ask_or_not() {
    for tool in [waiting(true), waiting(false)] {
        let world = World::of(|server| server.tool(tool.clone()).max_rounds(3).max_waits(10));
        let asked = world.call_with(everything(), "t", json!({})).asks(&["u"]);
        let mut wait = asked.respond(json!({ "u": { "action": "accept" } }));
        for _ in 1..9 {
            assert_eq!(wait.reply["result"]["resultType"], "input_required", "{}", wait.reply);
            wait = wait.respond(json!({ "w": { "action": "accept" } }));
        }
        wait.respond(json!({})).fails("too many rounds");
    }
}

#[test]
fn a_result_that_came_is_not_checked_again() {
    let effects = Effects::default();
    let seen = effects.clone();
    let world = World::with(Tool::new("t", move |_: NoArguments, cx: Context| {
        let effects = seen.clone();
        async move {
            let check = async || {
                effects.happen("check");
                Some(effects.count("check"))
            };
            let nth: u32 = cx.until("once", check).await?;
            cx.elicit_url("u", "Go there", "https://example.com/").await?;
            Ok::<_, ToolError>(nth.to_string())
        }
    }));
    let asked = world.call("t", json!({})).asks(&["u"]).respond(json!({})).asks(&["u"]);
    asked.respond(json!({ "u": { "action": "accept", "content": { "ignored": 1 } } })).finishes("1");
    assert_eq!(effects.count("check"), 1);
}
