//! A client with scripted answers, and the runner that prints one line for each scenario.
//!
//! What rmcp decoded is compared as the JSON it writes: a field it does not know is a field that was lost.

#![expect(deprecated, reason = "sampling, roots and logging are still part of the protocol")]

use std::collections::VecDeque;
use std::fmt::{Debug, Display};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, ClientConfig, CreateMessageRequestParams, CreateMessageResult, ElicitRequestParams,
    ElicitResult, ErrorData, ListRootsResult, LoggingMessageNotificationParam, ProgressNotificationParam,
    ProtocolVersion,
};
use rmcp::service::{NotificationContext, RequestContext, RunningService};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::{ClientHandler, ClientLifecycleMode, ClientServiceExt, RoleClient, ServiceError};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

pub const ROOT: &str = "file:///test/root";

pub type Outcome = Result<(), String>;
pub type Client = RunningService<RoleClient, Scripted>;

/// What the client answers, and what it was asked and told.
#[derive(Clone, Default)]
pub struct Scripted {
    capabilities: Option<Value>,
    answers: Arc<Mutex<VecDeque<Answer>>>,
    completion: String,
    heard: Arc<Mutex<Heard>>,
}

#[derive(Default)]
struct Heard {
    asked: Vec<Value>,
    progress: Vec<Value>,
    log: Vec<Value>,
}

#[derive(Clone)]
pub enum Answer {
    /// Whatever is asked.
    Any(Value),
    /// To a question that starts so.
    To(&'static str, Value),
}

pub fn accept(content: Value) -> Answer {
    Answer::Any(json!({ "action": "accept", "content": content }))
}

pub fn accept_to(question: &'static str, content: Value) -> Answer {
    Answer::To(question, json!({ "action": "accept", "content": content }))
}

pub fn action(action: &str) -> Answer {
    Answer::Any(json!({ "action": action }))
}

impl Scripted {
    pub fn new(answers: impl IntoIterator<Item = Answer>) -> Self {
        Self { answers: Arc::new(Mutex::new(answers.into_iter().collect())), ..Self::default() }
    }

    /// What the client's model says.
    pub fn completion(mut self, text: &str) -> Self {
        self.completion = text.into();
        self
    }

    /// Declares these only.
    pub fn capabilities(mut self, capabilities: Value) -> Self {
        self.capabilities = Some(capabilities);
        self
    }

    pub async fn connect(self, url: &str) -> Result<Client, String> {
        let lifecycle = ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] };
        self.connect_as(url, lifecycle).await
    }

    pub async fn connect_as(self, url: &str, lifecycle: ClientLifecycleMode) -> Result<Client, String> {
        let transport = StreamableHttpClientTransport::from_uri(url);
        self.serve_with_lifecycle(transport, lifecycle).await.map_err(text)
    }

    pub fn asked(&self) -> Vec<Value> {
        self.heard.lock().unwrap().asked.clone()
    }

    pub fn progress(&self) -> Vec<Value> {
        self.heard.lock().unwrap().progress.clone()
    }

    pub fn logged(&self) -> Vec<Value> {
        self.heard.lock().unwrap().log.clone()
    }

    fn hear(&self, asked: &impl Serialize) -> Value {
        let asked = to_json(asked);
        self.heard.lock().unwrap().asked.push(asked.clone());
        asked
    }

    fn answer(&self, message: &str) -> Option<Value> {
        let mut answers = self.answers.lock().unwrap();
        let fits = |answer: &Answer| !matches!(answer, Answer::To(start, _) if !message.starts_with(start));
        let index = answers.iter().position(fits)?;
        match answers.remove(index)? {
            Answer::Any(answer) | Answer::To(_, answer) => Some(answer),
        }
    }
}

impl ClientHandler for Scripted {
    fn get_info(&self) -> ClientConfig {
        let all = json!({ "elicitation": { "form": {}, "url": {} }, "sampling": {}, "roots": {} });
        let mut config = ClientConfig::default();
        config.capabilities = from_json(self.capabilities.clone().unwrap_or(all));
        config
    }

    async fn create_elicitation(
        &self,
        params: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let asked = self.hear(&params);
        let message = asked["message"].as_str().unwrap_or_default();
        let answer = self.answer(message);
        answer.map(from_json).ok_or_else(|| ErrorData::internal_error(format!("asked once more: {message}"), None))
    }

    async fn create_message(
        &self,
        params: CreateMessageRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        self.hear(&params);
        Ok(from_json(json!({
            "role": "assistant",
            "content": { "type": "text", "text": self.completion },
            "model": "test-model",
            "stopReason": "endTurn",
        })))
    }

    async fn list_roots(&self, _: RequestContext<RoleClient>) -> Result<ListRootsResult, ErrorData> {
        Ok(from_json(json!({ "roots": [{ "uri": ROOT, "name": "Test Root" }] })))
    }

    async fn on_progress(&self, params: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        let params = to_json(&params);
        let seen = json!([params["progress"], params["total"], params["message"]]);
        self.heard.lock().unwrap().progress.push(seen);
    }

    async fn on_logging_message(&self, params: LoggingMessageNotificationParam, _: NotificationContext<RoleClient>) {
        self.heard.lock().unwrap().log.push(to_json(&params));
    }
}

/// Calls a tool with scripted answers: its result, the text of it, and what was asked.
pub async fn call(
    url: &str,
    tool: &str,
    arguments: Value,
    script: Scripted,
) -> Result<(Value, String, Vec<Value>), String> {
    let client = script.connect(url).await?;
    let params: CallToolRequestParams = from_json(json!({ "name": tool, "arguments": arguments }));
    let result = to_json(&client.call_tool(params).await.map_err(text)?);
    let asked = client.service().asked();
    let said = result["content"][0]["text"].as_str().unwrap_or_default().to_owned();
    Ok((result, said, asked))
}

/// The code, message and data of the error a request ends with.
pub fn refused<T: Debug>(result: Result<T, ServiceError>) -> Result<ErrorData, String> {
    match result {
        Err(ServiceError::McpError(error)) => Ok(error),
        Err(other) => Err(format!("not an error of the protocol: {other}")),
        Ok(result) => Err(format!("no error, but {result:?}")),
    }
}

pub fn equal(got: impl Serialize, expected: impl Serialize, what: &str) -> Outcome {
    let (got, expected) = (to_json(&got), to_json(&expected));
    if got == expected { Ok(()) } else { Err(format!("{what} is {got}, not {expected}")) }
}

pub fn contains(said: &str, part: &str) -> Outcome {
    if said.contains(part) { Ok(()) } else { Err(format!("{said:?} does not say {part:?}")) }
}

/// Prints what became of a scenario; says whether it went well.
pub async fn report(name: &str, scenario: impl Future<Output = Outcome>) -> bool {
    let late = Duration::from_secs(20);
    let outcome = tokio::time::timeout(late, scenario).await.unwrap_or_else(|_| Err(format!("no end after {late:?}")));
    match &outcome {
        Ok(()) => println!("ok {name}"),
        Err(why) => println!("FAIL {name}: {}", why.split_whitespace().collect::<Vec<_>>().join(" ")),
    }
    outcome.is_ok()
}

pub fn text(error: impl Display) -> String {
    error.to_string()
}

pub fn to_json(value: &impl Serialize) -> Value {
    serde_json::to_value(value).expect("everything here can be written as JSON")
}

pub fn from_json<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).expect("JSON of this type")
}
