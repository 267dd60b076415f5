//! What replaying a handler promises: steps once, questions pinned, nothing torn, nothing lost.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::FutureExt;
use mrtr::server::SystemClock;
use mrtr::{Context, ContextError, NoArguments, Tool, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::world::{Effects, World, logged};

#[derive(Deserialize, JsonSchema)]
struct Yes {
    yes: bool,
}

type Said = Result<String, ToolError>;

fn yes() -> serde_json::Value {
    json!({ "yes": true })
}

#[test]
fn a_step_runs_once_and_its_result_survives_every_later_round() {
    let effects = Effects::default();
    let seen = effects.clone();
    let world = World::with(Tool::new("t", move |_: NoArguments, cx: Context| {
        let effects = seen.clone();
        async move {
            let first: u64 = cx
                .step("reserve", async {
                    effects.happen("reserve");
                    9_007_199_254_740_993
                })
                .await?;
            let _: Yes = cx.elicit("a", "A?").await?;
            let second: Vec<String> = cx
                .step("charge", async {
                    effects.happen("charge");
                    vec!["x\u{0}".into()]
                })
                .await?;
            let _: Yes = cx.elicit("b", "B?").await?;
            let _: Yes = cx.elicit("c", "C?").await?;
            Ok::<_, ToolError>(format!("{first} {second:?} in round {}", cx.round()))
        }
    }));
    let second = world.call("t", json!({})).asks(&["a"]).accept("a", yes()).asks(&["b"]);
    let third = second.respond(json!({})).asks(&["b"]).accept("b", yes()).asks(&["c"]);
    third.accept("c", yes()).finishes("9007199254740993 [\"x\\0\"] in round 5");
    assert_eq!((effects.count("reserve"), effects.count("charge")), (1, 1));
}

#[test]
fn a_step_beside_a_question_is_never_torn_off() {
    let effects = Effects::default();
    let seen = effects.clone();
    let world = World::untimed(Tool::new("t", move |_: NoArguments, cx: Context| {
        let effects = seen.clone();
        async move {
            let slow = async {
                effects.happen("started");
                for _ in 0..3 {
                    tokio::task::yield_now().await;
                }
                effects.done("finished", "r-1")
            };
            let (answer, id) = tokio::join!(cx.elicit::<Yes>("a", "A?"), cx.step("slow", slow));
            Ok::<_, ToolError>(format!("{} {}", answer?.yes, id?))
        }
    }));
    let asked = world.call("t", json!({})).asks(&["a"]);
    assert_eq!((effects.count("started"), effects.count("finished")), (1, 1), "the round waited for the step");
    asked.accept("a", yes()).finishes("true r-1");
    assert_eq!(effects.count("started"), 1);
}

#[test]
fn a_step_the_handler_drops_holds_nothing_up() {
    let world = World::untimed(Tool::new("t", async |_: NoArguments, cx: Context| {
        {
            let mut endless = std::pin::pin!(cx.step("endless", std::future::pending::<u8>()));
            assert!(endless.as_mut().now_or_never().is_none());
        }
        let answer: Yes = cx.elicit("a", "A?").await?;
        let again: u8 = cx.step("endless", async { 7 }).await?;
        Ok::<_, ToolError>(format!("{} {again}", answer.yes))
    }));
    world.call("t", json!({})).asks(&["a"]).accept("a", yes()).finishes("true 7");
}

#[test]
fn a_race_between_a_question_and_a_step_goes_on_with_the_step() {
    let effects = Effects::default();
    let seen = effects.clone();
    let world = World::untimed(Tool::new("t", move |_: NoArguments, cx: Context| {
        let effects = seen.clone();
        async move {
            let slow = cx.step("slow", async {
                tokio::task::yield_now().await;
                effects.done("slow", "done")
            });
            let won = tokio::select! {
                biased;
                answer = cx.elicit::<Yes>("early", "Skip it?") => format!("{}", answer?.yes),
                done = slow => done?,
            };
            let _: Yes = cx.elicit("late", "Go on?").await?;
            Ok::<_, ToolError>(won)
        }
    }));
    let late = world.call("t", json!({})).asks(&["late"]);
    late.accept("late", yes()).finishes("done");
    assert_eq!(effects.count("slow"), 1);
}

#[test]
fn of_two_racing_questions_the_first_answer_wins_and_the_other_is_withdrawn() {
    let world = World::with(Tool::new("t", async |_: NoArguments, cx: Context| {
        let won = tokio::select! {
            biased;
            answer = cx.elicit::<Yes>("a", "A?") => format!("a {}", answer?.yes),
            answer = cx.elicit::<Yes>("b", "B?") => format!("b {}", answer?.yes),
        };
        let _: Yes = cx.elicit("c", "C?").await?;
        Ok::<_, ToolError>(won)
    }));
    let asked = world.call("t", json!({})).asks(&["a", "b"]);
    asked.accept("a", yes()).asks(&["c"]).accept("c", yes()).finishes("a true");
    let c = asked.accept("b", yes()).asks(&["c"]);
    let late = json!({ "a": { "action": "accept", "content": yes() }, "c": { "action": "accept", "content": yes() } });
    c.respond(late).finishes("b true");
}

#[test]
fn a_question_that_is_dropped_is_not_asked() {
    let world = World::with(Tool::new("t", async |_: NoArguments, cx: Context| {
        let mut dropped = cx.elicit::<Yes>("dropped", "Never?");
        assert!((&mut dropped).now_or_never().is_none());
        drop(dropped);
        let _never_polled = cx.elicit::<Yes>("idle", "Neither?");
        let _: Yes = cx.elicit("a", "A?").await?;
        Ok::<_, ToolError>("done")
    }));
    world.call("t", json!({})).asks(&["a"]).accept("a", yes()).finishes("done");
}

#[tokio::test]
async fn a_question_left_behind_in_a_task_ends_with_its_round() {
    let (ended, end) = tokio::sync::oneshot::channel();
    let ended = Arc::new(Mutex::new(Some(ended)));
    let tool = Tool::new("t", move |_: NoArguments, cx: Context| {
        let ended = Arc::clone(&ended);
        async move {
            let left = cx.clone();
            let task = tokio::spawn(async move {
                let result = left.elicit::<Yes>("left", "Left?").await.map(|yes| yes.yes);
                let listener = ended.lock().expect("once").take();
                if let Some(ended) = listener {
                    let late = left.elicit::<Yes>("late", "Late?").await.map(|yes| yes.yes);
                    let step = left.step("late step", async { 1 }).await.map(|one| one == 1);
                    ended.send([result, late, step]).expect("somebody listens");
                }
            });
            task.await.expect("the task lives");
            Ok::<_, ToolError>("done")
        }
    });
    let world = World::of(|server| server.tool(tool.clone()).clock(Arc::new(SystemClock)));
    let reply = world
        .send_async(&crate::world::request(1, "tools/call", &crate::world::everything(), json!({ "name": "t" })))
        .await;
    assert!(String::from_utf8(reply.body).expect("text").contains("\"inputRequests\":{\"left\":"));
    let ends = tokio::time::timeout(Duration::from_secs(10), end).await;
    let ends = ends.expect("it does not hang").expect("the task ended");
    for (end, key) in ends.into_iter().zip(["left", "late", "late step"]) {
        assert_eq!(end, Err(ContextError::RoundOver { key: key.into() }));
    }
}

#[test]
fn a_key_used_twice_is_the_servers_fault_and_said_in_the_log() {
    let log = logged(|| {
        let world = World::with(Tool::new("t", async |_: NoArguments, cx: Context| {
            let (first, second) = tokio::join!(cx.elicit::<Yes>("same", "A?"), cx.elicit::<Yes>("same", "B?"));
            let _ = (first, second);
            "never"
        }));
        assert_eq!(world.call("t", json!({})).errors(-32603)["data"], json!(null));
    });
    assert!(log.contains("key \"same\" is used twice in one operation; keys must be unique"), "{log}");
}

#[test]
fn a_key_used_twice_is_found_in_later_rounds_and_across_kinds() {
    let effects = Effects::default();
    let seen = effects.clone();
    let world = World::with(Tool::new("t", move |_: NoArguments, cx: Context| {
        let effects = seen.clone();
        async move {
            let _: Yes = cx.elicit("same", "A?").await?;
            let _: u8 = cx
                .step("same", async {
                    effects.happen("step");
                    1
                })
                .await?;
            Ok::<_, ToolError>("never")
        }
    }));
    world.call("t", json!({})).asks(&["same"]).accept("same", yes()).errors(-32603);
    assert_eq!(effects.count("step"), 0);
}

#[test]
fn an_operation_has_one_id_in_all_its_rounds_and_no_other_has_it() {
    let ids: Arc<Mutex<Vec<String>>> = Arc::default();
    let seen = Arc::clone(&ids);
    let world = World::with(Tool::new("t", move |_: NoArguments, cx: Context| {
        seen.lock().expect("ids").push(cx.operation_id().to_owned());
        async move { Said::Ok(cx.elicit::<Yes>("a", "A?").await?.yes.to_string()) }
    }));
    let (one, other) = (world.call("t", json!({})), world.call("t", json!({})));
    one.respond(json!({})).accept("a", yes()).finishes("true");
    other.accept("a", yes()).finishes("true");
    let ids = ids.lock().expect("ids");
    assert_eq!((&ids[0], &ids[0], &ids[1]), (&ids[2], &ids[3], &ids[4]));
    assert_ne!(ids[0], ids[1]);
    assert!(ids[0].len() >= 22, "128 bits: {}", ids[0]);
}

#[test]
fn a_swallowed_question_cannot_become_a_success() {
    let effects = Effects::default();
    let seen = effects.clone();
    let world = World::with(Tool::new("t", move |_: NoArguments, cx: Context| {
        let effects = seen.clone();
        async move {
            let _ = cx.elicit::<Yes>("a", "Really?").await;
            let sure = cx.elicit::<Yes>("b", "Sure?").await.ok().is_some_and(|answer| answer.yes);
            if sure {
                effects.happen("effect");
            }
            Ok::<_, ToolError>(format!("sure: {sure}"))
        }
    }));
    let a = world.call("t", json!({})).asks(&["a"]);
    let b = a.decline("a").asks(&["b"]);
    b.respond(json!({ "b": { "action": "maybe" } })).asks(&["b"]);
    b.decline("b").finishes("sure: false");
    assert_eq!(effects.count("effect"), 0);
    b.accept("b", yes()).finishes("sure: true");
}

#[test]
fn a_step_that_fails_is_tried_again_and_one_that_cannot_be_kept_says_so() {
    let effects = Effects::default();
    let seen = effects.clone();
    let world = World::with(Tool::new("t", move |_: NoArguments, cx: Context| {
        let effects = seen.clone();
        async move {
            let tried = || async {
                effects.happen("try");
                if effects.count("try") < 3 { Err("busy") } else { Ok(7_u8) }
            };
            let mut got = cx.try_step("try", tried()).await?;
            if got.is_err() {
                got = cx.try_step("try", tried()).await?;
            }
            let _: Yes = cx.elicit("a", "A?").await?;
            if let Err(error) = got {
                return Err(ToolError::new(error));
            }
            let map = std::collections::HashMap::from([((1, 2), 3)]);
            let kept: std::collections::HashMap<(u8, u8), u8> = cx.step("odd", async { map }).await?;
            Ok(format!("{kept:?}"))
        }
    }));
    let asked = world.call("t", json!({})).asks(&["a"]);
    let log = logged(|| asked.accept("a", yes()).fails("the result of \"odd\" cannot be kept"));
    assert!(log.contains("key must be a string"), "{log}");
    assert_eq!(effects.count("try"), 3);
}

#[test]
fn a_handler_that_panics_is_an_error_and_the_server_lives() {
    let world = World::with(Tool::new("t", async |_: NoArguments, cx: Context| {
        let answer: Yes = cx.elicit("a", "A?").await?;
        assert!(!answer.yes, "secret detail");
        Ok::<_, ToolError>("fine")
    }));
    let asked = world.call("t", json!({})).asks(&["a"]);
    let log = logged(|| {
        let reply = asked.accept("a", yes());
        assert!(!reply.errors(-32603)["message"].as_str().expect("text").contains("secret"));
    });
    assert!(log.contains("the handler panicked: secret detail"), "{log}");
    asked.accept("a", json!({ "yes": false })).finishes("fine");
}

#[test]
fn a_handler_that_panics_before_its_first_await_is_an_error_too() {
    let world = World::with(Tool::new("t", |_: NoArguments, cx: Context| {
        assert!(cx.round() > 1, "secret detail");
        async { "never" }
    }));
    let log = logged(|| {
        world.call("t", json!({})).errors(-32603);
    });
    assert!(log.contains("the handler panicked: secret detail"), "{log}");
}

#[test]
fn a_handler_that_panics_while_it_is_put_down_loses_nothing_that_was_done() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("secret detail");
        }
    }
    let effects = Effects::default();
    let counted = effects.clone();
    let world = World::with(Tool::new("t", move |_: NoArguments, cx: Context| {
        let effects = counted.clone();
        async move {
            cx.step("pay", async { effects.happen("pay") }).await?;
            if cx.round() == 1 {
                let _bomb = Bomb;
                cx.elicit::<Yes>("a", "A?").await?;
            }
            cx.elicit::<Yes>("a", "A?").await?;
            Ok::<_, ToolError>("paid")
        }
    }));
    let mut asked = None;
    let log = logged(|| asked = Some(world.call("t", json!({})).asks(&["a"])));
    assert!(log.contains("the handler panicked when it was dropped: secret detail"), "{log}");
    asked.expect("asked").accept("a", yes()).finishes("paid");
    assert_eq!(effects.count("pay"), 1);
}

#[test]
fn a_handler_that_takes_too_long_is_stopped() {
    let dropped = Arc::new(());
    let held = Arc::clone(&dropped);
    let tool = Tool::new("t", move |_: NoArguments, _: Context| {
        let held = Arc::clone(&held);
        async move {
            std::future::pending::<()>().await;
            drop(held);
        }
    });
    let world = World::of(|server| server.tool(tool.clone()).handler_time(Duration::from_secs(5)));
    let log = logged(|| {
        let error = world.call("t", json!({})).errors(-32603).clone();
        assert_eq!(error["message"], "the call took too long and was stopped");
    });
    assert!(log.contains("took too long") && log.contains("limit=5s"), "{log}");
    drop((world, tool));
    assert_eq!(Arc::strong_count(&dropped), 1, "what the handler held is dropped");
}
