//! The flows every example tool needs: asks, accepts, declines, several steps, invalid and missing answers.

use std::sync::{Arc, Mutex};

use mrtr::form::Form;
use mrtr::{Context, NoArguments, Tool, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::tools::{Confirm, cancel_subscription, deploy_release, file_shipping_claim, provision};
use crate::world::{Effects, Leg, World, logged, request};

fn world(tool: fn(&Effects) -> Tool) -> (World, Effects) {
    let effects = Effects::default();
    (World::with(tool(&effects)), effects)
}

fn deploy(world: &World) -> Leg<'_> {
    world.call("deploy_release", json!({ "service": "api", "version": "4.8.1" })).asks(&["confirm_prod"])
}

#[test]
fn a_deploy_is_asked_for_then_done_by_another_instance() {
    let (world, effects) = world(deploy_release);
    let asked = deploy(&world);
    assert_eq!(asked.message("confirm_prod"), "Deploy api 4.8.1 to production?");
    assert_eq!(
        asked.schema("confirm_prod"),
        json!({
            "type": "object",
            "properties": { "confirm": { "type": "boolean", "description": "Confirm production deploy" } },
            "required": ["confirm"],
        })
    );
    assert!(asked.state().len() < 200, "{} characters", asked.state().len());
    assert_eq!(effects.count("release"), 0);
    asked.accept("confirm_prod", json!({ "confirm": true })).finishes("Deployed api 4.8.1 to production (r-1).");
    assert_eq!(effects.count("release"), 1);
}

#[test]
fn a_declined_deploy_does_nothing_and_says_so() {
    let (world, effects) = world(deploy_release);
    let asked = deploy(&world);
    asked.decline("confirm_prod").fails("The user declined \"confirm_prod\".");
    asked.cancel("confirm_prod").fails("The user dismissed \"confirm_prod\"");
    asked.accept("confirm_prod", json!({ "confirm": false })).finishes("Nothing was deployed.");
    assert_eq!(effects.count("release"), 0);
}

fn cancel(world: &World) -> Leg<'_> {
    world.call("cancel_subscription", json!({ "account": "acc_8821" })).asks(&["confirmed"])
}

#[test]
fn a_cancellation_asks_for_one_boolean() {
    let (world, effects) = world(cancel_subscription);
    let asked = cancel(&world);
    assert_eq!(asked.message("confirmed"), "Cancel the subscription of acc_8821? This cannot be undone.");
    let properties = json!({ "confirmed": { "type": "boolean" } });
    let schema = json!({ "type": "object", "properties": properties, "required": ["confirmed"] });
    assert_eq!(asked.schema("confirmed"), schema);
    assert_eq!(asked.requests()["confirmed"]["method"], "elicitation/create");
    assert_eq!(asked.requests()["confirmed"]["params"]["mode"], "form");
    assert_eq!(effects.count("cancel"), 0);
}

#[test]
fn a_cancellation_happens_only_on_a_yes() {
    let (world, effects) = world(cancel_subscription);
    let asked = cancel(&world);
    asked.decline("confirmed").fails("The user declined");
    asked.cancel("confirmed").fails("The user dismissed");
    asked.accept("confirmed", json!({ "confirmed": false })).finishes("Cancellation aborted.");
    assert_eq!(effects.count("cancel"), 0);
    let yes = asked.accept("confirmed", json!({ "confirmed": true }));
    yes.finishes("The subscription of acc_8821 is cancelled.");
    assert_eq!(effects.count("cancel"), 1);
}

fn claim(world: &World) -> Leg<'_> {
    world.call("file_shipping_claim", json!({ "order": "o-1" })).asks(&["email"])
}

#[test]
fn a_claim_asks_twice_and_is_filed_once() {
    let (world, effects) = world(file_shipping_claim);
    let email = claim(&world);
    assert_eq!(email.schema("email")["properties"]["email"], json!({ "type": "string", "format": "email" }));
    let description = email.accept("email", json!({ "email": "ann@example.com" })).asks(&["description"]);
    let bounds = json!({ "type": "string", "minLength": 20, "maxLength": 500 });
    assert_eq!(description.schema("description")["properties"]["description"], bounds);
    let done = description.accept("description", json!({ "description": "d".repeat(20) }));
    done.finishes("Claim c-7 for o-1 (20): ann@example.com.");
    assert_eq!(effects.count("file"), 1);
}

