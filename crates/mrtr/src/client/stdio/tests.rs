//! The transport against servers that are a few lines of shell.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::json;

use super::*;
use crate::client::{CallError, Client, Event, Output};

/// Answers the probe and then runs this, line by line in `$line` with its id in `$id`.
fn server(body: &str) -> StdioTransport {
    script(&format!(
        r#"answer() {{ printf '{{"jsonrpc":"2.0","id":%s,"result":{{"content":[{{"type":"text","text":"%s"}}]}}}}\n' "$id" "$1"; }}
        while IFS= read -r line; do
            id=${{line#*\"id\":}}; id=${{id%%,*}}
            case $line in *server/discover*) answer modern; continue;; *'"id":'*) ;; *) echo "$line" >&2; continue;; esac
            {body}
        done"#
    ))
}

fn script(text: &str) -> StdioTransport {
    StdioTransport::new("sh").args(["-c", text, "server"]).grace(Duration::from_millis(300))
}

async fn call(client: &Client) -> Result<Output, CallError> {
    client.call_tool("t", json!({})).await
}

async fn failure(transport: StdioTransport) -> String {
    let client = Client::with_transport(transport);
    let text = call(&client).await.unwrap_err().to_string();
    client.close().await;
    let start = text.find("sh -c '").unwrap_or_default();
    match (text.find("sh -c '"), text.rfind("server ").or_else(|| text.rfind("server:"))) {
        // The script is the command line, and of no interest.
        (Some(_), Some(_)) => {
            let end = text[start..].rfind("' server").map_or(start, |end| start + end + "' server".len());
            format!("{}SERVER{}", &text[..start], &text[end..])
        }
        _ => text,
    }
}

fn is_alive(pid: u32) -> bool {
    // A zombie is gone for all that matters here.
    let state = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    state.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with(['Z', 'X']))
}

#[cfg(target_os = "linux")]
async fn dies(pid: u32) {
    let gone = async {
        while is_alive(pid) {
            sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), gone).await.expect("the process ends");
}

#[tokio::test]
async fn calls_are_answered_by_one_process_and_closing_ends_it() {
    let transport = Arc::new(server(r#"answer "$$""#));
    let client = Client::with_transport(Arc::clone(&transport));
    let (one, two) = (call(&client).await.unwrap().text(), call(&client).await.unwrap().text());
    assert_eq!(one, two);
    assert_eq!(transport.pid().unwrap().to_string(), one);
    client.close().await;
    assert_eq!(transport.pid(), None);
    let error = call(&client).await.unwrap_err().to_string();
    assert!(error.ends_with("the client has ended it"), "{error}");
}

#[tokio::test]
async fn answers_that_overtake_each_other_reach_their_requests() {
    // Holds the first request back until the second one is here.
    let transport = server(
        r#"case $line in
            *'"name":"slow"'*) slow=$id;;
            *) answer fast; id=$slow; answer slow;;
        esac"#,
    );
    let client = Client::with_transport(transport);
    let both = async { tokio::join!(client.call_tool("slow", json!({})), client.call_tool("fast", json!({}))) };
    let (slow, fast) = both.await;
    assert_eq!((slow.unwrap().text().as_str(), fast.unwrap().text().as_str()), ("slow", "fast"));
}

#[tokio::test]
async fn stderr_and_stray_lines_are_told_and_cost_nothing() {
    let told = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&told);
    let transport = server(r#"echo "log of $id" >&2; echo stray; answer ok"#).on_event(move |event| match event {
        ChildEvent::Stderr(line) => log.lock().unwrap().push(format!("stderr: {line}")),
        ChildEvent::Stray(line) => log.lock().unwrap().push(format!("stray: {line}")),
        _ => {}
    });
    let client = Client::with_transport(transport);
    assert_eq!(call(&client).await.unwrap().text(), "ok");
    client.close().await;
    let mut told = told.lock().unwrap().clone();
    told.sort();
    assert_eq!(told, ["stderr: log of 1", "stray: stray"]);
}

#[tokio::test]
async fn a_server_that_exits_is_started_again_and_the_request_sent_again() {
    let directory = std::env::temp_dir().join(format!("mrtr-restart-{}", std::process::id()));
    let _ = std::fs::remove_file(&directory);
    let pauses = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&pauses);
    let transport = server(r#"[ -e "$MARK" ] && answer again && continue; : >"$MARK"; echo boom >&2; exit 3"#)
        .env("MARK", &directory)
        .on_event(move |event| {
            if let ChildEvent::Restarting { cause, .. } = event {
                log.lock().unwrap().push((*cause).to_owned());
            }
        });
    let client = Client::with_transport(transport);
    assert_eq!(call(&client).await.unwrap().text(), "again");
    client.close().await;
    let _ = std::fs::remove_file(&directory);
    assert_eq!(*pauses.lock().unwrap(), ["the server exited (exit status: 3); the last it said on stderr: boom"]);
}

