//! What a call on the context can fail with.

use serde::{Serialize, de::DeserializeOwned};
use thiserror::Error;
use tracing::warn;

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
    /// The result of a step or a wait cannot be written as JSON.
    #[error("the result of {key:?} cannot be kept")]
    Unkeepable {
        /// The call's key.
        key: String,
    },
    /// What was recorded for a step or a wait is not what the code now expects: its type has changed meanwhile.
    #[error("what was recorded for {key:?} is of another version of this tool; start the call again")]
    Outdated {
        /// The call's key.
        key: String,
    },
}

impl ContextError {
    /// Whether the user refused, one way or the other.
    pub fn is_refusal(&self) -> bool {
        matches!(self, Self::Declined { .. } | Self::Cancelled { .. })
    }

    pub(super) fn round_over(key: &str) -> Self {
        Self::RoundOver { key: key.to_owned() }
    }

    /// A result as the journal keeps it.
    pub(super) fn to_record<T: Serialize>(key: &str, value: &T) -> Result<String, Self> {
        serde_json::to_string(value).map_err(|error| {
            warn!("the result of {key:?} cannot be written as JSON: {error}");
            Self::Unkeepable { key: key.to_owned() }
        })
    }

    /// A result as the journal has it.
    pub(super) fn recorded<T: DeserializeOwned>(key: &str, recorded: &str) -> Result<T, Self> {
        // Serde's text may quote the result, which is nobody's business but the handler's.
        serde_json::from_str(recorded).map_err(|error| {
            warn!(line = error.line(), column = error.column(), "the recorded result of {key:?} does not fit its type");
            Self::Outdated { key: key.to_owned() }
        })
    }
}
