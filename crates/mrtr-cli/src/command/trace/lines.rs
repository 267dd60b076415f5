//! `--trace-file`: events for programs, one JSON object per line. `docs/traces.md` has its schema.

use std::fs::File;
use std::io::Write as _;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use mrtr::client::{Event, Observer};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::secrets::Secrets;

/// Writes events as they happen, so that the file is whole whatever becomes of the program.
pub(super) struct Lines {
    file: Mutex<File>,
    /// The first failure to write, which is told at the end.
    failure: Mutex<Option<std::io::Error>>,
    secrets: Secrets,
}

impl Lines {
    pub(super) fn new(file: File, server: &str) -> Self {
        Self { file: Mutex::new(file), failure: Mutex::default(), secrets: Secrets::of(server) }
    }

    pub(super) fn finish(&self) -> std::io::Result<()> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).take().map_or(Ok(()), Err)
    }

    fn headers(&self, headers: &hyper::HeaderMap) -> Value {
        let header = |(name, value)| json!({ "name": name, "value": value });
        self.secrets.headers(headers).into_iter().map(header).collect()
    }

    /// The members of an event, and the message that belongs to it.
    fn describe<'e>(&self, event: &Event<'e>) -> Option<(&'static str, Value, Option<&'e str>)> {
        Some(match *event {
            Event::Start { method, target, .. } => ("start", json!({ "method": method, "target": target }), None),
            Event::Request { headers, body, .. } => {
                self.secrets.learn(headers);
                ("request", json!({ "headers": self.headers(headers), "bytes": body.len() }), Some(body))
            }
            Event::Notification { body, .. } => ("notification", json!({ "bytes": body.len() }), Some(body)),
            Event::Response { status, headers, body, elapsed, .. } => {
                let (headers, bytes) = (self.headers(headers), body.len());
                let about = json!({ "status": status, "elapsed_ms": ms(elapsed), "headers": headers, "bytes": bytes });
                ("response", about, Some(body))
            }
            Event::Lost { error, elapsed, .. } => {
                ("lost", json!({ "elapsed_ms": ms(elapsed), "error": error.to_string() }), None)
            }
            Event::Asked(ask) => {
                let kind = ask.kind.to_string();
                ("asked", json!({ "key": ask.key, "kind": kind, "number": ask.number, "count": ask.count }), None)
            }
            Event::Answered { ask, response, elapsed } => {
                ("answered", json!({ "key": ask.key, "elapsed_ms": ms(elapsed), "response": response }), None)
            }
            Event::Unanswered { ask, elapsed } => {
                ("unanswered", json!({ "key": ask.key, "elapsed_ms": ms(elapsed) }), None)
            }
            Event::Pause { pause, .. } => ("pause", json!({ "pause_ms": ms(pause) }), None),
            _ => return None,
        })
    }

    fn line(&self, event: &Event<'_>) -> Option<String> {
        let (name, about, message) = self.describe(event)?;
        let mut line = Map::new();
        line.insert("time".to_owned(), jiff::Timestamp::now().to_string().into());
        line.insert("operation".to_owned(), event.operation().as_str().into());
        line.insert("round".to_owned(), event.round().into());
        line.insert("event".to_owned(), name.into());
        if let Value::Object(about) = about {
            line.extend(about);
        }
        let line = Value::Object(line).to_string();
        let line = self.secrets.scrub(&line);
        let Some(message) = message else { return Some(format!("{line}\n")) };
        let message = self.secrets.scrub(message);
        // Between the tokens of JSON a line break is a space, and in them there is none.
        let message = match serde_json::from_str::<&RawValue>(&message) {
            Ok(raw) => raw.get().replace(['\n', '\r'], " "),
            Err(_) => Value::from(&*message).to_string(),
        };
        Some(format!("{},\"message\":{message}}}\n", line.strip_suffix('}').unwrap_or(&line)))
    }
}

impl Observer for Lines {
    fn observe(&self, event: &Event<'_>) {
        let Some(line) = self.line(event) else { return };
        let written = self.file.lock().unwrap_or_else(PoisonError::into_inner).write_all(line.as_bytes());
        if let Err(error) = written {
            self.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        }
    }
}

/// Milliseconds, with their fraction.
pub(super) fn ms(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e3
}
