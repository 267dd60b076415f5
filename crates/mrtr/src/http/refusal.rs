//! Why the transport turned a request away, each reason with its status and what to do about it.
//!
//! Every refusal is an HTTP response with a JSON-RPC error that has no `id`: nothing of the body has been
//! parsed yet. The texts are fixed; what the peer sent goes to the log, not back.

use std::time::Duration;

use http::{HeaderName, HeaderValue, Response, StatusCode, header};
use serde_json::json;

use super::{
    auth::AuthError,
    body::{ResponseBody, json_response},
};

/// JSON-RPC "invalid request".
const INVALID_REQUEST: i64 = -32600;
/// JSON-RPC "internal error": it is not the request.
const INTERNAL_ERROR: i64 = -32603;

/// How long to wait for what an authenticator could not reach.
const UNAVAILABLE: Duration = Duration::from_secs(5);

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
    #[error("{error}")]
    Unauthenticated { error: AuthError, challenge: Option<HeaderValue> },
    #[error("the server failed to find out who is calling; its operator finds the cause in the log")]
    AuthenticatorFailed,
    #[error("only GET is served here")]
    DocumentMethodNotAllowed,
    #[error("too many calls; wait {} s, then go on more slowly", in_seconds(.retry_after))]
    TooManyCalls { retry_after: Duration },
    #[error("{limit} of your calls are running, which is the limit; wait until one has ended")]
    TooManyOpen { limit: usize, retry_after: Duration },
    #[error("the server is busy; try again in {} s", in_seconds(.retry_after))]
    Busy { retry_after: Duration },
}

impl Refusal {
    pub(super) fn into_response(self) -> Response<ResponseBody> {
        let status = self.status();
        let error = json!({
            "jsonrpc": "2.0",
            "error": {
                "code": if status.is_server_error() { INTERNAL_ERROR } else { INVALID_REQUEST },
                "message": self.to_string(),
            },
        });
        let mut response = json_response(status, error.to_string().into());
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
            Self::MethodNotAllowed | Self::DocumentMethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            Self::ReplyNotAcceptable => StatusCode::NOT_ACCEPTABLE,
            Self::BodyTooSlow { .. } => StatusCode::REQUEST_TIMEOUT,
            Self::BodyTooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            Self::ContentTypeNotJson | Self::BodyEncoded => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::Unauthenticated { error, .. } => match error {
                AuthError::Missing | AuthError::Unauthorized(_) => StatusCode::UNAUTHORIZED,
                AuthError::Malformed(_) => StatusCode::BAD_REQUEST,
                AuthError::Forbidden { .. } => StatusCode::FORBIDDEN,
                AuthError::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
            },
            Self::AuthenticatorFailed => StatusCode::INTERNAL_SERVER_ERROR,
            Self::TooManyCalls { .. } | Self::TooManyOpen { .. } => StatusCode::TOO_MANY_REQUESTS,
            Self::Busy { .. } => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    /// The header that tells a generic HTTP client what would have worked.
    fn advice(&self) -> Option<(HeaderName, HeaderValue)> {
        match self {
            Self::MethodNotAllowed => Some((header::ALLOW, HeaderValue::from_static("POST"))),
            Self::DocumentMethodNotAllowed => Some((header::ALLOW, HeaderValue::from_static("GET, HEAD, OPTIONS"))),
            Self::BodyEncoded => Some((header::ACCEPT_ENCODING, HeaderValue::from_static("identity"))),
            Self::Unauthenticated { error: AuthError::Unavailable, .. } => Some(retry_after(&UNAVAILABLE)),
            Self::Unauthenticated { challenge, .. } => {
                challenge.clone().map(|challenge| (header::WWW_AUTHENTICATE, challenge))
            }
            Self::TooManyCalls { retry_after: wait }
            | Self::TooManyOpen { retry_after: wait, .. }
            | Self::Busy { retry_after: wait } => Some(retry_after(wait)),
            _ => None,
        }
    }
}

fn retry_after(wait: &Duration) -> (HeaderName, HeaderValue) {
    (header::RETRY_AFTER, HeaderValue::from(in_seconds(wait)))
}

/// Whole seconds, rounded up: who comes back then is not too early.
fn in_seconds(wait: &Duration) -> u64 {
    (wait.as_secs() + u64::from(wait.subsec_nanos() > 0)).max(1)
}
