//! The journal: what rounds settled and what they left open, in the order the handler called for it.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::seal::Digest;

/// All entries of an operation. It lives only inside the request state.
pub(crate) type Journal = Vec<Entry>;

/// One call of the handler.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) kind: Kind,
    pub(crate) place: Place,
    pub(crate) state: State,
}

/// What is known about a call's place in the order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Place {
    /// Nothing else was ever open beside it: its place is certain.
    Alone,
    /// It ran side by side with others: they have no order among themselves worth checking.
    Beside,
    /// The last run of the handler did not get to it: where it belongs is for a later run to say.
    Unknown,
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

    /// Opens a question again and offers its earlier answer, if it had one. What is done stays done.
    pub(crate) fn reopen(&mut self) {
        if let Self::Answered { asked, answer } = self {
            let kept = match answer {
                Answer::Accepted(content) => Some(std::mem::take(content)),
                Answer::Declined | Answer::Cancelled | Answer::Exhausted(_) => None,
            };
            *self = Self::Open { asked: *asked, attempts: 0, kept };
        }
    }
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
