//! Faults that users met in other servers, each with the right behaviour. The rows:
//!
//! | row | what went wrong | test |
//! |---|---|---|
//! | 1 | chains of three never converge | `flows::three_questions_in_a_row_take_four_requests_and_no_answer_changes_on_the_way` |
//! | 2 | an answer not pinned to its question | `drift::an_answer_for_another_question_never_counts` |
//! | 3 | second spellings, sub-second lifetimes, null states | `attacks::each_token_has_one_spelling_whatever_its_length`, `attacks::a_state_lives_for_its_time_and_a_minute_of_skew`, `attacks::a_null_state_is_none_and_answers_without_one_do_not_count` |
//! | 4 | consent for one target used on another | [`consent_for_staging_is_not_consent_for_production`] |
//! | 5 | a replay test that could not fail | `attacks::a_state_replayed_without_answers_asks_again` |
//! | 6 | tools that cannot read their answers | every flow; there are no macros |
//! | 7 | `input_required` turned into text | [`a_question_stays_a_question_behind_any_wrapper_of_the_author`] |
//! | 8 | clients that change, drop or invent states | [`a_state_that_was_damaged_is_refused_and_the_log_says_how`], `attacks` |
//! | 9 | another user's state | `attacks::a_state_belongs_to_one_caller` |
//! | 10 | a decision withdrawn between rounds | [`what_may_have_changed_is_looked_up_again_in_every_round`] |
//! | 11 | a failure instead of a new question | [`a_missing_answer_is_asked_again`] |
//! | 12, 13 | gateways that lose payload or capabilities | later: there is no gateway yet |
//! | 14 | decline read as "not asked yet" | [`a_refused_question_is_never_asked_again`] |
//! | 15 | accept without content | [`an_accept_without_content_is_an_empty_form`] |
//! | 16 | `resultType` demanded inside answers | [`an_answer_needs_no_result_type_and_may_have_one`] |
//! | 17 | answers and states of the wrong type | `protocol::parameters_of_the_wrong_type_are_named` |
//! | 18 | `"123abc"` read as 123 | [`text_is_not_a_number`] |
//! | 19, 20, 22 | content of refusals validated | [`the_content_of_a_refusal_does_not_matter`] |
//! | 21, 24 | malformed answers that end as consent | [`a_malformed_answer_is_never_a_yes`] |
//! | 23 | clients that answer without showing | `clients::a_fallback_stands_for_a_client_that_cannot_be_asked_and_stays`; the time an answer takes: later, with tracing |
//! | 25 | answers wrapped in `result` | [`a_wrapped_answer_is_asked_again_and_told_why`] |
//! | 26 | a swallowed question that turns into success | `replay::a_swallowed_question_cannot_become_a_success` |
//! | 27, 28, 30, 31 | schemas clients refuse | `questions::choices_are_sent_whole`, `questions::a_form_that_cannot_be_shown_is_never_sent`; `form`'s own tests |
//! | 29 | property order and keywords lost | `questions::fields_are_sent_in_the_authors_order`; `form`'s own tests |
//! | 32 | several choices at once | `questions::several_choices_are_checked_one_by_one` |
//! | 33 | times without a zone | `questions::an_instant_needs_a_zone_and_a_real_day` |
//! | 34, 35 | capabilities per mode, HTTP 400 | `clients::a_client_is_asked_only_what_it_declared` |
//! | 36 | clients that advertise and then fail | the fallback is `clients`; how many never came back, [`operations_nobody_came_back_to_are_counted`] |
//! | 37 | clients that never retry a state alone | `waits::agreeing_to_visit_a_page_is_not_having_been_there` |
//! | 38, 39 | results without their kind, or with `_meta` misread | `offers::every_result_says_what_it_is_and_who_sent_it`, `questions::every_question_names_its_mode` |
//! | 40 | prompts and resources | [`the_same_flow_works_on_all_three_methods_and_no_other_one_asks`] |
//! | 41 | unbounded parked calls | [`open_questions_leave_nothing_behind`] |
//! | 42, 46 | steps that run again | `replay::a_step_runs_once_and_its_result_survives_every_later_round` |
//! | 43 | oversized bodies | `http`'s own tests |
//! | 44 | consent to visit taken for the visit | `waits::agreeing_to_visit_a_page_is_not_having_been_there` |
//! | 45, 47, 48 | a confirmation used twice | later, with the ledger: sealing alone cannot know |
//! | 49 | lone surrogates | `protocol::half_a_surrogate_pair_is_an_error_that_still_carries_the_id` |
//! | 50, 65, 66 | tasks | later: tasks are a neighbour feature |

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use mrtr::form::Form;
use mrtr::server::Counters;
use mrtr::{Context, ContextError, NoArguments, Outcome, Prompt, Resource, Tool, ToolError};
use serde_json::{Value, json};

