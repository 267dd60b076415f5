//! What is said of servers that break the specification: what came, the rule by name, and where it is written.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

use serde_json::{Value, json};

use super::{Ran, mrtr};

/// A server with one tool, which says this when it is called.
fn saying(message: Value) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("http://{}/mcp", listener.local_addr().expect("an address"));
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let message = message.clone();
            thread::spawn(move || while answer(&stream, &message).is_some() {});
        }
    });
    url
}

fn answer(mut stream: &TcpStream, message: &Value) -> Option<()> {
    let mut lines = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        lines.read_line(&mut line).ok().filter(|read| *read > 0)?;
        if line == "\r\n" {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    lines.read_exact(&mut body).ok()?;
    let request: Value = serde_json::from_slice(&body).ok()?;
    let mut response = match request["method"].as_str()? {
        "tools/list" => json!({ "result": { "tools": [{ "name": "t", "inputSchema": { "type": "object" } }] } }),
        _ => message.clone(),
    };
    if response["method"].is_string() {
        let event = format!("data: {response}\n\n");
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
        write!(stream, "{head}{:x}\r\n{event}\r\n", event.len()).ok()?;
    } else {
        response["id"] = request["id"].clone();
        let text = response.to_string();
        let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json";
        write!(stream, "{head}\r\ncontent-length: {}\r\n\r\n{text}", text.len()).ok()?;
    }
    stream.flush().ok()
}

fn call(message: Value) -> Ran {
    mrtr(["call", &saying(message), "t"])
}

#[test]
fn the_dialect_of_early_write_ups_is_named_and_not_answered() {
    call(json!({ "result": { "resultType": "inputRequired", "requestState": "s", "inputRequests": {
        "confirmed": { "type": "elicitation", "message": "Sure?", "schema": { "type": "boolean" } }
    }}}))
    .is(
        1,
        "",
        "mrtr: the server broke the protocol in round 1: resultType is \"inputRequired\", the specification says \
         \"input_required\"; inputRequests[\"confirmed\"] is an early draft of the pattern: expected \
         {\"method\": \"elicitation/create\", \"params\": {\"message\": .., \"requestedSchema\": ..}} instead of \
         \"type\" and \"schema\"\n  \
         result-type-spelling: a result that wants input says \"resultType\": \"input_required\", in this spelling\n  \
         (specification 2026-07-28, basic/index#resulttype)\n",
    );
}

#[test]
fn a_request_on_the_stream_is_named_at_once() {
    call(json!({ "jsonrpc": "2.0", "id": 7, "method": "elicitation/create", "params": { "message": "Sure?" } })).is(
        1,
        "",
        "mrtr: the server broke the protocol in round 1: it sent the request \"elicitation/create\" and waits for an \
         answer, which no client of this revision gives\n  \
         server-request: servers send no requests to clients: they return their questions in an input_required result\n  \
         (specification 2026-07-28, basic/patterns/mrtr)\n",
    );
}

#[test]
fn each_deviation_exits_with_1_and_names_its_rule() {
    let form = json!({ "method": "elicitation/create", "params": { "message": "M", "requestedSchema": {} } });
    let round = |requests: Value| json!({ "resultType": "input_required", "inputRequests": requests });
    for (result, name) in [
        (json!({ "inputRequests": { "k": form } }), "result-type-missing"),
        (json!({ "resultType": "task" }), "result-type-unknown"),
        (json!({ "result_type": "input_required", "input_requests": {} }), "snake-case"),
        (json!({ "resultType": "input_required" }), "nothing-required"),
        (json!({ "resultType": "input_required", "requestState": 7 }), "state-not-string"),
        (round(json!([])), "requests-not-a-map"),
        (round(json!({ "k": { "type": "elicitation", "schema": {} } })), "draft-question"),
        (round(json!({ "k": { "method": "tools/call" } })), "kind-unknown"),
        (round(json!({ "k": { "method": "elicitation/create", "params": { "mode": "fax" } } })), "mode-unknown"),
        (round(json!({ "k": { "method": "elicitation/create", "params": { "message": "M" } } })), "form-malformed"),
    ] {
        let ran = call(json!({ "result": result }));
        let has_rule =
            ran.stderr.contains(&format!("\n  {name}: ")) && ran.stderr.contains("(specification 2026-07-28, ");
        assert!(ran.code == 1 && ran.stdout.is_empty() && has_rule, "{name}: {ran:?}");
    }
    let ran = call(json!({ "error": { "code": -32042, "message": "URL elicitation required" } }));
    assert!(ran.code == 1 && ran.stderr.contains("\n  questions-in-error: "), "{ran:?}");
}