#[test]
fn a_claim_ends_with_either_question_refused() {
    let (world, effects) = world(file_shipping_claim);
    let email = claim(&world);
    email.decline("email").fails("The user declined \"email\".");
    let description = email.accept("email", json!({ "email": "ann@example.com" }));
    description.decline("description").fails("The user declined \"description\".");
    description.cancel("description").fails("The user dismissed \"description\"");
    assert_eq!(effects.count("file"), 0);
}

#[test]
fn an_invalid_answer_is_asked_again_with_a_hint() {
    let (world, effects) = world(file_shipping_claim);
    let again = claim(&world).accept("email", json!({ "email": "no address" })).asks(&["email"]);
    let hint =
        "Who receives the confirmation?\n\nThe last answer could not be used: \"email\" must be an e-mail address.";
    assert_eq!(again.message("email"), hint);
    let description = again.accept("email", json!({ "email": "ann@example.com" })).asks(&["description"]);
    let again = description.accept("description", json!({ "description": "d".repeat(19) })).asks(&["description"]);
    assert!(again.message("description").contains("\"description\" must have at least 20 characters (it has 19)"));
    let again = again.accept("description", json!({ "description": "d".repeat(501) })).asks(&["description"]);
    assert!(again.message("description").contains("at most 500 characters (it has 501)"), "{}", again.reply);
    again
        .accept("description", json!({ "description": "ü".repeat(500) }))
        .finishes("Claim c-7 for o-1 (1000): ann@example.com.");
    assert_eq!(effects.count("file"), 1);
}

fn machine(world: &World) -> Leg<'_> {
    world.call("provision", json!({ "name": "m1" })).asks(&["place", "size"])
}

fn accept(content: Value) -> Value {
    json!({ "action": "accept", "content": content })
}

#[test]
fn two_questions_go_out_in_one_round_and_come_back_in_one() {
    let (world, effects) = world(provision);
    let asked = machine(&world);
    assert_eq!(asked.schema("place")["properties"]["region"], json!({ "type": "string", "enum": ["eu", "us"] }));
    assert_eq!(asked.schema("size")["properties"]["cpus"], json!({ "type": "integer", "minimum": 1, "maximum": 64 }));
    let answers = json!({ "size": accept(json!({ "cpus": 4 })), "place": accept(json!({ "region": "eu" })) });
    asked.respond(answers).finishes("m1: 4 cpus in Eu.");
    assert_eq!(effects.count("provision"), 1);
}

#[test]
fn of_two_questions_only_the_unanswered_one_is_asked_again() {
    let (world, effects) = world(provision);
    let asked = machine(&world);
    let size = asked.accept("place", json!({ "region": "us" })).asks(&["size"]);
    size.accept("size", json!({ "cpus": 64 })).finishes("m1: 64 cpus in Us.");
    let place = asked.accept("size", json!({ "cpus": 1 })).asks(&["place"]);
    place.accept("place", json!({ "region": "eu" })).finishes("m1: 1 cpus in Eu.");
    asked.respond(json!({})).asks(&["place", "size"]);
    assert_eq!(effects.count("provision"), 2);
}

#[test]
fn of_two_answers_the_valid_one_is_kept_and_never_overwritten() {
    let (world, _) = world(provision);
    let answers = json!({ "place": accept(json!({ "region": "eu" })), "size": accept(json!({ "cpus": 65 })) });
    let size = machine(&world).respond(answers).asks(&["size"]);
    assert!(size.message("size").contains("\"cpus\" must be at most 64, not 65"), "{}", size.reply);
    let late = json!({ "place": accept(json!({ "region": "us" })), "size": accept(json!({ "cpus": 2 })) });
    size.respond(late).finishes("m1: 2 cpus in Eu.");
}

