//! Requests that are refused, and how: the HTTP status, and the JSON-RPC code where there is one.

use serde_json::{Value, json};

use super::http::Post;

pub struct Kind {
    pub name: &'static str,
    pub request: Vec<u8>,
    pub status: u16,
    pub code: Option<i64>,
}

/// All of them. Names in the metadata have a `/`, so members of it go by `json!`.
pub fn kinds() -> Vec<Kind> {
    let good = || Post::call("ask", json!({ "number": 1 }));
    let meta = |meta: Value| good().set("/params/_meta", meta);
    let version = ("io.modelcontextprotocol/protocolVersion", "io.modelcontextprotocol/clientCapabilities");
    let deep = format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"params\":{}{}}}", "[".repeat(500), "]".repeat(500));
    let kind = |name, post: Post, status, code: i64| Kind {
        name,
        request: post.bytes(),
        status,
        code: (code != 0).then_some(code),
    };
    vec![
        kind("an empty body", good().raw(""), 400, -32700),
        kind("half a body", good().raw("{\"jsonrpc\":\"2.0\",\"id\":1,"), 400, -32700),
        kind("no JSON", good().raw([0xff, 0xfe, 0x00, b'{']), 400, -32700),
        kind("endless nesting", good().raw(deep), 400, -32600),
        kind("a batch", good().raw("[]"), 400, -32600),
        kind("a text", good().raw("\"tools/call\""), 400, -32600),
        kind("no jsonrpc", good().set("/jsonrpc", json!(null)), 400, -32600),
        kind("an old jsonrpc", good().set("/jsonrpc", json!("1.0")), 400, -32600),
        kind("an id that is none", good().set("/id", json!({})), 400, -32600),
        kind("a method that is a number", good().set("/method", json!(5)), 400, -32600),
        kind(
            "an unknown method",
            good().set("/method", json!("tools/cal")).header("mcp-method", "tools/cal"),
            404,
            -32601,
        ),
        kind("parameters that are a list", good().set("/params", json!([])), 400, -32602),
        kind("no name", good().set("/params/name", json!(null)).header("mcp-name", ""), 400, -32020),
        kind("a name that is a number", good().set("/params/name", json!(1)), 400, -32602),
        kind("an unknown tool", Post::call("none", json!({})), 200, -32602),
        kind("arguments that are a list", good().set("/params/arguments", json!([1])), 400, -32602),
        kind("no metadata", good().set("/params/_meta", json!(null)), 400, -32602),
        kind("no capabilities", meta(json!({ version.0: "2026-07-28" })), 400, -32602),
        kind("no version", meta(json!({ version.1: {} })), 400, -32602),
        kind(
            "an unknown version",
            meta(json!({ version.0: "1999-01-01", version.1: {} })).header("mcp-protocol-version", "1999-01-01"),
            400,
            -32022,
        ),
        kind("another version in the header", good().header("mcp-protocol-version", "2025-11-25"), 400, -32020),
        kind("another method in the header", good().header("mcp-method", "tools/list"), 400, -32020),
        kind("another name in the header", good().header("mcp-name", "slow"), 400, -32020),
        kind(
            "a token that is a list",
            meta(json!({ version.0: "2026-07-28", version.1: {}, "progressToken": [1] })),
            400,
            -32602,
        ),
        kind("a state nobody made", good().set("/params/requestState", json!("m1.AAAA")), 200, -32602),
        kind("a state that is a number", good().set("/params/requestState", json!(1)), 400, -32602),
        kind("answers that are a list", good().set("/params/inputResponses", json!([])), 400, -32602),
        kind("a client that cannot be asked", meta(json!({ version.0: "2026-07-28", version.1: {} })), 400, -32021),
        kind("a GET", Post { method: "GET", ..good().raw("") }, 405, 0),
        kind("another path", Post { path: "/rpc", ..good() }, 404, 0),
        kind("another content type", good().header("content-type", "text/plain"), 415, 0),
        kind("no event stream accepted", good().header("accept", "text/html"), 406, 0),
        kind("a foreign host", good().header("host", "evil.example"), 403, 0),
        kind("a foreign origin", good().header("origin", "https://evil.example"), 403, 0),
        kind("a body that is too large", good().raw(vec![b' '; 70_000]), 413, 0),
    ]
}
