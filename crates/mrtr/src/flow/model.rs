//! Questions to the client's software: its model, its roots.
//!
//! Both are deprecated by revision 2026-07-28 and still part of it. Spec: `client/sampling`, `client/roots`.

use std::marker::PhantomData;

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Map, Value, json, value::RawValue};

use super::ClientInfo;
use super::ask::{Again, Prepared, Question, Verdict};
use super::journal::Kind;
use crate::seal::Digest;
use crate::wire::ClientCapabilities;

/// What to ask the client's model. Spec: `schema#createmessagerequestparams`.
///
/// The builder covers the common case; [`CreateMessage::set`] reaches every other field of the spec.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateMessage {
    params: Map<String, Value>,
}

impl CreateMessage {
    /// One user message of text, and how many tokens the answer may have.
    pub fn new(text: impl Into<String>, max_tokens: u32) -> Self {
        let message = json!({ "role": "user", "content": { "type": "text", "text": text.into() } });
        let mut params = Map::new();
        params.insert("messages".into(), json!([message]));
        params.insert("maxTokens".into(), json!(max_tokens));
        Self { params }
    }

    /// Adds a system prompt.
    #[must_use]
    pub fn system(self, prompt: impl Into<String>) -> Self {
        self.set("systemPrompt", prompt.into())
    }

    /// Sets any field of the request, by its name in the spec.
    #[must_use]
    pub fn set(mut self, field: impl Into<String>, value: impl Into<Value>) -> Self {
        self.params.insert(field.into(), value.into());
        self
    }
}

/// What the client's model answered. Spec: `schema#createmessageresult`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CreateMessageResult {
    /// Who speaks, normally `assistant`.
    pub role: String,
    /// One content block, or several.
    pub content: Value,
    /// The model that answered, as the client names it.
    pub model: String,
    /// Why it stopped.
    #[serde(default, rename = "stopReason", skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<String>,
}

impl CreateMessageResult {
    /// The text of all text blocks, joined.
    pub fn text(&self) -> String {
        let blocks = match &self.content {
            Value::Array(blocks) => blocks.as_slice(),
            block => std::slice::from_ref(block),
        };
        blocks.iter().filter_map(|block| block.get("text")?.as_str()).collect()
    }
}

/// A directory or file the client works in. Spec: `schema#root`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Root {
    /// A `file://` URI.
    pub uri: String,
    /// For display.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct ListRootsResult {
    pub(super) roots: Vec<Root>,
}

/// A request to the client's software whose result is an `R`: what [`Context::sample`](crate::Context::sample) and
/// [`Context::list_roots`](crate::Context::list_roots) ask.
#[derive(Debug)]
pub struct ClientRequest<R> {
    kind: Kind,
    request: String,
    needs: fn() -> ClientCapabilities,
    supported: fn(&ClientInfo) -> bool,
    result: PhantomData<fn() -> R>,
}

impl ClientRequest<CreateMessageResult> {
    pub(super) fn sample(message: &CreateMessage) -> Self {
        let with_tools = message.params.contains_key("tools");
        Self {
            kind: Kind::Sampling,
            request: json!({ "method": "sampling/createMessage", "params": message.params }).to_string(),
            needs: if with_tools {
                || ClientCapabilities::default().with_sampling_tools()
            } else {
                || ClientCapabilities::default().with_sampling()
            },
            supported: if with_tools { |client| client.can_sample_with_tools() } else { |client| client.can_sample() },
            result: PhantomData,
        }
    }
}

impl ClientRequest<Vec<Root>> {
    pub(super) fn roots() -> Self {
        Self {
            kind: Kind::Roots,
            request: r#"{"method":"roots/list"}"#.to_owned(),
            needs: || ClientCapabilities::default().with_roots(),
            supported: |client| client.can_list_roots(),
            result: PhantomData,
        }
    }
}

/// How a result reads on the wire.
#[doc(hidden)]
pub trait ClientResult: Sized + Send {
    #[doc(hidden)]
    fn from_wire(json: &str) -> serde_json::Result<Self>;
}

impl ClientResult for CreateMessageResult {
    fn from_wire(json: &str) -> serde_json::Result<Self> {
        object(json)
    }
}

impl ClientResult for Vec<Root> {
    fn from_wire(json: &str) -> serde_json::Result<Self> {
        object::<ListRootsResult>(json).map(|result| result.roots)
    }
}

fn object<T: DeserializeOwned>(json: &str) -> serde_json::Result<T> {
    serde_json::from_str::<crate::wire::Object<T>>(json).map(|object| object.0)
}

impl<R: ClientResult> Question for ClientRequest<R> {
    type Output = R;

    fn prepare(&mut self) -> Result<Prepared, String> {
        Ok(Prepared {
            kind: self.kind,
            digest: Digest::of("client", &[self.request.as_bytes()]),
            needs: self.needs,
            supported: self.supported,
        })
    }

    fn request(&self, _: &Again) -> String {
        self.request.clone()
    }

    fn judge(&self, answer: &RawValue) -> Verdict<R> {
        match R::from_wire(answer.get()) {
            Ok(result) => Verdict::Accepted(result, answer.get().to_owned()),
            Err(error) => Verdict::Invalid { problems: format!("not a result of {}: {error}", self.kind), kept: None },
        }
    }

    fn recall(&self, recorded: &str) -> Result<R, String> {
        R::from_wire(recorded).map_err(|error| error.to_string())
    }
}
