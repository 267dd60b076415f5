//! What tools return: every kind of content, structured content as promised, metadata; and how they are listed.

use mrtr::server::{Content, ResourceInfo};
use mrtr::{Context, Json, NoArguments, Server, Tool, ToolError, ToolResult};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::tools::Confirm;
use crate::world::{World, logged};

#[derive(Serialize, JsonSchema)]
struct Weather {
    /// Degrees Celsius
    temperature: f64,
    sky: Option<String>,
}

fn definition(tool: Tool) -> Value {
    let world = World::with(tool);
    world.request("tools/list", json!({})).result()["tools"][0].clone()
}

fn called(tool: Tool) -> Value {
    World::with(tool).call("t", json!({})).reply
}

#[test]
fn structured_content_is_what_the_output_schema_promises() {
    let tool =
        || Tool::new("t", async |_: NoArguments, _| Json(Weather { temperature: 21.5, sky: None })).output::<Weather>();
    let schema = &definition(tool())["outputSchema"];
    assert_eq!(schema["properties"]["temperature"], json!({ "description": "Degrees Celsius", "type": "number" }));
    assert_eq!(schema["required"], json!(["temperature", "sky"]));
    let result = &called(tool())["result"];
    assert_eq!(result["structuredContent"], json!({ "temperature": 21.5, "sky": null }));
    assert_eq!(result["content"][0]["text"], r#"{"temperature":21.5,"sky":null}"#);
}

#[test]
fn structured_content_may_be_any_json_value() {
    for (value, schema) in [
        (json!([1, 2]), json!({ "type": "array" })),
        (json!("x"), json!({ "type": "string" })),
        (json!(5), json!({ "type": "integer" })),
        (json!(null), json!({ "type": "null" })),
    ] {
        let returned = value.clone();
        let tool = Tool::new("t", move |_: NoArguments, _: Context| std::future::ready(Json(returned.clone())));
        let reply = called(tool.output_schema(schema));
        assert_eq!(reply["result"].get("structuredContent"), Some(&value), "{reply}");
    }
}

#[test]
fn content_that_breaks_the_promise_is_the_servers_error_and_is_not_sent() {
    let wrong =
        || Tool::new("t", async |_: NoArguments, _| Json(json!({ "temperature": "secret-warm" }))).output::<Weather>();
    let mut reply = Value::Null;
    let log = logged(|| reply = called(wrong()));
    assert_eq!(reply["error"]["code"], -32603, "{reply}");
    assert!(!reply.to_string().contains("secret-warm"), "{reply}");
    assert!(log.contains("output schema"), "{log}");
    let none = Tool::new("t", async |_: NoArguments, _| "warm").output::<Weather>();
    assert_eq!(called(none)["error"]["code"], -32603);
}

#[test]
fn a_failure_needs_no_structured_content() {
    let tool = Tool::new("t", async |_: NoArguments, _| Err::<Json<Weather>, _>(ToolError::new("no sensor")));
    let reply = called(tool.output::<Weather>());
    assert_eq!(
        (&reply["result"]["isError"], &reply["result"]["content"][0]["text"]),
        (&json!(true), &json!("no sensor"))
    );
}

#[test]
fn an_output_schema_that_is_none_fails_the_build() {
    let build = |tool: Tool| Server::new("s", "1").tool(tool).build().expect_err("invalid").to_string();
    let tool = || Tool::new("t", async |_: NoArguments, _| "");
    assert!(build(tool().output_schema(json!({ "type": "nonsense" }))).contains("output schema"));
    assert!(build(tool().output_schema(true)).contains("must be an object"));
    let draft7 = json!({ "$schema": "http://json-schema.org/draft-07/schema#", "type": "object" });
    assert!(build(tool().input_schema(draft7)).contains("draft-07"), "a dialect we do not judge by");
}

#[test]
fn a_hand_written_input_schema_is_sent_as_it_is_and_applied() {
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": { "from": { "type": "integer" }, "to": { "type": "integer" } },
        "dependentRequired": { "from": ["to"] },
    });
    let tool = || Tool::new("t", async |value: Value, _| value.to_string()).input_schema(schema.clone());
    assert_eq!(definition(tool())["inputSchema"], schema);
    let world = World::with(tool());
    world.call("t", json!({ "from": 1, "to": 2 })).finishes(r#"{"from":1,"to":2}"#);
    world.call("t", json!({ "from": 1 })).fails("to");
}

#[test]
fn tools_that_may_ask_say_so() {
    let tool = |description: &str| {
        let tool = Tool::new("t", async |_: NoArguments, cx: Context| {
            cx.elicit::<Confirm>("ok", "OK?").await.map(|_| "done").map_err(ToolError::from)
        });
        definition(if description.is_empty() { tool.may_ask() } else { tool.description(description).may_ask() })
    };
    for (given, shown) in [
        ("", "May ask the user before it finishes."),
        ("Deploys", "Deploys. May ask the user before it finishes."),
        ("Deploys.", "Deploys. May ask the user before it finishes."),
        ("Deploy?\n", "Deploy?\nMay ask the user before it finishes."),
    ] {
        let definition = tool(given);
        assert_eq!(
            (&definition["description"], &definition["_meta"]),
            (&json!(shown), &json!({ "mrtr/mayAsk": true }))
        );
    }
}

#[test]
fn metadata_goes_out_beside_the_servers_own_and_never_instead_of_it() {
    let tool = Tool::new("t", async |_: NoArguments, _| {
        let mut result = ToolResult::text("hi");
        result.meta = Map::from_iter([
            ("x.example/cost".to_owned(), json!(3)),
            ("io.modelcontextprotocol/serverInfo".to_owned(), json!({ "name": "impostor" })),
        ]);
        result
    });
    let meta = called(tool)["result"]["_meta"].clone();
    let info = json!({ "name": "test", "version": "1.0.0" });
    assert_eq!(meta, json!({ "x.example/cost": 3, "io.modelcontextprotocol/serverInfo": info }));
}

#[test]
fn content_is_one_block_or_several() {
    let link = ResourceInfo::new("a:b", "b");
    let one = Tool::new("t", async |_: NoArguments, _| Content::audio([1], "audio/wav"));
    assert_eq!(called(one)["result"]["content"], json!([{ "type": "audio", "data": "AQ==", "mimeType": "audio/wav" }]));
    let two = Tool::new("t", move |_: NoArguments, _: Context| {
        std::future::ready([Content::text("see"), Content::resource_link(&link)])
    });
    let blocks = json!([{ "type": "text", "text": "see" }, { "type": "resource_link", "uri": "a:b", "name": "b" }]);
    assert_eq!(called(two)["result"]["content"], blocks);
}
