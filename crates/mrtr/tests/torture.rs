//! The author's kit of faults: it finds what careless tools do twice, and finds nothing where there is nothing.

use std::time::Duration;

use mrtr::testing::{Effects, Fault, Problem, Script, torture};
use mrtr::{Context, Outcome, Tool, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

#[derive(Deserialize, JsonSchema)]
struct Refund {
    order: u32,
}

#[derive(Deserialize, JsonSchema)]
struct Confirm {
    sure: bool,
}

fn tool<Fut>(effects: &Effects, handler: fn(Refund, Effects, Context) -> Fut) -> Tool
where
    Fut: Future<Output = Result<String, ToolError>> + Send + 'static,
{
    let effects = effects.clone();
    Tool::new("refund", move |arguments, cx| handler(arguments, effects.clone(), cx))
}

fn script() -> Script {
    Script::new(json!({ "order": 7 })).answer("confirm", json!({ "sure": true }))
}

/// The effect stands above the question, so every round brings it about.
async fn careless(refund: Refund, bank: Effects, cx: Context) -> Result<String, ToolError> {
    bank.record(&cx, "refund paid");
    let confirm: Confirm = cx.elicit("confirm", format!("Refund order {}?", refund.order)).await?;
    Ok(format!("Sure: {}.", confirm.sure))
}

/// Everything is where it belongs, and nobody deduplicates.
async fn decent(refund: Refund, bank: Effects, cx: Context) -> Result<String, ToolError> {
    let confirm: Confirm = cx.elicit("confirm", format!("Refund order {}?", refund.order)).await?;
    if confirm.sure {
        cx.step("refund", async { bank.record(&cx, "refund paid") }).await?;
    }
    Ok("Refunded.".into())
}

#[test]
fn a_careless_tool_is_named_with_its_effect_and_the_faults_that_doubled_it() {
    let report = torture(|bank| tool(bank, careless), &script());
    insta::assert_snapshot!(report);
    assert!(!report.is_clean());
    assert!(report.findings().iter().any(|finding| finding.fault == Fault::LostReply));
}

#[test]
fn what_follows_the_last_question_happens_again_when_its_request_is_repeated() {
    let report = torture(|bank| tool(bank, decent), &script());
    insta::assert_snapshot!(report);
}

#[test]
fn no_line_of_a_report_is_wider_than_80_columns() {
    let report = torture(|bank| tool(bank, careless), &script()).to_string();
    assert!(report.lines().all(|line| line.chars().count() <= 80), "{report}");
}

#[test]
fn a_tool_that_leaves_it_to_the_bank_to_deduplicate_is_clean() {
    torture(|bank| tool(bank, decent), &script().repeatable("refund paid")).assert_clean();
}

#[test]
fn done_once_the_same_tool_is_clean() {
    let report = torture(|bank| tool(bank, decent).once(), &script());
    report.assert_clean();
    insta::assert_snapshot!(report);
}

#[test]
fn done_once_first_calls_are_too_where_they_have_a_key() {
    async fn reserve(_: Refund, bank: Effects, cx: Context) -> Result<String, ToolError> {
        cx.step("reserve", async { bank.record(&cx, "reserved") }).await?;
        let _: Confirm = cx.elicit("confirm", "Sure?").await?;
        cx.step("pay", async { bank.record(&cx, "paid") }).await?;
        Ok("Reserved and paid.".into())
    }
    torture(|bank| tool(bank, reserve).idempotency_keys(), &script()).assert_clean();
    let report = torture(|bank| tool(bank, reserve).once(), &script());
    assert!(report.findings().iter().all(|finding| finding.round == 1), "{report}");
    assert!(!report.is_clean());
}

#[test]
fn done_once_an_effect_above_the_question_still_happens_in_every_round() {
    let report = torture(|bank| tool(bank, careless).once(), &script());
    assert!(report.findings().iter().any(|finding| finding.fault == Fault::None), "{report}");
}

#[test]
fn a_torn_off_run_is_looked_up_where_the_tool_can() {
    let build = |bank: &Effects| {
        let found = bank.clone();
        tool(bank, decent).on_unknown(move |_: Refund, _: Context| {
            let paid = found.count("refund paid") > 0;
            async move { Ok(paid.then(|| "Refunded.".to_owned())) }
        })
    };
    torture(build, &script()).assert_clean();
}

#[test]
fn steps_write_themselves_down() {
    async fn steps(_: Refund, _: Effects, cx: Context) -> Result<String, ToolError> {
        let confirm: Confirm = cx.elicit("confirm", "Sure?").await?;
        cx.step("refund", async {}).await?;
        Ok(confirm.sure.to_string())
    }
    let report = torture(|bank| tool(bank, steps), &script());
    let is_step = |problem: &Problem| matches!(problem, Problem::Repeated { effect, is_step: true, times: 2, .. } if effect == "refund");
    assert!(report.findings().iter().all(|finding| is_step(&finding.problem)), "{report}");
    let faults: Vec<Fault> = report.findings().iter().map(|finding| finding.fault).collect();
    assert_eq!(faults, [Fault::LostReply, Fault::TornOff, Fault::LateDuplicate, Fault::ParallelDuplicate, Fault::Fork]);
}

#[derive(Deserialize, JsonSchema)]
struct Amount {
    euros: u32,
}

#[test]
fn a_fork_shows_where_two_answers_are_both_taken() {
    async fn pay(_: Refund, bank: Effects, cx: Context) -> Result<String, ToolError> {
        let amount: Amount = cx.elicit("amount", "How much?").await?;
        bank.record(&cx, format!("{} euros paid", amount.euros));
        bank.record(&cx, "paid");
        Ok("Paid.".into())
    }
    let report =
        torture(|bank| tool(bank, pay), &Script::new(json!({ "order": 7 })).answer("amount", json!({ "euros": 40 })));
    let forks: Vec<_> = report.findings().iter().filter(|finding| finding.fault == Fault::Fork).collect();
    assert_eq!(forks.len(), 1, "{report}");
    assert!(matches!(&forks[0].problem, Problem::Repeated { effect, times: 2, .. } if effect == "paid"), "{report}");
}

#[test]
fn a_first_request_whose_reply_is_lost_is_one_call_all_the_same() {
    async fn reserve(_: Refund, _: Effects, cx: Context) -> Result<String, ToolError> {
        cx.step("reserve", async {}).await?;
        let _: Confirm = cx.elicit("confirm", "Sure?").await?;
        Ok("Reserved.".into())
    }
    let report = torture(|bank| tool(bank, reserve), &script());
    let found: Vec<_> = report.findings().iter().map(|finding| (finding.fault, finding.round)).collect();
    assert_eq!(found, [(Fault::LostReply, 1), (Fault::TornOff, 1)], "{report}");
}

#[test]
fn nothing_may_happen_after_a_refusal_unless_the_script_says_so() {
    async fn deaf(_: Refund, bank: Effects, cx: Context) -> Result<String, ToolError> {
        match cx.elicit::<Confirm>("confirm", "Sure?").outcome().await? {
            Outcome::Accepted(_) => Ok("Fine.".into()),
            Outcome::Declined | Outcome::Cancelled => {
                bank.record(&cx, "hold released");
                Ok("Fine, not.".into())
            }
        }
    }
    let report = torture(|bank| tool(bank, deaf), &script());
    let found: Vec<_> = report.findings().iter().map(|finding| finding.fault).collect();
    assert_eq!(found, [Fault::Decline, Fault::Cancel], "{report}");
    torture(|bank| tool(bank, deaf), &script().compensates("hold released")).assert_clean();
    torture(|bank| tool(bank, deaf), &script().optional("confirm")).assert_clean();
}

#[test]
fn an_operation_without_an_outcome_is_named() {
    async fn broken(_: Refund, _: Effects, cx: Context) -> Result<String, ToolError> {
        match cx.elicit::<Confirm>("confirm", "Sure?").outcome().await? {
            Outcome::Declined => panic!("nobody ever declines"),
            _ => Ok("Fine.".into()),
        }
    }
    let report = torture(|bank| tool(bank, broken), &script());
    let found = report.findings().iter().map(|finding| (finding.fault, &finding.problem));
    for (fault, problem) in found.clone() {
        assert!(matches!(problem, Problem::NoOutcome { .. }), "{report}");
        assert!(matches!(fault, Fault::Decline | Fault::ForkRefused), "{report}");
    }
    assert_eq!(found.count(), 2, "{report}");
}

#[test]
fn a_script_that_does_not_get_through_says_so_and_nothing_else_is_tried() {
    let report = torture(|bank| tool(bank, decent), &Script::new(json!({ "order": 7 })).answer("confrim", json!({})));
    assert_eq!(report.runs(), 1);
    assert!(report.to_string().contains(r#"the script has no answer"#), "{report}");
}

#[test]
fn a_tool_that_remembers_an_operation_in_its_memory_is_found_out() {
    use std::collections::BTreeSet;
    use std::sync::{Arc, Mutex};
    let remembering = |_: &Effects| {
        let known = Arc::new(Mutex::new(BTreeSet::new()));
        Tool::new("refund", move |_: Refund, cx: Context| {
            let known = Arc::clone(&known);
            async move {
                if !known.lock().expect("known").insert((cx.operation_id().to_owned(), cx.round())) {
                    return Err(ToolError::new("already seen"));
                }
                let confirm: Confirm = cx.elicit("confirm", "Sure?").await?;
                Ok(confirm.sure.to_string())
            }
        })
    };
    let report = torture(remembering, &script());
    let text = report.to_string();
    assert!(text.contains("expected that it finishes; it fails: \"already seen\""), "{text}");
    assert!(text.contains("lost reply, round 2"), "{text}");
}

#[test]
fn a_handler_with_timers_of_its_own_is_put_through_the_same() {
    async fn slow(_: Refund, bank: Effects, cx: Context) -> Result<String, ToolError> {
        tokio::time::sleep(Duration::from_millis(1)).await;
        let _: Confirm = cx.elicit("confirm", "Sure?").await?;
        cx.step("refund", async {
            tokio::time::sleep(Duration::from_millis(1)).await;
            bank.record(&cx, "refund paid");
        })
        .await?;
        Ok("Refunded.".into())
    }
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let _inside = runtime.enter();
    torture(|bank| tool(bank, slow).once(), &script()).assert_clean();
    let report = torture(|bank| tool(bank, slow), &script());
    let faults: Vec<Fault> = report.findings().iter().map(|finding| finding.fault).collect();
    assert!(faults.contains(&Fault::ParallelDuplicate) && !faults.contains(&Fault::Rotation), "{report}");
    assert!(report.findings().iter().all(|finding| matches!(finding.problem, Problem::Repeated { .. })), "{report}");
}
