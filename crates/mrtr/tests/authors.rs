//! What authors write their own scenarios with: it says what is so, and what is not so is told with the whole conversation.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use mrtr::flow::CreateMessage;
use mrtr::testing::{Flow, form, roots, sampling, url};
use mrtr::{Context, NoArguments, Prompt, Resource, ResourceTemplate, Tool, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize, JsonSchema)]
struct Refund {
    order: u32,
}

#[derive(Deserialize, JsonSchema)]
struct Confirm {
    sure: bool,
}

async fn refund(refund: Refund, cx: Context) -> Result<String, ToolError> {
    let confirm: Confirm = cx.elicit("confirm", format!("Refund order {}?", refund.order)).await?;
    Ok(if confirm.sure { "Refunded." } else { "Nothing was refunded." }.into())
}

fn scene() -> mrtr::testing::Scene {
    Flow::new(Tool::new("refund", refund)).call(json!({ "order": 7 }))
}

/// The panic's text.
fn told(scenario: impl FnOnce()) -> String {
    let panic = catch_unwind(AssertUnwindSafe(scenario)).expect_err("it must not pass");
    *panic.downcast::<String>().expect("a text")
}

#[test]
fn a_scenario_reads_aloud() {
    let result =
        scene().expects(form("confirm").saying("order 7")).answers(json!({ "sure": true })).finishes("Refunded.");
    assert_eq!(result["content"][0]["type"], "text");
    scene().expects(form("confirm")).declines().fails_with("declined");
    scene().expects(form("confirm")).cancels().fails_with("dismissed");
    scene().answers(json!({ "sure": false })).finishes_with("Nothing");
}

#[test]
fn bad_answers_are_asked_again_and_raw_ones_go_out_as_they_are() {
    let again = scene().answers(json!({ "sure": "perhaps" })).expects(form("confirm").saying("sure"));
    let again = again.responds(json!({})).expects(form("confirm"));
    again.responds(json!({ "confirm": { "action": "decline" } })).fails_with("declined");
}

#[test]
fn time_passes_when_it_is_told_to() {
    let late = scene().after(Duration::from_secs(3600)).answers(json!({ "sure": true }));
    assert_eq!(late.errs(-32602), "Invalid or expired requestState");
}

#[test]
fn arguments_that_do_not_fit_are_an_error_to_the_model() {
    Flow::new(Tool::new("refund", refund)).call(json!({ "order": "seven" })).fails_with("order");
}

#[test]
fn a_repeated_request_gets_an_answer_too() {
    scene().answers(json!({ "sure": true })).repeats().finishes("Refunded.");
}

#[derive(Deserialize, JsonSchema)]
struct Name {
    name: String,
}

async fn everything(_: NoArguments, cx: Context) -> Result<String, ToolError> {
    let question = CreateMessage::new("Which is the capital?", 10);
    let (name, model, roots) =
        tokio::join!(cx.elicit::<Name>("name", "Who?"), cx.sample("model", &question), cx.list_roots("roots"));
    let (name, model, roots) = (name?, model?, roots?);
    cx.elicit_url("pay", "Pay here", "https://pay.example/1").await?;
    let paid = std::sync::atomic::AtomicU32::new(0);
    let receipt: u32 = cx
        .until("paid", async || {
            let looked = paid.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            (looked > 5).then_some(looked)
        })
        .await?;
    Ok(format!("{} {} {} {receipt}", name.name, model.text(), roots.len()))
}

#[test]
fn every_kind_of_question_is_expected_and_answered_in_its_way() {
    Flow::new(Tool::new("everything", everything))
        .call(json!({}))
        .expects([form("name"), sampling("model").saying("capital"), roots("roots")])
        .answers(json!({
            "name": { "name": "Ann" },
            "model": { "role": "assistant", "content": { "type": "text", "text": "Rome" }, "model": "m" },
            "roots": { "roots": [] },
        }))
        .expects(url("pay").saying("Pay here"))
        .accepts()
        .finishes("Ann Rome 0 6");
}

#[test]
fn a_client_that_cannot_be_asked_is_one_too() {
    let message = Flow::new(Tool::new("refund", refund)).client(json!({})).call(json!({ "order": 7 })).errs(-32021);
    assert!(message.contains("capabilities"), "{message}");
}

#[test]
fn what_is_not_as_it_is_said_is_told_with_the_whole_conversation() {
    let other_text = told(|| drop(scene().answers(json!({ "sure": false })).finishes("Refunded.")));
    insta::assert_snapshot!(other_text);
    let other_question = told(|| drop(scene().expects(url("confirm"))));
    assert!(
        other_question.starts_with(r#"expected it to ask url "confirm", but "confirm" is a question of the kind form"#)
    );
    let one_more = told(|| drop(scene().expects([form("confirm"), form("reason")])));
    assert!(
        one_more
            .starts_with(r#"expected it to ask form "confirm" and form "reason"; the last reply asks form "confirm""#)
    );
    let over = told(|| drop(scene().declines().accepts()));
    assert!(over.starts_with("nothing is asked that could be answered; the last reply fails:"), "{over}");
    let stray = told(|| drop(scene().expects(form("confirm").saying("order 8"))));
    assert!(stray.contains(r#"the message of "confirm" does not contain "order 8""#), "{stray}");
}

#[test]
fn prompts_and_resources_have_scenarios() {
    async fn review(name: Name, cx: Context) -> Result<String, ToolError> {
        let sure: Confirm = cx.elicit("sure", "Really?").await?;
        Ok(format!("{} {}", name.name, sure.sure))
    }
    Flow::prompt(Prompt::new("review", review))
        .call(json!({ "name": "x" }))
        .expects(form("sure"))
        .answers(json!({ "sure": true }))
        .finishes("x true");

    let today = Resource::new("motd://today", "motd", async |_: NoArguments, cx: Context| {
        cx.elicit::<Confirm>("sure", "Really?").await.map(|sure| sure.sure.to_string()).map_err(ToolError::from)
    });
    Flow::resource(today).read("motd://today").answers(json!({ "sure": true })).finishes("true");
    let row = ResourceTemplate::new("db://{name}", "row", async |name: Name, _: Context| name.name);
    Flow::resource_template(row).read("db://users").finishes("users");
}

#[test]
fn a_handler_with_timers_of_its_own_runs_inside_a_runtime() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let _inside = runtime.enter();
    let slow = Tool::new("slow", async |_: NoArguments, cx: Context| {
        tokio::time::sleep(Duration::from_millis(5)).await;
        let sure: Confirm = cx.elicit("sure", "Really?").await?;
        tokio::time::sleep(Duration::from_millis(5)).await;
        Ok::<_, ToolError>(sure.sure.to_string())
    });
    Flow::new(slow).call(json!({})).answers(json!({ "sure": true })).finishes("true");
}

#[test]
fn a_handler_that_hangs_is_said_to() {
    let hanging = Tool::new("hanging", async |_: NoArguments, _: Context| {
        std::future::pending::<()>().await;
        Value::Null.to_string()
    });
    let text = told(|| drop(Flow::new(hanging).call(json!({}))));
    assert!(text.starts_with("it hangs: nobody woke it for 5 s"), "{text}");
}
