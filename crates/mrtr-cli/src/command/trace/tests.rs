//! Traces of a client over a transport that says what the test says.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use hyper::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use mrtr::client::{Answer, Ask, BoxFuture, Client, Incoming, Outgoing, Responders, Transport, TransportError};
use serde_json::{Value, json};

use super::har::Har;
use super::lines::Lines;
use super::live::Live;
use super::pretty::States;
use super::{Observer, private_file};

/// Answers with what is in line for the tool that is called; `ID` becomes the request's id. Yields in between, so that
/// calls side by side take turns.
#[derive(Clone, Default)]
struct Double {
    lines: Arc<Mutex<VecDeque<(&'static str, Value)>>>,
}

impl Transport for Double {
    fn server(&self) -> &str {
        "https://jo:pass-word@mcp.example/mcp?team=a%26b"
    }

    fn exchange<'a>(
        &'a self,
        request: &'a Outgoing,
        notify: &'a (dyn Fn(&str) + Send + Sync),
    ) -> BoxFuture<'a, Result<Incoming, TransportError>> {
        Box::pin(async move {
            tokio::task::yield_now().await;
            notify(r#"{"jsonrpc":"2.0","method":"notifications/progress"}"#);
            let request: Value = serde_json::from_str(&request.body).unwrap_or_default();
            let mut lines = self.lines.lock().unwrap();
            let at = lines.iter().position(|(tool, _)| request["params"]["name"] == *tool);
            let Some((_, result)) = at.and_then(|at| lines.remove(at)) else {
                return Err(TransportError::Truncated { server: self.server().to_owned() });
            };
            let body = json!({ "jsonrpc": "2.0", "id": request["id"], "result": result }).to_string();
            let mut headers = HeaderMap::new();
            headers.insert("set-cookie", HeaderValue::from_static("session=c00kie-value"));
            headers.insert("content-type", HeaderValue::from_static("application/json"));
            Ok(Incoming { status: 200, headers, body })
        })
    }
}

fn ask(state: Option<&str>) -> Value {
    let form = json!({ "message": "Sure?", "requestedSchema": { "type": "object", "properties": {} } });
    json!({
        "resultType": "input_required", "requestState": state,
        "inputRequests": { "sure": { "method": "elicitation/create", "params": form } }
    })
}

/// A result that repeats what the request's header says, as careless servers do.
fn done() -> Value {
    json!({ "content": [{ "type": "text", "text": "you sent Bearer s3cret-token and s3cret-token" }] })
}

/// Two calls side by side; their states are the same, absent, and different in turn.
fn two_calls() -> Double {
    let long = "m1.AAECAwQFBgcICQ".repeat(10);
    let same = |tool| [(tool, ask(Some("same"))), (tool, ask(None)), (tool, ask(Some(&long))), (tool, done())];
    Double { lines: Arc::new(Mutex::new(same("a").into_iter().chain(same("b")).collect())) }
}

fn client(double: Double, observer: impl Observer + 'static) -> Client {
    let token = HeaderValue::from_static("Bearer s3cret-token");
    let responders = Responders::new().form(async |_: Ask| {
        tokio::task::yield_now().await;
        Ok(Answer::accept([]))
    });
    Client::with_transport(double).responders(responders).header(AUTHORIZATION, token).observer(observer)
}

/// Runs both calls, and returns their operations.
async fn run(client: &Client) -> [String; 2] {
    let (a, b) = tokio::join!(client.call_tool("a", json!({})), client.call_tool("b", json!({})));
    [a.unwrap().operation.to_string(), b.unwrap().operation.to_string()]
}

#[track_caller]
fn has_no_secret(text: &str) {
    for secret in ["s3cret", "c00kie", "pass-word"] {
        assert!(!text.contains(secret), "{secret} is in {text}");
    }
}

