//! Waiting for what happens elsewhere.

use std::fmt;
use std::future::{Future, IntoFuture};
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use serde::{Serialize, de::DeserializeOwned};

use super::ContextError;
use super::answer::ElicitResult;
use super::journal::{Answer, Kind, State};
use super::replay::{Begun, Open};
use super::round::{CallGuard, Round, UrlQuestion};
use crate::seal::Digest;

/// A wait for an out-of-band result: what [`Context::until`](crate::Context::until) returns. Await it.
///
/// It calls the check every second for up to 20 seconds, holding the request open. Then it gives the client something
/// to come back with: the most recent URL question once more, under this wait's own key, so that the user sees that it
/// is not finished and can decline. Some clients never retry a result that asks nothing, so that is the default;
/// [`state_only`](Self::state_only) returns one all the same.
#[must_use = "a wait does nothing until it is awaited"]
pub struct Until<'a, C> {
    round: Arc<Round>,
    key: String,
    check: C,
    every: Duration,
    hold: Duration,
    state_only: bool,
    borrows: PhantomData<&'a ()>,
}

impl<C> Until<'_, C> {
    pub(super) fn new(round: Arc<Round>, key: String, check: C) -> Self {
        Self {
            round,
            key,
            check,
            every: Duration::from_secs(1),
            hold: Duration::from_secs(20),
            state_only: false,
            borrows: PhantomData,
        }
    }

    /// Time between two checks; default 1 s. Each check costs whatever the closure does.
    pub fn every(mut self, every: Duration) -> Self {
        self.every = every.max(Duration::from_millis(1));
        self
    }

    /// How long one request is held open; default 20 s. Longer than the client's or a proxy's timeout loses the reply.
    pub fn hold(mut self, hold: Duration) -> Self {
        self.hold = hold;
        self
    }

    /// Sends clients away with a state and no question. Only for clients known to come back from one.
    pub fn state_only(mut self) -> Self {
        self.state_only = true;
        self
    }

    /// The question to send again, if there is one this client can be asked.
    fn question(&self) -> Option<UrlQuestion> {
        if self.state_only || !self.round.client.can_elicit_url() {
            return None;
        }
        let last = self.round.last_url()?;
        Some(UrlQuestion { message: format!("Not finished yet. {}", last.message), ..last })
    }
}

impl<'a, C, F, T> Until<'a, C>
where
    C: FnMut() -> F + Send + 'a,
    F: Future<Output = Option<T>> + Send + 'a,
    T: Serialize + DeserializeOwned + Send + 'a,
{
    async fn run(mut self) -> Result<T, ContextError> {
        let (call, open) = match self.round.begin(&self.key, Kind::Wait, None)? {
            Begun::Replayed(State::Done(recorded)) => return ContextError::recorded(&self.key, &recorded),
            Begun::Replayed(State::Answered { answer, .. }) => return Err(self.refused(&answer)),
            Begun::New(id, open) => (CallGuard::new(&self.round, id), open),
            Begun::Replayed(_) | Begun::Held => return Err(self.round.over(&self.key).await),
        };
        if let Some(refusal) = refusal(&open) {
            let settled = call.settle(State::Answered { asked: Digest::of("wait", &[]), answer: refusal.clone() });
            return Err(if settled { self.refused(&refusal) } else { ContextError::round_over(&self.key) });
        }
        let Some(value) = self.hold_open(&call).await else {
            let (state, request) = self.to_send();
            call.open(state, request);
            return Err(self.round.over(&self.key).await);
        };
        let recorded = ContextError::to_record(&self.key, &value)?;
        if call.settle(State::Done(recorded)) { Ok(value) } else { Err(ContextError::round_over(&self.key)) }
    }

    /// Checks until there is a result or the time to hold the request is over. A check at work keeps the round from
    /// ending; between two of them it may end, and then the wait goes out with it.
    async fn hold_open(&mut self, call: &CallGuard) -> Option<T> {
        let mut held = Duration::ZERO;
        loop {
            call.busy();
            if let Some(value) = (self.check)().await {
                return Some(value);
            }
            if held >= self.hold {
                return None;
            }
            let pause = self.every.min(self.hold.saturating_sub(held));
            let timer = self.round.clock.sleep(pause)?;
            let (state, request) = self.to_send();
            call.hold(state, request);
            timer.await;
            held += pause;
        }
    }

    fn to_send(&self) -> (State, Option<String>) {
        let state = State::Open { asked: Digest::of("wait", &[]), attempts: 0, kept: None };
        (state, self.question().map(|question| question.request()))
    }

    fn refused(&self, answer: &Answer) -> ContextError {
        let key = self.key.clone();
        match answer {
            Answer::Cancelled => ContextError::Cancelled { key },
            Answer::Accepted(_) | Answer::Declined | Answer::Exhausted(_) => ContextError::Declined { key },
        }
    }
}

/// A user who is shown the URL again may have had enough. Anything but a clear refusal goes on waiting.
fn refusal(open: &Open) -> Option<Answer> {
    match ElicitResult::parse(open.answer.as_ref()?) {
        Ok(ElicitResult::Decline) => Some(Answer::Declined),
        Ok(ElicitResult::Cancel) => Some(Answer::Cancelled),
        Ok(ElicitResult::Accept(_)) | Err(_) => None,
    }
}

impl<'a, C, F, T> IntoFuture for Until<'a, C>
where
    C: FnMut() -> F + Send + 'a,
    F: Future<Output = Option<T>> + Send + 'a,
    T: Serialize + DeserializeOwned + Send + 'a,
{
    type Output = Result<T, ContextError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send + 'a>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}

impl<C> fmt::Debug for Until<'_, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Until").field("key", &self.key).field("every", &self.every).field("hold", &self.hold).finish()
    }
}
