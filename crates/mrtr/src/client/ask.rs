//! One question of one round, as a responder sees it.
//!
//! An [`Ask`] carries what the server sent as raw JSON: whatever is odd about it reaches the responder, nothing is dropped
//! on the way. What cannot be read at all never becomes a question: a message, schema or URL that is missing or of the
//! wrong type ends the operation before anybody is asked.

use std::any::Any;
use std::fmt;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::OperationId;
use super::response::member;

/// What sort of input a server asks for.
///
/// Each kind is one capability a client may declare, and has its own place in [`Responders`](super::Responders).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// `elicitation/create` in form mode: the user fills in fields.
    Form,
    /// `elicitation/create` in URL mode: the user is sent to a page.
    Url,
    /// `sampling/createMessage`: the client's model writes a message.
    Sampling,
    /// `roots/list`: the client says which directories it works in.
    Roots,
}

impl Kind {
    /// Returns the method of this kind of input request.
    pub fn method(self) -> &'static str {
        match self {
            Self::Form | Self::Url => "elicitation/create",
            Self::Sampling => "sampling/createMessage",
            Self::Roots => "roots/list",
        }
    }

    /// Tells whether the answer is an accept, a decline or a cancel.
    pub fn is_elicitation(self) -> bool {
        matches!(self, Self::Form | Self::Url)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Form => "form elicitation",
            Self::Url => "URL elicitation",
            Self::Sampling => "sampling",
            Self::Roots => "roots",
        })
    }
}

/// A question the server put, with all a responder needs to answer it.
///
/// # Security
///
/// Everything in `params`, `key` and `server_name` is the server's text. Show it only after making control and
/// bidirectional characters visible, and never let it decide what is answered.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Ask {
    /// The operation that asks; another one may be asking at the same time.
    pub operation: OperationId,
    /// Where the question comes from: the server's URL, which the user typed and can recognise.
    pub server: String,
    /// What the server calls itself. Unverified: display it beside [`server`](Self::server), never instead of it.
    pub server_name: Option<String>,
    /// The method being called, such as `tools/call`.
    pub method: String,
    /// The tool, prompt or resource being called.
    pub target: String,
    /// The round of the operation that brought the question, from 1.
    pub round: u32,
    /// The position of this question in its round, from 1.
    pub number: usize,
    /// How many questions the round has.
    pub count: usize,
    /// How often this key was answered earlier in the operation: more than 0 means that the server asks again.
    pub asked_before: u32,
    /// Whether the user has agreed to this very URL under this key: the server still waits for what happens there.
    /// Another URL under the same key needs consent of its own.
    pub consented: bool,
    /// The server's name for the question, unique within the operation.
    pub key: String,
    /// What sort of input is asked for.
    pub kind: Kind,
    /// The `params` of the input request, as sent.
    pub params: Box<RawValue>,
    /// Whether somebody else is asked if this responder answers [`NotAnswered::Nobody`](super::NotAnswered::Nobody); see
    /// [`Or`](super::Or).
    pub has_alternative: bool,
    /// Field values settled before a person is asked, for example by a [`Scripted`](super::Scripted) responder that
    /// covers a part of the form. A responder keeps them and asks for the rest.
    pub settled: Map<String, Value>,
}

impl Ask {
    /// Returns the text the server wants the user to read. Every form and URL has one; empty for other kinds.
    pub fn message(&self) -> String {
        self.param::<String>("message").unwrap_or_default()
    }

    /// Returns the schema of a form's answer. Every form has one; for other kinds, an object schema without fields.
    pub fn requested_schema(&self) -> Value {
        self.param::<Value>("requestedSchema")
            .filter(Value::is_object)
            .unwrap_or_else(|| serde_json::json!({ "type": "object", "properties": {} }))
    }

    /// Returns the page the user is sent to, unchecked.
    pub fn url(&self) -> Option<String> {
        self.param("url")
    }

    /// Returns what the caller gave with the call that asks; `None` if that was nothing, or of another type.
    ///
    /// With several callers on one client, this is how a question finds the screen of the one whose call asks.
    pub fn context<T: Any>(&self) -> Option<&T> {
        self.operation.context()
    }

    fn param<'a, T: Deserialize<'a>>(&'a self, name: &str) -> Option<T> {
        // Each member is decoded by itself: a broken schema does not take the message with it.
        member(&self.params, name)
    }
}
