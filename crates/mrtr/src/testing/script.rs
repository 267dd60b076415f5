//! What a tool is called with, and how its user answers.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::flow::response;
use super::reply::{Kind, Reply};

/// A call and its answers by key, for [`torture`](super::torture).
///
/// URLs without an answer are agreed to, roots without an answer are none. The same key asked again gets the same answer.
#[derive(Clone, Debug)]
#[must_use = "a script is played by `torture`"]
pub struct Script {
    pub(super) arguments: Value,
    answers: BTreeMap<String, Value>,
    optional: BTreeSet<String>,
    repeatable: BTreeSet<String>,
    compensations: BTreeSet<String>,
}

impl Script {
    /// A call with these arguments, and no answers yet.
    pub fn new(arguments: Value) -> Self {
        Self {
            arguments,
            answers: BTreeMap::new(),
            optional: BTreeSet::new(),
            repeatable: BTreeSet::new(),
            compensations: BTreeSet::new(),
        }
    }

    /// Answers the question of this key: a form with its content, sampling and roots with the result.
    pub fn answer(mut self, key: impl Into<String>, answer: Value) -> Self {
        self.answers.insert(key.into(), answer);
        self
    }

    /// Says that the tool goes on when this question is refused. Default: once a user has refused, nothing more may happen.
    pub fn optional(mut self, key: impl Into<String>) -> Self {
        self.optional.insert(key.into());
        self
    }

    /// Says that this effect or step may happen again within an operation: it only reads, or whoever does it deduplicates
    /// by [`operation_id`](crate::Context::operation_id).
    pub fn repeatable(mut self, effect: impl Into<String>) -> Self {
        self.repeatable.insert(effect.into());
        self
    }

    /// Says that this effect or step belongs after a refusal: it takes something back.
    pub fn compensates(mut self, effect: impl Into<String>) -> Self {
        self.compensations.insert(effect.into());
        self
    }

    pub(super) fn is_optional(&self, key: &str) -> bool {
        self.optional.contains(key)
    }

    pub(super) fn may_repeat(&self, effect: &str) -> bool {
        self.repeatable.contains(effect)
    }

    pub(super) fn may_follow_a_refusal(&self, effect: &str) -> bool {
        self.compensations.contains(effect)
    }

    /// The keys it answers.
    pub(super) fn keys(&self) -> impl Iterator<Item = &String> {
        self.answers.keys()
    }

    /// The `inputResponses` to everything a reply asks; the question it has no answer for, if there is one.
    pub(super) fn answer_all(&self, reply: &Reply) -> Result<Value, String> {
        let answers = reply.questions().map(|(key, question)| {
            let kind = Kind::of(question);
            let answer = match (self.answers.get(key), kind) {
                (Some(answer), _) => answer.clone(),
                (None, Kind::Url) => Value::Null,
                (None, Kind::Roots) => json!({ "roots": [] }),
                (None, Kind::Form | Kind::Sampling) => return Err(format!("{kind} {key:?}")),
            };
            Ok((key.clone(), response(kind, answer)))
        });
        answers.collect::<Result<Map<_, _>, _>>().map(Value::Object)
    }
}
