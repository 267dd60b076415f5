//! Answers written down in advance, by key and field.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Map, Value};
use thiserror::Error;
use url::Url;

use super::{Action, Answer, Ask, BoxFuture, Kind, NotAnswered, Responder};
use crate::form::{Form, Problem, harmless};

/// Answers questions from a script, and passes on what the script does not cover.
///
/// A form is accepted when the scripted fields make it valid; optional fields without a line are left out. A field the
/// form does not have, or does not take, ends the operation with a [`Misfit`]. When required fields are missing, the
/// question goes to [`otherwise`](Self::otherwise) with the scripted fields [settled](Ask::settled). So does a question
/// the server asks again, because the script's answer was not good enough for it; without anybody else the script
/// answers as before.
///
/// ```
/// use mrtr::client::{Responders, Scripted};
///
/// let script = Scripted::new().answer("confirm_prod", "confirm", true).decline("newsletter");
/// let responders = Responders::new().elicitation(script);
/// # let _ = responders;
/// ```
#[derive(Clone, Default)]
pub struct Scripted {
    lines: BTreeMap<String, Line>,
    otherwise: Option<Arc<dyn Responder>>,
    /// Shared by clones: whoever keeps one can ask what was used.
    used: Arc<Mutex<BTreeSet<String>>>,
}

/// What the script says about one key. Fields matter when it accepts.
#[derive(Clone, Debug)]
struct Line {
    action: Action,
    fields: BTreeMap<String, Given>,
}

#[derive(Clone, Debug)]
enum Given {
    Value(Value),
    /// Becomes a value by the type the form asks for.
    Text(String),
}

/// A scripted answer that does not fit its question; the cause of a [`CallError::Responder`](super::CallError::Responder).
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{}", .problems.iter().map(Problem::to_string).collect::<Vec<_>>().join("; "))]
#[non_exhaustive]
pub struct Misfit {
    /// Each field that does not fit, and what is wrong with its value. Never empty.
    pub problems: Vec<Problem>,
}

impl Scripted {
    /// Starts an empty script.
    pub fn new() -> Self {
        Self::default()
    }

    /// Answers this question with accept, and this field of its form with this value.
    #[must_use]
    pub fn answer(mut self, key: impl Into<String>, field: impl Into<String>, value: impl Into<Value>) -> Self {
        self.line(key, Action::Accept).fields.insert(field.into(), Given::Value(value.into()));
        self
    }

    /// Answers this question with accept, and this field with the value its type makes of the text: `yes` is true for a
    /// boolean field, and three letters for a text field.
    #[must_use]
    pub fn answer_text(mut self, key: impl Into<String>, field: impl Into<String>, text: impl Into<String>) -> Self {
        self.line(key, Action::Accept).fields.insert(field.into(), Given::Text(text.into()));
        self
    }

    /// Answers this question with accept: a URL, or a form without required fields.
    ///
    /// # Security
    ///
    /// For a URL this is consent to a page nobody has seen yet: whatever the server asks to have opened under this key,
    /// in whatever round, as long as it is an `http` or `https` URL. Any other one ends the operation with a [`Misfit`].
    /// Use it for servers you trust that far, and have [`Responders::url`](super::Responders::url) ask a person elsewhere.
    #[must_use]
    pub fn accept(mut self, key: impl Into<String>) -> Self {
        self.line(key, Action::Accept);
        self
    }

    /// Declines this question.
    #[must_use]
    pub fn decline(mut self, key: impl Into<String>) -> Self {
        self.line(key, Action::Decline);
        self
    }

    /// Cancels this question.
    #[must_use]
    pub fn cancel(mut self, key: impl Into<String>) -> Self {
        self.line(key, Action::Cancel);
        self
    }

    /// Has the questions the script does not settle answered by this responder.
    #[must_use]
    pub fn otherwise(mut self, responder: impl Responder + 'static) -> Self {
        self.otherwise = Some(Arc::new(responder));
        self
    }

    /// Returns the scripted keys that have not come up so far, in any clone of this script.
    pub fn unused(&self) -> Vec<String> {
        let used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        self.lines.keys().filter(|key| !used.contains(*key)).cloned().collect()
    }

