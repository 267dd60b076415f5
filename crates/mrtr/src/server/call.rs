//! One leg of an operation: open the state, run the handler, seal the state.

use std::collections::BTreeMap;
use std::sync::Arc;

use base64::{display::Base64Display, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::Deserialize;
use serde_json::value::RawValue;
use tracing::{Instrument, error, field, info_span};

use super::answer::Answer;
use super::counters::{Outcome, add};
use super::once::{Once, Resolution};
use super::{Dispatch, Incoming};
use crate::flow::{
    ClientInfo, Clock, Context, Drive, Fault, Handling, Journal, LogLevel, Notices, Outlet, Round, RoundEnd,
    SystemClock, guarded,
};
use crate::form::harmless;
use crate::seal::{Binding, Claims};
use crate::wire::{Meta, Method, Request, RpcError, json};

/// What `inputResponses` brought, by key.
pub(super) type Answers = BTreeMap<String, Box<RawValue>>;

/// Starts a handler: its future, or what to answer instead.
pub(super) type Start<R> = fn(Context) -> Result<Handling<R>, Answer>;

/// What a request calls, as far as every kind of handler has it.
#[derive(Clone, Copy)]
pub(super) struct Call<'a> {
    pub(super) method: Method,
    /// The name of the tool or prompt, or the resource's URI.
    pub(super) target: &'a str,
    /// The arguments in canonical form.
    pub(super) canonical: &'a [u8],
    pub(super) accept_unasked: bool,
    pub(super) once: Once,
}

/// What a leg has to do with.
pub(super) struct Leg<'a> {
    request: &'a Request<'a>,
    incoming: &'a Incoming<'a>,
    call: Call<'a>,
    pub(super) clock: Arc<dyn Clock>,
    answers: Answers,
    trace: Option<&'a str>,
}

/// How a leg ended.
pub(super) struct Ended {
    pub(super) answer: Answer,
    /// The handler came to an end or a question. If not, it was stopped somewhere.
    pub(super) is_known: bool,
}

impl Dispatch {
    /// Runs one leg: first or retry, it makes no difference to the handler. `start` runs up to the handler's first
    /// await, or says why it does not run at all; `finish` writes what it returned. `resolve` finds out what became of a
    /// run that was torn off, for what is done once.
    pub(super) async fn operate<R>(
        &self,
        request: &Request<'_>,
        incoming: &Incoming<'_>,
        call: Call<'_>,
        start: impl FnOnce(Context) -> Result<Handling<R>, Answer>,
        resolve: Option<impl FnOnce(Context) -> Result<Handling<Resolution<R>>, Answer>>,
        finish: impl FnOnce(R) -> Answer,
    ) -> Answer {
        let clock = self.clock(incoming);
        let mut answers = answers(request.params.input_responses)?;
        let principal = incoming.principal.as_ref();
        let binding = Binding::new(call.method.name(), call.target, call.canonical, principal, self.audience);
        let claims = self.resume(request, &binding, &*clock, &mut answers).await?;
        let claim = self.claim_of(request, &call, &binding, &claims, clock.now())?;
        // As `Context::operation_id` writes it; nothing is written where no one listens.
        let id = Base64Display::new(&claims.operation, &URL_SAFE_NO_PAD);
        let trace = request.params.meta.as_ref().and_then(|meta| meta.traceparent());
        let mut at_work = self.tally.begin(request.params.request_state.is_none());
        let span = info_span!(
            "operation",
            method = %call.method.name(),
            // What stands for a template's variable is the client's word.
            target = %harmless(call.target, 200),
            %id,
            round = claims.round + 1,
            traceparent = trace.as_deref(),
            outcome = field::Empty,
        );
        let leg = Leg { request, incoming, call, clock, answers, trace: trace.as_deref() };
        let work = async {
            match claim {
                None => self.run(leg, claims, start, finish).await.answer,
                // Boxed: what is done once pays for it, and nothing else does.
                Some(claim) => Box::pin(self.run_once(claim, leg, claims, start, resolve, finish)).await,
            }
        };
        let answer = work.instrument(span.clone()).await;
        at_work.outcome = match &answer {
            Ok(completed) if completed.is_interim => Outcome::Suspended,
            Ok(_) => Outcome::Completed,
            Err(_) => Outcome::Failed,
        };
        span.record("outcome", at_work.outcome.name());
        answer
    }

    /// The clock to go by: the server's own, or the transport's.
    pub(super) fn clock(&self, incoming: &Incoming<'_>) -> Arc<dyn Clock> {
        self.clock.as_ref().or(incoming.clock.as_ref()).map_or_else(|| Arc::new(SystemClock) as _, Arc::clone)
    }

