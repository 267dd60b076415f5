//! One leg of an operation: open the state, run the handler, seal the state.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use base64::{display::Base64Display, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::Deserialize;
use serde_json::value::RawValue;
use tracing::{Instrument, debug, error, info_span, warn};

use super::arguments::Arguments;
use super::dispatch::{Dispatch, Registered, members};
use super::{Incoming, ToolResult, headers};
use crate::flow::{
    ClientInfo, Clock, Context, Drive, Fault, Journal, LogLevel, Notices, Outlet, Round, RoundEnd, Suspension,
    SystemClock, guarded,
};
use crate::seal::{Binding, Claims, NONCE_LEN, Opened, Principal, StateError};
use crate::wire::{Request, RpcError, json};

/// What a leg answers: the members of its result.
type Answer = Result<String, RpcError>;

/// What `inputResponses` brought, by key.
type Answers = HashMap<String, Box<RawValue>>;

/// What a leg has to do with.
struct Leg<'a> {
    request: &'a Request<'a>,
    registered: &'a Registered,
    principal: Option<Principal>,
    clock: Arc<dyn Clock>,
    outlet: Option<Arc<dyn Outlet>>,
}

impl Dispatch {
    /// `tools/call`: first leg or retry, it makes no difference to the handler.
    pub(super) async fn call_tool(&self, request: &Request<'_>, incoming: &Incoming<'_>) -> Answer {
        let Some(name) = &request.params.name else {
            return Err(RpcError::malformed_params("params.name is missing: the name of the tool to call"));
        };
        let Some(registered) = self.tools.get(&*name.0) else {
            let shown = crate::form::harmless(&name.0, 80);
            return Err(RpcError::invalid_params(format!("Unknown tool: {shown}")));
        };
        let arguments = Arguments::parse(request.params.arguments)?;
        if let Some(headers) = incoming.headers {
            headers::check_params(headers, &registered.input.mirrored, &arguments.value)?;
        }
        let mut answers = answers(request.params.input_responses)?;
        let clock =
            self.clock.as_ref().or(incoming.clock.as_ref()).map_or_else(|| Arc::new(SystemClock) as _, Arc::clone);
        let (principal, outlet) = (incoming.principal.clone(), incoming.outlet.clone());
        let leg = Leg { request, registered, principal, clock, outlet };
        let binding = Binding::new("tools/call", &name.0, &arguments.canonical, leg.principal.as_ref(), self.audience);
        let claims = self.resume(&leg, &binding, &mut answers)?;
        // As `Context::operation_id` writes it; nothing is written where no one listens.
        let id = Base64Display::new(&claims.operation, &URL_SAFE_NO_PAD);
        let trace = request.params.meta.as_ref().and_then(|meta| meta.traceparent());
        let span =
            info_span!("operation", tool = %name.0, %id, round = claims.round + 1, traceparent = trace.as_deref());
        self.run(leg, arguments, answers, claims).instrument(span).await
    }

    /// What earlier rounds left, or the start of a new operation. Answers that come too late are taken away.
    fn resume(&self, leg: &Leg<'_>, binding: &Binding, answers: &mut Answers) -> Result<Claims<Journal>, RpcError> {
        let Some(token) = &leg.request.params.request_state else {
            return Ok(Claims::first(rand::random(), *binding, Journal::new()));
        };
        let opened = if token.0.len() > self.limits.state_bytes {
            Err(StateError::TooLong)
        } else {
            Claims::open_at(&self.keys, &token.0, binding, leg.clock.now())
        };
        match opened {
            Ok(Opened::Live(claims)) => Ok(claims),
            Ok(Opened::Expired(claims, ago)) if ago <= self.limits.reask_expired => Ok(reopen(claims, ago, answers)),
            Ok(Opened::Expired(..)) => Err(refused(StateError::Expired)),
            Err(error) => Err(refused(error)),
        }
    }

