//! The headers that mirror the body: they must say what it says.

use std::collections::HashMap;

use mrtr::server::{Header, HeaderSource, Incoming};
use mrtr::{Context, Tool};
use schemars::JsonSchema;
use serde::Deserialize;
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
    answer(cancel_subscription(&Effects::default()), body, &headers)
}

fn answer(tool: Tool, body: &str, headers: &Headers) -> Value {
    let world = World::with(tool);
    let incoming = Incoming::new(body.as_bytes()).headers(headers);
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

#[derive(Deserialize, JsonSchema)]
struct Query {
    #[serde(default)]
    #[schemars(extend("x-mcp-header" = "Region"))]
    region: String,
    #[serde(default)]
    #[schemars(extend("x-mcp-header" = "Dry-Run"))]
    dry_run: bool,
    #[serde(default)]
    page: Page,
}

#[derive(Default, Deserialize, JsonSchema)]
#[schemars(inline)]
struct Page {
    #[serde(default)]
    #[schemars(extend("x-mcp-header" = "Size"))]
    size: i64,
}

#[test]
fn a_header_that_repeats_an_argument_must_say_what_it_says() {
    let query = Tool::new("query", |query: Query, _: Context| async move {
        format!("{} {} {}", query.region, query.dry_run, query.page.size)
    });
    let (region, dry_run, size) = ("mcp-param-region", "mcp-param-dry-run", "mcp-param-size");
    let sent = |arguments: &str, params: &[(&'static str, &'static str)]| {
        let body = request(1, "tools/call", &json!({}), json!({ "name": "query", "arguments": "ARGUMENTS" }));
        let mut headers = Headers(GOOD.into_iter().chain(params.iter().copied()).collect());
        headers.0.insert("mcp-name", "query");
        answer(query.clone(), &body.replace("\"ARGUMENTS\"", arguments), &headers)
    };
    for (arguments, params, text) in [
        ("{}", &[][..], " false 0"),
        ("{}", &[("mcp-param-other", "x")], " false 0"),
        (r#"{"region":"us-west1"}"#, &[(region, "us-west1")], "us-west1 false 0"),
        (r#"{"region":"us-west1"}"#, &[(region, "=?base64?dXMtd2VzdDE=?=")], "us-west1 false 0"),
        (r#"{"region":"世界"}"#, &[(region, "=?base64?5LiW55WM?=")], "世界 false 0"),
        (r#"{"region":""}"#, &[(region, "")], " false 0"),
        (r#"{"region":"42"}"#, &[(region, "42")], "42 false 0"),
        (r#"{"dry_run":true}"#, &[(dry_run, "true")], " true 0"),
        (r#"{"page":{"size":42}}"#, &[(size, "42")], " false 42"),
        (r#"{"page":{"size":42}}"#, &[(size, "42.0")], " false 42"),
        (r#"{"page":{"size":42.0}}"#, &[(size, "42")], " false 42"),
        (r#"{"page":{"size":-7}}"#, &[(size, "-7")], " false -7"),
    ] {
        assert_eq!(sent(arguments, params)["result"]["content"][0]["text"], text, "{arguments} {params:?}");
    }
    for (arguments, params, problem) in [
        (r#"{"region":"a"}"#, &[][..], "Mcp-Param-Region is missing"),
        (r#"{"region":"a"}"#, &[(region, "b")], "Mcp-Param-Region is \"b\", the body says \"a\""),
        (r#"{"region":"a"}"#, &[(region, "A")], "Mcp-Param-Region is \"A\""),
        (r#"{"region":"42"}"#, &[(region, "42.0")], "Mcp-Param-Region is \"42.0\""),
        (r#"{"region":"a"}"#, &[(region, "=?base64?%?=")], "Mcp-Param-Region is not valid Base64"),
        (r#"{"region":"a"}"#, &[(region, "invalid")], "Mcp-Param-Region must be given once"),
        (r#"{"region":null}"#, &[(region, "null")], "Mcp-Param-Region is there, the body has no value for it"),
        ("{}", &[(region, "a")], "Mcp-Param-Region is there"),
        ("{}", &[(region, "invalid")], "Mcp-Param-Region is there"),
        (r#"{"dry_run":true}"#, &[(dry_run, "TRUE")], "Mcp-Param-Dry-Run is \"TRUE\""),
        (r#"{"dry_run":false}"#, &[(dry_run, "true")], "Mcp-Param-Dry-Run is \"true\""),
        (r#"{"page":{"size":42}}"#, &[(size, "43")], "Mcp-Param-Size is \"43\""),
        (r#"{"page":{"size":42}}"#, &[(size, "42.5")], "Mcp-Param-Size is \"42.5\""),
        (r#"{"page":{"size":42}}"#, &[(size, "")], "Mcp-Param-Size is \"\""),
        (r#"{"page":{"size":9007199254740993}}"#, &[(size, "9007199254740992")], "Mcp-Param-Size is"),
    ] {
        let reply = sent(arguments, params);
        let code = (&reply["error"]["code"], &reply["status"], &reply["id"]);
        assert_eq!(code, (&json!(-32020), &json!(400), &json!(1)), "{arguments} {params:?}: {reply}");
        assert!(reply["error"]["message"].as_str().expect("text").contains(problem), "{reply}");
    }
}

#[test]
fn a_call_without_headers_has_none_to_compare() {
    let query = Tool::new("query", |query: Query, _: Context| async move { query.region });
    World::with(query).call("query", json!({ "region": "a" })).finishes("a");
}
