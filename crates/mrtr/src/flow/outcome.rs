//! The three things a user can do with a question.

/// How the user responded: three different things, never folded into two.
///
/// Spec: `client/elicitation#response-actions`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome<T> {
    /// Submitted; the value is valid.
    Accepted(T),
    /// Said no.
    Declined,
    /// Dismissed the question without a choice.
    Cancelled,
}

impl<T> Outcome<T> {
    /// The value, if there is one.
    pub fn accepted(self) -> Option<T> {
        match self {
            Self::Accepted(value) => Some(value),
            Self::Declined | Self::Cancelled => None,
        }
    }
}
