//! `--answer`, `--decline` and `--cancel`, as a responder; behind them the file of `--answers`, or the terminal.
//!
//! A key is the server's string and may hold dots, and so may a field. So `KEY.FIELD` is taken apart only when the
//! question is there and says what its key is. Where that leaves a choice the longest key is meant: next to a question
//! `a.b`, the flag `a.b.c=1` is not about the field `b.c` of a question `a`. To know all questions of a round before the
//! first of them is put, the flags watch the rounds.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mrtr::client::{
    Action, Answer, Ask, BoxFuture, CallError, Event, Kind, Misfit, NotAnswered, Observer, Output, Responder,
    Responders, RoundOutcome, Scripted,
};
use serde_json::{Map, Value};

use super::arguments::did_you_mean;
use super::script::{AnswersFile, Record};
use crate::report;

use crate::args::Answers;
use crate::exit::{Exit, Failure};
use crate::term::{escape, page};

/// The flags of one call. Clones share the memory of what came up.
#[derive(Clone)]
pub(crate) struct Flags {
    flags: Arc<[Flag]>,
    memory: Arc<Mutex<Memory>>,
    otherwise: Option<Arc<dyn Responder>>,
    /// Whoever writes a script wants no questions, so that there is nobody behind it.
    file: Option<AnswersFile>,
    record: Option<PathBuf>,
}

#[derive(Default)]
struct Memory {
    /// The keys of all questions so far.
    keys: BTreeSet<String>,
    /// The flags whose question was put.
    used: BTreeSet<usize>,
    /// What the flags say about a form, by key, where that is not all it needs.
    partial: BTreeMap<String, Map<String, Value>>,
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

/// What a flag says about one question.
#[derive(Clone, Copy, Debug)]
enum Said<'a> {
    Whole(Action),
    Field(&'a str, &'a str),
}

impl Flags {
    /// Reads the flags. Those that contradict each other whatever is asked are refused here.
    pub(super) fn read(answers: &Answers) -> Result<Self, Failure> {
        let mut flags = answers.answer.iter().map(|answer| Flag::answer(answer)).collect::<Result<Vec<_>, _>>()?;
        flags.extend(answers.decline.iter().cloned().map(Flag::Decline));
        flags.extend(answers.cancel.iter().cloned().map(Flag::Cancel));
        consistent(&flags, |one, other| one.contradicts(other), Flag::as_typed)?;
        let file = answers.answers.as_deref().map(AnswersFile::read).transpose()?;
        let record = answers.record.clone();
        Ok(Self { flags: flags.into(), memory: Arc::default(), otherwise: None, file, record })
    }

    /// The arguments that the answers file has for an operation.
    pub(super) fn recorded_arguments(&self, method: &str, target: &str) -> Option<Map<String, Value>> {
        self.file.as_ref()?.arguments(method, target)
    }

    /// Has the answers file asked for what only a file can answer, if it does.
    pub(super) fn with_file(&self, mut responders: Responders) -> Responders {
        let Some(file) = &self.file else { return responders };
        if file.player.answers(Kind::Sampling) {
            responders = responders.sampling(file.clone());
        }
        if file.player.answers(Kind::Roots) {
            responders = responders.roots(file.clone());
        }
        responders
    }

    /// Prepares the file of `--record`.
    pub(super) fn record(&self) -> Result<Option<Record>, Failure> {
        self.record.as_deref().map(Record::begin).transpose()
    }

    /// Holds the result to the answers file.
    pub(super) fn check(&self, output: &Output) -> Result<(), Failure> {
        self.file.as_ref().map_or(Ok(()), |file| file.check(output))
    }

    /// Has this responder asked what the flags do not answer.
    pub(super) fn otherwise(mut self, responder: Option<Arc<dyn Responder>>) -> Self {
        self.otherwise = match &self.file {
            Some(file) => Some(Arc::new(FileAlone { file: file.clone(), memory: Arc::clone(&self.memory) })),
            None => responder,
        };
        self
    }

