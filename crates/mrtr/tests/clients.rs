//! What a client can be asked, and what becomes of a question it cannot: an error that says so, or a fallback.

use mrtr::flow::CreateMessage;
use mrtr::{Context, NoArguments, Tool, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::world::{Effects, World};

#[derive(Deserialize, JsonSchema)]
struct Yes {
    yes: bool,
}

fn yes() -> Value {
    json!({ "yes": true })
}

fn form() -> Tool {
    Tool::new("form", async |_: NoArguments, cx: Context| {
        Ok::<_, ToolError>(cx.elicit::<Yes>("a", "A?").await?.yes.to_string())
    })
}

fn url() -> Tool {
    Tool::new("url", async |_: NoArguments, cx: Context| {
        cx.elicit_url("u", "Go there", "https://example.com/").await?;
        Ok::<_, ToolError>("agreed")
    })
}

fn sample() -> Tool {
    Tool::new("sample", async |_: NoArguments, cx: Context| {
        let haiku = cx.sample("haiku", &CreateMessage::new("Write one", 100).system("Be brief")).await?;
        Ok::<_, ToolError>(format!("{} by {}", haiku.text(), haiku.model))
    })
}

fn sample_with_tools() -> Tool {
    Tool::new("tools", async |_: NoArguments, cx: Context| {
        let message =
            CreateMessage::new("Look it up", 100).set("tools", json!([{ "name": "search", "inputSchema": {} }]));
        Ok::<_, ToolError>(cx.sample("found", &message).await?.text())
    })
}

fn roots() -> Tool {
    Tool::new("roots", async |_: NoArguments, cx: Context| {
        let roots = cx.list_roots("roots").await?;
        Ok::<_, ToolError>(roots.iter().map(|root| root.uri.as_str()).collect::<Vec<_>>().join(" "))
    })
}

#[test]
fn a_client_is_asked_only_what_it_declared() {
    let missing = |mode: Value| json!({ "requiredCapabilities": mode });
    for (tool, can, lacks) in [
        (form(), json!({ "elicitation": { "url": {} } }), missing(json!({ "elicitation": { "form": {} } }))),
        (form(), json!({}), missing(json!({ "elicitation": { "form": {} } }))),
        (form(), json!({ "sampling": {}, "roots": {} }), missing(json!({ "elicitation": { "form": {} } }))),
        (url(), json!({ "elicitation": {} }), missing(json!({ "elicitation": { "url": {} } }))),
        (url(), json!({ "elicitation": { "form": {} } }), missing(json!({ "elicitation": { "url": {} } }))),
        (sample(), json!({ "elicitation": {} }), missing(json!({ "sampling": {} }))),
        (sample_with_tools(), json!({ "sampling": {} }), missing(json!({ "sampling": { "tools": {} } }))),
        (roots(), json!({ "sampling": {} }), missing(json!({ "roots": {} }))),
    ] {
        let name = tool.name().to_owned();
        let world = World::with(tool);
        let reply = world.call_with(can, &name, json!({}));
        assert_eq!((reply.errors(-32021)["data"].clone(), reply.status), (lacks, 400), "{name}");
    }
}

#[test]
fn a_client_that_declared_it_is_asked() {
    for (tool, can, key) in [
        (form(), json!({ "elicitation": {} }), "a"),
        (form(), json!({ "elicitation": { "form": {} } }), "a"),
        (form(), json!({ "elicitation": { "form": {}, "url": {} }, "later": [] }), "a"),
        (url(), json!({ "elicitation": { "url": {} } }), "u"),
        (sample(), json!({ "sampling": {} }), "haiku"),
        (sample_with_tools(), json!({ "sampling": { "tools": {} } }), "found"),
        (roots(), json!({ "roots": { "listChanged": true } }), "roots"),
    ] {
        let name = tool.name().to_owned();
        World::with(tool).call_with(can, &name, json!({})).asks(&[key]);
    }
}

#[test]
fn all_that_is_missing_is_named_at_once() {
    let world = World::with(Tool::new("t", async |_: NoArguments, cx: Context| {
        let message = CreateMessage::new("Hi", 10);
        let (form, url) = (cx.elicit::<Yes>("a", "A?"), cx.elicit_url("u", "Go", "https://example.com/"));
        let _ = tokio::join!(form, url, cx.sample("s", &message), cx.list_roots("r"));
        "never"
    }));
    let all =
        json!({ "requiredCapabilities": { "elicitation": { "form": {}, "url": {} }, "sampling": {}, "roots": {} } });
    assert_eq!(world.call_with(json!({}), "t", json!({})).errors(-32021)["data"], all);
    let some = json!({ "requiredCapabilities": { "elicitation": { "url": {} }, "roots": {} } });
    let can = json!({ "elicitation": {}, "sampling": {} });
    assert_eq!(world.call_with(can, "t", json!({})).errors(-32021)["data"], some);
}

#[test]
fn no_step_starts_beside_a_question_that_cannot_be_asked() {
    let effects = Effects::default();
    let seen = effects.clone();
    let world = World::with(Tool::new("t", move |_: NoArguments, cx: Context| {
        let effects = seen.clone();
        async move {
            let reserve = cx.step("reserve", async { effects.happen("reserve") });
            let (answer, _) = tokio::join!(cx.elicit::<Yes>("a", "A?"), reserve);
            Ok::<_, ToolError>(answer?.yes.to_string())
        }
    }));
    world.call_with(json!({}), "t", json!({})).errors(-32021);
    assert_eq!(effects.count("reserve"), 0);
}

#[test]
fn what_a_client_can_do_is_told_by_each_request_alone() {
    let world = World::with(Tool::new("t", async |_: NoArguments, cx: Context| {
        let _: Yes = cx.elicit("a", "A?").await?;
        let _: Yes = cx.elicit("b", "B?").await?;
        Ok::<_, ToolError>(format!("{:?} {:?}", cx.client().name(), cx.client().can_elicit_form()))
    }));
    let asked = world.call("t", json!({})).asks(&["a"]).capable(json!({}));
    let refused = asked.accept("a", yes());
    assert_eq!(refused.errors(-32021)["data"]["requiredCapabilities"], json!({ "elicitation": { "form": {} } }));
    let b = asked.capable(json!({ "elicitation": {} })).accept("a", yes()).asks(&["b"]);
    // An answer to what it was asked counts even so: it is there.
    b.capable(json!({})).accept("b", yes()).finishes("Some(\"world\") false");
}

#[test]
fn a_fallback_stands_for_a_client_that_cannot_be_asked_and_stays() {
    let world = World::with(Tool::new("t", async |_: NoArguments, cx: Context| {
        let sure: Yes = cx.elicit("sure", "Sure?").fallback(Yes { yes: false }).await?;
        cx.elicit_url("u", "Go there", "https://example.com/").await?;
        let roots = cx.list_roots("roots").fallback(Vec::new()).await?;
        Ok::<_, ToolError>(format!("{} {}", sure.yes, roots.len()))
    }));
    let url = world.call_with(json!({ "elicitation": { "url": {} } }), "t", json!({})).asks(&["u"]);
    let agreed = json!({ "u": { "action": "accept" }, "sure": { "action": "accept", "content": yes() } });
    url.respond(agreed.clone()).finishes("false 0");
    let later = url.capable(crate::world::everything()).respond(agreed).asks(&["roots"]);
    later.respond(json!({ "roots": { "roots": [{ "uri": "file:///a" }] } })).finishes("false 1");
}

#[test]
fn a_fallback_is_not_for_users_who_refuse() {
    let world = World::with(Tool::new("t", async |_: NoArguments, cx: Context| {
        let sure: Yes = cx.elicit("sure", "Sure?").fallback(Yes { yes: true }).await?;
        Ok::<_, ToolError>(sure.yes.to_string())
    }));
    let asked = world.call("t", json!({})).asks(&["sure"]);
    asked.decline("sure").fails("declined");
    asked.cancel("sure").fails("dismissed");
    world.call_with(json!({}), "t", json!({})).finishes("true");
}

#[test]
fn a_handler_may_look_before_it_asks() {
    let world = World::with(Tool::new("t", async |_: NoArguments, cx: Context| {
        match cx.client().can_elicit_form() {
            true => Ok::<_, ToolError>(cx.elicit::<Yes>("a", "A?").await?.yes),
            false => Ok(false),
        }
        .map(|sure| sure.to_string())
    }));
    world.call_with(json!({}), "t", json!({})).finishes("false");
    world.call("t", json!({})).asks(&["a"]).accept("a", yes()).finishes("true");
}

#[test]
fn the_clients_model_is_asked_until_it_answers_in_shape() {
    let world = World::with(sample());
    let asked = world.call("sample", json!({})).asks(&["haiku"]);
    let request = json!({
        "method": "sampling/createMessage",
        "params": {
            "messages": [{ "role": "user", "content": { "type": "text", "text": "Write one" } }],
            "maxTokens": 100,
            "systemPrompt": "Be brief",
        },
    });
    assert_eq!(asked.requests()["haiku"], request);
    let silent = asked.respond(json!({})).asks(&["haiku"]);
    for malformed in [json!(null), json!("haiku"), json!([]), json!({}), json!({ "action": "decline" })] {
        silent.respond(json!({ "haiku": malformed })).asks(&["haiku"]);
    }
    let content = json!({ "type": "text", "text": "old pond" });
    let answer = json!({ "role": "assistant", "content": content, "model": "m", "stopReason": "endTurn", "later": 1 });
    silent.respond(json!({ "haiku": answer })).finishes("old pond by m");
    let bad = json!({ "haiku": 5 });
    silent.respond(bad.clone()).respond(bad.clone()).respond(bad).fails("not a result of sample");
}

#[test]
fn the_clients_roots_are_asked_until_they_come_in_shape() {
    let world = World::with(roots());
    let asked = world.call("roots", json!({})).asks(&["roots"]);
    assert_eq!(asked.requests()["roots"], json!({ "method": "roots/list" }));
    let again = asked.respond(json!({ "other": 1 })).asks(&["roots"]);
    again.respond(json!({ "roots": [{ "uri": "file:///a" }] })).asks(&["roots"]);
    again.respond(json!({ "roots": { "roots": [{ "name": "no uri" }] } })).asks(&["roots"]);
    let roots = json!({ "roots": [{ "uri": "file:///a", "name": "A" }, { "uri": "file:///b" }] });
    again.respond(json!({ "roots": roots })).finishes("file:///a file:///b");
}
