//! Answers written down in advance, by key and field.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Map, Value};

use super::{Action, Answer, Ask, BoxFuture, NotAnswered, Responder};

/// Answers questions from a script, and passes on what the script does not cover.
///
/// A form is accepted when the scripted fields make it valid; optional fields without a line are left out. When required
/// fields are missing, the question goes to [`otherwise`](Self::otherwise) with the scripted fields
/// [settled](Ask::settled). So does a question the server asks again, because the script's answer was not good enough
/// for it; without anybody else the script answers as before.
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
    fields: Map<String, Value>,
}

impl Scripted {
    /// Starts an empty script.
    pub fn new() -> Self {
        Self::default()
    }

    /// Answers this question with accept, and this field of its form with this value.
    #[must_use]
    pub fn answer(
        mut self,
        key: impl Into<String>,
        field: impl Into<String>,
        value: impl Into<Value>,
    ) -> Self {
        self.line(key, Action::Accept)
            .fields
            .insert(field.into(), value.into());
        self
    }

    /// Answers this question with accept: a URL, or a form without required fields.
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
        self.lines
            .keys()
            .filter(|key| !used.contains(*key))
            .cloned()
            .collect()
    }

    fn line(&mut self, key: impl Into<String>, action: Action) -> &mut Line {
        let line = self.lines.entry(key.into()).or_insert_with(|| Line {
            action,
            fields: Map::new(),
        });
        line.action = action;
        line
    }

    async fn play(&self, ask: &Ask) -> Result<Answer, NotAnswered> {
        let Some(line) = self.lines.get(&ask.key) else {
            return self.pass_on(ask, &Map::new()).await;
        };
        self.used
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(ask.key.clone());
        if ask.asked_before > 0 && self.otherwise.is_some() {
            return self.pass_on(ask, &Map::new()).await;
        }
        match line.action {
            Action::Accept => Ok(Answer::accept(line.fields.clone())),
            Action::Decline => Ok(Answer::decline()),
            Action::Cancel => Ok(Answer::cancel()),
        }
    }

    async fn pass_on(
        &self,
        ask: &Ask,
        settled: &Map<String, Value>,
    ) -> Result<Answer, NotAnswered> {
        let Some(responder) = &self.otherwise else {
            return Err(NotAnswered::Nobody);
        };
        let mut ask = ask.clone();
        ask.settled.extend(settled.clone());
        responder.respond(&ask).await
    }
}

impl Responder for Scripted {
    fn respond<'a>(&'a self, ask: &'a Ask) -> BoxFuture<'a, Result<Answer, NotAnswered>> {
        Box::pin(self.play(ask))
    }
}

impl fmt::Debug for Scripted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scripted")
            .field("lines", &self.lines)
            .finish_non_exhaustive()
    }
}
