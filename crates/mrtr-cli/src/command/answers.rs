//! `--answer`, `--decline` and `--cancel`, as a responder.
//!
//! A key is the server's string and may hold dots, and so may a field. So `KEY.FIELD` is taken apart only when the
//! question is there and says what its key is.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use mrtr::client::{Answer, Ask, BoxFuture, Kind, NotAnswered, Responder, Scripted};

use crate::args::Answers;
use crate::exit::{Exit, Failure};
use crate::term::{escape, page};

/// The flags of one call. Clones share the memory of what was used.
#[derive(Clone)]
pub(super) struct Flags {
    flags: Arc<[Flag]>,
    used: Arc<Mutex<BTreeSet<usize>>>,
    otherwise: Option<Arc<dyn Responder>>,
}

#[derive(Debug)]
enum Flag {
    /// `--answer PLACE=VALUE`: the place is a key, or a key, a dot and a field.
    Answer {
        place: String,
        value: String,
    },
    Decline(String),
    Cancel(String),
}

impl Flags {
    /// Reads the flags; `otherwise` is asked what they do not answer.
    pub(super) fn read(answers: &Answers, otherwise: Option<Arc<dyn Responder>>) -> Result<Self, Failure> {
        let mut flags = Vec::new();
        for answer in &answers.answer {
            let Some((place, value)) = answer.split_once('=') else {
                return Err(Failure::usage(format!("--answer {answer}: expected KEY.FIELD=VALUE or KEY=accept")));
            };
            if !place.contains('.') && value != "accept" {
                return Err(Failure::usage(format!(
                    "--answer {answer}: expected {place}.FIELD={value}, or {place}=accept"
                )));
            }
            flags.push(Flag::Answer { place: place.to_owned(), value: value.to_owned() });
        }
        flags.extend(answers.decline.iter().cloned().map(Flag::Decline));
        flags.extend(answers.cancel.iter().cloned().map(Flag::Cancel));
        Ok(Self { flags: flags.into(), used: Arc::default(), otherwise })
    }

    /// The flags whose question never came up, as typed.
    pub(super) fn unused(&self) -> Vec<String> {
        let used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        let unused = self.flags.iter().enumerate().filter(|(index, _)| !used.contains(index));
        unused.map(|(_, flag)| flag.as_typed()).collect()
    }

    /// Shows a page before a flag accepts it: the person who wrote the flag cannot have seen it.
    fn announce(&self, ask: &Ask) -> Result<(), Failure> {
        let is_passed_on = ask.asked_before > 0 && self.otherwise.is_some();
        if ask.kind != Kind::Url || ask.consented || is_passed_on {
            return Ok(());
        }
        let accepts = |flag: &&Flag| matches!(flag, Flag::Answer { .. }) && flag.place_in(&ask.key).is_some();
        let Some(flag) = self.flags.iter().find(accepts).map(Flag::as_typed) else { return Ok(()) };
        let url = ask.url().unwrap_or_default();
        page::announce(&flag, &url).map_err(|reason| {
            let message = format!("{flag} does not accept {}: {reason}", escape::line(&url));
            Failure::new(Exit::Failed, message)
        })
    }

    /// The script these flags are for one question.
    fn script(&self, ask: &Ask) -> Scripted {
        let mut script = Scripted::new();
        for (index, flag) in self.flags.iter().enumerate() {
            script = match flag.place_in(&ask.key) {
                None => continue,
                Some(Place::Whole) => flag.applied(script, &ask.key),
                Some(Place::Field(field, value)) => script.answer_text(&ask.key, field, value),
            };
            self.used.lock().unwrap_or_else(PoisonError::into_inner).insert(index);
        }
        match &self.otherwise {
            Some(responder) => script.otherwise(Arc::clone(responder)),
            None => script,
        }
    }
}

/// What part of a question a flag is about.
enum Place<'a> {
    Whole,
    Field(&'a str, &'a str),
}

impl Flag {
    fn place_in(&self, key: &str) -> Option<Place<'_>> {
        match self {
            Self::Decline(place) | Self::Cancel(place) => (place == key).then_some(Place::Whole),
            Self::Answer { place, value } if place == key => (value == "accept").then_some(Place::Whole),
            Self::Answer { place, value } => {
                let field = place.strip_prefix(key)?.strip_prefix('.')?;
                Some(Place::Field(field, value))
            }
        }
    }

    fn applied(&self, script: Scripted, key: &str) -> Scripted {
        match self {
            Self::Answer { .. } => script.accept(key),
            Self::Decline(_) => script.decline(key),
            Self::Cancel(_) => script.cancel(key),
        }
    }

    fn as_typed(&self) -> String {
        match self {
            Self::Answer { place, value } => format!("--answer {place}={value}"),
            Self::Decline(key) => format!("--decline {key}"),
            Self::Cancel(key) => format!("--cancel {key}"),
        }
    }
}

impl Responder for Flags {
    fn respond<'a>(&'a self, ask: &'a Ask) -> BoxFuture<'a, Result<Answer, NotAnswered>> {
        Box::pin(async move {
            self.announce(ask).map_err(NotAnswered::failed)?;
            self.script(ask).respond(ask).await
        })
    }
}
