//! JSON-RPC errors: each constructor is one row of the spec's error table and knows its code and HTTP status.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{ClientCapabilities, RequestId, SUPPORTED_VERSIONS};

/// A JSON-RPC error and the HTTP status it travels with.
///
/// The message is what the peer reads: it says what to do next, and never why a sealed state was refused.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct RpcError {
    code: i32,
    status: u16,
    message: Cow<'static, str>,
    #[serde(with = "as_text")]
    data: Option<Value>,
}

/// The code for an operation whose outcome nobody knows: outside the ranges that JSON-RPC and the protocol reserve.
/// Spec: `basic/index#error-codes`.
pub const OUTCOME_UNKNOWN: i32 = -31001;

impl RpcError {
    /// `-32700`: the body is not JSON.
    pub(crate) fn parse(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(-32700, 400, message)
    }

    /// `-32600`: JSON, but not a request this protocol knows.
    pub(crate) fn invalid_request(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(-32600, 400, message)
    }

    /// `-32601` with HTTP 404: no such method here.
    pub(crate) fn method_not_found(method: &str) -> Self {
        if method == "initialize" {
            // Spec: `basic/versioning` wants whoever still shakes hands to learn what would work.
            let message = format!("method not found: initialize; this server speaks {}", SUPPORTED_VERSIONS.join(", "));
            return Self::new(-32601, 404, message).with_data(json!({ "supported": SUPPORTED_VERSIONS }));
        }
        let shown: String = method.chars().take(80).collect();
        Self::new(-32601, 404, format!("method not found: {}", shown.escape_debug()))
    }

    /// `-32602` with HTTP 400: the request breaks its schema.
    pub(crate) fn malformed_params(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(-32602, 400, message)
    }

    /// `-32602`: well formed, but this server cannot act on it (an unknown tool, say).
    pub(crate) fn invalid_params(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(-32602, 200, message)
    }

    /// `-32602` for every request state that does not open, whatever the reason: the text must not help an attacker.
    pub(crate) fn invalid_state() -> Self {
        Self::invalid_params("Invalid or expired requestState")
    }

    /// `-32603`: the server is at fault; the log says how.
    pub(crate) fn internal(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(-32603, 200, message)
    }

    /// `-32603` with HTTP 503: the server has no room for this now.
    pub(crate) fn busy(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(-32603, 503, message)
    }

    /// `-32602`: what is done once was done already, for a request with other content. Whoever reads this could open the
    /// state's operation anyway, so it may know.
    pub(crate) fn already_used() -> Self {
        Self::invalid_params(
            "already used: the same requestState, or idempotency key, came before with other content; \
             nothing was done now. Start the call again",
        )
        .with_data(json!({ "reason": "already_used" }))
    }

    /// `-32603` with HTTP 503: the same request is being answered, and takes longer than this one can wait.
    pub(crate) fn still_at_work() -> Self {
        Self::busy("the same request is still at work; send it again to get its answer").retryable("still_at_work")
    }

    /// `-32603` with HTTP 503: whether this was done already cannot be told now, so it is not done.
    pub(crate) fn ledger_unavailable() -> Self {
        Self::busy("the server cannot tell now whether this was done already, and did nothing; send it again later")
            .retryable("ledger_unavailable")
    }

    /// [`OUTCOME_UNKNOWN`]: the server stopped in the middle of this round, and nothing tells what it had done.
    pub(crate) fn outcome_unknown(operation: &str) -> Self {
        let message = "outcome unknown: the server stopped while it was at work on this request, which may or may not \
                       have taken effect; it is not done again. Find out before you start the call again";
        Self::new(OUTCOME_UNKNOWN, 200, message)
            .with_data(json!({ "reason": "outcome_unknown", "operationId": operation }))
    }

    /// `-32020` with HTTP 400: a mirrored header is missing or differs from the body.
    pub(crate) fn header_mismatch(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(-32020, 400, message)
    }

    /// `-32021` with HTTP 400: the client did not declare what the handler must ask for.
    pub(crate) fn missing_capability(required: &ClientCapabilities) -> Self {
        let required = serde_json::to_value(required).unwrap_or_default();
        let message = "the request needs client capabilities that were not declared; see data.requiredCapabilities";
        Self::new(-32021, 400, message).with_data(json!({ "requiredCapabilities": required }))
    }

    /// `-32022` with HTTP 400: another protocol revision.
    ///
    /// The message names the versions as well: many clients show their user nothing else.
    pub(crate) fn unsupported_version(requested: &str) -> Self {
        let requested: String = requested.chars().take(64).collect();
        let spoken = SUPPORTED_VERSIONS.join(", ");
        Self::new(-32022, 400, format!("Unsupported protocol version; this server speaks {spoken}"))
            .with_data(json!({ "supported": SUPPORTED_VERSIONS, "requested": requested }))
    }

    /// The JSON-RPC code.
    pub(crate) fn code(&self) -> i32 {
        self.code
    }

    /// The HTTP status this error is sent with.
    pub(crate) fn status(&self) -> u16 {
        self.status
    }

    /// What the peer reads.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// The complete JSON-RPC error response; without `id` when none could be read.
    pub(crate) fn to_response(&self, id: Option<&RequestId>) -> Vec<u8> {
        let mut error = json!({ "code": self.code, "message": self.message });
        if let Some(data) = &self.data {
            error["data"] = data.clone();
        }
        let id = id.map(|id| format!("\"id\":{},", id.as_json())).unwrap_or_default();
        format!("{{\"jsonrpc\":\"2.0\",{id}\"error\":{error}}}").into_bytes()
    }

    fn new(code: i32, status: u16, message: impl Into<Cow<'static, str>>) -> Self {
        Self { code, status, message: message.into(), data: None }
    }

    /// Says to programs that the same request may be sent again.
    fn retryable(self, reason: &str) -> Self {
        self.with_data(json!({ "reason": reason, "retryable": true }))
    }

    /// Whether the same request may be sent again.
    pub(crate) fn is_retryable(&self) -> bool {
        self.data.as_ref().is_some_and(|data| data["retryable"] == true)
    }

    /// Adds what programs read.
    pub(crate) fn with_data(mut self, data: Value) -> Self {
        self.data = Some(data);
        self
    }
}

/// Data as JSON text, for formats that cannot hold just any value.
mod as_text {
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};
    use serde_json::Value;

    pub(super) fn serialize<S: Serializer>(data: &Option<Value>, to: S) -> Result<S::Ok, S::Error> {
        data.as_ref().map(Value::to_string).serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Value>, D::Error> {
        let text = Option::<String>::deserialize(from)?;
        text.map(|text| serde_json::from_str(&text).map_err(D::Error::custom)).transpose()
    }
}
