//! The loop: one operation from its first request to its result.
//!
//! Each round posts the same parameters under a new id. What a round brings (questions, a state) counts for the next
//! request of this operation and is then forgotten. Deciding *what* to answer is the responders' part, moving bytes the
//! transport's.
//!
//! The whole operation lives in one future. Dropping it, at whatever point, abandons the call: an open request is closed,
//! no answer is sent, nothing runs on.

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::{Either, select};
use http::HeaderMap;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, timeout};

use super::diagnosis::{Diagnosis, Fault};
use super::dialect;
use super::pace::Pace;
use super::request::{Retry, Template};
use super::response::{self, InputRequest, InputRequired, Reply};
use super::{
    Action, Answer, Ask, CallError, Client, Event, Incoming, Kind, NotAnswered, OperationId, Outgoing, Output,
    RoundOutcome, RoundTrace, Saved, failure,
};
use crate::wire::PROTOCOL_VERSION;

/// How often a request is sent at most to a server that says it may be sent again: for some twenty seconds.
const MAX_TRIES: u32 = 8;

/// An operation under way.
pub(super) struct Operation<'c> {
    client: &'c Client,
    request: Request<'c>,
    round: u32,
    asking_rounds: u32,
    waits: u32,
    pace: Pace,
    answered: BTreeMap<String, Answered>,
    /// The input responses of the round under way.
    responses: Map<String, Value>,
    checkpoint: Option<Checkpoint<'c>>,
    refusals: Vec<(String, Action)>,
    rounds: Vec<RoundTrace>,
}

/// What all requests of an operation share.
pub(super) struct Request<'c> {
    pub(super) id: OperationId,
    pub(super) method: &'c str,
    /// The tool, prompt or resource.
    pub(super) target: String,
    pub(super) template: Template,
    pub(super) headers: HeaderMap,
    /// The caller's parameters as JSON text; empty unless the operation may be saved.
    pub(super) params: String,
}

/// How far an operation has come, apart from what the server said last.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(super) struct Progress {
    pub(super) round: u32,
    asking_rounds: u32,
    waits: u32,
    answered: BTreeMap<String, Answered>,
    responses: Map<String, Value>,
    refusals: Vec<(String, Action)>,
}

/// What is remembered of a key that was answered.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(super) struct Answered {
    times: u32,
    /// The page the user agreed to open.
    consented_url: Option<String>,
}

/// Told of what it takes to go on later, whenever that changes.
pub(super) type Checkpoint<'c> = Box<dyn Fn(Saved) + Send + Sync + 'c>;

impl<'c> Operation<'c> {
    pub(super) fn new(client: &'c Client, request: Request<'c>, checkpoint: Option<Checkpoint<'c>>) -> Self {
        Self {
            client,
            request,
            round: 0,
            asking_rounds: 0,
            waits: 0,
            pace: Pace::default(),
            answered: BTreeMap::new(),
            responses: Map::new(),
            checkpoint,
            refusals: Vec::new(),
            rounds: Vec::new(),
        }
    }

    /// Runs it from its first request on.
    pub(super) async fn run(self) -> Result<Output, CallError> {
        self.announce();
        self.finish(Retry::default()).await
    }

    /// Goes on where it was saved, with the questions of that round that are still open.
    pub(super) async fn resume(mut self, progress: Progress, required: InputRequired) -> Result<Output, CallError> {
        let Progress { round, asking_rounds, waits, answered, responses, refusals } = progress;
        self = Self { round, asking_rounds, waits, answered, responses, refusals, ..self };
        self.announce();
        let retry = self.gather(required, None).await?;
        self.finish(retry).await
    }

    fn announce(&self) {
        let Request { id: operation, method, target, .. } = &self.request;
        self.client.observe(&Event::Start { operation, method, target });
    }

