//! A claim in the ledger, from the moment it is made to the moment it is settled: waiting for others, renewing, failing
//! closed. What is claimed, and what follows, is decided in `once`.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};
use tracing::{debug, error, warn};

use super::Dispatch;
use super::answer::{Answer, Completed};
use super::call::Ended;
use super::counters::add;
use crate::flow::{Clock, give_way};
use crate::ledger::{Claim, Holder, Ledger, LedgerError, LedgerFuture, Settlement, Standing};
use crate::seal::Record;
use crate::wire::RpcError;

/// How it stands with a leg that may be a repetition.
pub(super) enum Turn {
    /// It is this request's to do.
    Ours(Held),
    /// It was done before; the answer is the same.
    Answered(Answer),
    /// Somebody began it and left nothing behind.
    Gone { operation: [u8; 16] },
}

/// A claim that is being worked on. Dropped before it is settled, it counts as torn off.
pub(super) struct Held {
    ledger: Arc<dyn Ledger>,
    claim: Claim,
    clock: Arc<dyn Clock>,
    is_settled: bool,
}

/// An answer as the ledger keeps it.
#[derive(Serialize, Deserialize)]
enum Stored {
    Result { members: String, meta: String, is_interim: bool },
    Error(RpcError),
}

/// How often a ledger that fails is asked again at once.
const TRIES: u32 = 3;
/// How long a store that cannot tell when an entry changes is left alone between two looks at it.
const FIRST_PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_millis(250);
/// A lease where nothing can renew it: longer than any handler runs.
const UNTIMED_LEASE: Duration = Duration::from_secs(24 * 3600);

impl Dispatch {
    /// Claims a leg; while another request is at work on the same, waits for what comes of it.
    pub(super) async fn turn(&self, claim: Claim, clock: &Arc<dyn Clock>) -> Result<Turn, RpcError> {
        let ledger = self.ledger.as_ref().expect("what is done once is built with a ledger");
        let timed = clock.sleep(Duration::ZERO).is_some();
        let claim = Claim { lease: if timed { claim.lease } else { UNTIMED_LEASE }, ..claim };
        let give_up = clock.now() + self.limits.handler_time + claim.lease;
        let mut pause = FIRST_PAUSE;
        loop {
            match self.claim(ledger, &claim, &**clock).await? {
                Standing::Claimed => {
                    let (ledger, clock) = (Arc::clone(ledger), Arc::clone(clock));
                    return Ok(Turn::Ours(Held { ledger, claim, clock, is_settled: false }));
                }
                Standing::Finished(record) => return Ok(Turn::Answered(self.answered(&claim, record))),
                Standing::Gone { operation } => return Ok(Turn::Gone { operation }),
                Standing::Forked => {
                    warn!("a state that was used already came back with other answers, and was refused");
                    add(&self.tally.forks_refused, 1);
                    return Err(RpcError::already_used());
                }
                Standing::Held(_) if clock.now() >= give_up => return Err(RpcError::still_at_work()),
                Standing::Held(left) => {
                    let is_back = match ledger.changed(claim.key) {
                        Some(changed) => changed.await.is_ok(),
                        None => false,
                    };
                    if !is_back {
                        let Some(sleep) = clock.sleep(pause.min(left)) else { return Err(RpcError::still_at_work()) };
                        sleep.await;
                        pause = (pause * 2).min(LONGEST_PAUSE);
                    }
                }
            }
        }
    }

    /// One claim, tried again while the ledger is only out of reach for a moment. What cannot be sure is released:
    /// nothing was begun.
    async fn claim(&self, ledger: &Arc<dyn Ledger>, claim: &Claim, clock: &dyn Clock) -> Result<Standing, RpcError> {
        let mut failure = None;
        for _ in 0..TRIES {
            let asked = clock.now();
            match self.ask_ledger(clock, ledger.claim(claim.clone())).await {
                // This process stood still meanwhile. The claim may have been taken over; the same claim again tells.
                Ok(Standing::Claimed) if is_late(asked, clock.now(), claim.lease) => {
                    failure = Some(LedgerError::Slow(claim.lease));
                    continue;
                }
                Ok(standing) => return Ok(standing),
                // It had its time; asking again would only make the caller wait longer.
                Err(error @ LedgerError::Slow(_)) => {
                    failure = Some(error);
                    break;
                }
                Err(error) => failure = Some(error),
            }
            if let Some(pause) = clock.sleep(FIRST_PAUSE * 5) {
                pause.await;
            }
        }
        let _ = self.ask_ledger(clock, ledger.settle(claim.key, claim.holder, Settlement::Released)).await;
        Err(self.ledger_failed(&failure.unwrap_or_else(|| LedgerError::Unavailable("it was not asked".to_owned()))))
    }

    /// What the ledger has for a leg that was done before.
    fn answered(&self, claim: &Claim, record: Vec<u8>) -> Answer {
        match Record::<Stored>::open(&self.keys, claim.key.0, record) {
            Ok(stored) => {
                debug!("a leg came again and gets the same answer");
                add(&self.tally.answered_again, 1);
                stored.into()
            }
            Err(error) => {
                let corrupt = LedgerError::Corrupt(format!("a record of this server whose seal fails: {error}"));
                Err(self.ledger_failed(&corrupt))
            }
        }
    }

