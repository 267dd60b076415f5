//! Asking: one future for every kind of question. What differs between kinds is a [`Question`].
//!
//! First poll: find the question in the journal, or judge the answer this round brought, or leave the question open.
//! From then on an open ask stays pending until its round ends.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as Task, Poll};

use serde_json::value::RawValue;

use super::journal::{Answer, Kind, MAX_KEPT, State};
use super::replay::{Begun, Open};
use super::round::{CallGuard, Fault, Round, UrlQuestion};
use super::{ClientInfo, ContextError, Outcome};
use crate::seal::Digest;
use crate::wire::ClientCapabilities;

/// How many invalid answers a question takes before the operation gives up on it.
const DEFAULT_ATTEMPTS: u8 = 3;

/// A kind of question: [`FormOf`](super::FormOf), [`UrlVisit`](super::UrlVisit), [`ClientRequest`](super::ClientRequest).
///
/// Only this crate can implement it; name it in helpers that take any [`Ask`].
pub trait Question: Send {
    /// What an accepted answer gives.
    type Output: Send;

    #[doc(hidden)]
    fn prepare(&mut self) -> Result<Prepared, String>;
    #[doc(hidden)]
    fn request(&self, again: &Again) -> String;
    #[doc(hidden)]
    fn judge(&self, answer: &RawValue) -> Verdict<Self::Output>;
    #[doc(hidden)]
    fn recall(&self, recorded: &str) -> Result<Self::Output, String>;
    #[doc(hidden)]
    fn visits(&self) -> Option<(&str, &str)> {
        None
    }
}

/// What a question is, once it is known to be well formed.
#[derive(Debug)]
#[doc(hidden)]
pub struct Prepared {
    pub(super) kind: Kind,
    pub(super) digest: Digest,
    /// What the client would have to declare.
    pub(super) needs: fn() -> ClientCapabilities,
    pub(super) supported: fn(&ClientInfo) -> bool,
}

/// What an earlier answer to the same question leaves behind.
#[derive(Debug, Default)]
#[doc(hidden)]
pub struct Again {
    /// What was wrong with it.
    pub(super) problems: Option<String>,
    /// What was right about it, as JSON.
    pub(super) kept: Option<String>,
}

/// What an answer is worth.
#[derive(Debug)]
#[doc(hidden)]
pub enum Verdict<T> {
    /// The value, and what the journal keeps of it.
    Accepted(T, String),
    Declined,
    Cancelled,
    Invalid {
        problems: String,
        kept: Option<String>,
    },
}

/// A question to the client, as a future: it suspends the handler until a round brings the answer.
///
/// `.await` gives the accepted value; a refusal is a [`ContextError`], which `?` turns into the tool's result.
/// Dropping an ask before it resolves withdraws the question.
#[must_use = "a question is asked only when it is awaited"]
pub struct Ask<Q: Question>(AskOutcome<Q>);

/// The same question, for handlers that act on refusals: gives an [`Outcome`].
#[must_use = "a question is asked only when it is awaited"]
pub struct AskOutcome<Q: Question> {
    pub(super) question: Q,
    round: Arc<Round>,
    key: String,
    attempts: u8,
    fallback: Option<Q::Output>,
    begun: bool,
    /// Withdraws the question when this future is dropped before it resolves.
    open: Option<CallGuard>,
}

impl<Q: Question> Ask<Q> {
    pub(super) fn new(round: Arc<Round>, key: String, question: Q) -> Self {
        Self(AskOutcome { question, round, key, attempts: DEFAULT_ATTEMPTS, fallback: None, begun: false, open: None })
    }

    /// Gives the outcome instead of turning refusals into errors.
    pub fn outcome(self) -> AskOutcome<Q> {
        self.0
    }

    /// How many answers may be invalid before the operation ends with [`ContextError::Invalid`]; default 3, at least 1.
    pub fn attempts(mut self, attempts: u8) -> Self {
        self.0.attempts = attempts.max(1);
        self
    }

    /// The value to go on with when the client cannot be asked this kind of question at all.
    ///
    /// Without one, such a client gets error `-32021`, which names the capability it lacks. A user who is asked and
    /// refuses does not get the fallback.
    pub fn fallback(mut self, value: Q::Output) -> Self {
        self.0.fallback = Some(value);
        self
    }

    pub(super) fn question_mut(&mut self) -> &mut Q {
        &mut self.0.question
    }
}

impl<Q: Question> AskOutcome<Q> {
    /// Everything that happens on the first poll. `None` leaves the ask pending.
    fn begin(&mut self) -> Result<Option<Outcome<Q::Output>>, ContextError> {
        let prepared = match self.question.prepare() {
            Ok(prepared) => prepared,
            Err(problem) => return Ok(self.author_error(&problem)),
        };
        match self.round.begin(&self.key, prepared.kind, Some(prepared.digest))? {
            Begun::Held => Ok(None),
            Begun::Replayed(state) => self.replay(state),
            Begun::New(id, open) => self.decide(CallGuard::new(&self.round, id), open, &prepared),
        }
    }

