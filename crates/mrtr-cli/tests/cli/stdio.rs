//! `mrtr demo-server --stdio`: messages on stdout, the log on stderr, a prompt end.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::mrtr;

fn start() -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mrtr"));
    command.args(["demo-server", "--stdio"]).env_remove("MRTR_KEYS").env_remove("RUST_LOG");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts")
}

fn request(id: u64, method: &str, mut params: Value) -> String {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": { "elicitation": {} },
    });
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string() + "\n"
}

fn release() -> Value {
    json!({ "name": "deploy_release", "arguments": { "service": "api", "version": "1" } })
}

#[test]
fn a_pipe_of_requests_is_answered_and_nothing_else_is_on_stdout() {
    let mut server = start();
    let mut input = server.stdin.take().expect("a pipe");
    let list = request(1, "tools/list", json!({}));
    write!(input, "{list}garbage\n{}", request(2, "tools/call", release())).expect("it reads");
    drop(input);
    let output = server.wait_with_output().expect("an end");
    assert_eq!(output.status.code(), Some(0));
    let stdout = String::from_utf8(output.stdout).expect("UTF-8");
    let mut messages: Vec<Value> =
        stdout.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"))).collect();
    messages.sort_by_key(|message| message["id"].as_u64());
    assert_eq!(messages.len(), 3, "{stdout}");
    assert!(messages.iter().all(|message| message["jsonrpc"] == "2.0"));
    assert_eq!(messages[0]["error"]["code"], -32700);
    assert!(messages[1]["result"]["tools"].is_array());
    assert_eq!(messages[2]["result"]["resultType"], "input_required");
    assert!(String::from_utf8_lossy(&output.stderr).contains("no keys given"));
}

#[test]
fn a_question_is_answered_in_the_same_process_and_sigterm_ends_it_with_stdin_open() {
    let mut server = start();
    let mut input = server.stdin.take().expect("a pipe");
    let mut output = BufReader::new(server.stdout.take().expect("a pipe"));
    let mut ask = |text: String| -> Value {
        input.write_all(text.as_bytes()).expect("it reads");
        let mut line = String::new();
        output.read_line(&mut line).expect("a line");
        serde_json::from_str(&line).expect("JSON")
    };
    let question = ask(request(1, "tools/call", release()));
    let mut retry = release();
    retry["requestState"] = question["result"]["requestState"].clone();
    retry["inputResponses"] = json!({ "confirm_prod": { "action": "accept", "content": { "confirm": true } } });
    let reply = ask(request(2, "tools/call", retry));
    let text = reply["result"]["content"][0]["text"].as_str().unwrap_or_default();
    assert!(text.starts_with("Deployed api 1"), "{reply}");

    let kill = Command::new("kill").args(["-TERM", &server.id().to_string()]).status();
    assert!(kill.expect("kill runs").success());
    let mut rest = String::new();
    output.read_to_string(&mut rest).expect("an end");
    assert_eq!((server.wait().expect("an end").code(), rest.as_str()), (Some(0), ""));
    drop(input);
}

#[test]
fn stdio_has_no_address_and_no_headers() {
    for other in [["--listen", "127.0.0.1:0"], ["--name", "alpha"]] {
        let ran = mrtr(["demo-server", "--stdio"].into_iter().chain(other));
        assert_eq!(ran.code, 2, "{}", ran.stderr);
        assert!(ran.stderr.contains("cannot be used with"), "{}", ran.stderr);
    }
}
