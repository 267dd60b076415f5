//! Lines in, lines out.

use proptest::prelude::*;
use serde_json::{Value, json, value::RawValue};

use super::world::{Client, call, cancel, message, server, text, told};
use crate::{Context, Json, NoArguments, Tool};

/// What a message that is refused gets: code and id.
async fn refusal(client: &mut Client) -> (Value, Value) {
    let message = client.read().await;
    (message["error"]["code"].clone(), message.get("id").cloned().unwrap_or_default())
}

#[tokio::test(start_paused = true)]
async fn a_line_that_is_too_long_is_refused_and_the_next_one_served() {
    let mut client = Client::of(server([]).max_line(1000));
    client.write(&format!("{}\n", "x".repeat(1001))).await;
    let refusal = client.read().await;
    assert_eq!((refusal.get("id"), &refusal["error"]["code"]), (None, &json!(-32600)));
    assert_eq!(refusal["error"]["message"], "a line is longer than 1000 bytes");
    client.send(call(1, "wait", json!({ "ms": 1 }))).await;
    assert_eq!(text(&client.read().await), "waited 1");
}

#[tokio::test(start_paused = true)]
async fn a_long_line_is_refused_before_it_ends() {
    let mut client = Client::of(server([]).max_line(1000));
    client.write(&"x".repeat(5000)).await;
    assert_eq!(refusal(&mut client).await.0, -32600);
    client.write(&"x".repeat(5000)).await;
    client.nothing().await;
    client.write("\n").await;
    client.send(call(1, "wait", json!({ "ms": 1 }))).await;
    assert_eq!(client.read().await["id"], 1);
}

#[tokio::test(start_paused = true)]
async fn what_is_no_message_is_refused_and_the_connection_goes_on() {
    let mut client = Client::of(server([]));
    for (line, code, id) in [
        ("nonsense", -32700, json!(null)),
        ("{\"jsonrpc\":\"2.0\",\"id\":1", -32700, json!(null)),
        ("\u{feff}{}", -32700, json!(null)),
        ("[]", -32600, json!(null)),
        ("[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}]", -32600, json!(null)),
        ("{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{}}", -32600, json!(3)),
        ("{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"tools/list\"}", -32600, json!(null)),
        ("{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"tools/list\",\"params\":[]}", -32602, json!(4)),
        ("{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"no/such\"}", -32602, json!(5)),
    ] {
        client.write(&format!("{line}\n")).await;
        assert_eq!(refusal(&mut client).await, (json!(code), id), "{line}");
    }
    client.send(call(1, "wait", json!({ "ms": 1 }))).await;
    assert_eq!(text(&client.read().await), "waited 1");
}

#[tokio::test(start_paused = true)]
async fn carriage_returns_and_blank_lines_do_not_matter() {
    let mut client = Client::of(server([]));
    client.write(&format!("\r\n\n  \n{}\r\n\r\n", call(1, "wait", json!({ "ms": 1 })))).await;
    assert_eq!(text(&client.read().await), "waited 1");
    client.nothing().await;
}

#[tokio::test(start_paused = true)]
async fn a_last_line_without_a_newline_is_a_message() {
    let mut client = Client::of(server([]));
    client.write(&call(1, "wait", json!({ "ms": 1 })).to_string()).await;
    let (rest, served) = client.end().await;
    served.unwrap();
    assert_eq!(rest.iter().map(text).collect::<Vec<_>>(), ["waited 1"]);
}

#[tokio::test(start_paused = true)]
async fn a_message_is_one_line_even_if_what_the_author_returns_has_many() {
    let pretty = Tool::new("pretty", |_: NoArguments, _: Context| async {
        Json(RawValue::from_string("{\r\n  \"a\": \"b\\nc\"\n}".to_owned()).unwrap())
    });
    let mut client = Client::of(server([pretty]));
    client.send(call(1, "pretty", json!({}))).await;
    assert_eq!(client.read().await["result"]["structuredContent"], json!({ "a": "b\nc" }));
    client.nothing().await;
}

#[tokio::test(start_paused = true)]
async fn a_client_of_an_older_revision_is_told_which_one_this_is() {
    let mut client = Client::of(server([]));
    client.write("{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-11-25\"}}\n").await;
    let refusal = client.read().await;
    assert_eq!(refusal["error"]["code"], -32022);
    assert_eq!(refusal["error"]["data"]["supported"], json!(["2026-07-28"]));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 100, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_read_only_messages_are_written(pieces in prop::collection::vec(piece(), 0..12)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        let mut output = Vec::new();
        runtime.block_on(server([]).max_line(500).serve(&pieces.concat()[..], &mut output)).unwrap();
        let output = String::from_utf8(output).unwrap();
        prop_assert!(output.is_empty() || output.ends_with('\n'));
        output.lines().for_each(|line| drop(message(line)));
    }
}

/// Something a client may write: proper lines, lines cut off, bytes.
fn piece() -> impl Strategy<Value = Vec<u8>> {
    let line = |message: Value| Just(format!("{message}\n").into_bytes());
    let cut = (0..200_usize)
        .prop_map(|end| told(call(1, "wait", json!({ "ms": 5 }))).to_string().into_bytes()[..end].to_vec());
    prop_oneof![
        line(told(call(1, "wait", json!({ "ms": 5 })))),
        line(call("a", "deploy", json!({}))),
        line(call(2, "panics not", json!({}))),
        line(cancel(1)),
        Just(b"\n".to_vec()),
        Just(b"\r\n".to_vec()),
        cut,
        Just(vec![b'x'; 600]),
        prop::collection::vec(any::<u8>(), 0..50),
    ]
}
