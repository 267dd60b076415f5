//! One incoming JSON-RPC message, parsed in one borrowed pass.
//!
//! The happy path reads the body once, parameters included. Only a message that fails is read again, in stages, to find
//! out which part is at fault and whose id the error must carry.

use std::borrow::Cow;

use serde::{Deserialize, de::IgnoredAny};
use serde_json::{error::Category, value::RawValue};

use super::object::{self, Object};
use super::{Meta, RequestId, RpcError};

/// A message from a client.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "there is one per call, on the stack")]
pub(crate) enum Message<'a> {
    /// Wants an answer.
    Request(Request<'a>),
    /// Wants none; this is its method.
    Notification(
        #[cfg_attr(not(feature = "stdio"), allow(dead_code, reason = "only stdio has notifications that matter"))]
        Cow<'a, str>,
    ),
}

/// A request: its id, method, and the parameters routing needs.
#[derive(Debug)]
pub(crate) struct Request<'a> {
    pub(crate) id: RequestId,
    pub(crate) method: Cow<'a, str>,
    pub(crate) params: Params<'a>,
}

/// The parameters any method of ours looks at. Fields of other methods are ignored, not refused.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Params<'a> {
    #[serde(borrow, default)]
    pub(crate) name: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(crate) uri: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(crate) cursor: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) arguments: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "ref")]
    pub(crate) reference: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) argument: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) context: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "inputResponses")]
    pub(crate) input_responses: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "requestState")]
    pub(crate) request_state: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(crate) notifications: Option<&'a RawValue>,
    /// Only `initialize` of an older revision has it.
    #[serde(borrow, default, rename = "protocolVersion")]
    pub(crate) legacy_version: Option<Text<'a>>,
    #[serde(borrow, default, rename = "_meta", deserialize_with = "object::object")]
    pub(crate) meta: Option<Meta<'a>>,
}

/// A string borrowed from the body unless it has escapes.
#[derive(Clone, Debug, Deserialize)]
#[serde(transparent)]
pub(crate) struct Text<'a>(#[serde(borrow)] pub(crate) Cow<'a, str>);

/// A message that cannot be served, with all that could be read of it.
#[derive(Debug)]
pub(crate) struct Malformed<'a> {
    pub(crate) id: Option<RequestId>,
    /// Set when the frame is fine and only its parameters are not.
    pub(crate) method: Option<Cow<'a, str>>,
    pub(crate) error: RpcError,
}

#[derive(Deserialize)]
struct Frame<'a, P> {
    #[serde(borrow, default)]
    jsonrpc: Option<Text<'a>>,
    #[serde(borrow, default, deserialize_with = "object::present")]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    method: Option<Text<'a>>,
    #[serde(default = "Option::default")]
    params: Option<P>,
}

impl<'a> Message<'a> {
    /// Parses a body.
    ///
    /// # Errors
    /// `-32700` not JSON, `-32600` not a request (batches, responses, `null` ids, duplicate members), `-32602`
    /// parameters that are not what their names say. The error carries the request's id wherever one can be read.
    pub(crate) fn parse(body: &'a [u8]) -> Result<Self, Box<Malformed<'a>>> {
        let text =
            std::str::from_utf8(body).map_err(|_| Malformed::frame(None, RpcError::parse("the body is not UTF-8")))?;
        match serde_json::from_str::<Object<Frame<'a, Object<Params<'a>>>>>(text) {
            Ok(Object(frame)) => {
                let Envelope { id, method } = frame.envelope()?;
                let Some(id) = id else { return Ok(Message::Notification(method)) };
                Ok(Message::Request(Request {
                    id,
                    method,
                    params: frame.params.map(|Object(params)| params).unwrap_or_default(),
                }))
            }
            Err(error) => Self::parse_in_stages(text, &error),
        }
    }

    #[cold]
    fn parse_in_stages(text: &'a str, error: &serde_json::Error) -> Result<Self, Box<Malformed<'a>>> {
        let frame = match serde_json::from_str::<Object<Frame<'a, &'a RawValue>>>(text) {
            Ok(Object(frame)) => frame,
            Err(error) => return Err(Malformed::frame(recover_id(text), frame_error(text, &error))),
        };
        let Envelope { id, method } = frame.envelope()?;
        if id.is_none() {
            return Ok(Message::Notification(method));
        }
        let problem = match frame.params.map(|params| serde_json::from_str::<Object<Params<'_>>>(params.get())) {
            Some(Err(error)) => without_values(&error),
            _ => without_values(error),
        };
        let error = RpcError::malformed_params(format!("params are malformed: {problem}"));
        Err(Box::new(Malformed { id, method: Some(method), error }))
    }
}

struct Envelope<'a> {
    id: Option<RequestId>,
    method: Cow<'a, str>,
}

impl<'a, P> Frame<'a, P> {
    fn envelope(&self) -> Result<Envelope<'a>, Box<Malformed<'a>>> {
        let id = self.id.map(RequestId::parse).transpose().map_err(|error| Malformed::frame(None, error))?;
        let invalid = |message| Malformed::frame(id.clone(), RpcError::invalid_request(message));
        if self.jsonrpc.as_ref().is_none_or(|version| version.0 != "2.0") {
            return Err(invalid("jsonrpc must be \"2.0\""));
        }
        let Some(method) = &self.method else {
            return Err(invalid("method is missing; clients send requests and notifications, never responses"));
        };
        Ok(Envelope { method: method.0.clone(), id })
    }
}

impl Malformed<'_> {
    fn frame(id: Option<RequestId>, error: RpcError) -> Box<Self> {
        Box::new(Self { id, method: None, error })
    }
}

