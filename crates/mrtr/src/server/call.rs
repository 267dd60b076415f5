//! One leg of an operation: open the state, run the handler, seal the state.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use base64::{display::Base64Display, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::Deserialize;
use serde_json::value::RawValue;
use tracing::{Instrument, debug, error, field, info_span, warn};

use super::answer::{Answer, Completed};
use super::counters::{Outcome, add};
use super::{Dispatch, Incoming, ToolResult};
use crate::flow::{
    ClientInfo, Clock, Context, Drive, Fault, Handling, Journal, LogLevel, Notices, Outlet, Round, RoundEnd,
    Suspension, SystemClock, guarded,
};
use crate::form::harmless;
use crate::seal::{Binding, Claims, NONCE_LEN, Opened, StateError};
use crate::wire::{Meta, Method, Request, RpcError, json};

/// What `inputResponses` brought, by key.
type Answers = BTreeMap<String, Box<RawValue>>;

/// What a request calls, as far as every kind of handler has it.
pub(super) struct Call<'a> {
    pub(super) method: Method,
    /// The name of the tool or prompt, or the resource's URI.
    pub(super) target: &'a str,
    /// The arguments in canonical form.
    pub(super) canonical: &'a [u8],
    pub(super) accept_unasked: bool,
}

/// What a leg has to do with.
struct Leg<'a> {
    request: &'a Request<'a>,
    incoming: &'a Incoming<'a>,
    call: Call<'a>,
    clock: Arc<dyn Clock>,
    answers: Answers,
    trace: Option<&'a str>,
}