#[test]
fn one_refusal_ends_both_questions() {
    let (world, effects) = world(provision);
    let answers = json!({ "place": { "action": "decline" }, "size": accept(json!({ "cpus": 2 })) });
    machine(&world).respond(answers).fails("The user declined \"place\".");
    assert_eq!(effects.count("provision"), 0);
}

#[derive(Deserialize, JsonSchema)]
struct Guest {
    name: String,
    nights: u8,
    #[schemars(email)]
    email: String,
}

fn book() -> World {
    World::with(Tool::new("book", async |_: NoArguments, cx: Context| {
        let guest: Guest = cx.elicit("guest", "Who comes?").await?;
        Ok::<_, ToolError>(format!("{} <{}> for {}", guest.name, guest.email, guest.nights))
    }))
}

#[test]
fn the_hint_names_every_bad_field_and_the_good_ones_come_back_as_defaults() {
    let world = book();
    let asked = world.call("book", json!({})).asks(&["guest"]);
    let again = asked.accept("guest", json!({ "name": "Ann", "nights": 300, "email": "ann" })).asks(&["guest"]);
    let message = again.message("guest");
    assert!(
        message.contains("\"nights\" must be at most 255, not 300; \"email\" must be an e-mail address."),
        "{message}"
    );
    let properties = again.schema("guest")["properties"].clone();
    assert_eq!(properties["name"], json!({ "type": "string", "default": "Ann" }));
    assert_eq!(properties["nights"], json!({ "type": "integer", "minimum": 0, "maximum": 255 }));
    assert_eq!(properties["email"], json!({ "type": "string", "format": "email" }));
    let silent = again.respond(json!({})).asks(&["guest"]);
    assert_eq!(silent.schema("guest")["properties"]["name"]["default"], "Ann", "kept while nothing better comes");
    let done = silent.accept("guest", json!({ "name": "Bob", "nights": 2, "email": "bob@example.com" }));
    done.finishes("Bob <bob@example.com> for 2");
}

#[test]
fn what_nobody_asked_for_is_ignored() {
    let (world, _) = world(provision);
    let answers = json!({
        "place": { "action": "accept", "content": { "region": "eu", "admin": true }, "later": 1 },
        "size": accept(json!({ "cpus": 3, "region": "us" })),
        "other": accept(json!({ "region": "us" })),
        "": 5,
    });
    machine(&world).respond(answers).finishes("m1: 3 cpus in Eu.");
}

#[test]
fn a_user_who_never_answers_well_ends_the_operation() {
    let (world, effects) = world(file_shipping_claim);
    let bad = json!({ "email": "nobody" });
    let third = claim(&world).accept("email", bad.clone()).accept("email", bad.clone()).asks(&["email"]);
    let end = third.accept("email", bad);
    end.fails("The user gave no valid answer to \"email\": \"email\" must be an e-mail address.");
    assert_eq!(effects.count("file"), 0);
}

#[test]
fn attempts_are_the_authors_to_choose_and_missing_answers_cost_none() {
    let world = World::with(Tool::new("strict", async |_: NoArguments, cx: Context| {
        let guest: Guest = cx.elicit("guest", "Who comes?").attempts(1).await?;
        Ok::<_, ToolError>(guest.name)
    }));
    let asked = world.call("strict", json!({})).respond(json!({})).respond(json!({})).asks(&["guest"]);
    asked.accept("guest", json!({ "name": "Ann" })).fails("\"nights\" is required; \"email\" is required");
    asked.accept("guest", json!({ "name": "Ann", "nights": 1, "email": "a@b.example" })).finishes("Ann");
}

