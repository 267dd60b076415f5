//! Answers from a file: which question of which call is answered with what, and what came of it.
//!
//! A [`Script`] is read from YAML or JSON and played by a [`Player`], which is a responder. What it does not cover
//! nobody answers, what it covers and was never asked is [told](Player::unused), and where it says what was asked or
//! returned at the time, anything else is a [`Difference`]. A [`Recorder`] watches a client and writes such a file.
//!
//! The format is described in `docs/answers.md`, with a JSON Schema.
//!
//! ```
//! use mrtr::client::script::{Player, Script};
//! use mrtr::client::Responders;
//!
//! let script = Script::parse("answers.yaml", "answers: { confirm: { accept: { ok: yes } }, newsletter: decline }")?;
//! let player = Player::new(script);
//! let responders = player.responders(Responders::new());
//! # let _ = responders;
//! # Ok::<(), mrtr::client::script::ScriptError>(())
//! ```

mod difference;
mod given;
mod node;
mod play;
mod read;
mod record;
mod write;

use std::time::Duration;

use serde_json::{Map, Value};
use thiserror::Error;

pub use self::difference::Difference;
pub use self::given::Given;
pub use self::play::{Misplayed, Player};
pub use self::record::Recorder;

use super::{Action, Kind};

/// An answers file.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Script {
    /// The file, as it is named in errors.
    pub file: String,
    /// What is answered in particular calls, in the order in which they are made.
    pub calls: Vec<ScriptedCall>,
    /// What is answered in whatever call.
    pub answers: Vec<(String, Vec<Reply>)>,
}

/// What a file says about one call.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ScriptedCall {
    /// The line it begins in.
    pub line: usize,
    /// The method, such as `tools/call`.
    pub method: &'static str,
    /// The tool, prompt or resource.
    pub target: String,
    /// The arguments to call it with.
    pub arguments: Option<Map<String, Value>>,
    /// What is answered in its first round with questions, in its second, and so on.
    pub rounds: Vec<Vec<(String, Vec<Reply>)>>,
    /// What is answered in whatever round.
    pub answers: Vec<(String, Vec<Reply>)>,
    /// What it returns.
    pub result: Option<Expected>,
}

/// One answer to one question.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Reply {
    /// The line it begins in; in a file no two replies have the same number.
    pub line: usize,
    /// Its number in the file.
    number: usize,
    /// What is answered.
    pub say: Say,
    /// How long it takes to be answered.
    pub after: Duration,
    /// The question it is an answer to; any other one under this key is a [`Difference`].
    pub asked: Option<Question>,
}

/// What is answered.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Say {
    /// A form or page is accepted; with these fields.
    Accept(Vec<(String, Given)>),
    /// It is declined.
    Decline,
    /// It is cancelled.
    Cancel,
    /// The result of `sampling/createMessage`.
    Sampling(Value),
    /// The result of `roots/list`.
    Roots(Value),
}

impl Say {
    /// Returns what is done with a form or page; `None` for sampling and roots.
    pub fn action(&self) -> Option<Action> {
        match self {
            Self::Accept(_) => Some(Action::Accept),
            Self::Decline => Some(Action::Decline),
            Self::Cancel => Some(Action::Cancel),
            _ => None,
        }
    }
}

/// What a question was; what is absent may be anything.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Question {
    /// What sort of question.
    pub kind: Option<Kind>,
    /// Its message.
    pub message: Option<Pattern>,
    /// The page to open.
    pub url: Option<Pattern>,
    /// The schema of its form; spelling, order and numbers as JSON has them, so `1` is `1.0`.
    pub schema: Option<Value>,
    /// All of its parameters, for sampling.
    pub params: Option<Value>,
}

/// What a call returns; what is absent may be anything.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Expected {
    /// The text of a tool's result.
    pub text: Option<Pattern>,
    /// Whether the tool reports an error.
    pub is_error: Option<bool>,
    /// The types of the blocks of a tool's result, in order.
    pub blocks: Option<Vec<String>>,
    /// The structured content of a tool's result.
    pub structured: Option<Value>,
    /// The whole result, for prompts and resources.
    pub value: Option<Value>,
}

/// A text, or what one looks like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// This text.
    Exactly(String),
    /// A text in which each `*` may stand for anything.
    Like(String),
}

impl Pattern {
    /// Tells whether this text is meant.
    pub fn matches(&self, text: &str) -> bool {
        match self {
            Self::Exactly(expected) => expected == text,
            Self::Like(pattern) => is_like(pattern, text),
        }
    }

    /// Returns it as written.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Exactly(text) | Self::Like(text) => text,
        }
    }
}

/// Each piece between two `*` is looked for behind the one before it, the last one at the end: linear but for the
/// search.
fn is_like(pattern: &str, text: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(mut text) = text.strip_prefix(first) else { return false };
    let (middle, last) = rest.rsplit_once('*').map_or((None, rest), |(middle, last)| (Some(middle), last));
    for piece in middle.into_iter().flat_map(|middle| middle.split('*')) {
        let Some(at) = text.find(piece) else { return false };
        text = text.get(at + piece.len()..).unwrap_or_default();
    }
    text.ends_with(last)
}

/// Why a file is no answers file.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{file}:{line}: {what}")]
#[non_exhaustive]
pub struct ScriptError {
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// What is wrong there, and with what member.
    pub what: String,
}

/// A file's text as JSON, for tests that hold it to the schema.
#[cfg(test)]
pub(super) fn as_json(text: &str) -> Result<Value, ScriptError> {
    node::Node::read("test", text)?.to_value("test")
}

impl ScriptError {
    fn new(file: &str, line: usize, what: impl Into<String>) -> Self {
        Self { file: file.to_owned(), line, what: what.into() }
    }
}
