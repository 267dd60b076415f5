//! What a server says about itself: results, tool lists, discovery; and servers that are not built.

use mrtr::server::BuildError;
use mrtr::{Context, NoArguments, Server, Tool};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::protocol::world;
use crate::world::{World, everything, request};

#[test]
fn every_result_says_what_it_is_and_who_sent_it() {
    let (world, _) = world();
    let server = json!({ "io.modelcontextprotocol/serverInfo": { "name": "test", "version": "1.0.0" } });
    let reply = |method: &str, params: Value| {
        serde_json::from_slice::<Value>(&world.send(&request(1, method, &everything(), params)).body).expect("JSON")
    };
    let deploy = json!({ "name": "deploy_release", "arguments": { "service": "api", "version": "1" } });
    for (method, params, kind) in [
        ("tools/call", deploy, "input_required"),
        ("tools/call", json!({ "name": "echo", "arguments": { "count": 1 } }), "complete"),
        ("tools/call", json!({ "name": "echo" }), "complete"),
        ("tools/list", json!({}), "complete"),
        ("server/discover", json!({}), "complete"),
    ] {
        let reply = reply(method, params);
        assert_eq!((&reply["result"]["resultType"], &reply["result"]["_meta"]), (&json!(kind), &server), "{reply}");
    }
}

#[test]
fn tools_are_listed_in_order_with_their_schemas_and_a_lifetime() {
    let (world, _) = world();
    let params = json!({ "requestState": "m1.AAAA", "inputResponses": { "a": { "action": "accept" } }, "later": "x" });
    let reply = world.send(&request(1, "tools/list", &everything(), params));
    let list: Value = serde_json::from_slice(&reply.body).expect("JSON");
    let echo = json!({
        "name": "echo",
        "title": "Echo",
        "description": "Says it back",
        "inputSchema": {
            "type": "object",
            "properties": {
                "count": { "type": "integer", "description": "How many", "minimum": 1 },
                "ratio": { "type": ["number", "null"] },
                "label": { "type": ["string", "null"] },
            },
            "required": ["count"],
        },
    });
    assert_eq!(list["result"]["tools"][0], echo);
    assert_eq!(list["result"]["tools"][1]["name"], "deploy_release");
    assert_eq!((&list["result"]["ttlMs"], &list["result"]["cacheScope"]), (&json!(300_000), &json!("public")));
    assert!(list["result"].get("inputRequests").is_none(), "{list}");
}

#[test]
fn a_server_says_what_it_speaks_and_offers() {
    let world = World::of(|server| server.title("Test").instructions("Ask first."));
    let reply = world.send(&request(1, "server/discover", &json!({}), json!({})));
    let reply: Value = serde_json::from_slice(&reply.body).expect("JSON");
    let server = json!({ "name": "test", "version": "1.0.0", "title": "Test" });
    let expected = json!({
        "resultType": "complete",
        "supportedVersions": ["2026-07-28"],
        "capabilities": { "tools": {} },
        "ttlMs": 300_000,
        "cacheScope": "public",
        "instructions": "Ask first.",
        "_meta": { "io.modelcontextprotocol/serverInfo": server },
    });
    assert_eq!(reply["result"], expected);
}

#[test]
fn a_cursor_nobody_gave_is_refused() {
    let (world, _) = world();
    let list = |cursor: Value| {
        let reply = world.send(&request(1, "tools/list", &everything(), json!({ "cursor": cursor })));
        serde_json::from_slice::<Value>(&reply.body).expect("JSON")
    };
    for cursor in [json!("2"), json!(""), json!(2)] {
        assert_eq!(list(cursor)["error"]["code"], -32602);
    }
    assert!(list(Value::Null)["result"]["tools"].is_array(), "null is absent");
}

#[test]
fn a_server_that_cannot_work_is_not_built() {
    let tool = |name: &str| Tool::new(name, async |_: NoArguments, _: Context| "ok");
    let build = |server: Server| server.build().expect_err("refused").to_string();
    assert_eq!(
        Server::new("s", "1").tool(tool("a")).tool(tool("a")).build().expect_err("refused"),
        BuildError::DuplicateTool("a".into())
    );
    for name in ["", "a b", "a/b", "é", &"a".repeat(129)] {
        assert!(build(Server::new("s", "1").tool(tool(name))).contains("is not 1 to 128 characters"), "{name}");
    }
    let list = Tool::new("list", async |_: Vec<String>, _: Context| "ok");
    assert!(build(Server::new("s", "1").tool(list)).starts_with("tool \"list\": "));
}

#[derive(Deserialize, JsonSchema)]
struct Optional {
    #[schemars(extend("x-mcp-header" = "Region"))]
    #[expect(dead_code, reason = "only its schema counts")]
    region: Option<String>,
}

#[test]
fn a_header_that_cannot_be_is_an_error_that_names_the_tool_and_the_reason() {
    let tool = Tool::new("query", |_: Optional, _: Context| async {});
    let error = Server::new("test", "1.0.0").tool(tool).build().expect_err("invalid");
    let text = "tool \"query\": x-mcp-header \"Region\" is on a parameter that is no string, integer or boolean";
    assert_eq!(error.to_string(), text);
}
