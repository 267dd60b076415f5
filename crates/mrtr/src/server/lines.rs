//! Standing in line: of all requests of this process that wait for what another one does, only the first few ask the
//! ledger.
//!
//! A client that repeats its request ten thousand times would otherwise have ten thousand of them ask a store at once, over
//! and over, until the request that is at work cannot renew its claim in time.

use std::collections::{BTreeMap, HashMap};
use std::future::poll_fn;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

use crate::ledger::EntryKey;

/// How many are at the front of a line together: few for a store to be asked by, and enough to get through the line soon
/// once there is an answer.
const FRONT: usize = 8;

/// The lines of a server, one for each entry that is waited for.
#[derive(Debug, Default)]
pub(super) struct Lines(Mutex<Standing>);

#[derive(Debug, Default)]
struct Standing {
    by_entry: HashMap<EntryKey, BTreeMap<u64, Waker>>,
    next: u64,
}

/// A place in a line; it is left when this is dropped.
#[derive(Debug)]
pub(super) struct Place<'l> {
    lines: &'l Lines,
    entry: EntryKey,
    number: u64,
}

impl Lines {
    /// Joins an entry's line at its end.
    pub(super) fn join(&self, entry: EntryKey) -> Place<'_> {
        let mut standing = self.standing();
        let number = standing.next;
        standing.next += 1;
        standing.by_entry.entry(entry).or_default().insert(number, Waker::noop().clone());
        drop(standing);
        Place { lines: self, entry, number }
    }

    fn standing(&self) -> MutexGuard<'_, Standing> {
        // Every change is whole before anything can panic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place<'_> {
    /// Resolves when this place is at the front.
    pub(super) async fn comes_first(&self) {
        poll_fn(|task| {
            let mut standing = self.lines.standing();
            let Some(line) = standing.by_entry.get_mut(&self.entry) else { return Poll::Ready(()) };
            if line.range(..self.number).take(FRONT).count() < FRONT {
                return Poll::Ready(());
            }
            let before = line.insert(self.number, task.waker().clone());
            // Wakers are foreign code, which may come straight back here.
            drop(standing);
            drop(before);
            Poll::Pending
        })
        .await;
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut standing = self.lines.standing();
        let Some(line) = standing.by_entry.get_mut(&self.entry) else { return };
        let _own = line.remove(&self.number);
        // Those before it have been there for a while.
        let comes_up = line.values().nth(FRONT - 1).cloned();
        if line.is_empty() {
            standing.by_entry.remove(&self.entry);
        }
        drop(standing);
        comes_up.into_iter().for_each(Waker::wake);
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::task::{Context, Wake};

    use super::*;
    use futures_util::FutureExt;

    #[derive(Default)]
    struct Woken(AtomicBool);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.store(true, Ordering::Relaxed);
        }
    }

    const ENTRY: EntryKey = EntryKey([1; 16]);

    #[test]
    fn they_come_up_in_the_order_they_came_and_whoever_leaves_holds_nobody_up() {
        let lines = Lines::default();
        let mut front: Vec<_> = (0..FRONT).map(|_| lines.join(ENTRY)).collect();
        let [next, leaves, last] = [ENTRY; 3].map(|entry| lines.join(entry));
        let is_up = |place: &Place<'_>| place.comes_first().now_or_never().is_some();
        assert!(front.iter().all(is_up) && !is_up(&next) && !is_up(&last));
        assert!(is_up(&lines.join(EntryKey([2; 16]))), "every entry has its own");
        drop(leaves);
        front.pop();
        assert!(is_up(&next) && !is_up(&last));
        drop(next);
        assert!(is_up(&last));
        drop((front, last));
        assert!(lines.standing().by_entry.is_empty());
    }

    #[test]
    fn who_waits_is_woken_when_it_comes_up() {
        let lines = Lines::default();
        let mut front: Vec<_> = (0..FRONT).map(|_| lines.join(ENTRY)).collect();
        let waits = lines.join(ENTRY);
        let woken = Arc::new(Woken::default());
        let waker = Waker::from(Arc::clone(&woken));
        let mut turn = pin!(waits.comes_first());
        assert!(turn.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        assert!(!woken.0.load(Ordering::Relaxed));
        front.pop();
        assert!(woken.0.load(Ordering::Relaxed));
        assert!(turn.as_mut().poll(&mut Context::from_waker(&waker)).is_ready());
    }
}
