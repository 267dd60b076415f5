//! The clock of a server that runs on tokio.

use std::time::{Duration, SystemTime};

use crate::server::{Clock, Sleep};

/// Tells the system's time and waits on tokio's timer.
///
/// Timers must be started inside a tokio runtime, which is where [`McpService`](super::McpService) runs.
#[derive(Clone, Copy, Debug, Default)]
pub struct TokioClock;

impl Clock for TokioClock {
    fn now(&self) -> SystemTime {
        SystemTime::now()
    }

    fn sleep(&self, duration: Duration) -> Option<Sleep> {
        Some(Box::pin(tokio::time::sleep(duration)))
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn sleeps_for_as_long_as_asked() {
        let start = Instant::now();
        TokioClock.sleep(Duration::from_secs(90)).unwrap().await;
        assert_eq!(start.elapsed(), Duration::from_secs(90));
    }
}