    async fn finish(mut self, mut retry: Retry) -> Result<Output, CallError> {
        loop {
            match self.exchange(&retry).await? {
                Reply::Complete(result) => {
                    let Self { request, refusals, rounds, .. } = self;
                    return Ok(Output { operation: request.id, result, refusals, rounds });
                }
                Reply::InputRequired(required) => {
                    let pause = self.admit(&required)?;
                    self.responses.clear();
                    retry = self.gather(required, pause).await?;
                }
            }
        }
    }

    /// Sends the request of a round. A server that says it did nothing yet and may be asked again is, within bounds.
    async fn exchange(&mut self, retry: &Retry) -> Result<Reply, CallError> {
        self.round += 1;
        let mut pace = Pace::default();
        for attempt in 1..MAX_TRIES {
            match self.exchange_once(retry).await {
                // Spec: basic/versioning. A version that is among those it names may be sent again: in a fleet under
                // renewal the next instance knows it.
                Err(CallError::Rpc { code: -32022, data: Some(data), .. }) if attempt == 1 && names_ours(&data) => {}
                Err(CallError::Rpc { data: Some(data), .. }) if did_nothing(&data) => {
                    let pause = pace.next();
                    self.client.observe(&Event::Pause { operation: &self.request.id, round: self.round, pause });
                    sleep(pause).await;
                }
                other => return other,
            }
        }
        self.exchange_once(retry).await
    }

    /// Sends one request and reads its response.
    async fn exchange_once(&mut self, retry: &Retry) -> Result<Reply, CallError> {
        let (operation, round) = (&self.request.id, self.round);
        let id = self.client.next_id();
        let request = Outgoing {
            headers: self.request.headers.clone(),
            body: self.request.template.render(id, retry),
            max_response_bytes: self.client.max_response_bytes,
        };
        self.client.observe(&Event::Request { operation, round, headers: &request.headers, body: &request.body });
        let start = Instant::now();
        let incoming = self.send(&request).await.inspect_err(|error| {
            self.client.observe(&Event::Lost { operation, round, error, elapsed: start.elapsed() });
        })?;
        let elapsed = start.elapsed();
        let Incoming { status, headers, body } = &incoming;
        self.client.observe(&Event::Response { operation, round, status: *status, headers, body, elapsed });
        let reply = response::read(body, id).and_then(|reply| failure::denied(&incoming).map_or(Ok(reply), Err));
        self.rounds.push(RoundTrace {
            operation: operation.clone(),
            round,
            id,
            outcome: reply.as_ref().map_or(RoundOutcome::Failed, outcome),
            sent_bytes: request.body.len(),
            received_bytes: body.len(),
            elapsed,
            answering: Duration::ZERO,
            headers: headers.clone(),
        });
        self.client.observe(&Event::Round(&self.rounds[self.rounds.len() - 1]));
        reply.map_err(|failure| failure::explain(self.client.server(), round, &incoming, failure))
    }

    async fn send(&self, request: &Outgoing) -> Result<Incoming, CallError> {
        let (operation, round) = (&self.request.id, self.round);
        let (asked, is_asked) = (Mutex::new(None), Notify::new());
        let notify = |body: &str| {
            self.client.observe(&Event::Notification { operation, round, body });
            self.client.outdate(body);
            // A server that waits for an answer sends nothing more: no use to wait for it.
            if let Some(fault) = dialect::server_request(body) {
                asked.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(fault);
                is_asked.notify_one();
            }
        };
        let exchange = timeout(self.client.server_timeout, self.client.transport.exchange(request, &notify));
        let response = match select(pin!(is_asked.notified()), pin!(exchange)).await {
            Either::Left(_) => None,
            Either::Right((response, _)) => Some(response),
        };
        if let Some(fault) = asked.into_inner().unwrap_or_else(PoisonError::into_inner) {
            return Err(self.broken(fault));
        }
        match response {
            Some(Ok(response)) => Ok(response?),
            _ => Err(CallError::Timeout {
                server: self.client.server().to_owned(),
                timeout: self.client.server_timeout,
                round,
            }),
        }
    }