/// What serde says, without the value it says it of: that may be a state or an answer, and errors are logged.
fn without_values(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.rsplit_once(", expected ") {
        Some((_, expected)) => format!("expected {expected}"),
        None => text,
    }
}

fn frame_error(text: &str, error: &serde_json::Error) -> RpcError {
    // A frame of the wrong shape may also break off further on: then it is no JSON before it is anything else.
    let broken = serde_json::from_str::<IgnoredAny>(text).err();
    let error = broken.as_ref().unwrap_or(error);
    match error.classify() {
        Category::Data if text.trim_start().starts_with('[') => {
            RpcError::invalid_request("batches are not part of MCP: send one message per request")
        }
        Category::Data => RpcError::invalid_request(format!("not a JSON-RPC request: {error}")),
        Category::Syntax | Category::Eof | Category::Io => RpcError::parse(format!("the message is not JSON: {error}")),
    }
}

/// The id of a frame that is otherwise broken, if that much can be read.
fn recover_id(text: &str) -> Option<RequestId> {
    #[derive(Deserialize)]
    struct OnlyId<'a> {
        #[serde(borrow)]
        id: &'a RawValue,
    }
    // Not an `Object`: another member may be named twice, which is what is wrong with the frame. An array has no id.
    let object = text.trim_start().starts_with('{').then_some(text)?;
    RequestId::parse(serde_json::from_str::<OnlyId<'_>>(object).ok()?.id).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(body: &str) -> (i32, Option<String>) {
        let malformed = Message::parse(body.as_bytes()).expect_err(body);
        (malformed.error.code(), malformed.id.map(|id| id.as_json().to_owned()))
    }

    #[test]
    fn a_request_is_read_in_one_pass() {
        let body = br#"{"jsonrpc":"2.0","id":1.0,"method":"tools/call","extra":[1],"params":{"name":"t","arguments":{"n":1.0},"requestState":null,"x":{}}}"#;
        let Ok(Message::Request(request)) = Message::parse(body) else { panic!("not a request") };
        assert_eq!(request.id.as_json(), "1");
        assert_eq!(request.method, "tools/call");
        assert_eq!(request.params.name.expect("name").0, "t");
        assert_eq!(request.params.arguments.expect("arguments").get(), r#"{"n":1.0}"#);
        assert!(request.params.request_state.is_none(), "a null state is an absent one");
    }

    #[test]
    fn a_message_without_an_id_is_a_notification() {
        let body = br#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"name":5}}"#;
        let Ok(Message::Notification(method)) = Message::parse(body) else { panic!("not a notification") };
        assert_eq!(method, "notifications/cancelled");
    }

    #[test]
    fn broken_frames_get_the_right_code_and_keep_the_id_when_there_is_one() {
        let one = Some("1".to_owned());
        for (body, code, id) in [
            ("", -32700, None),
            ("{", -32700, None),
            ("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\"} x", -32700, None),
            ("[]", -32600, None),
            ("[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\"}]", -32600, None),
            ("[\"2.0\",1,\"m\"]", -32600, None),
            ("5", -32600, None),
            ("{}", -32600, None),
            ("{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"m\"}", -32600, one.clone()),
            ("{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"m\"}", -32600, None),
            ("{\"jsonrpc\":\"2.0\",\"id\":1}", -32600, one.clone()),
            ("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}", -32600, one.clone()),
            ("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":7}", -32600, one.clone()),
            ("{\"jsonrpc\":\"2.0\",\"id\":1,\"id\":2,\"method\":\"m\"}", -32600, None),
            ("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"method\":\"n\"}", -32600, one.clone()),
            ("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\\ud800\"}", -32700, one.clone()),
            ("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":[]}", -32602, one.clone()),
            ("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":{\"_meta\":[]}}", -32602, one.clone()),
            ("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":{\"name\":5}}", -32602, one.clone()),
            ("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":{\"name\":\"\\udc00\"}}", -32602, one.clone()),
            ("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":{\"requestState\":{}}}", -32602, one.clone()),
            ("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":{\"name\":\"a\",\"name\":\"b\"}}", -32602, one),
        ] {
            assert_eq!(error(body), (code, id), "{body}");
        }
    }

    #[test]
    fn an_error_never_repeats_what_may_be_a_state_or_an_answer() {
        for value in ["12345678", "\"secret, expected nothing\"", "[\"secret\"]", "{\"secret\":1}"] {
            let body = format!(
                r#"{{"jsonrpc":"2.0","id":1,"method":"m","params":{{"_meta":{value},"requestState":{value}}}}}"#
            );
            let error = Message::parse(body.as_bytes()).err().map(|malformed| malformed.error.message().to_owned());
            let error = error.unwrap_or_default();
            assert!(!error.contains("secret") && !error.contains("12345678"), "{error}");
        }
    }

    #[test]
    fn a_body_that_is_not_utf8_is_a_parse_error() {
        assert_eq!(Message::parse(b"{\"id\":\"\xff\"}").expect_err("not UTF-8").error.code(), -32700);
    }
}