    /// What to say about the flags whose question never came up, once it is known what was asked instead.
    pub(super) fn unused(&self, is_unanswered: bool) -> Vec<String> {
        let memory = self.memory();
        let unused = self.flags.iter().enumerate().filter(|(index, _)| !memory.used.contains(index));
        let keys: Vec<_> = memory.keys.iter().map(String::as_str).collect();
        let complaint = |(_, flag): (usize, &Flag)| match is_unanswered {
            false => format!("{} was not needed: no such question came up", flag.as_typed()),
            true => {
                let (key, hint) = flag.closest(&keys);
                format!(
                    "{}: no question has the key {key:?}{hint}; the questions are: {}",
                    flag.as_typed(),
                    escape::line(&keys.join(", "))
                )
            }
        };
        unused.map(complaint).collect()
    }

    /// Says how the call failed.
    pub(super) fn failure(&self, error: CallError) -> Failure {
        let CallError::Unanswered { mut questions } = error else { return report::failure(error) };
        let mut accepted = BTreeSet::new();
        let mut memory = self.memory();
        for ask in &mut questions {
            if let Some(settled) = memory.partial.remove(&ask.key) {
                ask.settled = settled;
                let is_accept = |flag: &Flag| matches!(flag.about(&ask.key), Some(Said::Whole(Action::Accept)));
                if self.flags.iter().any(is_accept) {
                    accepted.insert(ask.key.clone());
                }
            }
        }
        report::unanswered(&questions, &accepted, self.file.as_ref().map(AnswersFile::name))
    }

    /// The flags about one question and what they say, which is refused if it makes no sense taken together.
    fn about(&self, key: &str) -> Result<Vec<(&Flag, Said<'_>)>, Failure> {
        let mut memory = self.memory();
        let Memory { keys, used, .. } = &mut *memory;
        let is_for_a_longer = |flag: &Flag| keys.iter().any(|it| it.len() > key.len() && flag.about(it).is_some());
        let mut found = Vec::new();
        for (index, flag) in self.flags.iter().enumerate() {
            if let Some(said) = flag.about(key).filter(|_| !is_for_a_longer(flag)) {
                used.insert(index);
                found.push((flag, said));
            }
        }
        consistent(&found, |(_, one), (_, other)| one.contradicts(*other), |(flag, _)| flag.as_typed())?;
        Ok(found)
    }

