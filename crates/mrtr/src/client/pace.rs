//! Pauses between requests to a server that wants to be called again.

use std::time::Duration;

/// How long to wait before the next call: doubling from a quarter of a second, up to five.
///
/// A server may hold such a request until it knows more, and most do; the pause is for those that answer at once.
#[derive(Debug, Default)]
pub(super) struct Pace {
    doublings: u32,
}

impl Pace {
    const FIRST: Duration = Duration::from_millis(250);
    const LONGEST: Duration = Duration::from_secs(5);

    /// Returns the next pause.
    pub(super) fn next(&mut self) -> Duration {
        let pause = Self::FIRST.saturating_mul(1 << self.doublings.min(5)).min(Self::LONGEST);
        self.doublings = self.doublings.saturating_add(1);
        pause
    }

    /// Starts over: the operation has moved on.
    pub(super) fn reset(&mut self) {
        self.doublings = 0;
    }
}
