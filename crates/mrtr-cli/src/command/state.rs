//! `mrtr state inspect`: what is inside a token, for the operator who has the key.

use std::io::{self, Read as _};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use jiff::Timestamp;
use mrtr::Keyring;
use mrtr::inspect::{Content, InspectError, Inspected, InspectedCursor, InspectedEntry, InspectedState, Progress};
use serde_json::{Map, Value, json};

use crate::args::{InspectArgs, StateArgs, StateCommand};
use crate::exit::{Exit, Failure};
use crate::term::{self, escape};

/// Runs the command.
pub(crate) fn run(args: &StateArgs) -> Result<Exit, Failure> {
    match &args.command {
        StateCommand::Inspect(args) => inspect(args),
    }
}

fn inspect(args: &InspectArgs) -> Result<Exit, Failure> {
    let keys_from_stdin = args.keys.as_deref().is_some_and(is_stdin);
    if args.token == "-" && keys_from_stdin {
        return Err(Failure::usage("stdin can bring the token or the keys, not both"));
    }
    let keys = keys(args)?;
    let token = if args.token == "-" { stdin("the token")? } else { args.token.clone() };
    let inspected = keys.inspect(token.trim()).map_err(|error| refused(&error))?;
    let now = Clock { now_ms: now_ms() };
    if args.json {
        term::print_json(&to_json(&inspected, now, args.reveal).to_string())?;
    } else {
        term::print_text(&to_text(&inspected, now, args.reveal))?;
    }
    Ok(Exit::Completed)
}

fn keys(args: &InspectArgs) -> Result<Keyring, Failure> {
    let keys = match &args.keys {
        Some(path) if is_stdin(path) => Keyring::parse(&stdin("the keys")?),
        Some(path) => Keyring::from_file(path),
        None => Keyring::from_env(&args.keys_env),
    };
    keys.map_err(|error| match (&args.keys, error) {
        (None, mrtr::KeyringError::NotSet(name)) => {
            Failure::usage(format!("no keys: give --keys FILE, or set {name} to the keys of the servers"))
        }
        (None, error) => Failure::usage(format!("{}: {error}", args.keys_env)),
        (Some(path), error) if is_stdin(path) => Failure::usage(format!("keys from stdin: {error}")),
        (Some(_), error) => Failure::usage(error.to_string()),
    })
}

fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

fn stdin(what: &str) -> Result<String, Failure> {
    let mut text = String::new();
    let read = io::stdin().take(MOST_STDIN).read_to_string(&mut text);
    read.map_err(|error| Failure::usage(format!("cannot read {what} from stdin: {error}")))?;
    Ok(text)
}

fn refused(error: &InspectError) -> Failure {
    let exit = match error {
        InspectError::UnknownKind { .. } => Exit::Usage,
        _ => Exit::Failed,
    };
    Failure::new(exit, format!("cannot open the token: {error}"))
}

/// The time it is, for what is said about others.
#[derive(Clone, Copy)]
struct Clock {
    now_ms: u64,
}

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

fn to_text(inspected: &Inspected, now: Clock, reveal: bool) -> String {
    let mut rows = vec![("token", inspected.content.to_string()), ("key", inspected.fingerprint.clone())];
    let mut journal = Vec::new();
    match &inspected.content {
        Content::State(state) => {
            rows.extend(state_rows(state, now));
            journal = entries(&state.entries, reveal);
        }
        Content::Spilled { at, .. } => rows.push(("kept at", at.clone())),
        Content::Cursor(cursor) => rows.extend(cursor_rows(cursor)),
        _ => {}
    }
    let rows = rows.iter().map(|(name, value)| format!("{name:<10} {value}"));
    rows.chain(journal).collect::<Vec<_>>().join("\n")
}

fn state_rows(state: &InspectedState, now: Clock) -> Vec<(&'static str, String)> {
    let waits = if state.waits == 0 { String::new() } else { format!(", {} of them only waited", state.waits) };
    vec![
        ("operation", state.operation.clone()),
        ("round", format!("{}{waits}", state.round)),
        ("expires", now.expiry(state.expires_ms)),
        ("request", state.binding.request.clone()),
        ("principal", state.binding.principal.clone().unwrap_or_else(|| "none: an anonymous caller".to_owned())),
        ("audience", state.binding.audience.clone()),
    ]
}

fn cursor_rows(cursor: &InspectedCursor) -> Vec<(&'static str, String)> {
    vec![
        ("list", escape::line(&cursor.list)),
        ("behind", escape::line(&cursor.last)),
        ("audience", cursor.audience.clone()),
    ]
}

/// A line for each entry, and one for its value where values are shown. All of it is text of the server and its users.
fn entries(entries: &[InspectedEntry], reveal: bool) -> Vec<String> {
    if entries.is_empty() {
        return vec!["journal    empty".to_owned()];
    }
    let keys: Vec<String> = entries.iter().map(|entry| escape::line(&entry.key)).collect();
    let widest = keys.iter().map(|key| key.chars().count()).max().unwrap_or(0).min(WIDEST_KEY);
    let mut lines = vec!["journal".to_owned()];
    for (entry, key) in entries.iter().zip(&keys) {
        let progress = match entry.progress {
            Progress::Open { attempts } if attempts > 0 => format!("open, {attempts} invalid"),
            progress => progress.to_string(),
        };
        lines.push(format!("  {key:<widest$}  {:<10}  {progress:<15}  {} bytes", entry.kind, entry.size));
        if let Some(value) = entry.reveal().filter(|_| reveal) {
            lines.push(format!("    | {}", escape::line(value)));
        }
    }
    lines
}

