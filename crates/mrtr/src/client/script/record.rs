//! Recording: a client's operations as an answers file that asks for the same again.

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::difference::word;
use super::write::Yaml;
use super::{Expected, Pattern};
use crate::client::response::member;
use crate::client::{Ask, Event, Kind, Observer, OperationId, Output};

/// Watches a client, and writes what was asked, answered and returned as an answers file.
///
/// Clones share what was seen. Give one to [`Client::observer`](crate::client::Client::observer), and the outputs to
/// [`finished`](Self::finished).
///
/// # Security
///
/// What users entered is in the file as they entered it. Keep it as private as they would.
#[derive(Clone, Debug, Default)]
pub struct Recorder {
    calls: Arc<Mutex<Vec<Recording>>>,
}

#[derive(Debug)]
struct Recording {
    operation: OperationId,
    method: String,
    target: String,
    arguments: Option<Value>,
    /// The rounds with questions; each with its number.
    rounds: Vec<(u32, Vec<Answered>)>,
    result: Option<Expected>,
}

#[derive(Debug)]
struct Answered {
    ask: Ask,
    response: Value,
}

impl Recorder {
    /// Starts with nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes note of what an operation returned.
    pub fn finished(&self, output: &Output) {
        self.with(&output.operation, |recording| recording.result = Some(Expected::of(output)));
    }

    /// Writes all operations so far that can have questions, in the order in which they began. Those that failed before
    /// they had any are left out.
    pub fn to_yaml(&self) -> String {
        let mut yaml = Yaml::default();
        yaml.comment("Recorded by mrtr. Answers are in here as they were given: keep it private.");
        yaml.comment("To let a part differ, remove it, or write `like:` and a text with * in it.");
        yaml.word(0, "version", "1");
        let calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        let calls: Vec<_> = calls.iter().filter(|call| call.result.is_some() || !call.rounds.is_empty()).collect();
        if calls.is_empty() {
            yaml.word(0, "calls", "[]");
            return yaml.into_text();
        }
        yaml.open(0, "calls");
        for call in calls {
            call.write(&mut yaml);
        }
        yaml.into_text()
    }

    fn with(&self, operation: &OperationId, change: impl FnOnce(&mut Recording)) {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(recording) = calls.iter_mut().find(|recording| recording.operation == *operation) {
            change(recording);
        }
    }

    fn begin(&self, operation: &OperationId, method: &str, target: &str) {
        if kind_of(method).is_some() {
            let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
            calls.push(Recording {
                operation: operation.clone(),
                method: method.to_owned(),
                target: target.to_owned(),
                arguments: None,
                rounds: Vec::new(),
                result: None,
            });
        }
    }
}

impl Observer for Recorder {
    fn observe(&self, event: &Event<'_>) {
        match event {
            Event::Start { operation, method, target } => self.begin(operation, method, target),
            Event::Request { operation, round: 1, body, .. } => {
                let arguments =
                    || member::<Value>(member::<&RawValue>(serde_json::from_str(body).ok()?, "params")?, "arguments");
                self.with(operation, |recording| recording.arguments = arguments());
            }
            // A page that was agreed to and is waited for is no question anew.
            Event::Answered { ask, response, .. } if !ask.consented => self.with(&ask.operation, |recording| {
                recording.answered(Answered { ask: (*ask).clone(), response: (*response).clone() });
            }),
            _ => {}
        }
    }
}

impl Recording {
    fn answered(&mut self, answered: Answered) {
        let round = answered.ask.round;
        match self.rounds.last_mut() {
            Some((last, questions)) if *last == round => questions.push(answered),
            _ => self.rounds.push((round, vec![answered])),
        }
    }

    fn write(&self, yaml: &mut Yaml) {
        yaml.item(2, kind_of(&self.method).unwrap_or("tool"), &self.target);
        if let Some(arguments) = &self.arguments {
            yaml.value(4, "arguments", arguments);
        }
        if !self.rounds.is_empty() {
            yaml.open(4, "rounds");
        }
        for (_, questions) in &self.rounds {
            yaml.bare_item(6);
            questions.iter().for_each(|answered| answered.write(yaml));
        }
        if let Some(result) = &self.result {
            result.write(yaml);
        }
    }
}

impl Answered {
    fn write(&self, yaml: &mut Yaml) {
        const INDENT: usize = 10;
        let Self { ask, response } = self;
        yaml.open(INDENT - 2, &ask.key);
        match (ask.kind, response["action"].as_str()) {
            (Kind::Sampling, _) => yaml.value(INDENT, "sampling", response),
            (Kind::Roots, _) => yaml.value(INDENT, "roots", &response["roots"]),
            (Kind::Form, Some("accept")) => yaml.value(INDENT, "accept", &response["content"]),
            (_, Some(action)) => yaml.word(INDENT, action, "{}"),
            (_, None) => yaml.word(INDENT, "cancel", "{}"),
        }
        yaml.open(INDENT, "asked");
        yaml.word(INDENT + 2, "kind", word(ask.kind));
        if ask.kind.is_elicitation() {
            yaml.text(INDENT + 2, "message", &ask.message());
        }
        match ask.kind {
            Kind::Form => yaml.value(INDENT + 2, "schema", &ask.requested_schema()),
            Kind::Url => yaml.text(INDENT + 2, "url", &ask.url().unwrap_or_default()),
            _ => {
                let params: Map<String, Value> = serde_json::from_str(ask.params.get()).unwrap_or_default();
                yaml.value(INDENT + 2, "params", &Value::Object(params));
            }
        }
    }
}

impl Expected {
    fn write(&self, yaml: &mut Yaml) {
        yaml.open(4, "result");
        if let Some(text) = &self.text {
            yaml.text(6, "text", Pattern::as_str(text));
        }
        if let Some(is_error) = self.is_error {
            yaml.word(6, "error", &is_error.to_string());
        }
        if let Some(blocks) = &self.blocks {
            yaml.value(6, "blocks", &blocks.as_slice().into());
        }
        if let Some(structured) = &self.structured {
            yaml.value(6, "structured", structured);
        }
        if let Some(value) = &self.value {
            yaml.value(6, "value", value);
        }
    }
}

/// The word for calls of a method; `None` for methods that have no questions.
fn kind_of(method: &str) -> Option<&'static str> {
    Some(match method {
        "tools/call" => "tool",
        "prompts/get" => "prompt",
        "resources/read" => "resource",
        _ => return None,
    })
}