use crate::tools::{Confirm, cancel_subscription, deploy_release, provision};
use crate::world::{Effects, Leg, World, everything, logged, request};

/// A tool that asks one form, made of these properties, and returns the answer as JSON.
pub fn asking(properties: Value, required: Value) -> World {
    let schema = json!({ "type": "object", "properties": properties, "required": required });
    let form = Arc::new(Form::from_schema(schema).expect("a form"));
    World::with(Tool::new("t", move |_: NoArguments, cx: Context| {
        let form = Arc::clone(&form);
        async move { Ok::<_, ToolError>(Value::Object(cx.elicit_with_schema("k", "Well?", form).await?).to_string()) }
    }))
}

pub fn asked(world: &World) -> Leg<'_> {
    world.call("t", json!({})).asks(&["k"])
}

#[test]
fn consent_for_staging_is_not_consent_for_production() {
    let effects = Effects::default();
    let world = World::with(deploy_release(&effects));
    let staging = world.call("deploy_release", json!({ "service": "staging", "version": "1" })).asks(&["confirm_prod"]);
    let params = json!({
        "name": "deploy_release",
        "arguments": { "service": "production", "version": "1" },
        "inputResponses": { "confirm_prod": { "action": "accept", "content": { "confirm": true } } },
        "requestState": staging.state(),
    });
    let reply = world.send(&request(2, "tools/call", &everything(), params));
    let reply: Value = serde_json::from_slice(&reply.body).expect("JSON");
    assert_eq!(reply["error"]["code"], -32602, "{reply}");
    assert_eq!(effects.count("release"), 0);
}

