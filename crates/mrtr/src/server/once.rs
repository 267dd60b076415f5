//! What is done once: a leg claims its entry in the ledger before its handler runs, and leaves there what came of it.
//!
//! `docs/guarantees.md` says what follows from that. The order matters: nothing the handler does can happen before the
//! claim, and no reply leaves before the settlement was tried.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use tracing::{debug, warn};

use super::Dispatch;
use super::answer::Answer;
use super::call::{Call, Ended, Leg, Start};
use super::claim::Turn;
use super::counters::add;
#[cfg(feature = "http")]
use super::headers::{self, HeaderSource};
use crate::flow::{Context, Handling, Journal, RoundEnd};
use crate::ledger::{Claim, EntryKey, Holder};
use crate::seal::{Binding, Claims, Digest};
#[cfg(feature = "http")]
use crate::wire::Method;
use crate::wire::{Request, RpcError, json};

/// Entries end, however long handlers may take.
const LONGEST_WORK: Duration = Duration::from_secs(24 * 3600);

/// Which legs are done once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Once {
    /// None: a state can be presented again.
    #[default]
    Never,
    /// Those that bring a state.
    Retries,
    /// First calls that bring an idempotency key as well.
    FirstCallsToo,
}

/// What became of a run that was torn off: a result, or nothing yet, or a sentence on why that cannot be told.
pub(super) type Resolution<R> = Result<Option<R>, String>;

/// No way to find out what became of a run that was torn off.
pub(super) fn unresolved<R>() -> Option<Start<Resolution<R>>> {
    None
}

/// The setters of whatever has a handler.
macro_rules! done_once {
    ($($at:ident).+) => {
        /// Does each round of an operation once: a state that was redeemed is not redeemed again.
        ///
        /// The same retry gets the answer that was given before, and waits for it while it is made; a retry with other
        /// answers is refused as already used; one that comes after the server died in the middle reads `outcome
        /// unknown` ([`wire::OUTCOME_UNKNOWN`](crate::wire::OUTCOME_UNKNOWN)) and nothing is done. Over HTTP the
        /// handler then runs to its end even if its client hangs up. `docs/guarantees.md` has the whole table.
        ///
        /// It takes two trips to the server's [ledger](crate::Server::ledger) for every retry, none for a first call:
        /// whoever calls again without a state starts another operation (but see
        /// [`idempotency_keys`](Self::idempotency_keys)).
        #[must_use]
        pub fn once(mut self) -> Self {
            if self.$($at).+ == crate::server::once::Once::Never {
                self.$($at).+ = crate::server::once::Once::Retries;
            }
            self
        }

        /// As [`once`](Self::once), and for first calls as well, where the client gives them an idempotency key: a first
        /// call that comes again finds its operation instead of starting another one.
        ///
        /// The key is a text of 1 to 256 bytes in the request's `_meta`, `"mrtr/idempotencyKey"`: an extension of this
        /// crate; `mrtr`'s own client sends one for every operation. It belongs to its caller and to the name and arguments
        /// that came with it, and counts for as long as the state of a first call lives
        /// ([`state_lifetime`](crate::Server::state_lifetime) and some minutes), however many rounds follow.
        ///
        /// # Security
        /// Callers without a [`Principal`](crate::Principal) are one caller: who sends another's key with the same arguments
        /// gets what the other one got. Where nobody is authenticated keys must be too long to guess, as those of `mrtr`'s
        /// client are.
        #[must_use]
        pub fn idempotency_keys(mut self) -> Self {
            self.$($at).+ = crate::server::once::Once::FirstCallsToo;
            self
        }
    };
}
pub(super) use done_once;

impl Dispatch {
    /// The entry a leg has to claim, if it is to be done once.
    ///
    /// # Errors
    /// `-32602` for an idempotency key that is none.
    pub(super) fn claim_of(
        &self,
        request: &Request<'_>,
        call: &Call<'_>,
        binding: &Binding,
        claims: &Claims<Journal>,
        now: SystemTime,
    ) -> Result<Option<Claim>, RpcError> {
        let audience = self.audience.bytes();
        let (key, lifetime) = if request.params.request_state.is_some() {
            if call.once == Once::Never {
                return Ok(None);
            }
            let round = claims.round.to_le_bytes();
            (Digest::of("ledger round", &[&audience, &claims.operation, &round]), self.kept_for(claims, now))
        } else {
            if call.once != Once::FirstCallsToo {
                return Ok(None);
            }
            let meta = request.params.meta.as_ref();
            let Some(key) = meta.map(|meta| meta.idempotency_key()).transpose()?.flatten() else { return Ok(None) };
            let principal = binding.principal.map(Digest::bytes);
            let who = principal.as_ref().map_or(&[][..], |digest| digest);
            let parts = [&audience, who, call.method.name().as_bytes(), call.target.as_bytes(), key.as_bytes()];
            (Digest::of("ledger first call", &parts), self.first_call_kept_for())
        };
        let answers = request.params.input_responses.map_or("{}", |raw| raw.get());
        let answers = json::canonical(answers).map_err(|error| RpcError::malformed_params(error.to_string()))?;
        Ok(Some(Claim {
            key: EntryKey(key.bytes()),
            holder: Holder(rand::random()),
            content: Digest::of("ledger content", &[&binding.request.bytes(), &answers]).bytes(),
            operation: claims.operation,
            lease: self.limits.lease,
            lifetime,
            takes_over: false,
        }))
    }

