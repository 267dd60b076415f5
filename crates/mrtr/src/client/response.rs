//! Reading responses: which of the three things a response can be, and nothing beyond that.
//!
//! Only the members that steer the loop are decoded. All else stays the text it came as, so an odd schema, an unknown
//! field or a number of any size never costs a round.

use std::collections::HashMap;
use std::fmt;

use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::diagnosis::{Diagnosis, Fault};
use super::{Kind, dialect};
use crate::wire::{Object, object};
use crate::wire::{meta_key, result_type};

/// A result, by what it means for the operation.
#[derive(Debug)]
pub(super) enum Reply {
    /// The final result.
    Complete(Box<RawValue>),
    /// A round that wants input.
    InputRequired(InputRequired),
}

/// The members of an input-required result.
#[derive(Debug)]
pub(super) struct InputRequired {
    /// The questions, in the server's order.
    pub(super) requests: Vec<(String, InputRequest)>,
    /// The state as a raw JSON string token.
    pub(super) state: Option<Box<RawValue>>,
    /// What the server calls itself.
    pub(super) server_name: Option<String>,
    /// The result as sent.
    pub(super) raw: Box<RawValue>,
}

/// One question, sorted by kind.
#[derive(Clone, Debug)]
pub(super) struct InputRequest {
    pub(super) kind: Kind,
    pub(super) params: Box<RawValue>,
}

impl InputRequest {
    /// Returns the page a URL request is about.
    pub(super) fn url(&self) -> Option<String> {
        member(&self.params, "url")
    }
}

/// A JSON-RPC error as sent.
#[derive(Debug)]
pub(super) struct RpcError {
    pub(super) code: i64,
    pub(super) message: String,
    pub(super) data: Option<Value>,
}

/// Why a response has no result. The text goes into the error the caller sees.
#[derive(Debug)]
pub(super) enum NoResult {
    /// It is a JSON-RPC error.
    Rpc(RpcError),
    /// It is not a JSON-RPC message at all: over HTTP, the status may explain it.
    NotJsonRpc(String),
    /// It is a JSON-RPC message that breaks the rules.
    Broken(Fault),
}

/// Reads the response to the request of this id.
pub(super) fn read(text: &str, id: i64) -> Result<Reply, NoResult> {
    let Object(envelope): Object<Envelope<'_>> =
        serde_json::from_str(text).map_err(|error| NoResult::NotJsonRpc(format!("not a JSON-RPC message: {error}")))?;
    let is_error = envelope.error.is_some();
    match (envelope.result, envelope.error) {
        (None, None) => Err(NoResult::NotJsonRpc("neither a result nor an error".to_owned())),
        (_, Some(error)) => {
            check_id(envelope.id, id, is_error).map_err(NoResult::Broken)?;
            let error = read_error(error).map_err(NoResult::Broken)?;
            Err(dialect::questions_in(&error).map_or(NoResult::Rpc(error), NoResult::Broken))
        }
        (Some(result), None) => {
            check_id(envelope.id, id, is_error).map_err(NoResult::Broken)?;
            read_result(result).map_err(NoResult::Broken)
        }
    }
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "object::present")]
    result: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

fn check_id(found: Option<&RawValue>, id: i64, is_error: bool) -> Result<(), Fault> {
    let broken = |what: String| Err(Fault::new(Diagnosis::IdMismatch, what));
    match found {
        Some(found) if same_id(found.get(), id) => Ok(()),
        // Spec: basic/index#error-responses. A server that could not read the id leaves it out.
        None if is_error => Ok(()),
        Some(found) => broken(format!("the response has id {found}, the request had {id}")),
        None => broken(format!("the response has no id, the request had {id}")),
    }
}

fn same_id(found: &str, id: i64) -> bool {
    // A server that keeps ids as floats writes 1.0 for 1.
    found.parse() == Ok(id) || found.parse::<f64>().is_ok_and(|float| float == id as f64)
}

