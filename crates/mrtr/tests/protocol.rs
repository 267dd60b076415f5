//! One message in, one reply out: frames, ids, metadata, and what each kind of breakage is answered with.

use mrtr::{Context, Json, Tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::tools::deploy_release;
use crate::world::{Effects, World, everything, request};

const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}"#;

#[derive(Deserialize, Serialize, JsonSchema)]
struct Numbers {
    /// How many
    #[schemars(range(min = 1))]
    count: u32,
    ratio: Option<f64>,
    label: Option<String>,
}

fn echo(effects: &Effects) -> Tool {
    let effects = effects.clone();
    Tool::new("echo", move |numbers: Numbers, _: Context| {
        effects.happen("run");
        async move { Json(numbers) }
    })
}

/// A fleet with a tool that says its arguments back and one that asks.
pub fn world() -> (World, Effects) {
    let effects = Effects::default();
    let (echo, deploy) = (echo(&effects).description("Says it back").title("Echo"), deploy_release(&effects));
    (World::of(|server| server.tool(echo.clone()).tool(deploy.clone())), effects)
}

/// The reply to a body, and its status.
fn sent(body: &str) -> (u16, Value) {
    let (world, _) = world();
    let reply = world.send(body);
    (reply.status, serde_json::from_slice(&reply.body).unwrap_or(Value::Null))
}

#[track_caller]
fn refused(body: &str, code: i64, status: u16, id: &Value) -> String {
    let (got, reply) = sent(body);
    assert_eq!(reply["error"]["code"], code, "{body:.200}: {reply}");
    assert_eq!((got, &reply["id"], &reply["jsonrpc"]), (status, id, &json!("2.0")), "{body:.200}: {reply}");
    reply["error"]["message"].as_str().expect("a message").to_owned()
}

fn call(id: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{{params},{META}}}}}"#)
}

