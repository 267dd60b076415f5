//! Turning a response without a result into an error that says what to do.

use http::header::LOCATION;

use super::diagnosis::{Diagnosis, Fault};
use super::response::{NoResult, RpcError};
use super::{CallError, Incoming};
use crate::visible;

/// Explains why this response to a request of this round has no result.
pub(super) fn explain(server: &str, round: u32, incoming: &Incoming, failure: NoResult) -> CallError {
    match failure {
        NoResult::Rpc(error) if round == 1 && is_legacy_error(incoming.status, &error) => {
            legacy(server, incoming.status, printable(&error.message))
        }
        NoResult::Rpc(RpcError { code, message, data }) => CallError::Rpc { round, code, message, data },
        NoResult::Broken(Fault { diagnosis, what }) => CallError::Protocol { round, diagnosis, what },
        NoResult::NotJsonRpc(what) => match incoming.status {
            200..=299 if is_markup(&incoming.body) => CallError::Protocol {
                round,
                diagnosis: Diagnosis::NotJsonRpc,
                what: format!("{what}{}; is this an MCP endpoint?", quoted(&incoming.body)),
            },
            200..=299 => CallError::Protocol {
                round,
                diagnosis: Diagnosis::NotJsonRpc,
                what: format!("{what}{}", quoted(&incoming.body)),
            },
            // Spec: basic/transports/streamable-http#backward-compatibility. A server that got as far as a second round
            // speaks this revision, and one that sends a page to be looked at speaks none.
            status @ (400 | 405) if round == 1 && !is_markup(&incoming.body) => {
                legacy(server, status, printable(&incoming.body))
            }
            status => CallError::Http { server: server.to_owned(), status, detail: http_detail(incoming) },
        },
    }
}

/// Tells why this response counts for nothing although it carries a result, if it does.
///
/// Spec: basic/transports/streamable-http#sending-messages. What failed on the way has no result, whatever a cache or a
/// proxy put below the status.
pub(super) fn denied(incoming: &Incoming) -> Option<NoResult> {
    let Incoming { status, .. } = incoming;
    let broken = || {
        let what = format!("a result came with HTTP status {status}");
        NoResult::Broken(Fault::new(Diagnosis::ResultWithErrorStatus, what))
    };
    (!(200..=299).contains(status)).then(broken)
}

fn is_markup(body: &str) -> bool {
    body.trim_start().starts_with('<')
}

fn legacy(server: &str, status: u16, detail: String) -> CallError {
    CallError::Legacy { server: server.to_owned(), status, detail }
}

/// Tells a legacy server's complaint about a missing session from an error of a modern one.
fn is_legacy_error(status: u16, error: &RpcError) -> bool {
    let message = error.message.to_ascii_lowercase();
    let legacy_ways = ["initialize", "session id", "session-id", "session not found", "no session"];
    let names_legacy_ways = legacy_ways.iter().any(|way| message.contains(way));
    // -32000 to -32019 is legacy ground, but a modern server may have codes of its own there; the SDKs of those days use
    // -32600 as well. No modern server turns POST away.
    let is_legacy_code = (-32019..=-32000).contains(&error.code);
    match status {
        405 => is_legacy_code || names_legacy_ways,
        400 | 404 | 422 => (is_legacy_code || error.code == -32600) && names_legacy_ways,
        _ => false,
    }
}

fn http_detail(incoming: &Incoming) -> String {
    match incoming.headers.get(LOCATION) {
        Some(location) if (300..400).contains(&incoming.status) => {
            format!(
                "it redirects to {}, which is not followed",
                printable(&String::from_utf8_lossy(location.as_bytes()))
            )
        }
        _ => printable(&incoming.body),
    }
}

fn quoted(body: &str) -> String {
    let line = printable(body);
    if line.is_empty() { " (the body is empty)".to_owned() } else { format!(" ({line})") }
}

/// Returns the first line that says something, short and with what cannot be seen as its code.
pub(super) fn printable(text: &str) -> String {
    const LONGEST: usize = 200;
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let mut printable = String::new();
    for (c, is_unsafe) in visible::characters(line).take(LONGEST) {
        if is_unsafe {
            printable.extend(c.escape_default());
        } else {
            printable.push(c);
        }
    }
    if line.chars().nth(LONGEST).is_some() {
        printable.push('…');
    }
    printable
}