#[tokio::test]
async fn blocks_are_under_their_own_operation_and_round_whatever_the_states_are() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&seen);
    let live = Live::new(States::Short, Double::default().server(), move |block: &str| {
        log.lock().unwrap().push(block.to_owned())
    });
    let [a, b] = run(&client(two_calls(), live)).await;
    assert_ne!(a, b);
    let blocks = seen.lock().unwrap().clone();
    has_no_secret(&blocks.join("\n"));
    let mut place = String::new();
    let (mut rounds, mut turns) = (std::collections::BTreeMap::new(), 0);
    for block in &blocks {
        if let Some(header) = block.strip_prefix("=== operation ").filter(|header| header.contains(", round ")) {
            place = header.to_owned();
            turns += 1;
        } else if block.starts_with("--> ") {
            let tool = if place.starts_with(&a) { "a" } else { "b" };
            assert!(place.starts_with(if tool == "a" { &a } else { &b }), "{place}");
            assert!(place.contains(&format!(": tools/call {tool}, round ")), "{place}");
            assert!(
                block.contains(&format!("\n      \"params\": {{\n        \"name\": \"{tool}\",")),
                "{place} has {block}"
            );
            *rounds.entry(place.clone()).or_insert(0) += 1;
        }
    }
    assert_eq!(rounds.len(), 8, "four rounds of each: {rounds:?}");
    assert!(rounds.values().all(|requests| *requests == 1), "{rounds:?}");
    assert!(turns > 8, "they took turns: {turns}");
    let text = blocks.join("\n");
    assert!(text.contains(r#""requestState": "m1.AAECAw…(170 B)""#), "{text}");
    assert!(text.contains(r#""requestState": "same""#) && text.contains("authorization: (not shown)"), "{text}");
    for operation in [a, b] {
        let sum =
            blocks.iter().find(|block| block.starts_with(&format!("=== operation {operation}: 4 rounds, "))).unwrap();
        assert_eq!(sum.matches(" for 1 answer\n").count(), 3, "{sum}");
        assert!(sum.contains("\n    in sum:  ") && sum.ends_with(" for answers"), "{sum}");
    }
}

#[tokio::test]
async fn what_never_came_back_is_shown_and_summed_up() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&seen);
    let live = Arc::new(Live::new(States::Full, Double::default().server(), move |block: &str| {
        log.lock().unwrap().push(block.to_owned())
    }));
    let watch = Arc::clone(&live);
    let client = client(Double::default(), move |event: &super::Event<'_>| watch.observe(event));
    client.call_tool("a", json!({})).await.unwrap_err();
    live.finish();
    let text = seen.lock().unwrap().join("\n");
    has_no_secret(&text);
    assert!(text.contains("@mcp.example/mcp?team=a%26b ended its event stream without a response"), "{text}");
    assert!(text.contains(": 1 round, ") && text.contains("\n    round 1: 0 ms in the server\n"), "{text}");
}

/// A file for one test, gone after it.
struct Scratch(std::path::PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        Self(std::env::temp_dir().join(format!("mrtr-{name}-{}", std::process::id())))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// The schema in the guide for the lines of a trace file.
fn line_schema() -> jsonschema::Validator {
    let guide = include_str!("../../../../../docs/traces.md");
    let schema = guide.split("```json\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    jsonschema::validator_for(&serde_json::from_str(schema).unwrap()).unwrap()
}

#[tokio::test]
async fn a_trace_file_has_an_event_a_line_as_its_schema_says() {
    let path = Scratch::new("lines");
    let lines = Lines::new(private_file("--trace-file", &path.0).unwrap(), Double::default().server());
    let client = client(two_calls(), lines);
    let [a, b] = run(&client).await;
    client.call_tool("lost", json!({})).await.unwrap_err();
    let text = std::fs::read_to_string(&path.0).unwrap();
    has_no_secret(&text);
    let events: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let schema = line_schema();
    for event in &events {
        let errors: Vec<_> = schema.iter_errors(event).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{errors:?} in {event}");
    }
    assert!(!schema.is_valid(&json!({ "event": "request" })));
    for (operation, tool) in [(a, "a"), (b, "b")] {
        let own: Vec<_> = events.iter().filter(|event| event["operation"] == *operation).collect();
        let names: Vec<_> = own.iter().map(|event| event["event"].as_str().unwrap()).collect();
        let round = ["request", "notification", "response", "asked", "answered"];
        let expected = [&["start"][..], &round, &round, &round, &round[..3]].concat();
        assert_eq!(names, expected);
        let requests: Vec<_> = own.iter().filter(|event| event["event"] == "request").collect();
        assert!(requests.iter().all(|event| event["message"]["params"]["name"] == tool));
        assert_eq!(requests.iter().map(|event| event["round"].as_u64().unwrap()).collect::<Vec<_>>(), [1, 2, 3, 4]);
    }
    assert_eq!(events.last().unwrap()["event"], "lost");
}

/// What HAR 1.2 requires, in the words of JSON Schema.
fn har_schema() -> jsonschema::Validator {
    let pairs = json!({ "type": "array", "items": {
        "type": "object", "required": ["name", "value"],
        "properties": { "name": { "type": "string" }, "value": { "type": "string" } }
    }});
    let time = json!({ "type": "string", "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$" });
    let schema = json!({
        "type": "object", "required": ["log"], "properties": { "log": {
            "type": "object", "required": ["version", "creator", "entries"], "properties": {
                "version": { "const": "1.2" },
                "creator": { "type": "object", "required": ["name", "version"] },
                "pages": { "type": "array", "items": {
                    "type": "object", "required": ["startedDateTime", "id", "title", "pageTimings"],
                    "properties": { "startedDateTime": time, "pageTimings": { "type": "object" } }
                }},
                "entries": { "type": "array", "items": {
                    "type": "object",
                    "required": ["startedDateTime", "time", "request", "response", "cache", "timings"],
                    "properties": {
                        "pageref": { "type": "string" }, "startedDateTime": time,
                        "time": { "type": "number", "minimum": 0 },
                        "request": {
                            "type": "object",
                            "required": ["method", "url", "httpVersion", "cookies", "headers", "queryString", "headersSize", "bodySize"],
                            "properties": {
                                "url": { "type": "string" }, "headers": pairs, "queryString": pairs,
                                "cookies": { "type": "array" }, "headersSize": { "type": "integer" },
                                "bodySize": { "type": "integer" },
                                "postData": { "type": "object", "required": ["mimeType"], "properties": {
                                    "mimeType": { "type": "string" }, "text": { "type": "string" }
                                }}
                            }
                        },
                        "response": {
                            "type": "object",
                            "required": ["status", "statusText", "httpVersion", "cookies", "headers", "content", "redirectURL", "headersSize", "bodySize"],
                            "properties": {
                                "status": { "type": "integer" }, "statusText": { "type": "string" },
                                "headers": pairs, "redirectURL": { "type": "string" },
                                "content": { "type": "object", "required": ["size", "mimeType"], "properties": {
                                    "size": { "type": "integer" }, "mimeType": { "type": "string" }
                                }}
                            }
                        },
                        "cache": { "type": "object" },
                        "timings": { "type": "object", "required": ["send", "wait", "receive"], "properties": {
                            "send": { "type": "number" }, "wait": { "type": "number" }, "receive": { "type": "number" }
                        }}
                    },
                    "patternProperties": { "^_": true }, "additionalProperties": false
                }}
            }
        }}
    });
    jsonschema::validator_for(&schema).unwrap()
}

#[tokio::test]
async fn an_archive_is_one_and_its_pages_are_the_operations() {
    let path = Scratch::new("har");
    let har = Arc::new(Har::new(private_file("--har", &path.0).unwrap(), Double::default().server()));
    let watch = Arc::clone(&har);
    let client = client(two_calls(), move |event: &super::Event<'_>| watch.observe(event));
    let [a, b] = run(&client).await;
    client.call_tool("lost", json!({})).await.unwrap_err();
    har.finish().unwrap();
    let text = std::fs::read_to_string(&path.0).unwrap();
    has_no_secret(&text);
    let har: Value = serde_json::from_str(&text).unwrap();
    let errors: Vec<_> =
        har_schema().iter_errors(&har).map(|error| format!("{error} at {}", error.instance_path())).collect();
    assert!(errors.is_empty(), "{errors:?}");
    let entries = har["log"]["entries"].as_array().unwrap();
    for (operation, tool) in [(a, "a"), (b, "b")] {
        let own: Vec<_> = entries.iter().filter(|entry| entry["pageref"] == *operation).collect();
        assert_eq!(own.iter().map(|entry| entry["_round"].as_u64().unwrap()).collect::<Vec<_>>(), [1, 2, 3, 4]);
        for entry in own {
            let body: Value = serde_json::from_str(entry["request"]["postData"]["text"].as_str().unwrap()).unwrap();
            assert_eq!(body["params"]["name"], tool);
            assert_eq!(entry["response"]["status"], 200);
        }
        let page = har["log"]["pages"].as_array().unwrap().iter().find(|page| page["id"] == *operation).unwrap();
        assert_eq!(page["title"], format!("tools/call {tool}"));
    }
    let lost = entries.last().unwrap();
    assert_eq!(lost["response"]["status"], 0);
    assert_eq!(lost["request"]["queryString"], json!([{ "name": "team", "value": "a&b" }]));
}

#[cfg(unix)]
#[test]
fn files_are_their_owners_alone_also_when_they_were_there() {
    use std::os::unix::fs::PermissionsExt as _;
    let path = Scratch::new("private");
    std::fs::write(&path.0, "old").unwrap();
    std::fs::set_permissions(&path.0, std::fs::Permissions::from_mode(0o644)).unwrap();
    drop(private_file("--har", &path.0).unwrap());
    assert_eq!(std::fs::metadata(&path.0).unwrap().permissions().mode() & 0o777, 0o600);
    let error = private_file("--har", std::path::Path::new("/nowhere/x.har")).unwrap_err();
    assert!(error.message.starts_with("--har /nowhere/x.har: cannot write it: "), "{}", error.message);
}