fn read_error(error: &RawValue) -> Result<RpcError, Fault> {
    #[derive(Deserialize)]
    struct Wire {
        code: i64,
        message: Option<String>,
        data: Option<Box<RawValue>>,
    }
    let Object(wire): Object<Wire> = serde_json::from_str(error.get())
        .map_err(|cause| Fault::new(Diagnosis::ErrorMalformed, format!("the error is malformed: {cause}")))?;
    Ok(RpcError {
        code: wire.code,
        message: wire.message.unwrap_or_default(),
        data: wire.data.and_then(|data| serde_json::from_str(data.get()).ok()),
    })
}

/// Reads the result of a response.
pub(super) fn read_result(result: &RawValue) -> Result<Reply, Fault> {
    let Object(head): Object<ResultHead<'_>> = serde_json::from_str(result.get())
        .map_err(|error| Fault::new(Diagnosis::ResultMalformed, format!("the result is malformed: {error}")))?;
    let Some(result_type) = head.result_type else {
        // Spec: basic/index#resulttype. Servers of earlier revisions leave it out, and those had no rounds.
        return dialect::untyped(result).map_or_else(|| Ok(Reply::Complete(result.to_owned())), Err);
    };
    let name = text(result_type);
    match name.as_deref() {
        Some(result_type::COMPLETE) => Ok(Reply::Complete(result.to_owned())),
        Some(result_type::INPUT_REQUIRED) => read_input_required(&head, result).map(Reply::InputRequired),
        _ => Err(dialect::result_type(result_type, name.as_deref(), head.input_requests)),
    }
}

#[derive(Deserialize)]
struct ResultHead<'a> {
    #[serde(rename = "resultType", borrow, default, deserialize_with = "object::present")]
    result_type: Option<&'a RawValue>,
    #[serde(rename = "inputRequests", borrow)]
    input_requests: Option<&'a RawValue>,
    // `null` counts as absent, for this field as for the one above.
    #[serde(rename = "requestState", borrow)]
    request_state: Option<&'a RawValue>,
    #[serde(rename = "_meta", borrow)]
    meta: Option<&'a RawValue>,
}

fn read_input_required(head: &ResultHead<'_>, result: &RawValue) -> Result<InputRequired, Fault> {
    let state = head.request_state.map(ToOwned::to_owned);
    if state.as_ref().is_some_and(|state| !state.get().starts_with('"')) {
        return Err(Fault::new(Diagnosis::StateNotString, "requestState is not a string"));
    }
    let requests = match head.input_requests {
        Some(requests) => read_input_requests(requests)?,
        None if state.is_none() => return Err(dialect::empty(result)),
        None => Vec::new(),
    };
    Ok(InputRequired { requests, state, server_name: head.meta.and_then(server_name), raw: result.to_owned() })
}

fn read_input_requests(requests: &RawValue) -> Result<Vec<(String, InputRequest)>, Fault> {
    let Entries(entries) = serde_json::from_str(requests.get())
        .map_err(|error| Fault::new(Diagnosis::RequestsNotAMap, format!("inputRequests is malformed: {error}")))?;
    entries.into_iter().map(|(key, entry)| read_input_request(&key, entry).map(|request| (key, request))).collect()
}

fn read_input_request(key: &str, entry: &RawValue) -> Result<InputRequest, Fault> {
    let malformed = |what: String| Fault::new(Diagnosis::QuestionMalformed, what);
    let Object(wire): Object<InputRequestHead<'_>> = serde_json::from_str(entry.get()).map_err(|error| {
        let fault = || malformed(format!("inputRequests[{key:?}] is malformed: {error}"));
        dialect::draft_question(key, entry).unwrap_or_else(fault)
    })?;
    let params = match wire.params {
        Some(params) if params.get().starts_with('{') => params.to_owned(),
        Some(_) => return Err(malformed(format!("inputRequests[{key:?}].params is not an object"))),
        None => RawValue::from_string("{}".to_owned()).map_err(|error| malformed(error.to_string()))?,
    };
    let kind = match &*wire.method {
        "elicitation/create" => elicitation_mode(key, &params)?,
        "sampling/createMessage" => Kind::Sampling,
        "roots/list" => Kind::Roots,
        other => {
            let what = format!("inputRequests[{key:?}] asks by {other:?}, which is no input request");
            return Err(Fault::new(Diagnosis::KindUnknown, what));
        }
    };
    let diagnosis = if kind == Kind::Url { Diagnosis::PageMalformed } else { Diagnosis::FormMalformed };
    check_elicitation(key, kind, &params).map_err(|what| Fault::new(diagnosis, what))?;
    Ok(InputRequest { kind, params })
}

