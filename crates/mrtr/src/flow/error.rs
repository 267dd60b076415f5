//! What a call on the context can fail with.

use thiserror::Error;

/// Why a call on the [`Context`](crate::Context) gave no value.
///
/// Inside a handler, `?` turns it into the tool's result: the model reads what happened. A handler that wants to act on
/// a refusal uses [`outcome`](crate::flow::Ask::outcome) instead.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum ContextError {
    /// The user said no.
    #[error("the user declined {key:?}")]
    Declined {
        /// The question's key.
        key: String,
    },
    /// The user dismissed the question.
    #[error("the user cancelled {key:?}")]
    Cancelled {
        /// The question's key.
        key: String,
    },
    /// Every allowed answer was invalid.
    #[error("{key:?} got no valid answer: {problems}")]
    Invalid {
        /// The question's key.
        key: String,
        /// What was wrong with the last one.
        problems: String,
    },
    /// The round ended while this call was still waiting, in a task the handler left behind.
    #[error("{key:?} outlived its round; await it inside the handler")]
    RoundOver {
        /// The call's key.
        key: String,
    },
    /// A step's result cannot be written to or read from the journal.
    #[error("step {key:?} has a result that cannot be kept: {reason}")]
    Unkeepable {
        /// The step's key.
        key: String,
        /// What serde says.
        reason: String,
    },
}

impl ContextError {
    /// Whether the user refused, one way or the other.
    pub fn is_refusal(&self) -> bool {
        matches!(self, Self::Declined { .. } | Self::Cancelled { .. })
    }
}
