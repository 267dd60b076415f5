//! The request metadata every request carries. Spec: `basic/index#meta`.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{RequestId, RpcError, message::Text, meta_key, object};

/// `params._meta`, as far as this crate looks at it.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct Meta<'a> {
    #[serde(borrow, default, rename = "io.modelcontextprotocol/protocolVersion")]
    protocol_version: Option<Text<'a>>,
    #[serde(borrow, default, rename = "io.modelcontextprotocol/clientInfo")]
    client_info: Option<&'a RawValue>,
    #[serde(default, rename = "io.modelcontextprotocol/clientCapabilities", deserialize_with = "object::object")]
    client_capabilities: Option<ClientCapabilities>,
    #[serde(borrow, default, rename = "io.modelcontextprotocol/logLevel")]
    log_level: Option<Text<'a>>,
    #[serde(borrow, default, rename = "progressToken")]
    progress_token: Option<&'a RawValue>,
    #[serde(borrow, default)]
    traceparent: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "mrtr/idempotencyKey")]
    idempotency_key: Option<&'a RawValue>,
}

/// The longest idempotency key, in bytes.
const MAX_IDEMPOTENCY_KEY: usize = 256;

impl<'a> Meta<'a> {
    /// The revision the request speaks.
    ///
    /// # Errors
    /// `-32602` with HTTP 400 when the required key is missing.
    pub(crate) fn protocol_version(&self) -> Result<&str, RpcError> {
        self.protocol_version.as_ref().map(|text| &*text.0).ok_or_else(|| missing(meta_key::PROTOCOL_VERSION))
    }

    /// What the client can be asked in this request; earlier requests count for nothing.
    ///
    /// # Errors
    /// `-32602` with HTTP 400 when the required key is missing.
    pub(crate) fn client_capabilities(&self) -> Result<&ClientCapabilities, RpcError> {
        self.client_capabilities.as_ref().ok_or_else(|| missing(meta_key::CLIENT_CAPABILITIES))
    }

    /// From which level on the request wants log messages; by name, which may be none of ours.
    pub(crate) fn log_level(&self) -> Option<&str> {
        self.log_level.as_ref().map(|text| &*text.0)
    }

    /// What progress messages are to carry.
    ///
    /// # Errors
    /// `-32602` with HTTP 400 when it is neither a string nor an integer.
    pub(crate) fn progress_token(&self) -> Result<Option<RequestId>, RpcError> {
        let malformed = |_| RpcError::malformed_params("params._meta.progressToken must be a string or an integer");
        self.progress_token.map(RequestId::parse).transpose().map_err(malformed)
    }

    /// The caller's place in a trace, as W3C Trace Context writes it. Whatever else stands there is no one's mistake
    /// that is worth a refusal.
    pub(crate) fn traceparent(&self) -> Option<Cow<'a, str>> {
        let text: Text<'a> = serde_json::from_str(self.traceparent?.get()).ok()?;
        (text.0.len() <= 128 && text.0.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-')).then_some(text.0)
    }

    /// The client's own name for the operation it starts: an extension of this crate, see `docs/guarantees.md`.
    ///
    /// # Errors
    /// `-32602` with HTTP 400 when it is no text of 1 to 256 bytes.
    pub(crate) fn idempotency_key(&self) -> Result<Option<Cow<'a, str>>, RpcError> {
        let Some(raw) = self.idempotency_key else { return Ok(None) };
        match serde_json::from_str::<Text<'a>>(raw.get()) {
            Ok(text) if (1..=MAX_IDEMPOTENCY_KEY).contains(&text.0.len()) => Ok(Some(text.0)),
            _ => Err(RpcError::malformed_params(format!(
                "params._meta[{:?}] must be a string of 1 to {MAX_IDEMPOTENCY_KEY} bytes",
                meta_key::IDEMPOTENCY_KEY
            ))),
        }
    }

    /// What the client says of itself, as it came. Self-reported: for display and logs only.
    pub(crate) fn client_info(&self) -> Option<&'a RawValue> {
        self.client_info
    }
}

fn missing(key: &str) -> RpcError {
    RpcError::malformed_params(format!("params._meta lacks {key:?}, which every request must carry"))
}

