//! `--trace`: every message as it went over the wire, and the word that the server is being waited for.

use hyper::HeaderMap;
use mrtr::client::{Event, Observer};

use crate::term::{self, escape};

/// Prints messages to stderr.
pub(crate) struct Trace;

impl Observer for Trace {
    fn observe(&self, event: &Event<'_>) {
        match event {
            Event::Request { round, headers, body, .. } => {
                term::note(&format!("--> round {round}, {} bytes", body.len()));
                print(headers);
                term::wire(body);
            }
            Event::Notification { round, body, .. } => {
                term::note(&format!("<-- round {round}, notification, {} bytes", body.len()));
                term::wire(body);
            }
            Event::Response { round, status, headers, body, elapsed, .. } => {
                let millis = elapsed.as_millis();
                term::note(&format!("<-- round {round}, HTTP {status}, {} bytes, {millis} ms", body.len()));
                print(headers);
                term::wire(body);
            }
            Event::Pause { round, pause, .. } => {
                term::note(&format!(
                    "    round {round} asks to be called again; next call in {} ms",
                    pause.as_millis()
                ));
            }
            _ => {}
        }
    }
}

/// Prints headers. The user's own may hold a token, and a trace is there to be passed around.
fn print(headers: &HeaderMap) {
    for (name, value) in headers {
        let text = String::from_utf8_lossy(value.as_bytes());
        let text = if value.is_sensitive() { "(not shown)" } else { &*text };
        term::note(&escape::line(&format!("    {name}: {text}")));
    }
}

/// Says once that the server wants to be called again, so that a long wait does not look like a hang.
pub(super) fn patience() -> impl Observer {
    let said = std::sync::Once::new();
    move |event: &Event<'_>| {
        if matches!(event, Event::Pause { round, .. } if *round > 1) {
            said.call_once(|| {
                term::note("the server is waiting for something; calling again until it is done (Ctrl-C stops)")
            });
        }
    }
}
