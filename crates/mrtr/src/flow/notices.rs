//! What a handler says while it is still at work: progress and log messages, to clients that asked for them.
//!
//! Spec: `basic/patterns/progress`, `server/utilities/logging`.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context as Task, Poll};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json, value::RawValue};
use tracing::debug;

/// Where messages go that belong to a running call: a transport's stream to the client of that call.
///
/// What is sent through it goes out before the call's reply, in order.
pub trait Outlet: Send + Sync + 'static {
    /// Takes a complete JSON-RPC message. `false` if too much is waiting already: then the message is lost.
    fn send(&self, message: String) -> bool;

    /// Whether there is room for another message; if not, the task is woken when there is.
    fn poll_room(&self, task: &mut Task<'_>) -> Poll<()>;
}

impl fmt::Debug for dyn Outlet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Outlet")
    }
}

/// How grave a log message is, as syslog grades it (RFC 5424); later ones are graver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "they are what RFC 5424 calls them")]
pub enum LogLevel {
    Debug,
    Info,
    Notice,
    Warning,
    Error,
    Critical,
    Alert,
    Emergency,
}

impl LogLevel {
    /// The level of this name, as a request's `_meta` has it.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        serde_json::from_value(Value::from(name)).ok()
    }
}

/// What one request asked to be told while it runs.
#[derive(Debug)]
pub(crate) struct Notices {
    outlet: Arc<dyn Outlet>,
    /// As JSON.
    progress_token: Option<Box<RawValue>>,
    log_level: Option<LogLevel>,
    /// The last progress that was told: the next one must be further.
    told: Mutex<Option<f64>>,
}

impl Notices {
    /// `None` when the client asked for nothing.
    pub(crate) fn new(
        outlet: Arc<dyn Outlet>,
        progress_token: Option<Box<RawValue>>,
        log_level: Option<LogLevel>,
    ) -> Option<Self> {
        (progress_token.is_some() || log_level.is_some()).then(|| Self {
            outlet,
            progress_token,
            log_level,
            told: Mutex::default(),
        })
    }

    pub(super) fn progress(&self, progress: f64, total: Option<f64>, message: Option<&str>) {
        let Some(token) = &self.progress_token else { return };
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if !progress.is_finite() || told.is_some_and(|told| progress <= told) {
            debug!(progress, "progress that does not go further is not told");
            return;
        }
        let total = total.filter(|total| total.is_finite()).map(number);
        let params = Progress { progress_token: token, progress: number(progress), total, message };
        if self.send("notifications/progress", &params) {
            *told = Some(progress);
        }
    }

    pub(super) fn log(&self, level: LogLevel, logger: Option<&str>, data: &dyn Fn() -> Value) {
        if self.log_level.is_none_or(|wanted| level < wanted) {
            return;
        }
        let mut params = json!({ "level": level });
        if let Some(logger) = logger {
            params["logger"] = logger.into();
        }
        params["data"] = data();
        self.send("notifications/message", &params);
    }

    fn send(&self, method: &str, params: &impl Serialize) -> bool {
        let params = serde_json::to_string(params).expect("texts and numbers can be written");
        let taken = self.outlet.send(format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{params}}}"#));
        if !taken {
            debug!(method, "the client does not keep up; a message to it is dropped");
        }
        taken
    }
}

/// The parameters of `notifications/progress`. The token stays the text it came as: a [`Value`] would round a large one.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Progress<'a> {
    progress_token: &'a RawValue,
    progress: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a str>,
}

/// Whole numbers without a fraction, as people write them.
fn number(value: f64) -> Value {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if value.fract() == 0.0 && value.abs() < EXACT { json!(value as i64) } else { json!(value) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Kept(Mutex<Vec<String>>);

    impl Outlet for Kept {
        fn send(&self, message: String) -> bool {
            self.0.lock().expect("kept").push(message);
            true
        }

        fn poll_room(&self, _: &mut Task<'_>) -> Poll<()> {
            Poll::Ready(())
        }
    }

    fn kept(token: Option<&str>, level: Option<LogLevel>, say: impl FnOnce(&Notices)) -> Vec<Value> {
        texts(token, level, say).iter().map(|message| serde_json::from_str(message).expect("JSON")).collect()
    }

    fn texts(token: Option<&str>, level: Option<LogLevel>, say: impl FnOnce(&Notices)) -> Vec<String> {
        let outlet = Arc::new(Kept::default());
        let token = token.map(|token| RawValue::from_string(token.to_owned()).expect("JSON"));
        if let Some(notices) = Notices::new(Arc::clone(&outlet) as Arc<dyn Outlet>, token, level) {
            say(&notices);
        }
        std::mem::take(&mut *outlet.0.lock().expect("kept"))
    }

    #[test]
    fn progress_only_ever_grows_and_carries_the_requests_token() {
        let said = kept(Some("\"t\""), None, |notices| {
            for progress in [1.0, 1.0, 0.5, f64::NAN, 1.5, f64::INFINITY] {
                notices.progress(progress, Some(2.0), Some("on the way"));
            }
            notices.log(LogLevel::Emergency, None, &|| Value::from("nobody asked"));
        });
        let params: Vec<&Value> = said.iter().map(|message| &message["params"]).collect();
        assert_eq!(
            params,
            [
                &json!({ "progressToken": "t", "progress": 1, "total": 2, "message": "on the way" }),
                &json!({ "progressToken": "t", "progress": 1.5, "total": 2, "message": "on the way" }),
            ]
        );
    }

    #[test]
    fn only_what_is_as_grave_as_the_client_asked_for_is_logged() {
        let said = kept(None, Some(LogLevel::Warning), |notices| {
            for level in [LogLevel::Debug, LogLevel::Notice, LogLevel::Warning, LogLevel::Alert] {
                notices.log(level, Some("db"), &|| json!({ "rows": 3 }));
            }
            notices.progress(1.0, None, None);
        });
        let levels: Vec<&Value> = said.iter().map(|message| &message["params"]["level"]).collect();
        assert_eq!(levels, [&json!("warning"), &json!("alert")]);
        assert_eq!(said[0]["params"], json!({ "level": "warning", "logger": "db", "data": { "rows": 3 } }));
    }

    #[test]
    fn a_token_beyond_64_bits_came_back_rounded() {
        let said = texts(Some("18446744073709551617"), None, |notices| notices.progress(1.0, None, None));
        let params = r#"{"progressToken":18446744073709551617,"progress":1}"#;
        assert_eq!(said, [format!(r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{params}}}"#)]);
    }
}