    /// Collects what the next request needs: answers to this round's questions, or just the time that has to pass.
    async fn gather(&mut self, required: InputRequired, pause: Option<Duration>) -> Result<Retry, CallError> {
        let start = Instant::now();
        self.save(&required.raw);
        let InputRequired { requests, state, server_name, raw } = required;
        let input_responses =
            if requests.is_empty() { None } else { Some(self.answer(requests, server_name, &raw).await?) };
        if let Some(round) = self.rounds.last_mut() {
            round.answering = start.elapsed();
        }
        if let Some(pause) = pause.and_then(|pause| pause.checked_sub(start.elapsed())) {
            self.client.observe(&Event::Pause { operation: &self.request.id, round: self.round, pause });
            sleep(pause).await;
        }
        Ok(Retry { input_responses, request_state: state })
    }

    /// Hands out what it takes to go on from here, if somebody wants it.
    fn save(&self, result: &RawValue) {
        let Some(checkpoint) = &self.checkpoint else { return };
        let progress = Progress {
            round: self.round,
            asking_rounds: self.asking_rounds,
            waits: self.waits,
            answered: self.answered.clone(),
            responses: self.responses.clone(),
            refusals: self.refusals.clone(),
        };
        checkpoint(Saved::new(self.client, &self.request, progress, result));
    }

    /// Counts the round against its cap, and returns the least time until the next request.
    ///
    /// A round that asks nothing, or only repeats a URL the user has already agreed to open, is a wait: the server
    /// has no news yet. Waits have a cap of their own and are paced, however fast the responder is.
    fn admit(&mut self, required: &InputRequired) -> Result<Option<Duration>, CallError> {
        // Spec: basic/patterns/mrtr#supported-requests.
        if !matches!(self.request.method, "tools/call" | "prompts/get" | "resources/read") {
            let what = format!("{} must not end in input_required", self.request.method);
            return Err(self.broken(Fault::new(Diagnosis::MethodHasNoRounds, what)));
        }
        if required.requests.iter().all(|(key, request)| self.has_consent(key, request)) {
            self.waits += 1;
            let limit = self.client.max_waits;
            return if self.waits > limit {
                Err(CallError::TooManyWaits { limit })
            } else {
                Ok(Some(self.pace.next()))
            };
        }
        self.pace.reset();
        self.asking_rounds += 1;
        let limit = self.client.max_rounds;
        if self.asking_rounds > limit { Err(CallError::TooManyRounds { limit }) } else { Ok(None) }
    }

    fn has_consent(&self, key: &str, request: &InputRequest) -> bool {
        let consented = self.answered.get(key).and_then(|answered| answered.consented_url.as_deref());
        request.kind == Kind::Url && consented.is_some_and(|url| request.url().as_deref() == Some(url))
    }

    /// Has every question of the round answered, one after the other.
    async fn answer(
        &mut self,
        requests: Vec<(String, InputRequest)>,
        server_name: Option<String>,
        result: &RawValue,
    ) -> Result<Map<String, Value>, CallError> {
        let mut asks = self.asks(requests, server_name.as_deref())?;
        // What was answered before the operation was saved.
        asks.retain(|ask| !self.responses.contains_key(&ask.key));
        let mut open = Vec::new();
        for mut ask in asks {
            let start = Instant::now();
            self.client.observe(&Event::Asked(&ask));
            let answer = self.put(&ask).await.inspect_err(|_| {
                self.client.observe(&Event::Unanswered { ask: &ask, elapsed: start.elapsed() });
            });
            match answer {
                Ok(answer) => {
                    let response = self.record(&ask, answer)?;
                    let answered = Event::Answered { ask: &ask, response: &response, elapsed: start.elapsed() };
                    self.client.observe(&answered);
                    self.responses.insert(ask.key, response);
                    self.save(result);
                }
                Err(NotAnswered::Nobody) => open.push(ask),
                Err(NotAnswered::Partly(settled)) => {
                    ask.settled.extend(settled);
                    open.push(ask);
                }
                Err(NotAnswered::Abandoned) => {
                    return Err(CallError::Abandoned { round: self.round, key: ask.key });
                }
                Err(NotAnswered::Failed(cause)) => {
                    return Err(CallError::Responder { round: self.round, key: ask.key, cause });
                }
            }
        }
        if open.is_empty() {
            Ok(std::mem::take(&mut self.responses))
        } else {
            Err(CallError::Unanswered { questions: open })
        }
    }