impl Dispatch {
    /// Runs one leg: first or retry, it makes no difference to the handler. `start` runs up to the handler's first
    /// await, or says why it does not run at all; `finish` writes what it returned.
    pub(super) async fn operate<R>(
        &self,
        request: &Request<'_>,
        incoming: &Incoming<'_>,
        call: Call<'_>,
        start: impl FnOnce(Context) -> Result<Handling<R>, Answer>,
        finish: impl FnOnce(R) -> Answer,
    ) -> Answer {
        let clock = self.clock(incoming);
        let mut answers = answers(request.params.input_responses)?;
        let principal = incoming.principal.as_ref();
        let binding = Binding::new(call.method.name(), call.target, call.canonical, principal, self.audience);
        let claims = self.resume(request, &binding, clock.now(), &mut answers)?;
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
        let answer = self.run(leg, claims, start, finish).instrument(span.clone()).await;
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

    /// What earlier rounds left, or the start of a new operation. Answers that come too late are taken away.
    fn resume(
        &self,
        request: &Request<'_>,
        binding: &Binding,
        now: SystemTime,
        answers: &mut Answers,
    ) -> Result<Claims<Journal>, RpcError> {
        let Some(token) = &request.params.request_state else {
            return Ok(Claims::first(rand::random(), *binding, Journal::new()));
        };
        let opened = if token.0.len() > self.limits.state_bytes {
            Err(StateError::TooLong)
        } else {
            Claims::open_at(&self.keys, &token.0, binding, now)
        };
        match opened {
            Ok(Opened::Live(claims)) => Ok(claims),
            Ok(Opened::Expired(claims, ago)) if ago <= self.limits.reask_expired => Ok(reopen(claims, ago, answers)),
            Ok(Opened::Expired(..)) => Err(self.refused(StateError::Expired)),
            Err(error) => Err(self.refused(error)),
        }
    }

    async fn run<R>(
        &self,
        leg: Leg<'_>,
        mut claims: Claims<Journal>,
        start: impl FnOnce(Context) -> Result<Handling<R>, Answer>,
        finish: impl FnOnce(R) -> Answer,
    ) -> Answer {
        let Leg { request, incoming, call, clock, answers, trace } = leg;
        claims.round = claims.round.saturating_add(1);
        let first = request.params.request_state.is_none();
        let notices = incoming.outlet.as_ref().and_then(|outlet| self.notices(request, outlet));
        let (principal, journal) = (incoming.principal.clone(), std::mem::take(&mut claims.journal));
        let round = Round::new(claims.operation, claims.round, client(request), principal, Arc::clone(&clock))
            .resume(journal, answers, first && call.accept_unasked)
            .traced(trace)
            .telling(notices);
        #[cfg(feature = "testing")]
        let round = round.watched(incoming.watch.clone());
        let round = Arc::new(round);
        let context = Context::new(Arc::clone(&round));
        let handling = match guarded(|| start(context)) {
            Ok(Ok(handling)) => handling,
            Ok(Err(answer)) => return answer,
            Err(panic) => {
                // It may have left a task behind that waits for the end of the round.
                round.close();
                return Err(self.failed(Fault::Panicked(panic)));
            }
        };
        let end = Drive::new(Arc::clone(&round), handling, Some(self.limits.handler_time)).await;
        add(&self.tally.refusals, round.refusals());
        match end {
            RoundEnd::Finished(result) => finish(result),
            RoundEnd::Suspended(suspension) => self.suspend(call.method, claims, suspension, clock.now()),
            RoundEnd::Failed(fault) => Err(self.failed(fault)),
        }
    }

    /// Seals what was settled and asks for the rest.
    fn suspend(&self, method: Method, mut claims: Claims<Journal>, suspension: Suspension, now: SystemTime) -> Answer {
        let Suspension { requests, only_waits, journal } = suspension;
        add(&self.tally.asks, requests.len() as u64);
        if only_waits {
            claims.waits = claims.waits.saturating_add(1);
        }
        if claims.round - claims.waits.min(claims.round) >= self.limits.rounds || claims.waits >= self.limits.waits {
            warn!(round = claims.round, waits = claims.waits, "the operation takes too many rounds and is given up");
            let given_up = "This took too many rounds and was given up.";
            return match method {
                Method::CallTool => Completed::of(&ToolResult::error(given_up)),
                _ => Err(RpcError::internal(given_up)),
            };
        }
        claims.journal = journal;
        let nonce: [u8; NONCE_LEN] = rand::random();
        let state = claims.seal_at(&self.keys, nonce, now, self.limits.state_lifetime);
        if state.len() > self.limits.state_bytes {
            let sizes = sizes(&claims.journal);
            let limit = self.limits.state_bytes;
            error!(bytes = state.len(), limit, "the request state is too large: {sizes}");
            return Err(RpcError::internal("the operation's state is too large; the server's log names the keys"));
        }
        let length = requests.iter().map(|(key, request)| key.len() + request.len() + 8).sum::<usize>();
        let mut members = String::with_capacity(128 + length + state.len());
        members.push_str("\"resultType\":\"input_required\"");
        for (index, (key, request)) in requests.iter().enumerate() {
            members.push_str(if index == 0 { ",\"inputRequests\":{" } else { "," });
            members.push_str(&json::string(key));
            members.push(':');
            members.push_str(request);
        }
        if !requests.is_empty() {
            members.push('}');
        }
        // The token's alphabet needs no escaping.
        members.extend([",\"requestState\":\"", &state, "\""]);
        Ok(Completed::interim(members))
    }

    fn refused(&self, error: StateError) -> RpcError {
        warn!("a request state was refused: {error}");
        self.tally.reject(error);
        RpcError::invalid_state()
    }

    fn failed(&self, fault: Fault) -> RpcError {
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

/// An expired operation starts its questions again; what was answered is offered, what was done stays done.
fn reopen(mut claims: Claims<Journal>, ago: Duration, answers: &mut Answers) -> Claims<Journal> {
    debug!(?ago, "the state has expired; its questions are asked again");
    for entry in &mut claims.journal {
        entry.expire(answers.remove(&entry.key).as_deref());
    }
    claims
}

/// The client, as the request describes it.
pub(super) fn client(request: &Request<'_>) -> ClientInfo {
    let meta = request.params.meta.as_ref();
    let capabilities = meta.and_then(|meta| meta.client_capabilities().ok()).cloned().unwrap_or_default();
    ClientInfo::new(meta.and_then(Meta::client_info), capabilities)
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

/// The journal's keys and what each costs, largest first.
fn sizes(journal: &Journal) -> String {
    let mut sizes: Vec<(usize, &str)> = journal
        .iter()
        .map(|entry| (postcard::to_allocvec(entry).map_or(0, |bytes| bytes.len()), &*entry.key))
        .collect();
    sizes.sort_by(|a, b| b.cmp(a));
    let named: Vec<String> = sizes.iter().take(5).map(|(bytes, key)| format!("{key:?} {bytes} bytes")).collect();
    named.join(", ")
}
