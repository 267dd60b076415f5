//! Completion: what half-typed arguments of prompts and templates may become.

use mrtr::server::Completing;
use mrtr::{Context, Prompt, Resource, ResourceTemplate};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::world::World;

#[derive(Deserialize, JsonSchema)]
enum Size {
    Small,
    Medium,
    #[serde(rename = "super")]
    Super,
}

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "never read")]
struct Order {
    item: String,
    size: Size,
    note: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "never read")]
struct Row {
    table: String,
    id: u32,
}

async fn items(typed: Completing) -> Vec<String> {
    match typed.arguments.get("size").map(String::as_str) {
        Some("Small") => vec!["espresso".to_owned()],
        _ => (0..250).map(|n| format!("{}{n}", typed.value)).collect(),
    }
}

fn world() -> World {
    World::of(|server| {
        server
            .prompt(Prompt::new("order", async |_: Order, _: Context| "").complete("item", items))
            .resource(Resource::new("a:b", "plain", async |_, _| ""))
            .resource_template(
                ResourceTemplate::new("db://{table}/{id}", "row", async |_: Row, _: Context| "")
                    .complete("table", async |typed| typed.among(["users", "Uploads", "orders"])),
            )
    })
}

fn complete(world: &World, reference: Value, name: &str, value: &str) -> Value {
    let params = json!({ "ref": reference, "argument": { "name": name, "value": value } });
    world.request("completion/complete", params).result()["completion"].clone()
}

fn order() -> Value {
    json!({ "type": "ref/prompt", "name": "order" })
}

#[test]
fn arguments_are_completed_by_code_or_by_the_choices_of_their_type() {
    let world = world();
    let values = |reference, name, value| complete(&world, reference, name, value)["values"].clone();
    assert_eq!(values(order(), "size", "s"), json!(["Small", "super"]));
    assert_eq!(values(order(), "note", "x"), json!([]));
    let rows = json!({ "type": "ref/resource", "uri": "db://{table}/{id}" });
    assert_eq!(values(rows, "table", "u"), json!(["users", "Uploads"]));
    assert_eq!(values(json!({ "type": "ref/resource", "uri": "a:b" }), "x", ""), json!([]));
}

#[test]
fn a_hundred_values_are_sent_and_the_rest_is_counted() {
    let completion = complete(&world(), order(), "item", "i");
    assert_eq!(completion["values"].as_array().map(Vec::len), Some(100));
    assert_eq!((&completion["total"], &completion["hasMore"]), (&json!(250), &json!(true)));
}

#[test]
fn earlier_arguments_are_known_to_the_code() {
    let world = world();
    let params = json!({
        "ref": order(),
        "argument": { "name": "item", "value": "" },
        "context": { "arguments": { "size": "Small" } },
    });
    let reply = world.request("completion/complete", params);
    assert_eq!(reply.result()["completion"], json!({ "values": ["espresso"], "total": 1, "hasMore": false }));
}

#[test]
fn what_cannot_be_completed_says_why() {
    let world = world();
    let argument = json!({ "name": "item", "value": "" });
    for (params, named) in [
        (json!({ "argument": argument }), "ref"),
        (json!({ "ref": { "type": "ref/tool", "name": "order" }, "argument": argument }), "ref"),
        (json!({ "ref": { "type": "ref/prompt", "name": "none" }, "argument": argument }), "none"),
        (json!({ "ref": { "type": "ref/resource", "uri": "db://x" }, "argument": argument }), "not found"),
        (json!({ "ref": order() }), "argument"),
        (json!({ "ref": order(), "argument": { "name": "item" } }), "argument"),
        (json!({ "ref": order(), "argument": { "name": "price", "value": "" } }), "price"),
        (json!({ "ref": order(), "argument": argument, "context": { "arguments": { "size": 5 } } }), "context"),
    ] {
        let reply = world.request("completion/complete", params.clone());
        assert!(reply.errors(-32602)["message"].as_str().expect("a text").contains(named), "{params}: {}", reply.reply);
    }
}

#[test]
fn code_that_panics_before_its_first_await_fails_its_own_request_only() {
    fn broken(_: Completing) -> std::future::Ready<Vec<String>> {
        panic!("no values")
    }
    let world = World::of(|server| {
        server.prompt(Prompt::new("order", async |_: Order, _: Context| "").complete("item", broken))
    });
    let params = json!({ "ref": order(), "argument": { "name": "item", "value": "" } });
    world.request("completion/complete", params).errors(-32603);
}