impl Clock {
    fn expiry(self, at_ms: u64) -> String {
        let from_now = match self.now_ms.checked_sub(at_ms) {
            Some(ago) if ago >= 1000 => format!("{} ago", span(ago)),
            _ => format!("in {}", span(at_ms.saturating_sub(self.now_ms))),
        };
        let late = self.now_ms.saturating_sub(at_ms);
        let grace =
            if (1..=SKEW_MS).contains(&late) { "; servers still accept it, as clocks may differ by 60 s" } else { "" };
        format!("{} ({from_now}{grace})", utc(at_ms, "%Y-%m-%d %H:%M:%S UTC"))
    }
}

fn utc(ms: u64, format: &str) -> String {
    let timestamp = i64::try_from(ms).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok());
    timestamp.map_or_else(|| format!("{ms} ms after 1970, beyond the year 9999"), |at| at.strftime(format).to_string())
}

/// A time in its two largest units.
fn span(ms: u64) -> String {
    let seconds = ms / 1000;
    let units = [("d", seconds / 86_400), ("h", seconds / 3600 % 24), ("min", seconds / 60 % 60), ("s", seconds % 60)];
    let largest = units.iter().position(|(_, count)| *count > 0).unwrap_or(3);
    let parts = units[largest..].iter().take(2).filter(|(_, count)| *count > 0);
    let parts: Vec<String> = parts.map(|(unit, count)| format!("{count} {unit}")).collect();
    if parts.is_empty() { "less than 1 s".to_owned() } else { parts.join(" ") }
}

fn to_json(inspected: &Inspected, now: Clock, reveal: bool) -> Value {
    let mut object = Map::new();
    object.insert("token".into(), json!(inspected.content.to_string()));
    object.insert("key".into(), json!(inspected.fingerprint));
    let more = match &inspected.content {
        Content::State(state) => json!({
            "operation": state.operation,
            "round": state.round,
            "waits": state.waits,
            "expires": utc(state.expires_ms, "%Y-%m-%dT%H:%M:%S.%3fZ"),
            "expiresMs": state.expires_ms,
            "expired": now.now_ms > state.expires_ms,
            "binding": {
                "request": state.binding.request,
                "principal": state.binding.principal,
                "audience": state.binding.audience,
            },
            "journal": state.entries.iter().map(|entry| entry_json(entry, reveal)).collect::<Vec<_>>(),
        }),
        Content::Spilled { at, .. } => json!({ "keptAt": at }),
        Content::Cursor(cursor) => json!({ "list": cursor.list, "last": cursor.last, "audience": cursor.audience }),
        _ => Value::Null,
    };
    if let Value::Object(more) = more {
        object.extend(more);
    }
    Value::Object(object)
}

fn entry_json(entry: &InspectedEntry, reveal: bool) -> Value {
    let mut object = json!({
        "key": entry.key,
        "kind": entry.kind,
        "state": entry.progress.name(),
        "asked": entry.asked,
        "bytes": entry.size,
    });
    if let Progress::Open { attempts } = entry.progress {
        object["attempts"] = json!(attempts);
    }
    if let Some(value) = entry.reveal().filter(|_| reveal) {
        // Most values are JSON; what was wrong with an answer is text.
        object["value"] = serde_json::from_str(value).unwrap_or_else(|_| json!(value));
    }
    object
}

/// More than any token or keys file has.
const MOST_STDIN: u64 = 1024 * 1024;
/// How wide the column of keys gets; longer keys push their line.
const WIDEST_KEY: usize = 32;
/// For how long servers accept a state that has expired by their clock.
const SKEW_MS: u64 = 60_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_told_in_its_two_largest_units() {
        for (ms, text) in [
            (0, "less than 1 s"),
            (999, "less than 1 s"),
            (1_000, "1 s"),
            (61_500, "1 min 1 s"),
            (600_000, "10 min"),
            (3_600_000, "1 h"),
            (3_605_000, "1 h"),
            (90_060_000, "1 d 1 h"),
        ] {
            assert_eq!(span(ms), text);
        }
    }

    #[test]
    fn expiry_is_told_from_here() {
        let at = 1_800_000_600_000;
        let shown = |now_ms| Clock { now_ms }.expiry(at);
        assert_eq!(shown(at - 600_000), "2027-01-15 08:10:00 UTC (in 10 min)");
        assert_eq!(shown(at), "2027-01-15 08:10:00 UTC (in less than 1 s)");
        let late = "2027-01-15 08:10:00 UTC (30 s ago; servers still accept it, as clocks may differ by 60 s)";
        assert_eq!(shown(at + 30_000), late);
        assert_eq!(shown(at + 7_260_000), "2027-01-15 08:10:00 UTC (2 h 1 min ago)");
        assert!(Clock { now_ms: 0 }.expiry(u64::MAX).starts_with("18446744073709551615 ms after 1970"));
    }
}