#[derive(Debug, thiserror::Error)]
#[error("the shop is closed")]
struct Closed(#[source] ContextError);

#[test]
fn a_question_stays_a_question_behind_any_wrapper_of_the_author() {
    let world = World::with(Tool::new("t", async |_: NoArguments, cx: Context| {
        let inner = async { cx.elicit::<()>("k", "Open?").await.map_err(Closed) };
        let caught = futures_util::FutureExt::catch_unwind(std::panic::AssertUnwindSafe(inner)).await;
        caught.unwrap_or(Ok(()))?;
        Ok::<_, ToolError>("open")
    }));
    let asked = asked(&world);
    asked.accept("k", json!({})).finishes("open");
    asked.decline("k").fails("The user declined \"k\".");
}

#[test]
fn a_state_that_was_damaged_is_refused_and_the_log_says_how() {
    let world = World::with(cancel_subscription(&Effects::default()));
    let asked = world.call("cancel_subscription", json!({ "account": "a" })).asks(&["confirmed"]);
    let state = asked.state();
    let cut = state[..state.len() - 1].to_owned();
    let mut flipped = state.clone();
    flipped.replace_range(60..61, if state[60..].starts_with('A') { "B" } else { "A" });
    for (sent, said) in [
        (format!("{state}="), "a request state was refused: it is not canonical base64url"),
        (flipped, "a request state was refused: its seal is broken"),
        (cut, "a request state was refused: "),
        ("m1.AAAA".to_owned(), "a request state was refused: it is cut off"),
        ("step=1".to_owned(), "a request state was refused: it does not start like a state of this version"),
        (format!("m1.{}", "A".repeat(64)), "a request state was refused: its key is not in the keyring"),
    ] {
        let log = logged(|| {
            asked.respond_with(json!({}), Some(sent.clone())).errors(-32602);
        });
        assert!(log.contains(said) && log.contains("WARN"), "{sent}: {log}");
        assert!(!log.contains(&sent), "a state does not belong in the log: {log}");
    }
    asked.respond_with(json!({}), None).asks(&["confirmed"]);
}

#[test]
fn what_may_have_changed_is_looked_up_again_in_every_round() {
    let approved = Arc::new(AtomicBool::new(true));
    let (row, effects) = (Arc::clone(&approved), Effects::default());
    let seen = effects.clone();
    let world = World::with(Tool::new("t", move |_: NoArguments, cx: Context| {
        let (row, effects) = (Arc::clone(&row), seen.clone());
        async move {
            if !row.load(Ordering::SeqCst) {
                return Err(ToolError::new("the approval was withdrawn"));
            }
            cx.elicit::<()>("k", "Run?").await?;
            effects.happen("run");
            Ok("done")
        }
    }));
    let asked = asked(&world);
    approved.store(false, Ordering::SeqCst);
    asked.accept("k", json!({})).fails("the approval was withdrawn");
    assert_eq!(effects.count("run"), 0);
}

#[test]
fn a_missing_answer_is_asked_again() {
    let world = asking(json!({ "n": { "type": "integer" } }), json!(["n"]));
    let mut again = asked(&world);
    for answers in [json!({}), Value::Null, json!({ "other": { "action": "accept", "content": { "n": 1 } } })] {
        again = again.respond(answers).asks(&["k"]);
        assert_eq!(again.message("k"), "Well?");
    }
    again.accept("k", json!({ "n": 1 })).finishes(r#"{"n":1}"#);
}

#[test]
fn a_refused_question_is_never_asked_again() {
    let world = World::with(provision(&Effects::default()));
    let asked = world.call("provision", json!({ "name": "m" })).asks(&["place", "size"]);
    asked.decline("place").fails("declined");
    // A handler that goes on after a refusal finds it settled in all later rounds.
    let world = World::with(Tool::new("t", async |_: NoArguments, cx: Context| {
        let first = cx.elicit::<()>("first", "First?").outcome().await?;
        let second = cx.elicit::<()>("second", "Second?").outcome().await?;
        assert_ne!(first, Outcome::Accepted(()));
        Ok::<_, ToolError>(format!("{first:?} {second:?}"))
    }));
    let first = world.call("t", json!({})).asks(&["first"]);
    let late = json!({ "first": { "action": "accept" }, "second": { "action": "cancel" } });
    first.decline("first").asks(&["second"]).respond(late.clone()).finishes("Declined Cancelled");
    first.cancel("first").asks(&["second"]).respond(late).finishes("Cancelled Cancelled");
}

#[test]
fn an_accept_without_content_is_an_empty_form() {
    let empty = [
        json!({ "action": "accept" }),
        json!({ "action": "accept", "content": null }),
        json!({ "action": "accept", "content": {} }),
    ];
    let optional = asking(json!({ "note": { "type": "string" } }), json!([]));
    let required = asking(json!({ "note": { "type": "string" } }), json!(["note"]));
    for answer in empty {
        asked(&optional).respond(json!({ "k": answer })).finishes("{}");
        let again = asked(&required).respond(json!({ "k": answer })).asks(&["k"]);
        assert!(
            again.message("k").ends_with("The last answer could not be used: \"note\" is required."),
            "{}",
            again.reply
        );
    }
}

#[test]
fn an_answer_needs_no_result_type_and_may_have_one() {
    let world = asking(json!({ "n": { "type": "integer" } }), json!(["n"]));
    for extra in
        [json!({}), json!({ "resultType": "complete" }), json!({ "_meta": null }), json!({ "_meta": { "x": 1 } })]
    {
        let mut answer = json!({ "action": "accept", "content": { "n": 1 } });
        answer.as_object_mut().expect("an object").extend(extra.as_object().expect("an object").clone());
        asked(&world).respond(json!({ "k": answer })).finishes(r#"{"n":1}"#);
    }
}

#[test]
fn text_is_not_a_number() {
    let world = asking(json!({ "n": { "type": "integer" } }), json!(["n"]));
    for (bad, shown) in [
        (json!("123abc"), "\"123abc\""),
        (json!("123"), "\"123\""),
        (json!(1.5), "1.5"),
        (json!(true), "true"),
        (json!([1]), "a list"),
    ] {
        let again = asked(&world).accept("k", json!({ "n": bad })).asks(&["k"]);
        assert!(
            again.message("k").ends_with(&format!("\"n\" must be a whole number, not {shown}.")),
            "{}",
            again.reply
        );
    }
    asked(&world).accept("k", json!({ "n": 123.0 })).finishes(r#"{"n":123}"#);
    let half = asking(json!({ "n": { "type": "number" } }), json!(["n"]));
    asked(&half).accept("k", json!({ "n": 1.5 })).finishes(r#"{"n":1.5}"#);
}

#[test]
fn the_content_of_a_refusal_does_not_matter() {
    let world = asking(json!({ "n": { "type": "integer" } }), json!(["n"]));
    for content in [json!(null), json!({}), json!({ "n": "x" }), json!([1]), json!("no")] {
        let refuse = |action: &str| json!({ "k": { "action": action, "content": content, "_meta": null } });
        asked(&world).respond(refuse("decline")).fails("The user declined \"k\".");
        asked(&world).respond(refuse("cancel")).fails("The user dismissed \"k\"");
    }
}

#[test]
fn a_malformed_answer_is_never_a_yes() {
    let effects = Effects::default();
    let world = World::with(cancel_subscription(&effects));
    let asked = world.call("cancel_subscription", json!({ "account": "a" })).asks(&["confirmed"]);
    let yes = json!({ "confirmed": true });
    for answer in [
        json!({ "action": "reject", "content": yes }),
        json!({ "action": "Accept", "content": yes }),
        json!({ "action": ["accept"], "content": yes }),
        json!({ "action": null, "content": yes }),
        json!({ "content": yes }),
        json!({ "action": "accept", "content": [true] }),
        json!({ "action": "accept", "content": "yes" }),
        json!({ "action": "accept", "content": { "confirmed": "true" } }),
        json!({ "action": "accept", "content": { "confirmed": 1 } }),
        json!({ "action": "accept", "content": { "confirmed": null } }),
        yes,
        json!(["accept", { "confirmed": true }]),
        json!("accept"),
        json!(true),
        json!(null),
    ] {
        let again = asked.respond(json!({ "confirmed": answer })).asks(&["confirmed"]);
        assert!(
            again.message("confirmed").contains("\n\nThe last answer could not be used: "),
            "{answer}: {}",
            again.reply
        );
    }
    assert_eq!(effects.count("cancel"), 0);
}

#[test]
fn a_wrapped_answer_is_asked_again_and_told_why() {
    let world = asking(json!({}), json!([]));
    for wrapped in [
        json!({ "result": { "action": "accept" } }),
        json!({ "method": "elicitation/create", "result": { "action": "accept" } }),
    ] {
        let again = asked(&world).respond(json!({ "k": wrapped })).asks(&["k"]);
        assert!(again.message("k").contains("wrapped in \"result\"; send the object inside it"), "{}", again.reply);
    }
}

#[test]
fn open_questions_leave_nothing_behind() {
    let held = Arc::new(());
    let inside = Arc::clone(&held);
    let tool = Tool::new("t", move |_: NoArguments, cx: Context| {
        let guard = Arc::clone(&inside);
        async move {
            let answer = cx.elicit::<()>("k", "Open?").await;
            drop(guard);
            answer
        }
    });
    let world = World::with(tool);
    let idle = Arc::strong_count(&held);
    for _ in 0..1000 {
        asked(&world);
    }
    assert_eq!(Arc::strong_count(&held), idle, "what the handler held is dropped with its round");
}

/// Row 36.
#[test]
fn operations_nobody_came_back_to_are_counted() {
    let world = World::with(deploy_release(&Effects::default()));
    let deploy = || world.call("deploy_release", json!({ "service": "api", "version": "1" })).asks(&["confirm_prod"]);
    let asked = [deploy(), deploy(), deploy()];
    asked[0].accept("confirm_prod", json!({ "confirm": true }));
    asked[1].decline("confirm_prod");
    let sum = |count: fn(&Counters) -> u64| world.instances.iter().map(|server| count(&server.counters())).sum::<u64>();
    assert_eq!((sum(|all| all.operations), sum(|all| all.completed)), (3, 2), "one is open, or given up");
    assert_eq!((sum(|all| all.rounds), sum(|all| all.asks), sum(|all| all.refusals)), (5, 3, 1));
    assert_eq!((sum(|all| all.open_handlers), sum(|all| all.abandoned)), (0, 0));
}

/// Row 40.
#[test]
fn the_same_flow_works_on_all_three_methods_and_no_other_one_asks() {
    async fn ask(_: NoArguments, cx: Context) -> Result<String, ToolError> {
        let confirm: Confirm = cx.elicit("ok", "OK?").await?;
        Ok(confirm.confirm.to_string())
    }
    let world = World::of(|server| {
        let server = server.tool(Tool::new("a", ask)).prompt(Prompt::new("a", ask));
        server.resource(Resource::new("a:b", "a", ask)).page_size(1)
    });
    let yes = json!({ "ok": { "action": "accept", "content": { "confirm": true } } });
    let (mut states, named, at) = (Vec::new(), json!({ "name": "a" }), json!({ "uri": "a:b" }));
    for (method, params) in [("tools/call", &named), ("prompts/get", &named), ("resources/read", &at)] {
        let asked = world.request(method, params.clone()).asks(&["ok"]);
        assert!(asked.respond(yes.clone()).result().to_string().contains("true"), "{method}");
        states.push(asked.state());
    }
    let methods = ["tools/list", "prompts/list", "resources/list", "resources/templates/list", "server/discover"];
    for (method, state) in methods.iter().zip(states.iter().cycle()) {
        let plain = world.request(method, json!({})).reply;
        let with = world.request(method, json!({ "requestState": state, "inputResponses": yes })).reply;
        assert_eq!(with, plain, "{method} has no use for a state and does not ask");
    }
}