/// Checks that what a user is to be shown can be read.
///
/// An answer to less than the whole question would be an answer to another one: a form whose fields cannot be read is no
/// form without fields, which a bare yes completes.
fn check_elicitation(key: &str, kind: Kind, params: &RawValue) -> Result<(), String> {
    if !kind.is_elicitation() {
        return Ok(());
    }
    let Object(members) = serde_json::from_str::<Object<HashMap<String, &RawValue>>>(params.get())
        .map_err(|error| format!("inputRequests[{key:?}].params is malformed: {error}"))?;
    let member = |name: &str| {
        let place = format!("inputRequests[{key:?}].params.{name}");
        match members.get(name) {
            Some(raw) => Ok((place, *raw)),
            None if name == "requestedSchema" && members.contains_key("schema") => {
                Err(format!(r#"{place} is missing; "schema" is not read in its place"#))
            }
            None => Err(format!("{place} is missing")),
        }
    };
    let (place, message) = member("message")?;
    serde_json::from_str::<String>(message.get()).map_err(|error| format!("{place} is malformed: {error}"))?;
    if kind == Kind::Form {
        let (place, schema) = member("requestedSchema")?;
        serde_json::from_str::<Object<Map<String, Value>>>(schema.get())
            .map_err(|error| format!("{place} is malformed: {error}"))?;
    } else {
        let (place, url) = member("url")?;
        serde_json::from_str::<String>(url.get()).map_err(|error| format!("{place} is malformed: {error}"))?;
    }
    Ok(())
}

#[derive(Deserialize)]
struct InputRequestHead<'a> {
    method: String,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
}

fn elicitation_mode(key: &str, params: &RawValue) -> Result<Kind, Fault> {
    #[derive(Deserialize)]
    struct Mode<'a> {
        #[serde(borrow)]
        mode: Option<&'a RawValue>,
    }
    let Object(Mode { mode }) = serde_json::from_str(params.get()).map_err(|error| {
        Fault::new(Diagnosis::QuestionMalformed, format!("inputRequests[{key:?}].params is malformed: {error}"))
    })?;
    // Spec: client/elicitation#elicitation-requests. No mode means form mode.
    let Some(mode) = mode else {
        return Ok(Kind::Form);
    };
    match text(mode).as_deref() {
        Some("form") => Ok(Kind::Form),
        Some("url") => Ok(Kind::Url),
        _ => {
            let what = format!(r#"inputRequests[{key:?}] has mode {mode}, expected "form" or "url""#);
            Err(Fault::new(Diagnosis::ModeUnknown, what))
        }
    }
}

fn server_name(meta: &RawValue) -> Option<String> {
    let info: &RawValue = member(meta, meta_key::SERVER_INFO)?;
    member(info, "name")
}

/// Decodes one member of an object, whatever is in the others; one of another type counts as absent.
pub(super) fn member<'a, T: Deserialize<'a>>(object: &'a RawValue, name: &str) -> Option<T> {
    let members: HashMap<String, &RawValue> = serde_json::from_str(object.get()).ok()?;
    serde_json::from_str(members.get(name)?.get()).ok()
}

fn text(raw: &RawValue) -> Option<String> {
    serde_json::from_str(raw.get()).ok()
}

/// The members of an object in their order. A key that comes twice is an error: which one would be answered?
pub(super) struct Entries<'a>(pub(super) Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Entries<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Entries<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut entries = Vec::new();
                let mut seen = std::collections::HashSet::new();
                while let Some((key, entry)) = map.next_entry::<String, &RawValue>()? {
                    if !seen.insert(key.clone()) {
                        return Err(A::Error::custom(format_args!("key {key:?} comes twice")));
                    }
                    entries.push((key, entry));
                }
                Ok(Entries(entries))
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}
