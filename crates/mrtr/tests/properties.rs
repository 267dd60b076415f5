//! What holds for any bytes a peer may send: one function per entrance, shared by the fuzz targets and the tests that
//! replay their seeds.

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use futures_util::FutureExt;
use mrtr::flow::CreateMessage;
use mrtr::form::Form;
use mrtr::server::{Dispatch, Incoming, Reply, SystemClock};
use mrtr::{Context, Keyring, Prompt, Resource, ResourceTemplate, Server, Tool, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// Any body gets a reply the protocol knows, under the id it asked with.
pub fn frame(body: &[u8]) {
    let reply = send(&SERVER.with(Rc::clone).instance, body);
    let asked = asked_id(body);
    if reply.status == 202 {
        assert!(reply.body.is_empty(), "a notification is not answered");
        assert_eq!(asked, None, "a request is answered");
        return;
    }
    let message: Map<String, Value> = serde_json::from_slice(&reply.body).expect("a JSON object");
    assert_eq!(message["jsonrpc"], "2.0");
    assert!(message.keys().all(|key| ["jsonrpc", "id", "result", "error"].contains(&&**key)), "{message:?}");
    assert!(message.get("id").is_none_or(|id| id.is_string() || id.is_number()), "{message:?}");
    if let Some(asked) = asked {
        assert_eq!(message.get("id"), Some(&asked));
    }
    match (message.get("result"), message.get("error")) {
        (Some(result), None) => check_result(result, reply.status),
        (None, Some(error)) => check_error(error, reply.status),
        _ => panic!("neither a result nor an error: {message:?}"),
    }
}

/// No text opens as a state but the one that was sealed, and the others do not reach the handler.
///
/// An even first byte is followed by a text, an odd one by edits of a genuine state, three bytes each.
pub fn token_open(data: &[u8]) {
    let Served { instance, runs, state: genuine } = &*SERVER.with(Rc::clone);
    let text = match data.split_first() {
        Some((mode, edits)) if mode % 2 == 1 => edited(genuine, edits),
        Some((_, text)) => String::from_utf8_lossy(text).into_owned(),
        None => String::new(),
    };
    let before = runs.load(Ordering::Relaxed);
    let reply = send(instance, &call(Some(&text)));
    let message: Value = serde_json::from_slice(&reply.body).expect("a JSON reply");
    if text == *genuine {
        assert_eq!(message["result"]["resultType"], "input_required", "{message}");
    } else {
        let error = json!({ "code": -32602, "message": "Invalid or expired requestState" });
        assert_eq!(message["error"], error, "{text}");
        assert_eq!(runs.load(Ordering::Relaxed), before, "the handler ran for {text}");
    }
}

/// Whatever a strict form accepts fits the schema it sends; a lenient one reads any schema and any answer.
///
/// The schema is one line of JSON, the answer the rest.
pub fn form_answer(data: &[u8]) {
    let Some(at) = data.iter().position(|byte| *byte == b'\n') else { return };
    let (schema, answer) = (&data[..at], &data[at + 1..]);
    let Ok(schema) = serde_json::from_slice::<Value>(schema) else { return };
    let content = serde_json::from_slice::<Map<String, Value>>(answer).unwrap_or_default();
    let lenient = Form::lenient(&schema);
    assert_eq!(lenient.schema(), &schema);
    answer_form(&lenient, &content, &String::from_utf8_lossy(answer));
    let Ok(strict) = Form::from_schema(schema) else { return };
    answer_form(&strict, &content, &String::from_utf8_lossy(answer));
    let sent = Form::from_schema(strict.schema().clone()).expect("what was sent can be sent again");
    assert_eq!(sent.schema(), strict.schema());
    if let Ok(settled) = strict.validate(&content) {
        let options = jsonschema::options().with_draft(jsonschema::Draft::Draft202012).should_validate_formats(true);
        let independent = options.build(strict.schema()).expect("what is sent is a schema");
        assert!(independent.is_valid(&Value::Object(settled.clone())), "{settled:?} for {}", strict.json());
    }
}

fn answer_form(form: &Form, content: &Map<String, Value>, text: &str) {
    match form.validate(content) {
        Ok(settled) => assert_eq!(form.validate(&settled).as_ref(), Ok(&settled), "settled answers stay settled"),
        Err(problems) => {
            let mut texts = problems.iter().map(ToString::to_string);
            assert!(texts.all(|text| !text.is_empty() && !text.contains(char::is_control)), "{problems:?}");
        }
    }
    assert!(form.valid_part(content).keys().all(|name| form.field(name).is_some()));
    let _ = form.with_defaults(content);
    for field in form.fields() {
        if let Ok(value) = form.parse_text(&field.name, text) {
            let shown = field.to_text(&value);
            assert_eq!(form.parse_text(&field.name, &shown), Ok(value), "{shown:?} for {}", form.json());
        }
    }
}

fn check_result(result: &Value, status: u16) {
    assert_eq!(status, 200);
    assert!(result["_meta"]["io.modelcontextprotocol/serverInfo"].is_object(), "{result}");
    assert!(result["contents"] != json!([]), "what is not there is an error: {result}");
    match result["resultType"].as_str() {
        Some("complete") => {}
        Some("input_required") => {
            assert!(result["inputRequests"].as_object().is_some_and(|requests| !requests.is_empty()), "{result}");
            assert!(result["requestState"].as_str().is_some_and(|state| state.len() <= 8192), "{result}");
        }
        _ => panic!("no resultType: {result}"),
    }
}

fn check_error(error: &Value, status: u16) {
    let code = error["code"].as_i64().expect("a code");
    // -32603 and -32020 are missing on purpose: the tools have no fault, and these requests no headers.
    let allowed: &[u16] = match code {
        -32700 | -32600 | -32021 | -32022 => &[400],
        -32601 => &[404],
        -32602 => &[200, 400],
        _ => &[],
    };
    assert!(allowed.contains(&status), "status {status} for {error}");
    let message = error["message"].as_str().expect("a message");
    assert!(!message.is_empty() && !message.contains(char::is_control), "{message:?}");
}

/// The id of a body that has exactly one, of a type an id may have.
fn asked_id(body: &[u8]) -> Option<Value> {
    let text = std::str::from_utf8(body).ok().filter(|text| text.matches("\"id\"").count() == 1)?;
    let message = serde_json::from_str::<Map<String, Value>>(text).ok()?;
    message.get("id").filter(|id| id.is_string() || id.is_i64() || id.is_u64()).cloned()
}

fn edited(genuine: &str, edits: &[u8]) -> String {
    let mut bytes = genuine.as_bytes().to_vec();
    for edit in edits.chunks_exact(3) {
        let at = usize::from(edit[1]) % bytes.len().max(1);
        match edit[0] % 4 {
            0 => bytes.insert(at, edit[2]),
            1 => drop(bytes.drain(at..at.min(bytes.len()) + usize::from(at < bytes.len()))),
            2 => bytes.truncate(at),
            _ => bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte = edit[2]),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

struct Served {
    instance: Arc<Dispatch>,
    /// How often the handler of `deploy` ran.
    runs: Arc<AtomicU32>,
    /// A state it returned.
    state: String,
}

thread_local! {
    /// One per thread, so that nobody else's calls are counted.
    static SERVER: Rc<Served> = Rc::new(served());
}

fn served() -> Served {
    let runs = Arc::new(AtomicU32::new(0));
    let deploy = {
        let runs = Arc::clone(&runs);
        Tool::new("deploy", move |arguments: Deploy, cx| {
            runs.fetch_add(1, Ordering::Relaxed);
            deploy(arguments, cx)
        })
    };
    let keys = Keyring::new([[7; 32]]).expect("one key");
    let server = Server::new("fuzzed", "1").keys(keys).clock(Arc::new(SystemClock));
    let server = server.tool(deploy).tool(Tool::new("profile", profile).accept_unasked()).page_size(1);
    let instance = with_the_rest(server).build().expect("a valid server");
    let asked: Value = serde_json::from_slice(&send(&instance, &call(None)).body).expect("a JSON reply");
    let state = asked["result"]["requestState"].as_str().expect("a state").to_owned();
    Served { instance, runs, state }
}

/// What a server offers besides tools.
fn with_the_rest(server: Server) -> Server {
    let rows = ResourceTemplate::new("db://{table}/{id}{?version}", "row", async |row: Row, _: Context| {
        (row.table != "none").then(|| format!("{} {} {:?}", row.table, row.id, row.version))
    });
    server
        .prompt(Prompt::new("profile", async |profile: Profile, _: Context| profile.email))
        .prompt(Prompt::new("asks", profile).accept_unasked())
        .resource(Resource::new("motd://today", "motd", async |_, _| "Be kind."))
        .resource_template(rows.complete("table", async |typed| typed.among(["users", "orders"])))
        .resource_template(ResourceTemplate::new("file:///{+path}", "file", async |file: File, _: Context| file.path))
}

#[derive(Deserialize, JsonSchema)]
struct Row {
    table: String,
    id: u32,
    version: Option<u32>,
}

#[derive(Deserialize, JsonSchema)]
struct File {
    path: String,
}

#[derive(Deserialize, JsonSchema)]
struct Deploy {
    service: String,
    version: Option<u32>,
}

#[derive(Deserialize, JsonSchema)]
struct Confirm {
    confirm: bool,
}

#[derive(Deserialize, JsonSchema)]
struct Profile {
    #[schemars(email)]
    email: String,
    #[schemars(length(min = 2, max = 20))]
    name: Option<String>,
    age: u8,
}

async fn deploy(deploy: Deploy, cx: Context) -> Result<String, ToolError> {
    let answer: Confirm = cx.elicit("confirm", format!("Deploy {} {:?}?", deploy.service, deploy.version)).await?;
    Ok(format!("deployed: {}", answer.confirm))
}

async fn profile(_: mrtr::NoArguments, cx: Context) -> Result<String, ToolError> {
    let message = CreateMessage::new("A motto, please", 20);
    let profile = cx.elicit::<Profile>("profile", "Who are you?");
    let (profile, motto) = futures_util::future::join(profile, cx.sample("motto", &message).outcome()).await;
    let Profile { email, name, age } = profile?;
    Ok(format!("{email} {name:?} {age} {:?}", motto?.accepted()))
}

fn call(state: Option<&str>) -> Vec<u8> {
    let params = json!({
        "name": "deploy",
        "arguments": { "service": "api" },
        "requestState": state,
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": { "elicitation": {} },
        },
    });
    json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }).to_string().into_bytes()
}

fn send(instance: &Dispatch, body: &[u8]) -> Reply {
    let incoming = Incoming::new(body);
    instance.handle(incoming).now_or_never().expect("the handlers wait for nothing but answers")
}
