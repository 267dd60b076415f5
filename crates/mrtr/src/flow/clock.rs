//! Where time comes from: an argument, so that tests move it by hand.

use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;
use std::time::{Duration, SystemTime};

/// A future that ends when its time is over.
pub type Sleep = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The time of day, and timers where there are any.
pub trait Clock: Send + Sync + 'static {
    /// The time of day; states expire by it.
    fn now(&self) -> SystemTime;

    /// A timer for `duration`, or `None` where there are none: then nothing is held open and no limit on a handler's
    /// time applies.
    fn sleep(&self, duration: Duration) -> Option<Sleep>;
}

impl fmt::Debug for dyn Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clock")
    }
}

/// The machine's time of day, without timers.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> SystemTime {
        SystemTime::now()
    }

    fn sleep(&self, _: Duration) -> Option<Sleep> {
        None
    }
}

/// Is pending once, so that whatever else is polled beside it goes first.
pub(crate) async fn give_way() {
    let mut gave_way = false;
    poll_fn(|task| {
        if std::mem::replace(&mut gave_way, true) {
            return Poll::Ready(());
        }
        task.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