    async fn run(&self, leg: Leg<'_>, arguments: Arguments, answers: Answers, mut claims: Claims<Journal>) -> Answer {
        let Leg { request, registered, principal, clock, outlet } = leg;
        if let Err(problems) = registered.input.check(&arguments) {
            return complete(&ToolResult::error(format!("Invalid arguments: {problems}")));
        }
        claims.round = claims.round.saturating_add(1);
        let first = request.params.request_state.is_none();
        let round = Round::new(claims.operation, claims.round, client(request), principal, Arc::clone(&clock)).resume(
            std::mem::take(&mut claims.journal),
            answers,
            first && registered.tool.accept_unasked,
        );
        let round = Arc::new(round.telling(outlet.and_then(|outlet| notices(request, outlet))));
        let context = Context::new(Arc::clone(&round));
        let handling = match guarded(|| (registered.tool.handler)(arguments.value, context)) {
            Ok(Ok(handling)) => handling,
            Ok(Err(problem)) => return complete(&ToolResult::error(format!("Invalid arguments: {problem}"))),
            Err(panic) => {
                // It may have left a task behind that waits for the end of the round.
                round.close();
                return Err(self.failed(Fault::Panicked(panic)));
            }
        };
        match Drive::new(round, handling, Some(self.limits.handler_time)).await {
            RoundEnd::Finished(result) => complete(&result),
            RoundEnd::Suspended(suspension) => self.suspend(claims, suspension, clock.now()),
            RoundEnd::Failed(fault) => Err(self.failed(fault)),
        }
    }

    /// Seals what was settled and asks for the rest.
    fn suspend(&self, mut claims: Claims<Journal>, suspension: Suspension, now: SystemTime) -> Answer {
        let Suspension { requests, only_waits, journal } = suspension;
        if only_waits {
            claims.waits = claims.waits.saturating_add(1);
        }
        if claims.round - claims.waits.min(claims.round) >= self.limits.rounds || claims.waits >= self.limits.waits {
            warn!(round = claims.round, waits = claims.waits, "the operation takes too many rounds and is given up");
            return complete(&ToolResult::error("This took too many rounds and was given up."));
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
        Ok(members)
    }

    fn failed(&self, fault: Fault) -> RpcError {
        match fault {
            Fault::MissingCapability(needed) => RpcError::missing_capability(&needed),
            Fault::Author(problem) => {
                error!("the handler is at fault: {problem}");
                RpcError::internal("the tool has a fault; the server's log says which")
            }
            Fault::Panicked(text) => {
                error!("the handler panicked: {text}");
                RpcError::internal("the tool failed unexpectedly; the server's log says how")
            }
            Fault::TimedOut => {
                error!(limit = ?self.limits.handler_time, "the handler took too long and was stopped");
                RpcError::internal("the tool took too long and was stopped")
            }
        }
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

fn refused(error: StateError) -> RpcError {
    warn!("a request state was refused: {error}");
    RpcError::invalid_state()
}

fn complete(result: &ToolResult) -> Answer {
    let members = members(result).map_err(|error| {
        error!("the tool's result cannot be written as JSON: {error}");
        RpcError::internal("the tool's result cannot be written as JSON")
    })?;
    Ok(format!("\"resultType\":\"complete\",{members}"))
}

fn client(request: &Request<'_>) -> ClientInfo {
    let meta = request.params.meta.as_ref();
    ClientInfo {
        implementation: meta
            .and_then(|meta| meta.client_info())
            .map(|(name, version)| (name.into_owned(), version.into_owned())),
        capabilities: meta.and_then(|meta| meta.client_capabilities().ok()).cloned().unwrap_or_default(),
    }
}

/// What the request wants to be told while it runs; checked when it was admitted.
fn notices(request: &Request<'_>, outlet: Arc<dyn Outlet>) -> Option<Notices> {
    let meta = request.params.meta.as_ref()?;
    let token = meta.progress_token().ok().flatten();
    let token = token.and_then(|token| RawValue::from_string(token.as_json().to_owned()).ok());
    Notices::new(outlet, token, meta.log_level().and_then(LogLevel::parse))
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
    json::canonical(raw.get()).map_err(|_| malformed())?;
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
