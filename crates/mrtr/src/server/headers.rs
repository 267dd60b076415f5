//! The headers that mirror the body, so that intermediaries can route without parsing it.
//!
//! Spec: `basic/transports/streamable-http#server-validation`. A server that reads the body must refuse a difference:
//! otherwise whoever routed on the header was lied to.

use std::fmt;

use serde_json::Value;

use crate::wire::{Method, ParamHeader, Request, RpcError, decode_value};

/// One header as a transport found it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Header<'a> {
    /// Not there.
    Absent,
    /// There once, in visible ASCII.
    Value(&'a str),
    /// Repeated, or holding bytes a header value must not.
    Invalid,
}

/// Where the headers of a request are looked up; names are given in lower case.
pub trait HeaderSource: Sync {
    /// The header of this name.
    fn get(&self, name: &str) -> Header<'_>;
}

/// A header's name, as it is shown and as it is looked up.
#[derive(Clone, Copy)]
struct Named<'a> {
    shown: &'a str,
    key: &'a str,
    /// What it would say.
    advice: &'static str,
}

const VERSION: Named<'_> = Named {
    shown: "MCP-Protocol-Version",
    key: "mcp-protocol-version",
    advice: "it says the revision, as params._meta does",
};
const METHOD: Named<'_> = Named { shown: "Mcp-Method", key: "mcp-method", advice: "it repeats the method" };
const NAME: Named<'_> = Named { shown: "Mcp-Name", key: "mcp-name", advice: "it repeats params.name, or params.uri" };

impl<'a> Named<'a> {
    fn of(param: &'a ParamHeader) -> Self {
        Self { shown: param.name(), key: param.key(), advice: "it repeats an argument, as the tool's schema says" }
    }
}

impl fmt::Display for Named<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.shown)
    }
}

/// Compares the headers with the body. `version` is what `_meta` says.
///
/// # Errors
/// `-32020` naming the header that is missing, malformed or different.
pub(super) fn check(headers: &dyn HeaderSource, request: &Request<'_>, version: &str) -> Result<(), RpcError> {
    expect(headers, VERSION, version, Encoding::Plain)?;
    expect(headers, METHOD, &request.method, Encoding::Plain)?;
    let params = &request.params;
    let target = match Method::parse(&request.method) {
        Some(Method::CallTool | Method::GetPrompt) => Some(&params.name),
        Some(Method::ReadResource) => Some(&params.uri),
        _ => None,
    };
    if let Some(target) = target {
        let target = target.as_ref().map_or("", |text| &*text.0);
        expect(headers, NAME, target, Encoding::Sentinel)?;
    }
    Ok(())
}

/// Compares the headers that repeat arguments with the arguments. Headers the tool does not name are not ours to judge.
///
/// # Errors
/// `-32020` naming the header that is missing, malformed, different, or there without a value to repeat.
pub(super) fn check_params(
    headers: &dyn HeaderSource,
    mirrored: &[ParamHeader],
    arguments: &Value,
) -> Result<(), RpcError> {
    for param in mirrored {
        match param.text_in(arguments) {
            Some(expected) => compare(headers, Named::of(param), &expected, Encoding::Sentinel, |header| {
                param.agrees(header, &expected)
            })?,
            None => expect_absent(headers, Named::of(param))?,
        }
    }
    Ok(())
}

/// The protocol version header, for requests whose body is not trusted to have one.
pub(super) fn version(headers: &dyn HeaderSource) -> Result<&str, RpcError> {
    read(headers, VERSION)
}

/// What a request without a body says it is about: its method, and the name or URI it names.
#[cfg(feature = "http")]
pub(super) fn about(headers: &dyn HeaderSource) -> Option<(Method, std::borrow::Cow<'_, str>)> {
    let method = Method::parse(read(headers, METHOD).ok()?)?;
    Some((method, decode_value(read(headers, NAME).ok()?)?))
}

#[derive(Clone, Copy, PartialEq)]
enum Encoding {
    Plain,
    /// May be Base64 behind the sentinel.
    Sentinel,
}

fn expect(headers: &dyn HeaderSource, name: Named<'_>, body: &str, encoding: Encoding) -> Result<(), RpcError> {
    compare(headers, name, body, encoding, |header| header == body)
}

fn expect_absent(headers: &dyn HeaderSource, name: Named<'_>) -> Result<(), RpcError> {
    match headers.get(name.key) {
        Header::Absent => Ok(()),
        Header::Value(_) | Header::Invalid => {
            Err(RpcError::header_mismatch(format!("Header mismatch: {name} is there, the body has no value for it")))
        }
    }
}

fn compare(
    headers: &dyn HeaderSource,
    name: Named<'_>,
    body: &str,
    encoding: Encoding,
    agrees: impl FnOnce(&str) -> bool,
) -> Result<(), RpcError> {
    let header = read(headers, name)?;
    let decoded = match encoding {
        Encoding::Plain => Some(header.into()),
        Encoding::Sentinel => decode_value(header),
    };
    match decoded {
        Some(value) if agrees(&value) => Ok(()),
        Some(value) => Err(RpcError::header_mismatch(format!(
            "Header mismatch: {name} is {}, the body says {}",
            shown(&value),
            shown(body)
        ))),
        None => Err(RpcError::header_mismatch(format!("Header mismatch: {name} is not valid Base64 of UTF-8"))),
    }
}

fn read<'h>(headers: &'h dyn HeaderSource, name: Named<'_>) -> Result<&'h str, RpcError> {
    match headers.get(name.key) {
        Header::Value(value) => Ok(value),
        Header::Absent => {
            Err(RpcError::header_mismatch(format!("Header mismatch: {name} is missing; {}", name.advice)))
        }
        Header::Invalid => Err(RpcError::header_mismatch(format!(
            "Header mismatch: {name} must be given once, in visible ASCII characters"
        ))),
    }
}

fn shown(value: &str) -> String {
    format!("\"{}\"", crate::form::harmless(value, 80))
}
