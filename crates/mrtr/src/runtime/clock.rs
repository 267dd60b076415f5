//! The clock of a server that runs on tokio.

use std::time::{Duration, SystemTime};

use crate::server::{Clock, Sleep};

/// Tells the system's time and waits on tokio's timer. What a transport of this crate serves has it without asking.
///
/// Outside a tokio runtime it has no timers, and what would wait does not.
///
/// # Panics
///
/// Timers panic in a runtime that was built without tokio's time driver; nothing tells beforehand that it is missing.
/// Build the runtime with `enable_time` or `enable_all`, as `#[tokio::main]` does.
#[derive(Clone, Copy, Debug, Default)]
pub struct TokioClock;

impl Clock for TokioClock {
    fn now(&self) -> SystemTime {
        SystemTime::now()
    }

    fn sleep(&self, duration: Duration) -> Option<Sleep> {
        tokio::runtime::Handle::try_current().ok()?;
        Some(Box::pin(tokio::time::sleep(duration)))
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::*;

    #[test]
    fn there_are_no_timers_outside_a_runtime() {
        assert!(TokioClock.sleep(Duration::from_secs(1)).is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn sleeps_for_as_long_as_asked() {
        let start = Instant::now();
        TokioClock.sleep(Duration::from_secs(90)).unwrap().await;
        assert_eq!(start.elapsed(), Duration::from_secs(90));
    }
}
