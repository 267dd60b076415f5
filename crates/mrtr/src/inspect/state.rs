//! A state, as it is shown: claims as they are, the journal's values only on demand.

use std::fmt;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};

use super::Content;
use crate::flow::{Answer, Entry, Journal, State};
use crate::seal::{Binding, Claims, StateError};

/// What the state of an operation holds.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InspectedState {
    /// The operation's id, as [`Context::operation_id`](crate::Context::operation_id) and the log have it.
    pub operation: String,
    /// The round that sealed it, counted from 1.
    pub round: u32,
    /// How many of the rounds only waited.
    pub waits: u32,
    /// When it expires, in milliseconds since the Unix epoch, by the clock of the instance that sealed it. Servers accept it
    /// for 60 seconds more.
    pub expires_ms: u64,
    /// What it was made for.
    pub binding: InspectedBinding,
    /// The journal, in order.
    pub entries: Vec<InspectedEntry>,
}

/// What a state was made for: 128-bit digests, in hex. They can be compared, and not read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InspectedBinding {
    /// Of method, target and arguments.
    pub request: String,
    /// Of the caller's issuer and subject; `None` for an anonymous caller.
    pub principal: Option<String>,
    /// Of the audience.
    pub audience: String,
}

/// One entry of the journal. Its value is shown by [`reveal`](Self::reveal) and nowhere else.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct InspectedEntry {
    /// The key the handler gave it.
    pub key: String,
    /// The call of [`Context`](crate::Context) that made it, such as `elicit` or `step`.
    pub kind: &'static str,
    /// How far it got.
    pub progress: Progress,
    /// The digest of the question it belongs to, in hex, where it belongs to one.
    pub asked: Option<String>,
    /// The bytes it takes in the state, sealing aside.
    pub size: usize,
    value: Option<String>,
}

/// How far an entry of the journal got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Progress {
    /// Asked and not answered, after this many invalid answers.
    Open {
        /// Invalid answers so far.
        attempts: u8,
    },
    /// Answered, for good.
    Answered,
    /// The user said no.
    Declined,
    /// The user left it undecided.
    Cancelled,
    /// Given up after too many invalid answers.
    Exhausted,
    /// Asked in a state that has expired since; to be asked again.
    Expired,
    /// A step or a wait that is done.
    Done,
    /// Not asked, since the client cannot be; the question's fallback stands.
    Fallback,
}

impl InspectedEntry {
    /// The value: an answer's content or a step's result as JSON, what is kept of an answer to be offered again, or what was
    /// wrong with the last of too many.
    ///
    /// # Security
    /// It is what users entered and steps returned, as they are.
    pub fn reveal(&self) -> Option<&str> {
        self.value.as_deref()
    }
}

impl Progress {
    /// Its name, as [`Display`](fmt::Display) has it: one lower-case word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Open { .. } => "open",
            Self::Answered => "answered",
            Self::Declined => "declined",
            Self::Cancelled => "cancelled",
            Self::Exhausted => "exhausted",
            Self::Expired => "expired",
            Self::Done => "done",
            Self::Fallback => "fallback",
        }
    }
}

pub(super) fn read(payload: &[u8]) -> Result<Content, StateError> {
    let claims = Claims::<Journal>::read(payload)?;
    Ok(Content::State(InspectedState {
        operation: URL_SAFE_NO_PAD.encode(claims.operation),
        round: claims.round,
        waits: claims.waits,
        expires_ms: claims.expires(),
        binding: binding(claims.binding()),
        entries: claims.journal.into_iter().map(entry).collect(),
    }))
}

fn binding(binding: &Binding) -> InspectedBinding {
    InspectedBinding {
        request: binding.request.to_hex(),
        principal: binding.principal.map(|digest| digest.to_hex()),
        audience: binding.audience.to_hex(),
    }
}

fn entry(entry: Entry) -> InspectedEntry {
    let size = postcard::to_allocvec(&entry).map_or(0, |bytes| bytes.len());
    let asked = entry.state.asked().map(|digest| digest.to_hex());
    let (progress, value) = match entry.state {
        State::Open { attempts, kept, .. } => (Progress::Open { attempts }, kept),
        State::Answered { answer: Answer::Accepted(content), .. } => (Progress::Answered, Some(content)),
        State::Answered { answer: Answer::Declined, .. } => (Progress::Declined, None),
        State::Answered { answer: Answer::Cancelled, .. } => (Progress::Cancelled, None),
        State::Answered { answer: Answer::Exhausted(problem), .. } => (Progress::Exhausted, Some(problem)),
        State::Expired { kept, .. } => (Progress::Expired, kept),
        State::Done(result) => (Progress::Done, Some(result)),
        State::Fallback => (Progress::Fallback, None),
    };
    InspectedEntry { key: entry.key, kind: entry.kind.name(), progress, asked, size, value }
}

impl fmt::Display for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Without the value: what is printed by accident is printed in the wrong place.
impl fmt::Debug for InspectedEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InspectedEntry")
            .field("key", &self.key)
            .field("kind", &self.kind)
            .field("progress", &self.progress)
            .field("size", &self.size)
            .finish_non_exhaustive()
    }
}