    /// Builds the questions of a round; refuses them all if one is of a kind that was not declared.
    fn asks(&self, requests: Vec<(String, InputRequest)>, server_name: Option<&str>) -> Result<Vec<Ask>, CallError> {
        let count = requests.len();
        let ask = |(index, (key, request)): (usize, (String, InputRequest))| {
            if self.client.responders.of(request.kind).is_none() {
                return Err(CallError::Undeclared { round: self.round, key, kind: request.kind });
            }
            Ok(Ask {
                operation: self.request.id.clone(),
                server: self.client.server().to_owned(),
                server_name: server_name.map(str::to_owned),
                method: self.request.method.to_owned(),
                target: self.request.target.clone(),
                round: self.round,
                number: index + 1,
                count,
                asked_before: self.answered.get(&key).map_or(0, |answered| answered.times),
                consented: self.has_consent(&key, &request),
                key,
                kind: request.kind,
                params: request.params,
                has_alternative: false,
                settled: Map::new(),
            })
        };
        requests.into_iter().enumerate().map(ask).collect()
    }

    async fn put(&self, ask: &Ask) -> Result<Answer, NotAnswered> {
        match self.client.responders.of(ask.kind) {
            Some(responder) => responder.respond(ask).await,
            None => Err(NotAnswered::Nobody),
        }
    }

    /// Notes what was answered and renders it for the wire.
    fn record(&mut self, ask: &Ask, answer: Answer) -> Result<Value, CallError> {
        let action = answer.action();
        let response = answer.input_response(ask.kind).ok_or_else(|| CallError::Responder {
            round: self.round,
            key: ask.key.clone(),
            cause: format!("the answer is not one to {}", ask.kind).into(),
        })?;
        let answered = self.answered.entry(ask.key.clone()).or_default();
        answered.times += 1;
        // Only the last word on a question counts: a user may decline, be asked again, and agree.
        self.refusals.retain(|(key, _)| *key != ask.key);
        match action {
            Some(Action::Accept) if ask.kind == Kind::Url => answered.consented_url = ask.url(),
            Some(action @ (Action::Decline | Action::Cancel)) => self.refusals.push((ask.key.clone(), action)),
            _ => {}
        }
        Ok(response)
    }

    fn broken(&self, Fault { diagnosis, what }: Fault) -> CallError {
        CallError::Protocol { round: self.round, diagnosis, what }
    }
}

/// Whether a server says that it did nothing, or is still at work on the same request: `docs/guarantees.md` has these
/// two. Whatever else a server of another make calls retryable may have done something.
fn did_nothing(data: &Value) -> bool {
    data["retryable"] == true && matches!(data["reason"].as_str(), Some("ledger_unavailable" | "still_at_work"))
}

/// Tells whether an error's data lists the version this client speaks.
fn names_ours(data: &Value) -> bool {
    data["supported"].as_array().is_some_and(|versions| versions.iter().any(|version| version == PROTOCOL_VERSION))
}

fn outcome(reply: &Reply) -> RoundOutcome {
    match reply {
        Reply::Complete(_) => RoundOutcome::Complete,
        Reply::InputRequired(required) => RoundOutcome::InputRequired {
            asked: required.requests.iter().map(|(key, request)| (key.clone(), request.kind)).collect(),
            state_bytes: required.state.as_ref().map(|state| state.get().len().saturating_sub(2)),
        },
    }
}