fn echoes(arguments: &str) -> String {
    call("1", &format!(r#""name":"echo","arguments":{arguments}"#))
}

#[test]
fn strings_and_integers_are_ids_and_come_back_as_they_are() {
    for (id, echoed) in [
        ("1", "1"),
        ("0", "0"),
        ("-5", "-5"),
        ("1.0", "1"),
        ("1e2", "100"),
        ("9007199254740993", "9007199254740993"),
        ("\"\"", "\"\""),
        ("\"\\u00e9\\n\"", "\"\\u00e9\\n\""),
    ] {
        let (world, _) = world();
        let reply =
            String::from_utf8(world.send(&call(id, r#""name":"echo","arguments":{"count":1}"#)).body).expect("text");
        assert!(reply.starts_with(&format!(r#"{{"jsonrpc":"2.0","id":{echoed},"result":"#)), "{id}: {reply}");
    }
    for id in ["null", "true", "1.5", "1e-2", "[1]", "{}", "\"\\ud800\""] {
        refused(&call(id, r#""name":"echo","arguments":{"count":1}"#), -32600, 400, &Value::Null);
    }
}

#[test]
fn what_is_not_one_request_is_refused() {
    let good = echoes(r#"{"count":1}"#);
    assert_eq!(sent(&good).0, 200);
    for (body, code) in [
        ("", -32700),
        ("\u{feff}{}", -32700),
        ("nonsense", -32700),
        (&good[..good.len() - 1], -32700),
        (&format!("{good}{good}"), -32700),
        ("[]", -32600),
        (&format!("[{good}]"), -32600),
        ("null", -32600),
        ("\"tools/call\"", -32600),
    ] {
        refused(body, code, 400, &Value::Null);
    }
    for (body, code) in [
        (good.replace("\"2.0\"", "\"1.0\""), -32600),
        (good.replace("\"method\":\"tools/call\"", "\"method\":7"), -32600),
        (good.replace("\"method\":\"tools/call\",", ""), -32600),
        (good.replace("\"method\":\"tools/call\"", "\"method\":\"tools/call\",\"method\":\"tools/list\""), -32600),
    ] {
        refused(&body, code, 400, &json!(1));
    }
    refused(&good.replace("\"id\":1", "\"id\":1,\"id\":2"), -32600, 400, &Value::Null);
}

#[test]
fn a_body_that_breaks_off_is_no_json_whatever_it_starts_with() {
    for body in ["[", "[{\"jsonrpc\":\"2.0\"", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":7", "5 5", "{\"jsonrpc\":5"] {
        refused(body, -32700, 400, &Value::Null);
    }
}

#[test]
fn a_notification_is_accepted_and_runs_nothing() {
    let (world, effects) = world();
    for body in [
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        &echoes(r#"{"count":1}"#).replace("\"id\":1,", ""),
    ] {
        let reply = world.send(body);
        assert_eq!((reply.status, reply.body.len()), (202, 0), "{body}");
    }
    assert_eq!(effects.count("run"), 0);
}

#[test]
fn a_key_named_twice_is_refused_wherever_it_decides_something() {
    for params in [
        r#""name":"echo","name":"deploy_release","arguments":{"count":1}"#,
        r#""name":"echo","n\u0061me":"deploy_release","arguments":{"count":1}"#,
        r#""name":"echo","arguments":{"count":1},"arguments":{"count":2}"#,
        r#""name":"echo","arguments":{"count":1,"count":2}"#,
        r#""name":"echo","arguments":{"count":1,"c\u006funt":2}"#,
        r#""name":"echo","arguments":{"count":1,"deep":[{"a":1,"a":1}]}"#,
        r#""name":"echo","arguments":{"count":1},"inputResponses":{"a":{"action":"accept"},"a":{"action":"decline"}}"#,
        r#""name":"echo","arguments":{"count":1},"inputResponses":{"a":{"action":"decline","action":"accept"}}"#,
        r#""name":"echo","arguments":{"count":1},"inputResponses":{"a":{"content":{"x":1,"x":2}}}"#,
        r#""name":"echo","arguments":{"count":1},"requestState":"a","requestState":"b""#,
    ] {
        refused(&call("1", params), -32602, 400, &json!(1));
    }
}

#[test]
fn a_key_named_twice_is_refused_even_if_nobody_here_reads_it() {
    let good = echoes(r#"{"count":1}"#);
    let frame = good.replacen('{', r#"{"x":1,"x":2,"#, 1);
    let escaped = good.replacen('{', r#"{"x":1,"\u0078":2,"#, 1);
    for body in [frame, escaped] {
        let message = refused(&body, -32600, 400, &json!(1));
        assert!(message.contains("names the key \"x\" twice"), "{message}");
    }
    let params = good.replacen(r#""params":{"#, r#""params":{"later":1,"later":2,"#, 1);
    let meta = good.replacen(r#""_meta":{"#, r#""_meta":{"traceparent":"a","traceparent":"b","#, 1);
    let capabilities = good.replacen(r#""elicitation":{"#, r#""later":{},"later":{},"elicitation":{"#, 1);
    for body in [params, meta, capabilities] {
        assert_ne!(body, good);
        let message = refused(&body, -32602, 400, &json!(1));
        assert!(message.contains("twice"), "{message}");
    }
}

#[test]
fn half_a_surrogate_pair_is_an_error_that_still_carries_the_id() {
    for params in [
        r#""name":"echo","arguments":{"count":1,"label":"\ud800"}"#,
        r#""name":"echo","arguments":{"count":1,"label":"\udc00\ud800"}"#,
        r#""name":"echo","arguments":{"count":1,"\ud83d":1}"#,
        r#""name":"\ud800","arguments":{"count":1}"#,
        r#""name":"echo","arguments":{"count":1},"requestState":"m1.\ud800""#,
        r#""name":"echo","arguments":{"count":1},"inputResponses":{"a":{"content":{"x":"\ud800"}}}"#,
        r#""name":"echo","arguments":{"count":1},"inputResponses":{"\udfff":{}}"#,
    ] {
        refused(&call("\"seven\"", params), -32602, 400, &json!("seven"));
    }
    let (_, reply) = sent(&echoes(r#"{"count":1,"label":"\ud83d\ude80"}"#));
    assert_eq!(reply["result"]["structuredContent"]["label"], "\u{1F680}");
}

#[test]
fn deep_nesting_ends_in_an_error_not_in_the_stack() {
    let deep = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    let argument = |levels| echoes(&format!(r#"{{"count":1,"x":{}}}"#, deep(levels)));
    assert_eq!(sent(&argument(126)).1["result"]["structuredContent"]["count"], 1);
    for levels in [127, 128, 129, 130, 100_000] {
        refused(&argument(levels), -32602, 400, &json!(1));
    }
    for levels in [129, 130, 100_000] {
        let answers = format!(r#""name":"echo","arguments":{{"count":1}},"inputResponses":{{"a":{}}}"#, deep(levels));
        refused(&call("1", &answers), -32602, 400, &json!(1));
    }
    refused(&deep(100_000), -32600, 400, &Value::Null);
    refused(&call(&deep(100_000), r#""name":"echo""#), -32600, 400, &Value::Null);
    let elsewhere = format!(r#""name":"echo","arguments":{{"count":1}},"later":{}"#, deep(100_000));
    assert_eq!(
        sent(&call("1", &elsewhere)).1["result"]["structuredContent"]["count"],
        1,
        "what nobody reads is no problem"
    );
}

#[test]
fn parameters_of_the_wrong_type_are_named() {
    for (params, named) in [
        (r#""name":"echo","arguments":5"#, "params.arguments"),
        (r#""name":"echo","arguments":[1]"#, "params.arguments"),
        (r#""name":"echo","arguments":"{}""#, "params.arguments"),
        (r#""name":"echo","arguments":{"count":1},"inputResponses":5"#, "params.inputResponses"),
        (r#""name":"echo","arguments":{"count":1},"inputResponses":true"#, "params.inputResponses"),
        (r#""name":"echo","arguments":{"count":1},"inputResponses":"{}""#, "params.inputResponses"),
        (r#""name":"echo","arguments":{"count":1},"inputResponses":[]"#, "params.inputResponses"),
        (r#""name":"echo","arguments":{"count":1},"inputResponses":[{"a":1}]"#, "params.inputResponses"),
        (r#""name":"echo","arguments":{"count":1},"requestState":{}"#, "params"),
        (r#""name":"echo","arguments":{"count":1},"requestState":5"#, "params"),
        (r#""name":"echo","arguments":{"count":1},"requestState":[]"#, "params"),
        (r#""name":5,"arguments":{"count":1}"#, "params"),
        (r#""arguments":{"count":1}"#, "params.name"),
        (r#""name":null,"arguments":{"count":1}"#, "params.name"),
    ] {
        let message = refused(&call("1", params), -32602, 400, &json!(1));
        assert!(message.starts_with(named), "{params}: {message}");
    }
    let (_, reply) =
        sent(&call("1", r#""name":"echo","arguments":{"count":1},"inputResponses":null,"requestState":null"#));
    assert_eq!(reply["result"]["structuredContent"]["count"], 1, "null is absent");
    assert_eq!(refused(&call("1", r#""name":"nope""#), -32602, 200, &json!(1)), "Unknown tool: nope");
    assert_eq!(refused(&call("1", r#""name":"a\u001b[2J""#), -32602, 200, &json!(1)), "Unknown tool: a\\u{1b}[2J");
}

#[test]
fn every_request_says_its_version_and_what_can_be_asked() {
    let without = |meta: Value| {
        json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": { "_meta": meta } }).to_string()
    };
    let (version, can) = ("io.modelcontextprotocol/protocolVersion", "io.modelcontextprotocol/clientCapabilities");
    let message = refused(&without(json!({ can: {} })), -32602, 400, &json!(1));
    assert!(message.contains(version), "{message}");
    let message = refused(&without(json!({ version: "2026-07-28" })), -32602, 400, &json!(1));
    assert!(message.contains(can), "{message}");
    for meta in
        [json!({}), json!([]), json!(5), json!({ version: 5, can: {} }), json!({ version: "2026-07-28", can: [] })]
    {
        refused(&without(meta), -32602, 400, &json!(1));
    }
    refused(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#, -32602, 400, &json!(1));
    refused(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":[]}"#, -32602, 400, &json!(1));
    // Who the client is, it should say and need not.
    assert_eq!(sent(&without(json!({ version: "2026-07-28", can: {} }))).0, 200);
    assert_eq!(
        sent(&without(json!({ version: "2026-07-28", can: {}, "io.modelcontextprotocol/clientInfo": 5 }))).0,
        200
    );
}

#[test]
fn another_version_is_told_the_ones_there_are() {
    for version in ["2025-11-25", "2099-01-01", "", "2026-07-28 "] {
        let (status, reply) = sent(&echoes(r#"{"count":1}"#).replace("2026-07-28", version));
        let data = json!({ "supported": ["2026-07-28"], "requested": version });
        assert_eq!((status, &reply["error"]["code"], &reply["error"]["data"]), (400, &json!(-32022), &data), "{reply}");
    }
    let initialize = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "old", "version": "1" },
    } });
    let (status, reply) = sent(&initialize.to_string());
    let data = json!({ "supported": ["2026-07-28"], "requested": "2025-11-25" });
    assert_eq!(
        (status, &reply["id"], &reply["error"]["code"], &reply["error"]["data"]),
        (400, &json!(0), &json!(-32022), &data)
    );
    let message = "Unsupported protocol version; this server speaks 2026-07-28";
    assert_eq!(reply["error"]["message"], message, "the clients' users see no data");
}

#[test]
fn a_method_there_is_not_is_404() {
    let body = request(1, "prompts/run", &everything(), json!({}));
    assert_eq!(refused(&body, -32601, 404, &json!(1)), "method not found: prompts/run");
    refused(&request(1, "", &everything(), json!({})), -32601, 404, &json!(1));
    refused(&request(1, "tools/call ", &everything(), json!({})), -32601, 404, &json!(1));
    refused(r#"{"jsonrpc":"2.0","id":1,"method":"no/such","params":{"name":5}}"#, -32601, 404, &json!(1));
}

#[test]
fn arguments_the_model_got_wrong_are_its_to_correct() {
    let (world, effects) = world();
    for (arguments, names) in [
        (json!({ "count": 0 }), "/count"),
        (json!({ "count": "5" }), "/count"),
        (json!({ "count": 1.5 }), "/count"),
        (json!({}), "count"),
        (json!({ "count": 1, "ratio": "half" }), "/ratio"),
        (json!({ "count": 4_294_967_296_u64 }), "4294967296"),
    ] {
        let reply = world.call("echo", arguments);
        reply.fails("Invalid arguments: ");
        reply.fails(names);
    }
    assert_eq!(effects.count("run"), 0);
}

#[test]
fn a_whole_float_is_an_integer_and_a_fraction_stays_one() {
    for (arguments, count, ratio) in [
        (r#"{"count":1.0,"ratio":1.5}"#, json!(1), json!(1.5)),
        (r#"{"count":1e2,"ratio":2}"#, json!(100), json!(2.0)),
        (r#"{"count":30000e-4,"ratio":1e300}"#, json!(3), json!(1e300)),
        (r#"{"count":7,"ratio":9007199254740993.0}"#, json!(7), json!(9007199254740992.0)),
    ] {
        let (_, reply) = sent(&echoes(arguments));
        let echoed = &reply["result"]["structuredContent"];
        assert_eq!((&echoed["count"], &echoed["ratio"]), (&count, &ratio), "{arguments}: {reply}");
    }
}
