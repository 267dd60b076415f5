//! Runs a call to its end on the test's own thread, in no time.
//!
//! While the call is woken it is polled. When nobody wakes it, the hand-moved clock goes on to the next timer. When there
//! is none, it waits for something outside: a runtime the author's test brought along, a thread. That takes real time, so
//! it has an end.

use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use thiserror::Error;

use super::HandClock;

/// How long something outside may take, in real time.
const PATIENCE: Duration = Duration::from_secs(5);
/// How often a call may be polled. A call that takes turns with itself for ever is not waiting for anything.
const MAX_POLLS: u32 = 1_000_000;

/// Why a call has no end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub(super) enum Hang {
    /// Nothing woke it.
    #[error("it hangs: nobody woke it for {} s ({RUNTIMES})", PATIENCE.as_secs())]
    Hangs,
    /// It wakes itself all the time.
    #[error("it spins: still not ready after {MAX_POLLS} polls ({RUNTIMES})")]
    Spins,
}

const RUNTIMES: &str = "a handler that needs tokio is tested in a plain #[test], inside a runtime: \
                        `let runtime = tokio::runtime::Runtime::new()?; let _inside = runtime.enter();`";

/// Takes note of being woken, and wakes the thread that waits for it.
#[derive(Default)]
struct Bell {
    rung: Mutex<bool>,
    ringing: Condvar,
}

impl Bell {
    /// Whether it rang since it was last asked, or does so within `patience`.
    fn rings(&self, patience: Duration) -> bool {
        let rung = self.rung.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.ringing.wait_timeout_while(rung, patience, |rung| !*rung);
        std::mem::take(&mut *waited.unwrap_or_else(PoisonError::into_inner).0)
    }
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        *self.rung.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.ringing.notify_one();
    }
}

/// Runs `future` to its end; `clock` moves on when nothing else is left to happen.
///
/// # Errors
/// When it has none.
pub(super) fn run<T>(clock: &HandClock, future: impl Future<Output = T>) -> Result<T, Hang> {
    run_for(clock, future, MAX_POLLS)
}

/// As [`run`], where the future is dropped after so many polls: then it is [`Hang::Spins`].
pub(super) fn run_for<T>(clock: &HandClock, future: impl Future<Output = T>, polls: u32) -> Result<T, Hang> {
    let mut future = pin!(future);
    let bell = Arc::new(Bell::default());
    let waker = Waker::from(Arc::clone(&bell));
    for _ in 0..polls {
        if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return Ok(value);
        }
        let goes_on = bell.rings(Duration::ZERO) || clock.ring_next() || bell.rings(PATIENCE);
        if !goes_on {
            return Err(Hang::Hangs);
        }
    }
    Err(Hang::Spins)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::Clock;

    #[test]
    fn timers_take_no_time_and_ring_in_order() {
        let clock = HandClock::new();
        let (start, hour) = (clock.now(), Duration::from_secs(3600));
        let (long, short) = (clock.sleep(2 * hour).expect("timers"), clock.sleep(hour).expect("timers"));
        let (between, after) = run(&clock, async {
            short.await;
            let between = clock.now();
            long.await;
            (between, clock.now())
        })
        .expect("an end");
        assert_eq!((between, after), (start + hour, start + 2 * hour));
    }

    #[test]
    fn what_another_thread_wakes_goes_on() {
        let (sender, receiver) = std::sync::mpsc::channel::<Waker>();
        let other = std::thread::spawn(move || receiver.recv().expect("a waker").wake());
        let mut asked = false;
        let answer = std::future::poll_fn(|task| {
            if std::mem::replace(&mut asked, true) {
                return Poll::Ready(7);
            }
            sender.send(task.waker().clone()).expect("a listener");
            Poll::Pending
        });
        assert_eq!(run(&HandClock::new(), answer), Ok(7));
        other.join().expect("no panic");
    }

    #[test]
    fn what_spins_is_said_to() {
        let spinning = std::future::poll_fn(|task| {
            task.waker().wake_by_ref();
            Poll::<()>::Pending
        });
        assert_eq!(run(&HandClock::new(), spinning), Err(Hang::Spins));
    }
}
