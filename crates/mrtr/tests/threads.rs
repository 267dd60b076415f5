//! Handlers that spread over tasks and threads: nothing at work is torn off, nothing is done twice, nobody is forgotten.

use std::time::Duration;

use mrtr::{Context, NoArguments, Tool, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::world::{Effects, World, everything, request};

#[derive(Deserialize, JsonSchema)]
struct Yes {
    #[expect(dead_code, reason = "that it came is all that matters")]
    yes: bool,
}

/// Sends one leg; hanging is failing.
async fn leg(world: &World, capabilities: &Value, retry: Value) -> Value {
    let mut params = retry;
    params["name"] = json!("t");
    let body = request(1, "tools/call", capabilities, params);
    let reply = timeout(Duration::from_secs(10), world.send_async(&body)).await.expect("it hangs");
    serde_json::from_slice(&reply.body).expect("JSON")
}

/// The retry that accepts every question.
fn accept(asked: &Value) -> Value {
    let answer = json!({ "action": "accept", "content": { "yes": true } });
    let answers: serde_json::Map<_, _> = keys(asked).into_iter().map(|key| (key, answer.clone())).collect();
    json!({ "requestState": asked["result"]["requestState"], "inputResponses": answers })
}

/// Runs an operation to its end. Tasks race, so a question may be asked again; not for ever.
async fn to_the_result(world: &World) -> String {
    let mut reply = leg(world, &everything(), json!({})).await;
    for _ in 0..30 {
        if reply["result"]["resultType"] != "input_required" {
            break;
        }
        reply = leg(world, &everything(), accept(&reply)).await;
    }
    reply["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{reply}")).to_owned()
}

fn keys(asked: &Value) -> Vec<String> {
    asked["result"]["inputRequests"].as_object().expect("asked").keys().cloned().collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_step_that_starts_while_its_round_ends_is_done_once() {
    for _ in 0..500 {
        let effects = Effects::default();
        let counted = effects.clone();
        let world = World::untimed(Tool::new("t", move |_: NoArguments, cx: Context| {
            let (effects, beside) = (counted.clone(), cx.clone());
            async move {
                let step = tokio::spawn(async move { beside.step("pay", async { effects.happen("pay") }).await });
                cx.elicit::<Yes>("a", "A?").await?;
                step.await??;
                Ok::<_, ToolError>("paid")
            }
        }));
        assert_eq!(to_the_result(&world).await, "paid");
        assert_eq!(effects.count("pay"), 1);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn questions_from_many_tasks_are_all_asked_and_all_answered() {
    for _ in 0..100 {
        let world = World::untimed(Tool::new("t", |_: NoArguments, cx: Context| async move {
            let ask = |key: &'static str| {
                let cx = cx.clone();
                tokio::spawn(async move { cx.elicit::<Yes>(key, "?").await })
            };
            let tasks = ["a", "b", "c", "d"].map(ask);
            for task in tasks {
                task.await??;
            }
            Ok::<_, ToolError>("all")
        }));
        assert_eq!(to_the_result(&world).await, "all");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fault_beside_a_step_in_another_task_is_not_forgotten() {
    let world = World::untimed(Tool::new("t", |_: NoArguments, cx: Context| async move {
        let beside = cx.clone();
        let step =
            tokio::spawn(async move { beside.step("slow", tokio::time::sleep(Duration::from_millis(20))).await });
        tokio::task::yield_now().await;
        cx.elicit::<Yes>("a", "A?").await?;
        step.await??;
        Ok::<_, ToolError>("never")
    }));
    let refused = leg(&world, &json!({}), json!({})).await;
    assert_eq!(refused["error"]["code"], -32021, "{refused}");
}

#[tokio::test]
async fn a_check_at_work_beside_a_question_is_not_torn_off() {
    let effects = Effects::default();
    let counted = effects.clone();
    let world = World::untimed(Tool::new("t", move |_: NoArguments, cx: Context| {
        let effects = counted.clone();
        async move {
            let redeem = || async {
                tokio::time::sleep(Duration::from_millis(5)).await;
                effects.happen("redeemed");
                Some(7)
            };
            let paid = async { cx.until("paid", redeem).await };
            let (paid, asked) = tokio::join!(paid, cx.elicit::<Yes>("a", "A?"));
            asked?;
            Ok::<_, ToolError>(paid?.to_string())
        }
    }));
    let asked = leg(&world, &everything(), json!({})).await;
    assert_eq!(keys(&asked), ["a"]);
    let done = leg(&world, &everything(), accept(&asked)).await;
    assert_eq!(done["result"]["content"][0]["text"], "7", "{done}");
    assert_eq!(effects.count("redeemed"), 1);
}

#[tokio::test]
async fn a_wait_between_two_checks_goes_out_with_the_question_beside_it() {
    let world = World::untimed(Tool::new("t", |_: NoArguments, cx: Context| async move {
        cx.elicit_url("pay", "Pay", "https://pay.example/1").await?;
        let wait = async { cx.until("paid", async || None::<u32>).await };
        let (paid, asked) = tokio::join!(wait, cx.elicit::<Yes>("a", "A?"));
        asked?;
        Ok::<_, ToolError>(paid?.to_string())
    }));
    let url = leg(&world, &everything(), json!({})).await;
    assert_eq!(keys(&url), ["pay"]);
    let both = leg(&world, &everything(), accept(&url)).await;
    assert_eq!(keys(&both), ["paid", "a"], "the wait does not end the round by itself, and is not forgotten either");
}