    fn replay(&mut self, state: State) -> Result<Option<Outcome<Q::Output>>, ContextError> {
        self.remember();
        match state {
            State::Answered { answer: Answer::Accepted(recorded), .. } => match self.question.recall(&recorded) {
                Ok(value) => Ok(Some(Outcome::Accepted(value))),
                // What exactly does not fit may quote the answer, and answers stay out of logs.
                Err(_) => Ok(self.author_error("its recorded answer no longer fits the type it is read as")),
            },
            State::Answered { answer: Answer::Declined, .. } => Ok(Some(Outcome::Declined)),
            State::Answered { answer: Answer::Cancelled, .. } => Ok(Some(Outcome::Cancelled)),
            State::Answered { answer: Answer::Exhausted(problems), .. } => Err(self.exhausted(problems)),
            State::Fallback | State::Done(_) | State::Open { .. } | State::Expired { .. } => match self.fallback.take()
            {
                Some(value) => Ok(Some(Outcome::Accepted(value))),
                None => Ok(self.author_error("an earlier round went on with a fallback that is gone now")),
            },
        }
    }

    /// Settles the question with the answer at hand, or leaves it open.
    fn decide(
        &mut self,
        call: CallGuard,
        open: Open,
        prepared: &Prepared,
    ) -> Result<Option<Outcome<Q::Output>>, ContextError> {
        let asked = prepared.digest;
        let mut attempts = open.attempts;
        let mut again = Again { problems: None, kept: open.kept };
        if let Some(answer) = open.answer {
            self.remember();
            match self.question.judge(&answer) {
                Verdict::Accepted(value, recorded) => {
                    self.settle(call, asked, Answer::Accepted(recorded))?;
                    return Ok(Some(Outcome::Accepted(value)));
                }
                Verdict::Declined => {
                    self.round.note_refusal();
                    self.settle(call, asked, Answer::Declined)?;
                    return Ok(Some(Outcome::Declined));
                }
                Verdict::Cancelled => {
                    self.round.note_refusal();
                    self.settle(call, asked, Answer::Cancelled)?;
                    return Ok(Some(Outcome::Cancelled));
                }
                Verdict::Invalid { problems, kept } => {
                    attempts = attempts.saturating_add(1);
                    if attempts >= self.attempts {
                        self.settle(call, asked, Answer::Exhausted(problems.clone()))?;
                        return Err(self.exhausted(problems));
                    }
                    let kept = kept.filter(|kept| kept.len() <= MAX_KEPT).or(again.kept);
                    again = Again { problems: Some(problems), kept };
                }
            }
        }
        if !(prepared.supported)(&self.round.client) {
            return self.without_capability(call, prepared);
        }
        let request = self.question.request(&again);
        call.open(State::Open { asked, attempts, kept: again.kept }, Some(request));
        self.open = Some(call);
        Ok(None)
    }

    /// The client cannot be asked: the fallback stands, or the operation fails.
    fn without_capability(
        &mut self,
        call: CallGuard,
        prepared: &Prepared,
    ) -> Result<Option<Outcome<Q::Output>>, ContextError> {
        let Some(value) = self.fallback.take() else {
            self.round.fail(Fault::MissingCapability(Box::new((prepared.needs)())));
            return Ok(None);
        };
        if call.settle(State::Fallback) {
            Ok(Some(Outcome::Accepted(value)))
        } else {
            Err(ContextError::round_over(&self.key))
        }
    }

    fn settle(&self, call: CallGuard, asked: Digest, answer: Answer) -> Result<(), ContextError> {
        if call.settle(State::Answered { asked, answer }) { Ok(()) } else { Err(ContextError::round_over(&self.key)) }
    }

    /// A wait may want to send the user there again.
    fn remember(&self) {
        if let Some((message, url)) = self.question.visits() {
            self.round.remember_url(UrlQuestion { message: message.to_owned(), url: url.to_owned() });
        }
    }

    fn exhausted(&self, problems: String) -> ContextError {
        ContextError::Invalid { key: self.key.clone(), problems }
    }

    fn author_error<T>(&self, problem: &str) -> Option<T> {
        self.round.fail(Fault::Author(format!("{:?}: {problem}", self.key)));
        None
    }
}

impl<Q: Question> Future for AskOutcome<Q> {
    type Output = Result<Outcome<Q::Output>, ContextError>;

    fn poll(self: Pin<&mut Self>, task: &mut Task<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        if !std::mem::replace(&mut this.begun, true)
            && let Some(result) = this.begin().transpose()
        {
            return Poll::Ready(result);
        }
        if this.round.is_over(task.waker()) {
            return Poll::Ready(Err(ContextError::round_over(&this.key)));
        }
        Poll::Pending
    }
}

impl<Q: Question> Future for Ask<Q> {
    type Output = Result<Q::Output, ContextError>;

    fn poll(self: Pin<&mut Self>, task: &mut Task<'_>) -> Poll<Self::Output> {
        let asking = &mut self.get_mut().0;
        let key = |asking: &AskOutcome<Q>| asking.key.clone();
        Pin::new(&mut *asking).poll(task).map(|result| match result? {
            Outcome::Accepted(value) => Ok(value),
            Outcome::Declined => Err(ContextError::Declined { key: key(asking) }),
            Outcome::Cancelled => Err(ContextError::Cancelled { key: key(asking) }),
        })
    }
}

/// Nothing inside is ever pinned.
impl<Q: Question> Unpin for AskOutcome<Q> {}
impl<Q: Question> Unpin for Ask<Q> {}

impl<Q: Question> fmt::Debug for Ask<Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Ask").field(&self.0.key).finish()
    }
}

impl<Q: Question> fmt::Debug for AskOutcome<Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AskOutcome").field(&self.key).finish()
    }
}