#[test]
fn three_questions_in_a_row_take_four_requests_and_no_answer_changes_on_the_way() {
    let seen: Arc<Mutex<Vec<String>>> = Arc::default();
    let world = World::with(three_in_a_row(&seen));
    let content = json!({ "text": "é \"q\" \\ \u{1F680}\u{0}\u{202e}", "number": 0.1, "whole": 9007199254740993_u64, "yes": false });
    let second = world.call("three", json!({})).asks(&["a"]).accept("a", content.clone()).asks(&["b"]);
    let third = second.accept("b", content.clone()).asks(&["c"]);
    let expected = content.to_string();
    third.accept("c", content).finishes(&[&*expected; 3].join("\n"));
    // `a` was seen in three rounds, `b` in two, `c` in one.
    assert_eq!(*seen.lock().expect("seen"), vec![expected; 6]);
}

#[test]
fn no_number_drifts_from_round_to_round() {
    let seen: Arc<Mutex<Vec<String>>> = Arc::default();
    let world = World::with(three_in_a_row(&seen));
    for bits in (0..2000_u64).map(|n| n.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 2) {
        let number = f64::from_bits(bits);
        let content = json!({ "text": "", "number": number, "whole": 1, "yes": true });
        let third = world.call("three", json!({})).accept("a", content.clone()).accept("b", content.clone());
        third.accept("c", content.clone()).finishes(&[&*content.to_string(); 3].join("\n"));
    }
}

fn three_in_a_row(seen: &Arc<Mutex<Vec<String>>>) -> Tool {
    let fields = json!({
        "text": { "type": "string" }, "number": { "type": "number" },
        "whole": { "type": "integer" }, "yes": { "type": "boolean" },
    });
    let form = Arc::new(Form::from_schema(json!({ "type": "object", "properties": fields })).expect("a form"));
    let seen = Arc::clone(seen);
    Tool::new("three", move |_: NoArguments, cx: Context| {
        let (seen, form) = (Arc::clone(&seen), Arc::clone(&form));
        async move {
            let mut all = Vec::new();
            for key in ["a", "b", "c"] {
                let answer = cx.elicit_with_schema(key, format!("Question {key}"), Arc::clone(&form)).await?;
                let answer = Value::Object(answer).to_string();
                seen.lock().expect("seen").push(answer.clone());
                all.push(answer);
            }
            Ok::<_, ToolError>(all.join("\n"))
        }
    })
}

#[test]
fn whatever_a_handler_logs_says_which_operation_and_round_it_is() {
    let tool = Tool::new("t", async |_: NoArguments, cx: Context| {
        tracing::info!("at work");
        let _: Confirm = cx.elicit("confirm", "Really?").await?;
        Ok::<_, ToolError>(cx.operation_id().to_owned())
    });
    let world = World::with(tool);
    let mut id = String::new();
    let log = logged(|| {
        let asked = world.call("t", json!({})).asks(&["confirm"]);
        id = asked.accept("confirm", json!({ "confirm": true })).text();
    });
    for round in [1, 2] {
        let span = format!("operation{{method=tools/call target=t id={id} round={round}}}");
        let line = log.lines().find(|line| line.contains(&span)).unwrap_or_else(|| panic!("no {span} in {log}"));
        assert!(line.ends_with("at work"), "{line}");
    }
}

#[test]
fn the_callers_place_in_a_trace_reaches_the_handler_and_the_log_and_nothing_else_does() {
    let tool = || {
        Tool::new("t", async |_: NoArguments, cx: Context| {
            tracing::info!("at work");
            cx.traceparent().unwrap_or("none").to_owned()
        })
    };
    let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    for (sent, seen) in [
        (json!(parent), parent),
        (json!(null), "none"),
        (json!(5), "none"),
        (json!("00-\n-forged"), "none"),
        (json!("0".repeat(200)), "none"),
    ] {
        let world = World::with(tool());
        let mut body: Value =
            serde_json::from_str(&request(1, "tools/call", &json!({}), json!({ "name": "t" }))).expect("JSON");
        body["params"]["_meta"]["traceparent"] = sent;
        let mut reply = Value::Null;
        let log = logged(|| reply = serde_json::from_slice(&world.send(&body.to_string()).body).expect("JSON"));
        assert_eq!(reply["result"]["content"][0]["text"], seen, "{reply}");
        assert_eq!(log.contains("traceparent="), seen == parent, "{log}");
        assert!(!log.contains("forged"), "{log}");
    }
}
