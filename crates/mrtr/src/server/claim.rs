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
use crate::flow::{Clock, give_way, guarded, guarded_work};
use crate::ledger::{Claim, EntryKey, Holder, Ledger, LedgerError, LedgerFuture, Settlement, Standing};
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
    ledger_time: Duration,
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
        let (began, patience) = (clock.now(), self.limits.handler_time.saturating_add(claim.lease));
        let waited = || clock.now().duration_since(began).unwrap_or_default();
        let (mut pause, mut was_told, mut place) = (FIRST_PAUSE, false, None);
        loop {
            match self.claim(ledger, &claim, &**clock).await? {
                Standing::Claimed => {
                    let (ledger, clock, ledger_time) = (Arc::clone(ledger), Arc::clone(clock), self.limits.ledger_time);
                    return Ok(Turn::Ours(Held { ledger, claim, clock, ledger_time, is_settled: false }));
                }
                Standing::Finished(record) => return Ok(Turn::Answered(self.answered(&claim, record))),
                Standing::Gone { operation } => return Ok(Turn::Gone { operation }),
                Standing::Forked => {
                    warn!(
                        "a state, or an idempotency key, that was used already came back with other content, and was refused"
                    );
                    add(&self.tally.forks_refused, 1);
                    return Err(RpcError::already_used());
                }
                Standing::Held(_) if waited() >= patience => return Err(RpcError::still_at_work()),
                Standing::Held(_) if place.is_none() => {
                    place.insert(self.lines.join(claim.key)).comes_first().await;
                }
                Standing::Held(left) => {
                    let left = left.max(FIRST_PAUSE);
                    // A ledger that says so all the time is asked now and then, like one that never does.
                    was_told = !was_told && is_told(&**ledger, claim.key, left, &**clock).await;
                    if !was_told {
                        let Some(sleep) = clock.sleep(pause.min(left)) else { return Err(RpcError::still_at_work()) };
                        sleep.await;
                        // Timers of a clock that is moved by hand are over at once.
                        give_way().await;
                        pause = (pause * 2).min(LONGEST_PAUSE);
                    }
                }
            }
        }
    }

    /// One claim, tried again while the ledger is only out of reach for a moment. One that may have arrived all the same
    /// is given back: nothing was begun. A take-over leaves the entry as it found it, gone: released, it would be
    /// forgotten that somebody else had begun.
    async fn claim(&self, ledger: &Arc<dyn Ledger>, claim: &Claim, clock: &dyn Clock) -> Result<Standing, RpcError> {
        let mut failure = None;
        for _ in 0..TRIES {
            let asked = clock.now();
            match self.ask_ledger(clock, || ledger.claim(claim.clone())).await {
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
        let back = if claim.takes_over { Settlement::Abandoned } else { Settlement::Released };
        let _ = self.ask_ledger(clock, || ledger.settle(claim.key, claim.holder, back)).await;
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
        let (ledger, claim, clock) = (&held.ledger, &held.claim, &*held.clock);
        let record = Record::seal(&self.keys, rand::random(), claim.key.0, Stored::from(&answer));
        let settlement = if is_known { Settlement::Finished(&record) } else { Settlement::Abandoned };
        let mut failure = None;
        for _ in 0..TRIES {
            match self.ask_ledger(clock, || ledger.settle(claim.key, claim.holder, settlement)).await {
                Ok(is_ours) => {
                    let answer = if is_ours { answer } else { self.overtaken(claim, clock, answer, settlement).await };
                    held.is_settled = true;
                    return answer;
                }
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

    /// The claim was lost while the work was done: another request may have done it over, and its answer is the one. Or
    /// the ledger has forgotten it, and is told again.
    async fn overtaken(&self, claim: &Claim, clock: &dyn Clock, answer: Answer, settlement: Settlement<'_>) -> Answer {
        let claim = Claim { takes_over: false, holder: Holder(rand::random()), ..claim.clone() };
        let ledger = self.ledger.as_ref().expect("what is done once is built with a ledger");
        let standing = self.ask_ledger(clock, || ledger.claim(claim.clone())).await;
        if matches!(&standing, Ok(Standing::Finished(record)) if settlement == Settlement::Finished(record)) {
            // It was settled at the first try, whose reply was lost.
            return answer;
        }
        error!(
            "a claim was lost while its work went on; was this process stopped for longer than a lease, or has the \
             ledger forgotten its entries?"
        );
        match standing {
            Ok(Standing::Finished(record)) => self.answered(&claim, record),
            Ok(Standing::Claimed) => {
                let settled = self.ask_ledger(clock, || ledger.settle(claim.key, claim.holder, settlement)).await;
                let _ = settled.map_err(|error| self.ledger_failed(&error));
                answer
            }
            _ => answer,
        }
    }

    /// Has the ledger do a step, in its time.
    pub(super) async fn ask_ledger<'l, T>(
        &self,
        clock: &dyn Clock,
        step: impl FnOnce() -> LedgerFuture<'l, T>,
    ) -> Result<T, LedgerError> {
        within(self.limits.ledger_time, clock, step).await
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
        let third = lease / 3;
        let mut pause = third;
        while let Some(sleep) = self.clock.sleep(pause) {
            sleep.await;
            pause = third;
            let renew = || self.ledger.renew(key, holder, lease);
            match within(self.ledger_time.min(third), &*self.clock, renew).await {
                Ok(true) => {}
                Ok(false) => warn!("the claim of a leg was lost while its handler is at work"),
                Err(error) => {
                    warn!("the claim of a leg cannot be renewed: {error}");
                    // There is time for another try before the lease is over.
                    pause = third.min(LONGEST_PAUSE);
                }
            }
            // Timers of a clock that is moved by hand are over at once.
            give_way().await;
        }
        std::future::pending().await
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if self.is_settled {
            return;
        }
        if let Err(panic) = guarded(|| self.ledger.let_go(self.claim.key, self.claim.holder)) {
            error!("the ledger panicked: {panic}");
        }
    }
}

/// Has a ledger do a step: somebody's code, which may panic, and may take for ever where the clock has no timers.
async fn within<'l, T>(
    limit: Duration,
    clock: &dyn Clock,
    step: impl FnOnce() -> LedgerFuture<'l, T>,
) -> Result<T, LedgerError> {
    let (mut step, mut timer) = (pin!(guarded_work(step)), None);
    poll_fn(|task| {
        if let Poll::Ready(done) = step.as_mut().poll(task) {
            return Poll::Ready(done.unwrap_or_else(|panic| Err(LedgerError::Panicked(panic))));
        }
        let timer = timer.get_or_insert_with(|| clock.sleep(limit));
        match timer.as_mut().map(|timer| timer.as_mut().poll(task)) {
            Some(Poll::Ready(())) => Poll::Ready(Err(LedgerError::Slow(limit))),
            _ => Poll::Pending,
        }
    })
    .await
}

/// Whether the ledger says that an entry has changed. False when it cannot say so, or has not when a lease is over.
async fn is_told(ledger: &dyn Ledger, key: EntryKey, lease: Duration, clock: &dyn Clock) -> bool {
    let Ok(Some(changed)) = guarded(|| ledger.changed(key)) else { return false };
    within(lease, clock, || changed).await.is_ok()
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
