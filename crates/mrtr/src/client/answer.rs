//! What a responder gives back.

use std::error::Error;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::Kind;

/// What the user did with a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    /// Said yes, with the content of the form if there is one.
    Accept,
    /// Said no.
    Decline,
    /// Went away without deciding.
    Cancel,
}

impl Action {
    /// Returns the word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Accept => "accept",
            Self::Decline => "decline",
            Self::Cancel => "cancel",
        }
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// An answer to one [`Ask`](super::Ask).
///
/// ```
/// use mrtr::client::Answer;
/// use serde_json::json;
///
/// let yes = Answer::accept([("confirm".to_owned(), json!(true))]);
/// let no = Answer::decline();
/// # let _ = (yes, no);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Answer(Given);

#[derive(Clone, Debug, PartialEq)]
enum Given {
    Elicited(Action, Map<String, Value>),
    Result(Value),
}

impl Answer {
    /// Accepts a form with these fields, or a URL (whose answer never carries content).
    pub fn accept(content: impl IntoIterator<Item = (String, Value)>) -> Self {
        Self(Given::Elicited(Action::Accept, content.into_iter().collect()))
    }

    /// Declines: the user said no.
    pub fn decline() -> Self {
        Self(Given::Elicited(Action::Decline, Map::new()))
    }

    /// Cancels: the user went away without a decision.
    pub fn cancel() -> Self {
        Self(Given::Elicited(Action::Cancel, Map::new()))
    }

    /// Answers sampling or roots with the result object the specification names for them.
    pub fn result(result: Value) -> Self {
        Self(Given::Result(result))
    }

    /// Returns what the user did; `None` for sampling and roots.
    pub fn action(&self) -> Option<Action> {
        match &self.0 {
            Given::Elicited(action, _) => Some(*action),
            Given::Result(_) => None,
        }
    }

    /// Returns the result object of an answer to sampling or roots; `None` for elicitation.
    pub fn as_result(&self) -> Option<&Value> {
        match &self.0 {
            Given::Elicited(..) => None,
            Given::Result(result) => Some(result),
        }
    }

    /// Renders the input response for a question of this kind; `None` if the answer is one for another kind.
    pub(super) fn input_response(self, kind: Kind) -> Option<Value> {
        match self.0 {
            Given::Elicited(..) if !kind.is_elicitation() => None,
            // Spec: client/elicitation#response-actions. Content goes with an accepted form and with nothing else; an
            // accepted form without fields sends `{}`, never null.
            Given::Elicited(Action::Accept, content) if kind == Kind::Form => {
                Some(json!({ "action": "accept", "content": content }))
            }
            Given::Elicited(action, _) => Some(json!({ "action": action.as_str() })),
            Given::Result(result) => (!kind.is_elicitation() && result.is_object()).then_some(result),
        }
    }
}

/// Why a responder gives no answer. The operation ends; nothing made up is sent.
#[derive(Debug)]
#[non_exhaustive]
pub enum NotAnswered {
    /// There is nobody who could be asked. The other questions of the round are still put, so that
    /// [`CallError::Unanswered`](super::CallError::Unanswered) names all that are open.
    Nobody,
    /// As [`Nobody`](Self::Nobody), and these fields of the form are known: whoever is asked next gets them as
    /// [settled](super::Ask::settled).
    Partly(Map<String, Value>),
    /// The user stops the whole operation, not just this question.
    Abandoned,
    /// The answer at hand does not fit the question, or asking failed.
    Failed(Box<dyn Error + Send + Sync>),
}

impl NotAnswered {
    /// Builds a [`Failed`](Self::Failed) from anything that converts into an error, such as a string.
    pub fn failed(cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Failed(cause.into())
    }
}