    /// How long a first call is known by its key: as long as the state it leads to, which is sealed when the handler's
    /// time is over at the latest.
    fn first_call_kept_for(&self) -> Duration {
        let at_work = self.limits.handler_time.min(LONGEST_WORK);
        at_work.saturating_add(self.limits.state_lifetime).saturating_add(self.kept_after_expiry())
    }

    /// Whether a request with these headers is for something that is done once. What they say is checked against the body
    /// later, so who lies gains nothing.
    #[cfg(feature = "http")]
    pub(crate) fn is_done_once(&self, headers: &dyn HeaderSource) -> bool {
        if self.ledger.is_none() {
            return false;
        }
        let Some((method, name)) = headers::about(headers) else { return false };
        let once = match method {
            Method::CallTool => self.offers.tools.get(&*name).map(|tool| tool.item.once),
            Method::GetPrompt => self.offers.prompts.get(&*name).map(|prompt| prompt.item.once),
            Method::ReadResource => self.offers.reader(&name).map(|reader| reader.once),
            _ => None,
        };
        once.is_some_and(|once| once != Once::Never)
    }

    /// Runs a leg that is done once, or finds what came of it.
    pub(super) async fn run_once<R>(
        &self,
        claim: Claim,
        leg: Leg<'_>,
        mut claims: Claims<Journal>,
        start: impl FnOnce(Context) -> Result<Handling<R>, Answer>,
        resolve: Option<impl FnOnce(Context) -> Result<Handling<Resolution<R>>, Answer>>,
        finish: impl FnOnce(R) -> Answer,
    ) -> Answer {
        let clock = Arc::clone(&leg.clock);
        let mut turn = self.turn(claim.clone(), &clock).await?;
        if let (Turn::Gone { operation }, Some(resolve)) = (&turn, resolve) {
            claims.operation = *operation;
            turn = self.turn(Claim { takes_over: true, ..claim.clone() }, &clock).await?;
            if let Turn::Ours(held) = turn {
                match held.during(self.look_up(leg.again(), claims.clone(), resolve)).await {
                    Ok(Some(found)) => {
                        debug!("an earlier run that was torn off had come to its end");
                        return self.settle(held, Ended { answer: finish(found), is_known: true }).await;
                    }
                    Ok(None) => turn = Turn::Ours(held),
                    Err(why) => {
                        warn!("what became of an earlier run cannot be told: {why}");
                        let answer = Err(self.outcome_unknown(&claims.operation));
                        return self.settle(held, Ended { answer, is_known: false }).await;
                    }
                }
            }
        }
        match turn {
            Turn::Answered(answer) => answer,
            Turn::Gone { operation } => Err(self.outcome_unknown(&operation)),
            Turn::Ours(held) => {
                let ended = held.during(self.run(leg, claims, start, finish)).await;
                self.settle(held, ended).await
            }
        }
    }

    /// Asks the author's code what became of a run that was torn off.
    async fn look_up<R>(
        &self,
        leg: Leg<'_>,
        mut claims: Claims<Journal>,
        resolve: impl FnOnce(Context) -> Result<Handling<Resolution<R>>, Answer>,
    ) -> Resolution<R> {
        claims.round = claims.round.saturating_add(1);
        let journal = std::mem::take(&mut claims.journal);
        match self.play(leg, &claims, journal, resolve).await {
            Ok(RoundEnd::Finished(resolution)) => resolution,
            Ok(RoundEnd::Suspended(_)) => Err("the check asked a question; it has nobody to ask".to_owned()),
            Ok(RoundEnd::Failed(fault)) => Err(self.failed(fault).message().to_owned()),
            Err(_) => Err("the check cannot read the arguments".to_owned()),
        }
    }

    fn outcome_unknown(&self, operation: &[u8; 16]) -> RpcError {
        warn!("a leg was begun before and nothing tells what came of it");
        add(&self.tally.unknown_outcomes, 1);
        RpcError::outcome_unknown(&URL_SAFE_NO_PAD.encode(operation))
    }
}
