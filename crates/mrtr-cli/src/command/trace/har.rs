//! `--har`: the requests of a run as an HTTP archive (HAR 1.2), which the developer tools of browsers open.
//!
//! Each operation is a page, each request an entry of it. What HAR has no place for begins with an underscore, as it
//! wants.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Write as _};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use hyper::{HeaderMap, StatusCode};
use jiff::Timestamp;
use mrtr::client::{Event, Observer, OperationId};
use serde_json::{Value, json};
use url::Url;

use super::lines::ms;
use super::secrets::{NOT_SHOWN, Secrets};

/// Gathers requests, and writes them at the end.
pub(super) struct Har {
    file: Mutex<File>,
    url: String,
    secrets: Secrets,
    log: Mutex<Log>,
}

#[derive(Default)]
struct Log {
    pages: Vec<Value>,
    entries: Vec<Value>,
    /// The entry of each operation's last request.
    last: HashMap<OperationId, usize>,
    answers: HashMap<usize, Duration>,
}

impl Har {
    pub(super) fn new(file: File, server: &str) -> Self {
        Self { file: Mutex::new(file), url: shown(server), secrets: Secrets::of(server), log: Mutex::default() }
    }

    pub(super) fn finish(&self) -> io::Result<()> {
        let har = self.to_json();
        let text = serde_json::to_string_pretty(&har)?;
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.write_all(self.secrets.scrub(&text).as_bytes())?;
        file.write_all(b"\n")
    }

    fn to_json(&self) -> Value {
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        let Log { entries, answers, .. } = &mut *log;
        for (index, time) in answers {
            entries[*index]["_answers"] = json!(ms(*time));
        }
        json!({ "log": {
            "version": "1.2",
            "creator": { "name": "mrtr", "version": env!("CARGO_PKG_VERSION") },
            "pages": log.pages,
            "entries": log.entries,
        }})
    }

    fn request(&self, log: &mut Log, event: &Event<'_>, headers: &HeaderMap, body: &str) {
        let query = Url::parse(&self.url).map(|url| {
            url.query_pairs().map(|(name, value)| json!({ "name": name, "value": value })).collect::<Value>()
        });
        log.last.insert(event.operation().clone(), log.entries.len());
        log.entries.push(json!({
            "pageref": event.operation().as_str(),
            "startedDateTime": Timestamp::now().to_string(),
            "time": 0,
            "request": {
                "method": "POST", "url": self.url, "httpVersion": "HTTP/1.1", "cookies": [],
                "headers": self.headers(headers), "queryString": query.unwrap_or_else(|_| json!([])),
                "postData": { "mimeType": "application/json", "params": [], "text": self.secrets.scrub(body) },
                "headersSize": -1, "bodySize": body.len(),
            },
            "response": response(0, &json!([]), "", "x-unknown"),
            "cache": {},
            "timings": { "send": 0, "wait": 0, "receive": 0 },
            "_operation": event.operation().as_str(),
            "_round": event.round(),
        }));
    }

    /// The entry of an operation's last request, and the time its response took.
    fn finished<'l>(log: &'l mut Log, operation: &OperationId, elapsed: Duration) -> Option<&'l mut Value> {
        let entry = log.entries.get_mut(*log.last.get(operation)?)?;
        entry["time"] = json!(ms(elapsed));
        entry["timings"]["wait"] = json!(ms(elapsed));
        Some(entry)
    }

    fn headers(&self, headers: &HeaderMap) -> Value {
        let header = |(name, value)| json!({ "name": name, "value": value });
        self.secrets.headers(headers).into_iter().map(header).collect()
    }
}

impl Observer for Har {
    fn observe(&self, event: &Event<'_>) {
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        match event {
            Event::Start { operation, method, target } => log.pages.push(json!({
                "startedDateTime": Timestamp::now().to_string(),
                "id": operation.as_str(),
                "title": format!("{method} {target}").trim_end(),
                "pageTimings": {},
            })),
            Event::Request { headers, body, .. } => {
                self.secrets.learn(headers);
                self.request(&mut log, event, headers, body);
            }
            Event::Response { operation, status, headers, body, elapsed, .. } => {
                if let Some(entry) = Self::finished(&mut log, operation, *elapsed) {
                    let kind = headers.get(hyper::header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
                    let shown = self.secrets.scrub(body);
                    entry["response"] = response(*status, &self.headers(headers), &shown, kind.unwrap_or("x-unknown"));
                }
            }
            Event::Lost { operation, error, elapsed, .. } => {
                if let Some(entry) = Self::finished(&mut log, operation, *elapsed) {
                    entry["response"]["_error"] = json!(error.to_string());
                }
            }
            Event::Answered { ask, elapsed, .. } | Event::Unanswered { ask, elapsed, .. } => {
                if let Some(index) = log.last.get(&ask.operation).copied() {
                    *log.answers.entry(index).or_default() += *elapsed;
                }
            }
            _ => {}
        }
    }
}

fn response(status: u16, headers: &Value, body: &str, kind: &str) -> Value {
    let reason = StatusCode::from_u16(status).ok().and_then(|status| status.canonical_reason());
    json!({
        "status": status, "statusText": reason.unwrap_or_default(), "httpVersion": "HTTP/1.1", "cookies": [],
        "headers": headers, "content": { "size": body.len(), "mimeType": kind, "text": body },
        "redirectURL": "", "headersSize": -1, "bodySize": body.len(),
    })
}

/// The URL without what it says about a user.
fn shown(server: &str) -> String {
    match Url::parse(server) {
        Ok(mut url) if url.password().is_some() => {
            // It has a password, so it can have another.
            let _ = url.set_password(Some(NOT_SHOWN));
            url.into()
        }
        Ok(url) => url.into(),
        Err(_) => server.to_owned(),
    }
}
