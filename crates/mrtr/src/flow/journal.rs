//! The journal: what rounds settled and what they left open, in the order the handler called for it.

use std::collections::HashMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Value, value::RawValue};

use super::answer::ElicitResult;
use crate::seal::Digest;

/// All entries of an operation. It lives only inside the request state.
pub(crate) type Journal = Vec<Entry>;

/// One call of the handler.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) kind: Kind,
    /// Nothing else was ever open beside it, so its place in the order is certain. Calls that ran side by side have no
    /// order among themselves worth checking.
    pub(crate) solo: bool,
    pub(crate) state: State,
}

/// What kind of call it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Kind {
    Form,
    Url,
    Sampling,
    Roots,
    Step,
    Wait,
}

/// How far it got.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum State {
    /// Asked, not answered. `asked` pins the question: an answer counts for this question and no other.
    Open {
        asked: Digest,
        /// Invalid answers so far.
        attempts: u8,
        /// What was valid in the last one, as JSON, to be offered again.
        kept: Option<String>,
    },
    /// Answered, for good.
    Answered { asked: Digest, answer: Answer },
    /// A step or a wait that is done; its result as JSON.
    Done(String),
    /// The client could not be asked; the question's fallback stands.
    Fallback,
}

/// A settled answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Answer {
    /// Validated content or result, as JSON.
    Accepted(String),
    Declined,
    Cancelled,
    /// All attempts used up; what was wrong with the last one.
    Exhausted(String),
}

impl State {
    /// The question this state belongs to, for states that belong to one.
    pub(crate) fn asked(&self) -> Option<Digest> {
        match self {
            Self::Open { asked, .. } | Self::Answered { asked, .. } => Some(*asked),
            Self::Done(_) | Self::Fallback => None,
        }
    }

    pub(crate) fn is_settled(&self) -> bool {
        !matches!(self, Self::Open { .. })
    }
}

/// Starts the questions of an expired operation again. What was answered, earlier or just now, is offered and counts only
/// once it is given again; what is done stays done.
pub(crate) fn reopen(journal: &mut Journal, answers: &mut HashMap<String, Box<RawValue>>) {
    for entry in journal {
        let late = answers.remove(&entry.key);
        match &mut entry.state {
            State::Answered { asked, answer } => {
                let kept = match answer {
                    Answer::Accepted(content) => Some(std::mem::take(content)),
                    Answer::Declined | Answer::Cancelled | Answer::Exhausted(_) => None,
                };
                entry.state = State::Open { asked: *asked, attempts: 0, kept };
            }
            State::Open { kept, .. } => {
                if let Some(Ok(ElicitResult::Accept(content))) = late.map(|late| ElicitResult::parse(&late)) {
                    *kept = Some(Value::Object(content).to_string());
                }
            }
            State::Done(_) | State::Fallback => {}
        }
    }
    answers.clear();
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Form => "elicit",
            Self::Url => "elicit_url",
            Self::Sampling => "sample",
            Self::Roots => "list_roots",
            Self::Step => "step",
            Self::Wait => "until",
        })
    }
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?}", self.kind, self.key)
    }
}
