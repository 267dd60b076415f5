//! How far a call is, on one line of stderr that is gone when the call goes on.

use std::sync::atomic::{AtomicBool, Ordering};

use mrtr::client::{Event, Observer};
use serde_json::Value;

use crate::term::{self, escape};

/// Shows the progress a server tells of.
#[derive(Default)]
pub(super) struct Progress {
    is_shown: AtomicBool,
}

impl Observer for Progress {
    fn observe(&self, event: &Event<'_>) {
        match event {
            Event::Notification { body, .. } => {
                if let Some(text) = told(body) {
                    self.is_shown.store(true, Ordering::Relaxed);
                    term::status(&text);
                }
            }
            Event::Response { .. } if self.is_shown.swap(false, Ordering::Relaxed) => term::status(""),
            _ => {}
        }
    }
}

/// The line for a progress notification.
fn told(notification: &str) -> Option<String> {
    let notification: Value = serde_json::from_str(notification).ok()?;
    if notification["method"] != "notifications/progress" {
        return None;
    }
    let params = &notification["params"];
    let progress = params["progress"].as_f64()?;
    let far = match params["total"].as_f64().filter(|total| *total > 0.0) {
        Some(total) => format!("{:3.0} %", (progress / total * 100.0).clamp(0.0, 100.0)),
        None => progress.to_string(),
    };
    let message = params["message"].as_str().map(escape::line).unwrap_or_default();
    Some(format!("{far} {message}").trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_a_share_where_the_whole_is_known() {
        let line = |params: &str| told(&format!(r#"{{"method":"notifications/progress","params":{params}}}"#));
        assert_eq!(line(r#"{"progress":1,"total":4,"message":"a\u001b[2Jb"}"#).unwrap(), r" 25 % a\u{1b}[2Jb");
        assert_eq!(line(r#"{"progress":7}"#).unwrap(), "7");
        assert_eq!(line(r#"{"progress":7,"total":0}"#).unwrap(), "7");
        assert_eq!(line(r#"{"progress":"x"}"#), None);
        assert_eq!(told(r#"{"method":"notifications/message","params":{"progress":1}}"#), None);
    }
}
