//! Time that moves only when it is told to, or when nothing else is left to happen.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::flow::{Clock, Sleep};

/// The clock goes on by itself for no longer than this at once.
pub(super) const LONG: Duration = Duration::from_secs(3600);

/// A clock moved by hand; clones show the same time.
///
/// Its timers ring when [`advance`](Self::advance) reaches them. The kit also moves it on by itself, to the next timer,
/// when a call has nothing else to wait for: what holds a request open for 20 seconds takes no time in a test. Timers of
/// more than an hour are left alone: they are limits, which nobody means to reach.
#[derive(Clone)]
pub struct HandClock(Arc<Mutex<Hands>>);

struct Hands {
    /// Since the Unix epoch.
    now: Duration,
    timers: Vec<Timer>,
    /// Names the next timer.
    next: u64,
}

struct Timer {
    id: u64,
    due: Duration,
    waker: Waker,
}

/// A timer of a [`HandClock`].
struct HandSleep {
    clock: HandClock,
    id: u64,
    /// `None` for a time that never comes.
    due: Option<Duration>,
}

impl HandClock {
    /// A clock that stands on a day in 2027.
    pub fn new() -> Self {
        let now = Duration::from_secs(1_800_000_000);
        Self(Arc::new(Mutex::new(Hands { now, timers: Vec::new(), next: 0 })))
    }

    /// Moves it on, and rings what is due by then.
    pub fn advance(&self, by: Duration) {
        let mut hands = self.hands();
        hands.now = hands.now.saturating_add(by);
        let now = hands.now;
        let due: Vec<Timer> = hands.timers.extract_if(.., |timer| timer.due <= now).collect();
        // Whoever is woken may look at the clock at once.
        drop(hands);
        due.into_iter().for_each(|timer| timer.waker.wake());
    }

    /// Moves it on to the next timer; false if there is none soon.
    pub(super) fn ring_next(&self) -> bool {
        let hands = self.hands();
        let next = hands.timers.iter().map(|timer| timer.due.saturating_sub(hands.now)).min();
        drop(hands);
        let Some(by) = next.filter(|by| *by <= LONG) else { return false };
        self.advance(by);
        true
    }

    fn hands(&self) -> MutexGuard<'_, Hands> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for HandClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for HandClock {
    fn now(&self) -> SystemTime {
        UNIX_EPOCH + self.hands().now
    }

    fn sleep(&self, duration: Duration) -> Option<Sleep> {
        let mut hands = self.hands();
        hands.next += 1;
        let (id, due) = (hands.next, hands.now.checked_add(duration));
        drop(hands);
        Some(Box::pin(HandSleep { clock: self.clone(), id, due }))
    }
}

impl Future for HandSleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<()> {
        let Some(due) = self.due else { return Poll::Pending };
        let mut hands = self.clock.hands();
        if hands.now >= due {
            return Poll::Ready(());
        }
        hands.timers.retain(|timer| timer.id != self.id);
        hands.timers.push(Timer { id: self.id, due, waker: task.waker().clone() });
        Poll::Pending
    }
}

impl Drop for HandSleep {
    fn drop(&mut self) {
        self.clock.hands().timers.retain(|timer| timer.id != self.id);
    }
}

impl fmt::Debug for HandClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("HandClock").field(&self.hands().now).finish()
    }
}
