//! The loop: one operation from its first request to its result.
//!
//! Each round posts the same parameters under a new id. What a round brings (questions, a state) counts for the next
//! request of this operation and is then forgotten. Deciding *what* to answer is the responders' part, moving bytes the
//! transport's.
//!
//! The whole operation lives in one future. Dropping it, at whatever point, abandons the call: an open request is closed,
//! no answer is sent, nothing runs on.

use std::collections::HashMap;
use std::pin::pin;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::{Either, select};
use http::HeaderMap;
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
    RoundOutcome, RoundTrace, failure,
};

/// How often a request is sent at most to a server that says it may be sent again: for some twenty seconds.
const MAX_TRIES: u32 = 8;

/// An operation under way.
pub(super) struct Operation<'c> {
    client: &'c Client,
    id: OperationId,
    method: &'c str,
    target: String,
    template: Template,
    headers: HeaderMap,
    round: u32,
    asking_rounds: u32,
    waits: u32,
    pace: Pace,
    answered: HashMap<String, Answered>,
    refusals: Vec<(String, Action)>,
    rounds: Vec<RoundTrace>,
}

/// What is remembered of a key that was answered.
#[derive(Debug, Default)]
struct Answered {
    times: u32,
    /// The page the user agreed to open.
    consented_url: Option<String>,
}

impl<'c> Operation<'c> {
    pub(super) fn new(
        client: &'c Client,
        method: &'c str,
        target: String,
        template: Template,
        headers: HeaderMap,
    ) -> Self {
        Self {
            client,
            id: OperationId::random(),
            method,
            target,
            template,
            headers,
            round: 0,
            asking_rounds: 0,
            waits: 0,
            pace: Pace::default(),
            answered: HashMap::new(),
            refusals: Vec::new(),
            rounds: Vec::new(),
        }
    }

    pub(super) async fn run(mut self) -> Result<Output, CallError> {
        let mut retry = Retry::default();
        self.client.observe(&Event::Start { operation: &self.id, method: self.method, target: &self.target });
        loop {
            match self.exchange(&retry).await? {
                Reply::Complete(result) => {
                    let Self { id: operation, refusals, rounds, .. } = self;
                    return Ok(Output { operation, result, refusals, rounds });
                }
                Reply::InputRequired(required) => retry = self.gather(required).await?,
            }
        }
    }

    /// Sends the request of a round. A server that says it did nothing yet and may be asked again is, within bounds.
    async fn exchange(&mut self, retry: &Retry) -> Result<Reply, CallError> {
        self.round += 1;
        let mut pace = Pace::default();
        for _ in 1..MAX_TRIES {
            match self.exchange_once(retry).await {
                Err(CallError::Rpc { data: Some(data), .. }) if data["retryable"] == true => {
                    let pause = pace.next();
                    self.client.observe(&Event::Pause { operation: &self.id, round: self.round, pause });
                    sleep(pause).await;
                }
                other => return other,
            }
        }
        self.exchange_once(retry).await
    }

    /// Sends one request and reads its response.
    async fn exchange_once(&mut self, retry: &Retry) -> Result<Reply, CallError> {
        let (operation, round) = (&self.id, self.round);
        let id = self.client.next_id();
        let request = Outgoing {
            headers: self.headers.clone(),
            body: self.template.render(id, retry),
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
        let (operation, round) = (&self.id, self.round);
        let (asked, is_asked) = (Mutex::new(None), Notify::new());
        let notify = |body: &str| {
            self.client.observe(&Event::Notification { operation, round, body });
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
    async fn gather(&mut self, required: InputRequired) -> Result<Retry, CallError> {
        // Spec: basic/patterns/mrtr#supported-requests.
        if !matches!(self.method, "tools/call" | "prompts/get" | "resources/read") {
            let what = format!("{} must not end in input_required", self.method);
            return Err(self.broken(Fault::new(Diagnosis::MethodHasNoRounds, what)));
        }
        let pause = self.admit(&required)?;
        let start = Instant::now();
        let InputRequired { requests, state, server_name } = required;
        let input_responses = if requests.is_empty() { None } else { Some(self.answer(requests, server_name).await?) };
        if let Some(round) = self.rounds.last_mut() {
            round.answering = start.elapsed();
        }
        if let Some(pause) = pause.and_then(|pause| pause.checked_sub(start.elapsed())) {
            self.client.observe(&Event::Pause { operation: &self.id, round: self.round, pause });
            sleep(pause).await;
        }
        Ok(Retry { input_responses, request_state: state })
    }

    /// Counts the round against its cap, and returns the least time until the next request.
    ///
    /// A round that asks nothing, or only repeats a URL the user has already agreed to open, is a wait: the server
    /// has no news yet. Waits have a cap of their own and are paced, however fast the responder is.
    fn admit(&mut self, required: &InputRequired) -> Result<Option<Duration>, CallError> {
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
    ) -> Result<Map<String, Value>, CallError> {
        let asks = self.asks(requests, server_name.as_deref())?;
        let mut responses = Map::new();
        let mut open = Vec::new();
        for ask in asks {
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
                    responses.insert(ask.key, response);
                }
                Err(NotAnswered::Nobody) => open.push(ask),
                Err(NotAnswered::Abandoned) => {
                    return Err(CallError::Abandoned { round: self.round, key: ask.key });
                }
                Err(NotAnswered::Failed(cause)) => {
                    return Err(CallError::Responder { round: self.round, key: ask.key, cause });
                }
            }
        }
        if open.is_empty() { Ok(responses) } else { Err(CallError::Unanswered { questions: open }) }
    }

    /// Builds the questions of a round; refuses them all if one is of a kind that was not declared.
    fn asks(&self, requests: Vec<(String, InputRequest)>, server_name: Option<&str>) -> Result<Vec<Ask>, CallError> {
        let count = requests.len();
        let ask = |(index, (key, request)): (usize, (String, InputRequest))| {
            if self.client.responders.of(request.kind).is_none() {
                return Err(CallError::Undeclared { round: self.round, key, kind: request.kind });
            }
            Ok(Ask {
                operation: self.id.clone(),
                server: self.client.server().to_owned(),
                server_name: server_name.map(str::to_owned),
                target: self.target.clone(),
                round: self.round,
                number: index + 1,
                count,
                asked_before: self.answered.get(&key).map_or(0, |answered| answered.times),
                consented: self.has_consent(&key, &request),
                key,
                kind: request.kind,
                params: request.params,
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

fn outcome(reply: &Reply) -> RoundOutcome {
    match reply {
        Reply::Complete(_) => RoundOutcome::Complete,
        Reply::InputRequired(required) => RoundOutcome::InputRequired {
            asked: required.requests.iter().map(|(key, request)| (key.clone(), request.kind)).collect(),
            state_bytes: required.state.as_ref().map(|state| state.get().len().saturating_sub(2)),
        },
    }
}