    /// Runs the handler to its end or its next question.
    pub(super) async fn run<R>(
        &self,
        leg: Leg<'_>,
        mut claims: Claims<Journal>,
        start: impl FnOnce(Context) -> Result<Handling<R>, Answer>,
        finish: impl FnOnce(R) -> Answer,
    ) -> Ended {
        claims.round = claims.round.saturating_add(1);
        let (method, clock) = (leg.call.method, Arc::clone(&leg.clock));
        let journal = std::mem::take(&mut claims.journal);
        match self.play(leg, &claims, journal, start).await {
            Err(answer) => Ended { answer, is_known: true },
            Ok(RoundEnd::Finished(result)) => Ended { answer: finish(result), is_known: true },
            Ok(RoundEnd::Suspended(suspension)) => {
                Ended { answer: self.suspend(method, claims, suspension, &*clock).await, is_known: true }
            }
            Ok(RoundEnd::Failed(fault)) => {
                let is_known = matches!(fault, Fault::MissingCapability(_));
                Ended { answer: Err(self.failed(fault)), is_known }
            }
        }
    }

    /// Plays one round of the operation: `start` with a context for it, and what came of that.
    ///
    /// # Errors
    /// What to answer instead, if it does not start.
    pub(super) async fn play<R>(
        &self,
        leg: Leg<'_>,
        claims: &Claims<Journal>,
        journal: Journal,
        start: impl FnOnce(Context) -> Result<Handling<R>, Answer>,
    ) -> Result<RoundEnd<R>, Answer> {
        let Leg { request, incoming, call, clock, answers, trace } = leg;
        let first = request.params.request_state.is_none();
        let notices = incoming.outlet.as_ref().and_then(|outlet| self.notices(request, outlet));
        let principal = incoming.principal.clone();
        let round = Round::new(claims.operation, claims.round, client(request), principal, clock)
            .resume(journal, answers, first && call.accept_unasked)
            .traced(trace)
            .telling(notices);
        #[cfg(feature = "testing")]
        let round = round.watched(incoming.watch.clone());
        let round = Arc::new(round);
        let context = Context::new(Arc::clone(&round));
        let handling = match guarded(|| start(context)) {
            Ok(handling) => handling?,
            Err(panic) => {
                // It may have left a task behind that waits for the end of the round.
                round.close();
                return Ok(RoundEnd::Failed(Fault::Panicked(panic)));
            }
        };
        let end = Drive::new(Arc::clone(&round), handling, Some(self.limits.handler_time)).await;
        add(&self.tally.refusals, round.refusals());
        Ok(end)
    }

    pub(super) fn failed(&self, fault: Fault) -> RpcError {
        match fault {
            Fault::MissingCapability(needed) => RpcError::missing_capability(&needed),
            Fault::Author(problem) => {
                error!("the handler is at fault: {problem}");
                RpcError::internal("the server has a fault here; its log says which")
            }
            Fault::Panicked(text) => {
                error!("the handler panicked: {text}");
                RpcError::internal("the call failed unexpectedly; the server's log says how")
            }
            Fault::TimedOut => {
                error!(limit = ?self.limits.handler_time, "the handler took too long and was stopped");
                RpcError::internal("the call took too long and was stopped")
            }
        }
    }

    /// What the request wants to be told while it runs; checked when it was admitted.
    fn notices(&self, request: &Request<'_>, outlet: &Arc<dyn Outlet>) -> Option<Notices> {
        let meta = request.params.meta.as_ref()?;
        let token = meta.progress_token().ok().flatten();
        let token = token.and_then(|token| RawValue::from_string(token.as_json().to_owned()).ok());
        let level = meta.log_level().filter(|_| self.logs).and_then(LogLevel::parse);
        Notices::new(Arc::clone(outlet), token, level)
    }
}

/// The client, as the request describes it.
pub(super) fn client(request: &Request<'_>) -> ClientInfo {
    let meta = request.params.meta.as_ref();
    let capabilities = meta.and_then(|meta| meta.client_capabilities().ok()).cloned().unwrap_or_default();
    ClientInfo::new(meta.and_then(Meta::client_info), capabilities)
}

impl Leg<'_> {
    /// The same leg, to be played twice.
    pub(super) fn again(&self) -> Self {
        let Self { request, incoming, call, clock, answers, trace } = self;
        Self { request, incoming, call: *call, clock: Arc::clone(clock), answers: answers.clone(), trace: *trace }
    }
}

/// Reads `inputResponses` as raw answers by key. What the answers are worth is for their questions to say.
fn answers(raw: Option<&RawValue>) -> Result<Answers, RpcError> {
    #[derive(Deserialize)]
    #[serde(transparent)]
    struct ByKey(Answers);
    let Some(raw) = raw else { return Ok(Answers::new()) };
    // What exactly is wrong may quote an answer, and errors are logged.
    let malformed = || {
        RpcError::malformed_params(
            "params.inputResponses must be an object of answers by key, with each name once and proper Unicode in it",
        )
    };
    json::check(raw.get()).map_err(|_| malformed())?;
    serde_json::from_str(raw.get()).map(|ByKey(answers)| answers).map_err(|_| malformed())
}
