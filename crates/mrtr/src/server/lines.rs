//! Standing in line: of all requests of this process that wait for what another one does, only the first asks the ledger.
//!
//! A client that repeats its request ten thousand times would otherwise have ten thousand of them ask a store at once, over
//! and over, until the request that is at work cannot renew its claim in time.

use std::collections::{BTreeMap, HashMap};
use std::future::poll_fn;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

use crate::ledger::EntryKey;

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
    /// Resolves when nobody stands before this place.
    pub(super) async fn comes_first(&self) {
        poll_fn(|task| {
            let mut standing = self.lines.standing();
            let Some(line) = standing.by_entry.get_mut(&self.entry) else { return Poll::Ready(()) };
            if line.first_key_value().is_none_or(|(first, _)| *first >= self.number) {
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
        let first = line.first_key_value().map(|(_, waker)| waker.clone());
        if first.is_none() {
            standing.by_entry.remove(&self.entry);
        }
        drop(standing);
        first.into_iter().for_each(Waker::wake);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;

    const ENTRY: EntryKey = EntryKey([1; 16]);

    #[test]
    fn they_come_first_in_the_order_they_came_and_whoever_leaves_holds_nobody_up() {
        let lines = Lines::default();
        let [first, second, third] = [ENTRY; 3].map(|entry| lines.join(entry));
        let is_first = |place: &Place<'_>| place.comes_first().now_or_never().is_some();
        assert_eq!([&first, &second, &third].map(is_first), [true, false, false]);
        assert!(is_first(&lines.join(EntryKey([2; 16]))), "every entry has its own");
        drop(second);
        assert!(is_first(&first) && !is_first(&third));
        drop(first);
        assert!(is_first(&third));
        drop(third);
        assert!(lines.standing().by_entry.is_empty());
    }
}
