//! Connections that ask for nothing, or take for ever to ask: found without a timer for every request.
//!
//! Starting and stopping a timer around each request head would cost more than reading it. So there is one timer per
//! connection, and when it rings, what happened meanwhile decides. A connection is given up after between one and two times
//! the limit.

use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::time::{Instant, Sleep, sleep};

/// What a connection has been asked, counted.
#[derive(Clone, Debug, Default)]
pub(super) struct Activity(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    /// How often a request began or ended.
    turns: AtomicU64,
    /// How many are at work, or their responses being written.
    open: AtomicU64,
    /// Whether a request has begun to arrive and is not yet at work.
    asking: AtomicBool,
}

/// A request at work; it ends when this is dropped.
#[derive(Debug)]
pub(super) struct Busy(Activity);

impl Activity {
    pub(super) fn begin(&self) -> Busy {
        self.0.open.fetch_add(1, Ordering::Relaxed);
        self.0.turns.fetch_add(1, Ordering::Relaxed);
        self.0.asking.store(false, Ordering::Relaxed);
        Busy(self.clone())
    }

    /// Notes that bytes came: a request's head, unless one is at work, whose body they are then.
    fn fed(&self) {
        if !self.is_open() {
            self.0.asking.store(true, Ordering::Relaxed);
        }
    }

    /// Whether a part of a request is here and the rest is not.
    pub(super) fn is_being_asked(&self) -> bool {
        !self.is_open() && self.0.asking.load(Ordering::Relaxed)
    }

    /// Whether nothing is asked, as far as it has been read.
    pub(super) fn is_quiet(&self) -> bool {
        !self.is_open() && !self.0.asking.load(Ordering::Relaxed)
    }

    fn is_open(&self) -> bool {
        self.0.open.load(Ordering::Relaxed) > 0
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let Counts { turns, open, .. } = &*self.0.0;
        turns.fetch_add(1, Ordering::Relaxed);
        open.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Looks now and then whether a connection does anything.
#[derive(Debug)]
pub(super) struct Idle {
    activity: Activity,
    limit: Duration,
    /// The turns at the last look.
    seen: u64,
    timer: Option<Pin<Box<Sleep>>>,
}

impl Idle {
    pub(super) fn new(activity: Activity, limit: Duration) -> Self {
        Self { activity, limit, seen: 0, timer: None }
    }

    /// Notes that the peer sent something.
    pub(super) fn fed(&self) {
        self.activity.fed();
    }

    /// Ready when nothing was asked, and nothing was at work, from one look to the next.
    pub(super) fn poll_over(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep(self.limit)));
        loop {
            ready!(timer.as_mut().poll(cx));
            let Counts { turns, open, .. } = &*self.activity.0;
            let turns = turns.load(Ordering::Relaxed);
            if turns == self.seen && open.load(Ordering::Relaxed) == 0 {
                return Poll::Ready(());
            }
            self.seen = turns;
            timer.as_mut().reset(Instant::now() + self.limit);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use super::*;

    const LIMIT: Duration = Duration::from_secs(30);

    /// How long it takes from now until the connection is given up.
    async fn given_up(idle: &mut Idle) -> Duration {
        let start = Instant::now();
        poll_fn(|cx| idle.poll_over(cx)).await;
        start.elapsed()
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_that_never_asks_is_given_up_in_time() {
        assert_eq!(given_up(&mut Idle::new(Activity::default(), LIMIT)).await.as_secs(), 30);
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_at_work_is_not_and_one_that_asked_is_given_its_time_again() {
        let activity = Activity::default();
        let mut idle = Idle::new(activity.clone(), LIMIT);
        let busy = activity.begin();
        let long = LIMIT * 10;
        assert!(
            tokio::time::timeout(long, given_up(&mut idle)).await.is_err(),
            "a stream may take as long as it wants"
        );
        drop(busy);
        let left = given_up(&mut idle).await;
        assert!(left >= LIMIT && left <= 2 * LIMIT, "{left:?}");
    }
}
