//! Why the transport turned a request away, each reason with its status and what to do about it.
//!
//! Every refusal is an HTTP response with a JSON-RPC error that has no `id`: nothing of the body has been
//! parsed yet. The texts are fixed; what the peer sent goes to the log, not back.

use std::time::Duration;

use http::{HeaderName, HeaderValue, Response, StatusCode, header};
use serde_json::json;

use super::body::{ResponseBody, json_response};

/// JSON-RPC "invalid request".
const INVALID_REQUEST: i64 = -32600;

/// A reason to answer without looking at the message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Refusal {
    #[error("exactly one Host header (or :authority) is required")]
    HostUnclear,
    #[error("the Host header names a host this server does not answer to; its operator can add it with allow_host")]
    HostNotAllowed,
    #[error("the Origin header names an origin this server does not serve; its operator can add it with allow_origin")]
    OriginNotAllowed,
    #[error("there is no MCP endpoint at this path; POST to {endpoint}")]
    PathUnknown { endpoint: String },
    #[error("only POST is served here: send each JSON-RPC message as one POST")]
    MethodNotAllowed,
    #[error("the Content-Type header must be application/json, in UTF-8")]
    ContentTypeNotJson,
    #[error("the body must be sent without a Content-Encoding")]
    BodyEncoded,
    #[error("the Accept header must admit both application/json and text/event-stream")]
    ReplyNotAcceptable,
    #[error("the body is larger than the {limit} bytes this server reads")]
    BodyTooLarge { limit: usize },
    #[error("the body did not arrive within {} s", .limit.as_secs_f32())]
    BodyTooSlow { limit: Duration },
    #[error("the body ended before it was complete")]
    BodyIncomplete,
}

impl Refusal {
    pub(super) fn into_response(self) -> Response<ResponseBody> {
        let error = json!({
            "jsonrpc": "2.0",
            "error": { "code": INVALID_REQUEST, "message": self.to_string() },
        });
        let mut response = json_response(self.status(), error.to_string().into());
        if let Some((name, value)) = self.advice() {
            response.headers_mut().insert(name, value);
        }
        response
    }

    fn status(&self) -> StatusCode {
        match self {
            // RFC 9112, section 3.2, asks for 400 here.
            Self::HostUnclear | Self::BodyIncomplete => StatusCode::BAD_REQUEST,
            Self::HostNotAllowed | Self::OriginNotAllowed => StatusCode::FORBIDDEN,
            Self::PathUnknown { .. } => StatusCode::NOT_FOUND,
            Self::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            Self::ReplyNotAcceptable => StatusCode::NOT_ACCEPTABLE,
            Self::BodyTooSlow { .. } => StatusCode::REQUEST_TIMEOUT,
            Self::BodyTooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            Self::ContentTypeNotJson | Self::BodyEncoded => StatusCode::UNSUPPORTED_MEDIA_TYPE,
        }
    }

    /// The header that tells a generic HTTP client what would have worked.
    fn advice(&self) -> Option<(HeaderName, HeaderValue)> {
        match self {
            Self::MethodNotAllowed => Some((header::ALLOW, HeaderValue::from_static("POST"))),
            Self::BodyEncoded => Some((header::ACCEPT_ENCODING, HeaderValue::from_static("identity"))),
            _ => None,
        }
    }
}
