//! The headers that mirror the body: they must say what it says.

use std::collections::HashMap;

use mrtr::server::{Header, HeaderSource, Incoming};
use serde_json::{Value, json};

use crate::tools::cancel_subscription;
use crate::world::{Effects, World, request, to_the_end};

struct Headers(HashMap<&'static str, &'static str>);

impl HeaderSource for Headers {
    fn get(&self, name: &str) -> Header<'_> {
        match self.0.get(name) {
            None => Header::Absent,
            Some(&"invalid") => Header::Invalid,
            Some(value) => Header::Value(value),
        }
    }
}

const GOOD: [(&str, &str); 3] =
    [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", "cancel_subscription")];

fn with_headers(body: &str, change: &[(&'static str, Option<&'static str>)]) -> Value {
    let mut headers = Headers(GOOD.into_iter().collect());
    for (name, value) in change {
        match value {
            Some(value) => headers.0.insert(name, value),
            None => headers.0.remove(name),
        };
    }
    let world = World::with(cancel_subscription(&Effects::default()));
    let incoming = Incoming { body: body.as_bytes(), headers: Some(&headers), principal: None };
    let reply = to_the_end(world.instances[0].handle(incoming));
    let mut message: Value = serde_json::from_slice(&reply.body).expect("JSON");
    message["status"] = json!(reply.status);
    message
}

fn cancelling() -> String {
    let params = json!({ "name": "cancel_subscription", "arguments": { "account": "a" } });
    request(1, "tools/call", &json!({ "elicitation": {} }), params)
}

#[test]
fn headers_must_say_what_the_body_says() {
    assert_eq!(with_headers(&cancelling(), &[])["result"]["resultType"], "input_required");
    for (name, value, shown) in [
        ("mcp-protocol-version", None, "MCP-Protocol-Version is missing"),
        (
            "mcp-protocol-version",
            Some("2025-11-25"),
            "MCP-Protocol-Version is \"2025-11-25\", the body says \"2026-07-28\"",
        ),
        ("mcp-protocol-version", Some("invalid"), "MCP-Protocol-Version must be given once"),
        ("mcp-method", None, "Mcp-Method is missing"),
        ("mcp-method", Some("tools/list"), "Mcp-Method is \"tools/list\", the body says \"tools/call\""),
        ("mcp-method", Some("Tools/Call"), "Mcp-Method is"),
        ("mcp-name", None, "Mcp-Name is missing"),
        ("mcp-name", Some("refund"), "Mcp-Name is \"refund\""),
        ("mcp-name", Some("=?base64?%%?="), "Mcp-Name is not valid Base64"),
        ("mcp-name", Some("invalid"), "Mcp-Name must be given once"),
    ] {
        let reply = with_headers(&cancelling(), &[(name, value)]);
        assert_eq!(
            (&reply["error"]["code"], &reply["status"], &reply["id"]),
            (&json!(-32020), &json!(400), &json!(1)),
            "{reply}"
        );
        assert!(reply["error"]["message"].as_str().expect("text").contains(shown), "{reply}");
    }
}

#[test]
fn a_name_may_be_encoded_and_a_list_has_none() {
    let encoded = [("mcp-name", Some("=?base64?Y2FuY2VsX3N1YnNjcmlwdGlvbg==?="))];
    assert_eq!(with_headers(&cancelling(), &encoded)["result"]["resultType"], "input_required");
    let list = request(1, "tools/list", &json!({}), json!({}));
    let reply = with_headers(&list, &[("mcp-method", Some("tools/list")), ("mcp-name", None)]);
    assert_eq!(reply["result"]["tools"][0]["name"], "cancel_subscription");
}

#[test]
fn an_unsupported_version_is_said_where_headers_and_body_agree_on_it() {
    let old = cancelling().replace("2026-07-28", "2025-11-25");
    let reply = with_headers(&old, &[("mcp-protocol-version", Some("2025-11-25"))]);
    assert_eq!((&reply["error"]["code"], &reply["status"]), (&json!(-32022), &json!(400)), "{reply}");
    let bare = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}"#;
    let reply = with_headers(bare, &[("mcp-protocol-version", Some("2025-06-18")), ("mcp-method", Some("tools/list"))]);
    assert_eq!(reply["error"]["data"]["requested"], "2025-06-18", "{reply}");
    let reply = with_headers(bare, &[("mcp-method", Some("tools/list"))]);
    assert_eq!(reply["error"]["code"], -32602, "{reply}");
}