    async fn answer(&self, ask: &Ask) -> Result<Answer, NotAnswered> {
        let found = self.about(&ask.key).map_err(NotAnswered::failed)?;
        // As the script has it: what was answered already and is asked again goes to a person, if there is one.
        let is_passed_on = ask.asked_before > 0 && self.otherwise.is_some();
        if ask.kind == Kind::Url && !ask.consented && !is_passed_on {
            announce(&found, ask).map_err(NotAnswered::failed)?;
        }
        // A page that was agreed to and is waited for is no question anew, and another page is another question.
        let is_rejected = ask.asked_before > 0 && !is_passed_on && (ask.kind == Kind::Form || !accepts(&found));
        if is_rejected && !found.is_empty() {
            let flags: Vec<_> = found.iter().map(|(flag, _)| flag.as_typed()).collect();
            return Err(NotAnswered::failed(report::rejected(&flags, ask)));
        }
        let said = found.iter().map(|(_, said)| *said);
        let script = said.fold(Scripted::new(), |script, said| said.written_into(script, &ask.key));
        let script = match &self.otherwise {
            Some(responder) => script.otherwise(Arc::clone(responder)),
            None if ask.kind == Kind::Form => script.otherwise(Unfinished(Arc::clone(&self.memory))),
            None => script,
        };
        script.respond(ask).await.map_err(|error| match error {
            NotAnswered::Failed(cause) => match cause.downcast::<Misfit>() {
                Ok(misfit) => NotAnswered::failed(report::misfitting(ask, &misfit)),
                Err(cause) => NotAnswered::Failed(cause),
            },
            error => error,
        })
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Responder for Flags {
    fn respond<'a>(&'a self, ask: &'a Ask) -> BoxFuture<'a, Result<Answer, NotAnswered>> {
        Box::pin(self.answer(ask))
    }
}

/// Answers nothing, and takes note of how far the flags went.
struct Unfinished(Arc<Mutex<Memory>>);

impl Responder for Unfinished {
    fn respond<'a>(&'a self, ask: &'a Ask) -> BoxFuture<'a, Result<Answer, NotAnswered>> {
        let mut memory = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        memory.partial.insert(ask.key.clone(), ask.settled.clone());
        Box::pin(std::future::ready(Err(NotAnswered::Nobody)))
    }
}

/// The answers file, and the note of what it leaves open.
struct FileAlone {
    file: AnswersFile,
    memory: Arc<Mutex<Memory>>,
}

impl Responder for FileAlone {
    fn respond<'a>(&'a self, ask: &'a Ask) -> BoxFuture<'a, Result<Answer, NotAnswered>> {
        Box::pin(async move {
            match self.file.respond(ask).await {
                Err(NotAnswered::Nobody) => Unfinished(Arc::clone(&self.memory)).respond(ask).await,
                answer => answer,
            }
        })
    }
}

impl Observer for Flags {
    fn observe(&self, event: &Event<'_>) {
        if let Some(file) = &self.file {
            file.player.observe(event);
        }
        if let Event::Round(round) = event
            && let RoundOutcome::InputRequired { asked, .. } = &round.outcome
        {
            self.memory().keys.extend(asked.iter().map(|(key, _)| key.clone()));
        }
    }
}

impl Flag {
    fn answer(text: &str) -> Result<Self, Failure> {
        let Some((place, value)) = text.split_once('=') else {
            return Err(Failure::usage(format!("--answer {text}: expected KEY.FIELD=VALUE or KEY=accept")));
        };
        if !place.contains('.') && value != ACCEPT {
            let message = format!("--answer {text}: expected {place}.FIELD={value}, or {place}=accept");
            return Err(Failure::usage(message));
        }
        Ok(Self::Answer { place: place.to_owned(), value: value.to_owned() })
    }

    fn about(&self, key: &str) -> Option<Said<'_>> {
        match self {
            Self::Decline(place) => (place == key).then_some(Said::Whole(Action::Decline)),
            Self::Cancel(place) => (place == key).then_some(Said::Whole(Action::Cancel)),
            Self::Answer { place, value } if place == key => (value == ACCEPT).then_some(Said::Whole(Action::Accept)),
            Self::Answer { place, value } => {
                let field = place.strip_prefix(key)?.strip_prefix('.')?;
                Some(Said::Field(field, value))
            }
        }
    }

    /// Tells whether no question could be answered by both.
    fn contradicts(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Answer { place, value }, Self::Answer { place: other, value: other_value }) if place == other => {
                value != other_value
            }
            _ => match (self.only_key(), other.only_key()) {
                (Some(one), Some(other_key)) if one == other_key => {
                    let both = self.about(one).zip(other.about(one));
                    both.is_some_and(|(said, other)| said.contradicts(other))
                }
                _ => false,
            },
        }
    }

    /// The key it is about, where there is only one reading.
    fn only_key(&self) -> Option<&str> {
        match self {
            Self::Decline(key) | Self::Cancel(key) => Some(key),
            Self::Answer { place, value } => match place.split_once('.') {
                None => Some(place),
                Some((key, field)) => (!field.contains('.') && value != ACCEPT).then_some(key),
            },
        }
    }

    /// The key it is most likely about, and the question that may have been meant.
    fn closest<'a>(&'a self, keys: &[&str]) -> (&'a str, String) {
        let (Self::Answer { place, .. } | Self::Decline(place) | Self::Cancel(place)) = self;
        let is_field = matches!(self, Self::Answer { value, .. } if value != ACCEPT);
        let ends = place.match_indices('.').map(|(end, _)| &place[..end]);
        let mut readings = ends.chain((!is_field).then_some(place.as_str())).map(|key| (key, did_you_mean(key, keys)));
        let first = readings.next().unwrap_or((place, String::new()));
        if first.1.is_empty() { readings.find(|(_, hint)| !hint.is_empty()).unwrap_or(first) } else { first }
    }

    fn as_typed(&self) -> String {
        match self {
            Self::Answer { place, value } => format!("--answer {place}={value}"),
            Self::Decline(key) => format!("--decline {key}"),
            Self::Cancel(key) => format!("--cancel {key}"),
        }
    }
}

impl Said<'_> {
    fn contradicts(self, other: Self) -> bool {
        match (self, other) {
            (Said::Whole(one), Said::Whole(other)) => one != other,
            (Said::Whole(action), Said::Field(..)) | (Said::Field(..), Said::Whole(action)) => action != Action::Accept,
            (Said::Field(one, value), Said::Field(other, other_value)) => one == other && value != other_value,
        }
    }

    fn written_into(self, script: Scripted, key: &str) -> Scripted {
        match self {
            Said::Whole(Action::Accept) => script.accept(key),
            Said::Whole(Action::Decline) => script.decline(key),
            Said::Whole(Action::Cancel) => script.cancel(key),
            Said::Field(field, text) => script.answer_text(key, field, text),
        }
    }
}

