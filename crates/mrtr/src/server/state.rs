//! What crosses from round to round: the state a request brings, opened; the state a reply carries, sealed.

use std::borrow::Cow;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tracing::{debug, error, warn};

use super::answer::{Answer, Completed};
use super::call::Answers;
use super::counters::add;
use super::{Dispatch, ToolResult};
use crate::flow::{Clock, Journal, Suspension};
use crate::ledger::EntryKey;
use crate::seal::{Binding, CLOCK_SKEW, Claims, NONCE_LEN, Opened, Spilled, StateError};
use crate::wire::{Method, Request, RpcError, json};

/// How long the ledger keeps what belongs to a state after that has expired: nothing that can still be opened is
/// forgotten, whatever the clocks of ledger and instances say.
const MARGIN: Duration = Duration::from_secs(60);

impl Dispatch {
    /// What earlier rounds left, or the start of a new operation. Answers that come too late are taken away.
    pub(super) async fn resume(
        &self,
        request: &Request<'_>,
        binding: &Binding,
        clock: &dyn Clock,
        answers: &mut Answers,
    ) -> Result<Claims<Journal>, RpcError> {
        let Some(token) = &request.params.request_state else {
            return Ok(Claims::first(rand::random(), *binding, Journal::new()));
        };
        if token.0.len() > self.limits.state_bytes {
            return Err(self.refused(StateError::TooLong));
        }
        let token = if Spilled::is_meant(&token.0) {
            Cow::Owned(self.fetch(&token.0, clock).await?)
        } else {
            Cow::Borrowed(&*token.0)
        };
        match Claims::open_at(&self.keys, &token, binding, clock.now()) {
            Ok(Opened::Live(claims)) => Ok(claims),
            Ok(Opened::Expired(claims, ago)) if ago <= self.limits.reask_expired => Ok(reopen(claims, ago, answers)),
            Ok(Opened::Expired(..)) => Err(self.refused(StateError::Expired)),
            Err(error) => Err(self.refused(error)),
        }
    }

    /// Seals what was settled and asks for the rest.
    pub(super) async fn suspend(
        &self,
        method: Method,
        mut claims: Claims<Journal>,
        suspension: Suspension,
        clock: &dyn Clock,
    ) -> Answer {
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
        let mut state = claims.seal_at(&self.keys, nonce, clock.now(), self.limits.state_lifetime);
        if state.len() > self.limits.state_bytes {
            state = self.spill(&claims, &state, clock).await?;
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

    /// How long what belongs to these claims is kept: as long as their state can be presented.
    pub(super) fn kept_for(&self, claims: &Claims<Journal>, now: SystemTime) -> Duration {
        let after = CLOCK_SKEW.saturating_add(self.limits.reask_expired).saturating_add(MARGIN);
        let last = Duration::from_millis(claims.expires()).saturating_add(after);
        last.saturating_sub(now.duration_since(UNIX_EPOCH).unwrap_or_default())
    }

    /// Hands a state that is too large to travel to the ledger, and returns the handle that travels instead.
    ///
    /// # Errors
    /// It must not be spilled, or is too large for that too, or the ledger does not take it.
    async fn spill(&self, claims: &Claims<Journal>, state: &str, clock: &dyn Clock) -> Result<String, RpcError> {
        let limit = self.limits.spilled_bytes.max(self.limits.state_bytes);
        let Some(ledger) = self.ledger.as_ref().filter(|_| state.len() <= limit) else {
            let sizes = sizes(&claims.journal);
            error!(bytes = state.len(), limit, "the request state is too large: {sizes}");
            return Err(RpcError::internal("the operation's state is too large; the server's log names the keys"));
        };
        let at: [u8; 16] = rand::random();
        let lifetime = self.kept_for(claims, clock.now());
        let keep = ledger.keep(EntryKey(at), state.as_bytes(), lifetime);
        self.ask_ledger(clock, keep).await.map_err(|error| self.ledger_failed(&error))?;
        debug!(bytes = state.len(), "the state went to the ledger");
        Ok(Spilled::new(at, state).seal(&self.keys, rand::random()))
    }

    /// Gets back a state that was spilled.
    async fn fetch(&self, token: &str, clock: &dyn Clock) -> Result<String, RpcError> {
        let handle = Spilled::open(&self.keys, token).map_err(|error| self.refused(error))?;
        // An instance that never spills has no use for a handle.
        let ledger = self.ledger.as_ref().ok_or_else(|| self.refused(StateError::NotOurs))?;
        let kept = self.ask_ledger(clock, ledger.kept(EntryKey(handle.at))).await;
        match kept.map_err(|error| self.ledger_failed(&error))? {
            Some(state) => handle.check(state).map_err(|error| self.refused(error)),
            None => Err(self.refused(StateError::Expired)),
        }
    }

    fn refused(&self, error: StateError) -> RpcError {
        warn!("a request state was refused: {error}");
        self.tally.reject(error);
        RpcError::invalid_state()
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