    fn line(&mut self, key: impl Into<String>, action: Action) -> &mut Line {
        let line = self.lines.entry(key.into()).or_insert_with(|| Line { action, fields: BTreeMap::new() });
        line.action = action;
        line
    }

    async fn play(&self, ask: &Ask) -> Result<Answer, NotAnswered> {
        let Some(line) = self.lines.get(&ask.key) else {
            return self.pass_on(ask.clone()).await;
        };
        self.used.lock().unwrap_or_else(PoisonError::into_inner).insert(ask.key.clone());
        if ask.asked_before > 0 && (self.otherwise.is_some() || ask.has_alternative) {
            return self.pass_on(ask.clone()).await;
        }
        match line.action {
            Action::Accept => self.accept_with(&line.fields, ask).await,
            Action::Decline => Ok(Answer::decline()),
            Action::Cancel => Ok(Answer::cancel()),
        }
    }

    async fn accept_with(&self, fields: &BTreeMap<String, Given>, ask: &Ask) -> Result<Answer, NotAnswered> {
        match read(fields, ask).map_err(NotAnswered::failed)? {
            Reading::Complete(content) => Ok(Answer::accept(content)),
            Reading::Partial(settled) => self.pass_on(Ask { settled, ..ask.clone() }).await,
        }
    }

    async fn pass_on(&self, ask: Ask) -> Result<Answer, NotAnswered> {
        match &self.otherwise {
            Some(responder) => responder.respond(&ask).await,
            None if !ask.settled.is_empty() => Err(NotAnswered::Partly(ask.settled)),
            None => Err(NotAnswered::Nobody),
        }
    }
}

impl Responder for Scripted {
    fn respond<'a>(&'a self, ask: &'a Ask) -> BoxFuture<'a, Result<Answer, NotAnswered>> {
        Box::pin(self.play(ask))
    }
}

impl fmt::Debug for Scripted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scripted").field("lines", &self.lines).finish_non_exhaustive()
    }
}

/// What scripted fields amount to for one form.
enum Reading {
    Complete(Map<String, Value>),
    /// Valid as far as it goes; required fields are missing.
    Partial(Map<String, Value>),
}

fn read(fields: &BTreeMap<String, Given>, ask: &Ask) -> Result<Reading, Misfit> {
    let misfit = |problem| Misfit { problems: vec![problem] };
    if ask.kind != Kind::Form {
        return match fields.keys().next() {
            None => check_page(ask).map(|()| Reading::Complete(Map::new())).map_err(misfit),
            Some(field) => {
                Err(misfit(Problem { field: Some(field.clone()), text: format!("is not asked: this is {}", ask.kind) }))
            }
        };
    }
    let form = Form::lenient(&ask.requested_schema());
    let mut content = ask.settled.clone();
    let mut misfits = Vec::new();
    for (name, given) in fields {
        let value = match given {
            Given::Text(text) => form.parse_text(name, text),
            Given::Value(value) if form.field(name).is_some() => Ok(value.clone()),
            // Says that there is no such field.
            Given::Value(_) => form.parse_text(name, ""),
        };
        match value {
            Ok(value) => drop(content.insert(name.clone(), value)),
            Err(problem) => misfits.push(problem),
        }
    }
    match form.validate(&content) {
        Ok(content) if misfits.is_empty() => return Ok(Reading::Complete(content)),
        Ok(_) => {}
        Err(problems) => {
            let is_given = |problem: &Problem| {
                let field = problem.field.as_ref();
                field.is_none_or(|field| content.contains_key(field))
            };
            misfits.extend(problems.into_iter().filter(is_given));
        }
    }
    if misfits.is_empty() { Ok(Reading::Partial(content)) } else { Err(Misfit { problems: misfits }) }
}

/// Refuses a page that no browser would fetch: other schemes run programs, read files or hide their content.
pub(super) fn check_page(ask: &Ask) -> Result<(), Problem> {
    if ask.kind != Kind::Url {
        return Ok(());
    }
    let text = ask.url().unwrap_or_default();
    match Url::parse(&text) {
        Ok(url) if matches!(url.scheme(), "http" | "https") => Ok(()),
        _ => {
            let text = format!("\"{}\" is not accepted: expected an http or https URL", harmless(&text, LONGEST));
            Err(Problem { field: None, text })
        }
    }
}

/// Longest quotation of a URL, in characters.
const LONGEST: usize = 200;