#[tokio::test]
async fn a_server_that_exits_every_time_is_given_up() {
    let starts = Arc::new(Mutex::new(0));
    let count = Arc::clone(&starts);
    let transport = server("exit 3").retries(1).on_event(move |event| {
        if matches!(event, ChildEvent::Started { .. }) {
            *count.lock().unwrap() += 1;
        }
    });
    let error = failure(transport).await;
    assert_eq!(error, "lost the connection to SERVER: the server exited (exit status: 3); the request may have run");
    assert_eq!(*starts.lock().unwrap(), 2);
}

#[tokio::test]
async fn a_call_without_key_and_state_is_not_sent_again() {
    let transport = server("exit 3");
    let request = Outgoing {
        headers: http::HeaderMap::new(),
        body: r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}}"#.to_owned(),
        max_response_bytes: 1000,
    };
    let error = transport.exchange(&request, &|_| {}).await.unwrap_err();
    assert!(matches!(error, TransportError::Lost { .. }), "{error}");
    assert!(error.to_string().ends_with("the request may have run"), "{error}");
}

#[tokio::test]
async fn a_command_that_is_not_there_or_ends_at_once_is_named() {
    let client = Client::with_transport(StdioTransport::new("/no/such/program").args(["a b"]));
    let error = call(&client).await.unwrap_err().to_string();
    assert_eq!(error, "cannot start /no/such/program 'a b': No such file or directory (os error 2)");
    assert_eq!(
        failure(script("echo 'no such option' >&2; exit 64")).await,
        "cannot start SERVER: the server exited (exit status: 64); the last it said on stderr: no such option, \
         before it answered anything"
    );
}

#[tokio::test]
async fn what_is_no_server_is_told_by_its_first_line() {
    assert_eq!(
        failure(script("echo 'Welcome!'; cat >/dev/null")).await,
        "SERVER sent a response that cannot be read: its first line on stdout is no JSON-RPC message (Welcome!); \
         is this an MCP server?"
    );
}

#[tokio::test]
async fn a_legacy_server_is_named() {
    let refuses = r#"while IFS= read -r line; do case $line in
        *discover*) echo '{"jsonrpc":"2.0","id":"mrtr-discover","error":{"code":-32601,"message":"Method not found"}}';;
        *initialize*) echo '{"jsonrpc":"2.0","id":"mrtr-initialize","result":{"protocolVersion":"2025-06-18","serverInfo":{"name":"old"}}}';;
        esac; done"#;
    let says = "this looks like a legacy server that wants `initialize` first; it does not speak revision 2026-07-28, \
                the only one of this client; a newer release of it may";
    assert_eq!(
        failure(script(refuses)).await,
        format!(
            "SERVER answers server/discover with error -32601 (Method not found), and initialize as old with revision \
             2025-06-18: {says}"
        )
    );
    let silent = script("cat >/dev/null").probe(Some(Duration::from_millis(200)));
    assert_eq!(failure(silent).await, format!("SERVER does not answer server/discover within 0.2 s: {says}"));
}