    /// Leaves in the ledger what came of a leg, and answers with it.
    pub(super) async fn settle(&self, mut held: Held, ended: Ended) -> Answer {
        let Ended { answer, is_known } = ended;
        held.is_settled = true;
        let (ledger, claim, clock) = (&held.ledger, &held.claim, &*held.clock);
        let record = Record::seal(&self.keys, rand::random(), claim.key.0, Stored::from(&answer));
        let settlement = if is_known { Settlement::Finished(&record) } else { Settlement::Abandoned };
        let mut failure = None;
        for _ in 0..TRIES {
            match self.ask_ledger(clock, ledger.settle(claim.key, claim.holder, settlement)).await {
                Ok(true) => return answer,
                Ok(false) => return self.overtaken(claim, clock, answer).await,
                Err(error) => failure = Some(error),
            }
            if let Some(pause) = clock.sleep(LONGEST_PAUSE) {
                pause.await;
            }
        }
        // The caller is better off with the answer than without: only a repetition will not find it.
        let _ = failure.map(|error| self.ledger_failed(&error));
        warn!("what came of a leg is not in the ledger: if it comes again, its outcome is unknown");
        answer
    }

    /// The claim was lost while the work was done: another request may have done it over, and its answer is the one.
    async fn overtaken(&self, claim: &Claim, clock: &dyn Clock, answer: Answer) -> Answer {
        error!("a claim was lost while its work went on; was this process stopped for longer than a lease?");
        let claim = Claim { takes_over: false, holder: Holder(rand::random()), ..claim.clone() };
        let ledger = self.ledger.as_ref().expect("what is done once is built with a ledger");
        match self.ask_ledger(clock, ledger.claim(claim.clone())).await {
            Ok(Standing::Finished(record)) => self.answered(&claim, record),
            _ => answer,
        }
    }

    /// Bounds the ledger's time, where the clock has timers.
    pub(super) async fn ask_ledger<T>(&self, clock: &dyn Clock, step: LedgerFuture<'_, T>) -> Result<T, LedgerError> {
        let (mut step, mut timer) = (step, None);
        poll_fn(|task| {
            if let Poll::Ready(done) = step.as_mut().poll(task) {
                return Poll::Ready(done);
            }
            let timer = timer.get_or_insert_with(|| clock.sleep(self.limits.ledger_time));
            match timer.as_mut().map(|timer| timer.as_mut().poll(task)) {
                Some(Poll::Ready(())) => Poll::Ready(Err(LedgerError::Slow(self.limits.ledger_time))),
                _ => Poll::Pending,
            }
        })
        .await
    }

    /// Says in the log what is wrong with the ledger; the caller may come again.
    pub(super) fn ledger_failed(&self, failure: &LedgerError) -> RpcError {
        error!("{failure}");
        add(&self.tally.ledger_failures, 1);
        RpcError::ledger_unavailable()
    }
}

impl Held {
    /// Does the work, and keeps the claim alive meanwhile.
    pub(super) async fn during<T>(&self, work: impl Future<Output = T>) -> T {
        let (mut work, mut renewing) = (pin!(work), pin!(self.renew_for_ever()));
        poll_fn(|task| match work.as_mut().poll(task) {
            Poll::Ready(done) => Poll::Ready(done),
            Poll::Pending => renewing.as_mut().poll(task).map(|never| match never {}),
        })
        .await
    }

    async fn renew_for_ever(&self) -> std::convert::Infallible {
        let Claim { key, holder, lease, .. } = self.claim;
        while let Some(third) = self.clock.sleep(lease / 3) {
            third.await;
            match self.ledger.renew(key, holder, lease).await {
                Ok(true) => {}
                Ok(false) => warn!("the claim of a leg was lost while its handler is at work"),
                Err(error) => warn!("the claim of a leg cannot be renewed: {error}"),
            }
            // Timers of a clock that is moved by hand are over at once.
            give_way().await;
        }
        std::future::pending().await
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if !self.is_settled {
            self.ledger.let_go(self.claim.key, self.claim.holder);
        }
    }
}

/// Whether a claim that was asked for then leaves too little of its lease to begin anything.
fn is_late(asked: SystemTime, now: SystemTime, lease: Duration) -> bool {
    now.duration_since(asked).is_ok_and(|passed| passed >= lease / 2)
}

impl From<&Answer> for Stored {
    fn from(answer: &Answer) -> Self {
        match answer {
            Ok(Completed { members, meta, is_interim }) => {
                Self::Result { members: members.clone(), meta: meta.clone(), is_interim: *is_interim }
            }
            Err(error) => Self::Error(error.clone()),
        }
    }
}

impl From<Stored> for Answer {
    fn from(stored: Stored) -> Self {
        match stored {
            Stored::Result { members, meta, is_interim } => Ok(Completed { members, meta, is_interim }),
            Stored::Error(error) => Err(error),
        }
    }
}
