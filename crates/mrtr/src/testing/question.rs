//! What a scenario says about a question.

use std::fmt;

use super::reply::Kind;

/// A question a scenario expects: [`form`], [`url()`], [`sampling`], [`roots`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    pub(super) kind: Kind,
    key: String,
    pub(super) says: Option<String>,
}

/// A form under this key.
pub fn form(key: impl Into<String>) -> Question {
    Question::new(Kind::Form, key)
}

/// A URL to visit, under this key.
pub fn url(key: impl Into<String>) -> Question {
    Question::new(Kind::Url, key)
}

/// A request for a completion by the client's model, under this key.
pub fn sampling(key: impl Into<String>) -> Question {
    Question::new(Kind::Sampling, key)
}

/// A request for the client's roots, under this key.
pub fn roots(key: impl Into<String>) -> Question {
    Question::new(Kind::Roots, key)
}

impl Question {
    fn new(kind: Kind, key: impl Into<String>) -> Self {
        Self { kind, key: key.into(), says: None }
    }

    /// The same, whose message contains this text.
    #[must_use]
    pub fn saying(mut self, part: impl Into<String>) -> Self {
        self.says = Some(part.into());
        self
    }

    pub(super) fn key(&self) -> &str {
        &self.key
    }
}

/// One question is a list of one.
impl AsRef<[Self]> for Question {
    fn as_ref(&self) -> &[Self] {
        std::slice::from_ref(self)
    }
}

impl fmt::Display for Question {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?}", self.kind, self.key)?;
        match &self.says {
            Some(part) => write!(f, " saying {part:?}"),
            None => Ok(()),
        }
    }
}