#[tokio::test]
async fn a_line_that_is_too_long_is_cut_off_and_the_next_call_is_answered() {
    let transport =
        server(r#"case $line in *'"name":"t"'*) head -c 100000 /dev/zero | tr '\0' x; echo;; *) answer ok;; esac"#);
    let client = Client::with_transport(transport).max_response_bytes(10_000);
    let error = call(&client).await.unwrap_err().to_string();
    assert!(error.ends_with("is longer than 10000 bytes"), "{error}");
    assert_eq!(client.call_tool("other", json!({})).await.unwrap().text(), "ok");
}

#[tokio::test]
async fn a_server_that_never_reads_or_never_writes_costs_the_timeout_and_no_more() {
    // The probe is answered, and then nothing is read.
    let deaf = r#"read -r line; echo '{"jsonrpc":"2.0","id":"mrtr-discover","result":{}}'; exec sleep 60"#;
    for (text, argument) in [(deaf, "x".repeat(1_000_000)), (deaf, String::new())] {
        let transport = Arc::new(script(text));
        let client = Client::with_transport(Arc::clone(&transport)).server_timeout(Duration::from_millis(300));
        let start = Instant::now();
        let error = client.call_tool("t", json!({ "x": argument })).await.unwrap_err();
        assert!(matches!(error, CallError::Timeout { .. }), "{error}");
        client.close().await;
        assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
        assert_eq!(transport.pid(), None);
    }
}

#[tokio::test]
async fn a_server_that_closes_its_stdin_is_ended() {
    let text = r#"read -r line; exec <&-; echo '{"jsonrpc":"2.0","id":"mrtr-discover","result":{}}'; exec sleep 60"#;
    let error = failure(script(text).retries(0)).await;
    assert_eq!(
        error,
        "lost the connection to SERVER: the server exited (signal: 15 (SIGTERM)); the request may have run"
    );
}

#[tokio::test]
async fn dropping_a_call_cancels_it() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&seen);
    let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
    let transport = server(r#"echo "$line" >&2"#).on_event(move |event| {
        if let ChildEvent::Stderr(line) = event {
            log.lock().unwrap().push((*line).to_owned());
            let _ = tell.send(());
        }
    });
    let client = Client::with_transport(transport);
    tokio::select! {
        _ = call(&client) => panic!("it is not answered"),
        _ = told.recv() => {}
    }
    told.recv().await.unwrap();
    let seen = seen.lock().unwrap();
    assert!(seen[0].contains(r#""id":1,"method":"tools/call""#), "{seen:?}");
    assert_eq!(seen[1], r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#);
}

#[tokio::test]
async fn notifications_reach_the_observer() {
    let transport =
        server(r#"echo '{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"half"}}'; answer ok"#);
    let notified = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&notified);
    let client = Client::with_transport(transport).observer(move |event: &Event<'_>| {
        if let Event::Notification { body, .. } = event {
            log.lock().unwrap().push((*body).to_owned());
        }
    });
    assert_eq!(call(&client).await.unwrap().text(), "ok");
    assert_eq!(notified.lock().unwrap().len(), 1);
}

/// A server that ignores the end of its stdin, and SIGTERM too if told, with a child of its own.
#[cfg(target_os = "linux")]
async fn stubborn(trap: &str) -> (Client, Arc<StdioTransport>, u32, u32) {
    let transport = Arc::new(script(&format!(
        r#"{trap} sleep 60 & helper=$!
        while IFS= read -r line; do
            id=${{line#*\"id\":}}; id=${{id%%,*}}
            printf '{{"jsonrpc":"2.0","id":%s,"result":{{"content":[{{"type":"text","text":"%s"}}]}}}}\n' "$id" "$helper"
        done
        while :; do sleep 1; done"#
    )));
    let client = Client::with_transport(Arc::clone(&transport));
    let helper = call(&client).await.unwrap().text().parse().unwrap();
    let pid = transport.pid().unwrap();
    (client, transport, pid, helper)
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_server_that_does_not_end_is_terminated_and_then_killed_with_all_it_started() {
    for trap in ["", "trap '' TERM;"] {
        let (client, _transport, pid, helper) = stubborn(trap).await;
        assert!(is_alive(pid) && is_alive(helper));
        client.close().await;
        dies(pid).await;
        dies(helper).await;
    }
}

#[cfg(target_os = "linux")]
#[test]
fn nothing_is_left_of_a_server_whose_runtime_is_gone() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (client, transport, pid, helper) = runtime.block_on(stubborn("trap '' TERM;"));
    drop(runtime);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { (dies(pid).await, dies(helper).await) });
    drop((client, transport));
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn dropping_the_client_ends_the_server_in_the_background() {
    let (client, transport, pid, helper) = stubborn("").await;
    drop((client, transport));
    dies(pid).await;
    dies(helper).await;
}

#[cfg(unix)]
#[tokio::test]
async fn a_server_whose_client_is_dropped_may_finish_what_it_has_to_when_its_stdin_ends() {
    let path = std::env::temp_dir().join(format!("mrtr-last-words-{}", std::process::id()));
    let _ = std::fs::remove_file(&path);
    let transport = script(&format!(
        r#"while IFS= read -r line; do
            id=${{line#*\"id\":}}; id=${{id%%,*}}
            printf '{{"jsonrpc":"2.0","id":%s,"result":{{"content":[]}}}}\n' "$id"
        done
        echo done > {}"#,
        path.display()
    ));
    let client = Client::with_transport(transport);
    call(&client).await.unwrap();
    drop(client);
    let written = async {
        while !path.exists() {
            sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), written).await.expect("its last words");
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn servers_started_with_other_variables_are_other_servers_to_a_cache() {
    let of = |key: &str| Transport::identity(&StdioTransport::new("server").env("API_KEY", key));
    assert_ne!(of("ann"), of("bob"));
    assert_eq!(of("ann"), of("ann"));
}