/// Refuses flags of which two contradict each other, and names these.
fn consistent<T>(
    flags: &[T],
    contradict: impl Fn(&T, &T) -> bool,
    as_typed: impl Fn(&T) -> String,
) -> Result<(), Failure> {
    for (index, one) in flags.iter().enumerate() {
        if let Some(other) = flags.iter().skip(index + 1).find(|other| contradict(one, other)) {
            let message = format!("{} and {} contradict each other", as_typed(one), as_typed(other));
            return Err(Failure::usage(message));
        }
    }
    Ok(())
}

fn accepts(found: &[(&Flag, Said<'_>)]) -> bool {
    found.iter().any(|(_, said)| matches!(said, Said::Whole(Action::Accept)))
}

/// Shows a page before a flag accepts it: who wrote the flag cannot have seen it.
fn announce(found: &[(&Flag, Said<'_>)], ask: &Ask) -> Result<(), Failure> {
    let [(flag, Said::Whole(Action::Accept)), ..] = found else { return Ok(()) };
    let (flag, url) = (flag.as_typed(), ask.url().unwrap_or_default());
    page::announce(&flag, &url).map_err(|reason| {
        let message = format!("{flag} does not accept {}: {reason}", escape::line(&url));
        Failure::new(Exit::Failed, message)
    })
}

const ACCEPT: &str = "accept";

#[cfg(test)]
mod tests {
    use super::*;

    fn read(answers: &[&str], decline: &[&str], cancel: &[&str]) -> Result<Flags, String> {
        let owned = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
        let answers =
            Answers { answer: owned(answers), decline: owned(decline), cancel: owned(cancel), ..Answers::default() };
        Flags::read(&answers).map_err(|failure| failure.message)
    }

    /// What is said about a key, once all these were asked.
    fn about(flags: &Flags, asked: &[&str], key: &str) -> Vec<String> {
        flags.memory().keys.extend(asked.iter().map(|&key| key.to_owned()));
        let found = flags.about(key).map_err(|failure| failure.message);
        match found {
            Ok(found) => found.iter().map(|(_, said)| format!("{said:?}")).collect(),
            Err(message) => vec![message],
        }
    }

    #[test]
    fn flags_that_contradict_each_other_are_refused_before_anything_is_sent() {
        for (answers, decline, cancel, expected) in [
            (&["k.f=v"][..], &["k"][..], &[][..], "--answer k.f=v and --decline k"),
            (&["k.f=1", "k.f=2"], &[], &[], "--answer k.f=1 and --answer k.f=2"),
            (&["a.b.c=1", "a.b.c=2"], &[], &[], "--answer a.b.c=1 and --answer a.b.c=2"),
            (&["k=accept"], &[], &["k"], "--answer k=accept and --cancel k"),
            (&[], &["k"], &["k"], "--decline k and --cancel k"),
        ] {
            let message = read(answers, decline, cancel).err();
            assert_eq!(message, Some(format!("{expected} contradict each other")));
        }
    }

    #[test]
    fn flags_that_agree_or_may_be_about_different_questions_are_kept() {
        for (answers, decline) in
            [(&["k.f=1", "k.f=1", "k=accept", "k.g=2"][..], &[][..]), (&["a.b.c=1"], &["a"]), (&["a.b=accept"], &["a"])]
        {
            assert!(read(answers, decline, &[]).is_ok(), "{answers:?}");
        }
    }

    #[test]
    fn a_contradiction_that_shows_when_the_key_is_known_is_refused_then() {
        let flags = read(&["a.b.c=1"], &["a"], &[]).unwrap();
        assert_eq!(about(&flags, &["a"], "a"), ["--answer a.b.c=1 and --decline a contradict each other"]);
    }

    #[test]
    fn a_flag_is_about_the_longest_key_that_was_asked() {
        let flags = read(&["a.b.c=1", "a.b=accept"], &[], &[]).unwrap();
        assert_eq!(about(&flags, &["a"], "a"), [r#"Field("b.c", "1")"#, r#"Field("b", "accept")"#]);
        assert_eq!(about(&flags, &["a.b"], "a.b"), [r#"Field("c", "1")"#, "Whole(Accept)"]);
        assert_eq!(about(&flags, &[], "a"), [""; 0]);
    }
}
