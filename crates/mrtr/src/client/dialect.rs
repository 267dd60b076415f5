//! Recognising the dialects: results that mean a round but are not written as the specification says.
//!
//! Three have been seen: `inputRequired` with `{type, schema}` entries, from early write-ups of the pattern; snake case
//! throughout, from servers that print their types without the names of the wire; and the ways of revision 2025-11-25,
//! a request on the stream or the error -32042. None of them is acted on. Each is named.

use std::collections::HashMap;

use serde_json::value::RawValue;

use super::diagnosis::{Diagnosis, Fault};
use super::response::{Entries, RpcError};

/// Looks at a result that does not say what it is. Without questions or a state, it is complete.
pub(super) fn untyped(result: &RawValue) -> Option<Fault> {
    let members = members(result)?;
    if members.contains_key("inputRequests") || members.contains_key("requestState") {
        let what = "the result has inputRequests or requestState, and no resultType";
        return Some(Fault::new(Diagnosis::ResultTypeMissing, what));
    }
    snake_case(&members)
}

/// Names the members of an `input_required` result that would have been meant, had they been spelled so.
pub(super) fn empty(result: &RawValue) -> Fault {
    let nothing = || {
        let what = "an input_required result has neither inputRequests nor requestState";
        Fault::new(Diagnosis::NothingRequired, what)
    };
    members(result).and_then(|members| snake_case(&members)).unwrap_or_else(nothing)
}

/// Explains a result type that is not known, with the draft's entries below it if there are such.
pub(super) fn result_type(found: &RawValue, text: Option<&str>, requests: Option<&RawValue>) -> Fault {
    let letters = |text: &str| text.chars().filter(char::is_ascii_alphabetic).collect::<String>().to_ascii_lowercase();
    if text.is_some_and(|text| letters(text) == "inputrequired") {
        let what = format!(r#"resultType is {found}, the specification says "input_required"{}"#, draft(requests));
        return Fault::new(Diagnosis::ResultTypeSpelling, what);
    }
    let what = format!(r#"resultType is {found}, expected "complete" or "input_required" (no extension was declared)"#);
    Fault::new(Diagnosis::ResultTypeUnknown, what)
}

/// Recognises `{"type": "elicitation", "message": .., "schema": ..}`.
pub(super) fn draft_question(key: &str, entry: &RawValue) -> Option<Fault> {
    let members = members(entry)?;
    let is_draft = !members.contains_key("method") && (members.contains_key("type") || members.contains_key("schema"));
    is_draft.then(|| {
        let what = format!(
            r#"inputRequests[{key:?}] is an early draft of the pattern: expected {{"method": "elicitation/create", "params": {{"message": .., "requestedSchema": ..}}}} instead of "type" and "schema""#
        );
        Fault::new(Diagnosis::DraftQuestion, what)
    })
}

/// Recognises an error that carries questions.
pub(super) fn questions_in(error: &RpcError) -> Option<Fault> {
    let members = ["elicitations", "inputRequests", "input_requests"];
    let carried = members.into_iter().find(|name| error.data.as_ref().is_some_and(|data| data.get(name).is_some()));
    // Spec: basic/index#error-codes. Reserved for what 2025-11-25 meant by it.
    const URL_ELICITATION_REQUIRED: i64 = -32042;
    let detail = match carried {
        Some(name) => format!(" in its data's {name}"),
        None if error.code == URL_ELICITATION_REQUIRED => String::new(),
        None => return None,
    };
    let what = format!("the error {} ({}) asks for input{detail}", error.code, error.message);
    Some(Fault::new(Diagnosis::QuestionsInError, what))
}

/// Recognises a request among what comes before the response: a message with a method that wants an answer.
pub(super) fn server_request(message: &str) -> Option<Fault> {
    let message: &RawValue = serde_json::from_str(message).ok()?;
    let members = members(message)?;
    let method: String = serde_json::from_str(members.get("method")?.get()).ok()?;
    let _has_id = members.get("id").filter(|id| id.get() != "null")?;
    let what =
        format!("it sent the request {method:?} and waits for an answer, which no client of this revision gives");
    Some(Fault::new(Diagnosis::ServerRequest, what))
}

fn snake_case(members: &HashMap<String, &RawValue>) -> Option<Fault> {
    let found: Vec<_> = ["result_type", "input_requests", "request_state"]
        .into_iter()
        .filter(|name| members.contains_key(*name))
        .collect();
    // One of a tool's own is no round: it takes two, or the word itself.
    let says_so = members.get("result_type").is_some_and(|value| value.get() == r#""input_required""#);
    let is_round = says_so || found.len() > 1 || (members.contains_key("resultType") && !found.is_empty());
    is_round.then(|| Fault::new(Diagnosis::SnakeCase, format!("the result has {}", found.join(" and "))))
}

/// Says what the entries of a misspelled result do wrong too.
fn draft(requests: Option<&RawValue>) -> String {
    let entries = requests.and_then(|requests| serde_json::from_str::<Entries<'_>>(requests.get()).ok());
    let Some(Entries(entries)) = entries else {
        return String::new();
    };
    let fault = entries.iter().find_map(|(key, entry)| draft_question(key, entry));
    fault.map(|fault| format!("; {}", fault.what)).unwrap_or_default()
}

fn members(object: &RawValue) -> Option<HashMap<String, &RawValue>> {
    serde_json::from_str(object.get()).ok()
}