/// What a client says it can be asked. Spec: `schema#clientcapabilities`.
///
/// Of the objects inside only their presence is read: nothing in them means anything yet.
///
/// The same type names what a request would have needed, in the `data` of `-32021`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[non_exhaustive]
pub struct ClientCapabilities {
    /// Questions to the user.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "object::object")]
    pub elicitation: Option<ElicitationCapability>,
    /// Completions by the client's model.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "object::object")]
    pub sampling: Option<SamplingCapability>,
    /// The client's root directories.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "object::object")]
    pub roots: Option<Declared>,
}

/// That something is supported: an object in which nothing means anything yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct Declared {}

/// The modes of elicitation a client supports. Spec: `client/elicitation#capabilities`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[non_exhaustive]
pub struct ElicitationCapability {
    /// Forms, answered in-band.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "object::object")]
    pub form: Option<Declared>,
    /// Pages the user visits, out of band.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "object::object")]
    pub url: Option<Declared>,
}

/// What a client's sampling supports. Spec: `client/sampling#capabilities`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[non_exhaustive]
pub struct SamplingCapability {
    /// Tool use within a sampling request.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "object::object")]
    pub tools: Option<Declared>,
    /// Context inclusion (deprecated by the spec).
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "object::object")]
    pub context: Option<Declared>,
}

impl ClientCapabilities {
    /// Whether a form may be sent: `elicitation.form`, or an empty `elicitation`, which means the same.
    pub fn can_elicit_form(&self) -> bool {
        self.elicitation.as_ref().is_some_and(|modes| modes.form.is_some() || modes.url.is_none())
    }

    /// Whether a URL may be sent: only `elicitation.url` says so.
    pub fn can_elicit_url(&self) -> bool {
        self.elicitation.as_ref().is_some_and(|modes| modes.url.is_some())
    }

    /// Whether the client's model may be asked.
    pub fn can_sample(&self) -> bool {
        self.sampling.is_some()
    }

    /// Whether the client's model may be asked with tools.
    pub fn can_sample_with_tools(&self) -> bool {
        self.sampling.as_ref().is_some_and(|sampling| sampling.tools.is_some())
    }

    /// Whether the client's roots may be asked for.
    pub fn can_list_roots(&self) -> bool {
        self.roots.is_some()
    }

    /// Adds form elicitation.
    #[must_use]
    pub fn with_form(mut self) -> Self {
        self.elicitation.get_or_insert_default().form = Some(Declared {});
        self
    }

    /// Adds URL elicitation.
    #[must_use]
    pub fn with_url(mut self) -> Self {
        self.elicitation.get_or_insert_default().url = Some(Declared {});
        self
    }

    /// Adds sampling.
    #[must_use]
    pub fn with_sampling(mut self) -> Self {
        self.sampling.get_or_insert_default();
        self
    }

    /// Adds sampling with tools.
    #[must_use]
    pub fn with_sampling_tools(mut self) -> Self {
        self.sampling.get_or_insert_default().tools = Some(Declared {});
        self
    }

    /// Adds roots.
    #[must_use]
    pub fn with_roots(mut self) -> Self {
        self.roots = Some(Declared {});
        self
    }

    /// Adds whatever `other` has.
    pub(crate) fn merge(&mut self, other: Self) {
        if let Some(modes) = other.elicitation {
            let mine = self.elicitation.get_or_insert_default();
            mine.form = mine.form.or(modes.form);
            mine.url = mine.url.or(modes.url);
        }
        if let Some(sampling) = other.sampling {
            let mine = self.sampling.get_or_insert_default();
            mine.tools = mine.tools.or(sampling.tools);
        }
        self.roots = self.roots.or(other.roots);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn capabilities(json: &str) -> ClientCapabilities {
        serde_json::from_str(json).expect(json)
    }

    #[test]
    fn an_empty_elicitation_object_means_form_and_url_alone_does_not() {
        assert!(capabilities(r#"{"elicitation":{}}"#).can_elicit_form());
        assert!(!capabilities(r#"{"elicitation":{}}"#).can_elicit_url());
        assert!(!capabilities(r#"{"elicitation":{"url":{}}}"#).can_elicit_form());
        assert!(capabilities(r#"{"elicitation":{"url":{},"form":{}},"later":1}"#).can_elicit_form());
        assert!(!capabilities("{}").can_elicit_form());
    }
}
