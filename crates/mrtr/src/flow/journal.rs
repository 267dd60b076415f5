//! The journal: what rounds settled and what they left open, in the order the handler called for it.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Value, value::RawValue};

use super::answer::ElicitResult;
use crate::seal::Digest;

/// How much of an answer that does not count travels on, in bytes, to be offered again.
pub(super) const MAX_KEPT: usize = 1024;

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
    /// Asked, and perhaps answered, in a state that has expired since. Nothing counts until it is asked again; then `kept`
    /// is offered.
    Expired { asked: Digest, kept: Option<String> },
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
            Self::Open { asked, .. } | Self::Answered { asked, .. } | Self::Expired { asked, .. } => Some(*asked),
            Self::Done(_) | Self::Fallback => None,
        }
    }

    pub(crate) fn is_settled(&self) -> bool {
        !matches!(self, Self::Open { .. } | Self::Expired { .. })
    }

    /// Whether the next round must know it even if this one did not come to it.
    pub(crate) fn outlives_a_round(&self) -> bool {
        !matches!(self, Self::Open { .. })
    }
}

impl Entry {
    /// Whether it is a question that waits for its answer.
    #[cfg(feature = "testing")]
    pub(crate) fn is_pinned(&self) -> bool {
        let is_question = !matches!(self.kind, Kind::Step | Kind::Wait);
        is_question && matches!(self.state, State::Open { .. })
    }

    /// Has a question that waits for its answer be another one.
    #[cfg(feature = "testing")]
    pub(crate) fn repin(&mut self, other: Digest) {
        if let State::Open { asked, .. } = &mut self.state {
            *asked = other;
        }
    }

    /// Takes back what was asked and answered in a state that has expired, together with the `late` answer that came with
    /// it: both are only offered again. What is done stays done.
    pub(crate) fn expire(&mut self, late: Option<&RawValue>) {
        let (asked, kept) = match &mut self.state {
            State::Open { asked, kept, .. } => (*asked, late.and_then(content).or_else(|| kept.take())),
            State::Answered { asked, answer: Answer::Accepted(content) } => (*asked, Some(std::mem::take(content))),
            State::Answered { asked, .. } => (*asked, None),
            State::Expired { .. } | State::Done(_) | State::Fallback => return,
        };
        self.state = State::Expired { asked, kept: kept.filter(|_| self.kind == Kind::Form) };
    }
}

/// The content of an accepted answer, unchecked: whoever offers it again picks what is valid.
fn content(answer: &RawValue) -> Option<String> {
    match ElicitResult::parse(answer) {
        Ok(ElicitResult::Accept(content)) => {
            Some(Value::Object(content).to_string()).filter(|kept| kept.len() <= MAX_KEPT)
        }
        Ok(ElicitResult::Decline | ElicitResult::Cancel) | Err(_) => None,
    }
}

impl Kind {
    /// The method of `Context`.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Form => "elicit",
            Self::Url => "elicit_url",
            Self::Sampling => "sample",
            Self::Roots => "list_roots",
            Self::Step => "step",
            Self::Wait => "until",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?}", self.kind, self.key)
    }
}
