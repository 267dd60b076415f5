//! The ledger of a single process.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::future::{poll_fn, ready};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Poll, Waker};
use std::time::{Duration, UNIX_EPOCH};

use super::{Claim, EntryKey, Holder, Ledger, LedgerError, LedgerFuture, Settlement, Standing};
use crate::flow::{Clock, SystemClock};

/// What an entry costs besides its response, in bytes: a bound, measured with room to spare.
const ENTRY_BYTES: usize = 320;

/// A ledger in this process's memory: for a single instance, and for tests.
///
/// Other instances do not see it, and it ends with the process: a state that was redeemed before a restart can be
/// redeemed once more after it. It costs nothing until it is used. When it is full it takes no more claims, rather than
/// forget one that still counts.
///
/// ```
/// use mrtr::{Server, ledger::MemoryLedger};
/// let server = Server::new("refunds", "1.0.0").ledger(MemoryLedger::new().capacity(64 * 1024 * 1024));
/// ```
pub struct MemoryLedger {
    clock: Arc<dyn Clock>,
    capacity: usize,
    book: Mutex<Book>,
}

#[derive(Default)]
struct Book {
    entries: HashMap<EntryKey, Entry>,
    kept: HashMap<EntryKey, Vec<u8>>,
    /// When what ends, earliest first; `true` for what is kept.
    ends: BTreeSet<(u64, bool, EntryKey)>,
    bytes: usize,
    /// Who is to be woken once the lock is released: wakers are foreign code, which may come straight back here.
    due: Vec<Waker>,
}

struct Entry {
    content: [u8; 16],
    operation: [u8; 16],
    /// When the entry ends, in milliseconds of the clock.
    ends: u64,
    state: State,
    waiting: Vec<Waker>,
}

enum State {
    Held { holder: Holder, until: u64 },
    Finished(Vec<u8>),
    Abandoned,
}

impl Default for MemoryLedger {
    fn default() -> Self {
        Self::new()
    }
}

impl MemoryLedger {
    /// A ledger of at most 256 MiB.
    pub fn new() -> Self {
        Self { clock: Arc::new(SystemClock), capacity: 256 * 1024 * 1024, book: Mutex::default() }
    }

    /// Holds at most so many bytes; about 320 an entry, and its response. Default: 256 MiB, which is not reserved.
    #[must_use]
    pub fn capacity(mut self, bytes: usize) -> Self {
        self.capacity = bytes;
        self
    }

    /// Goes by this clock; tests have one they move by hand. Default: the machine's time of day.
    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// How many entries and kept values there are.
    pub fn len(&self) -> usize {
        self.update(|book, _| book.len())
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Makes a change as of now: what has ended is gone before it.
    fn update<T>(&self, change: impl FnOnce(&mut Book, u64) -> T) -> T {
        let now = millis(self.clock.now().duration_since(UNIX_EPOCH).unwrap_or_default());
        // Every change is whole before anything can panic.
        let mut book = self.book.lock().unwrap_or_else(PoisonError::into_inner);
        book.drop_ended(now);
        let result = change(&mut book, now);
        let due = std::mem::take(&mut book.due);
        drop(book);
        due.into_iter().for_each(Waker::wake);
        result
    }

    /// As [`update`](Self::update), as a future that is there already.
    fn step<T: Send + 'static>(
        &self,
        change: impl FnOnce(&mut Book, u64) -> Result<T, LedgerError>,
    ) -> LedgerFuture<'_, T> {
        Box::pin(ready(self.update(change)))
    }
}

impl Book {
    fn claim(&mut self, claim: &Claim, now: u64, capacity: usize) -> Result<Standing, LedgerError> {
        let held = State::Held { holder: claim.holder, until: now.saturating_add(millis(claim.lease)) };
        let Some(entry) = self.entries.get_mut(&claim.key) else {
            self.make_room(ENTRY_BYTES, capacity)?;
            let ends = now.saturating_add(millis(claim.lifetime));
            let (content, operation) = (claim.content, claim.operation);
            self.ends.insert((ends, false, claim.key));
            self.entries.insert(claim.key, Entry { content, operation, ends, state: held, waiting: Vec::new() });
            return Ok(Standing::Claimed);
        };
        if entry.content != claim.content {
            return Ok(Standing::Forked);
        }
        match &entry.state {
            State::Finished(response) => Ok(Standing::Finished(response.clone())),
            State::Held { holder, until } if *holder != claim.holder && now < *until => {
                Ok(Standing::Held(Duration::from_millis(until - now)))
            }
            State::Held { holder, .. } if *holder == claim.holder => {
                entry.state = held;
                Ok(Standing::Claimed)
            }
            State::Held { .. } | State::Abandoned if claim.takes_over => {
                entry.state = held;
                Ok(Standing::Claimed)
            }
            State::Held { .. } | State::Abandoned => Ok(Standing::Gone { operation: entry.operation }),
        }
    }

    fn settle(
        &mut self,
        key: EntryKey,
        holder: Holder,
        settlement: Settlement<'_>,
        capacity: usize,
    ) -> Result<bool, LedgerError> {
        if self.held_by(key, holder).is_none() {
            return Ok(false);
        }
        let state = match settlement {
            Settlement::Released => {
                self.remove(key);
                return Ok(true);
            }
            Settlement::Abandoned => State::Abandoned,
            Settlement::Finished(response) => {
                self.make_room(response.len(), capacity)?;
                State::Finished(response.to_vec())
            }
        };
        if let Some(entry) = self.held_by(key, holder) {
            entry.state = state;
            let mut waiting = std::mem::take(&mut entry.waiting);
            self.due.append(&mut waiting);
        }
        Ok(true)
    }

    fn renew(&mut self, key: EntryKey, holder: Holder, until: u64) -> bool {
        self.held_by(key, holder).map(|entry| entry.state = State::Held { holder, until }).is_some()
    }

    fn keep(&mut self, key: EntryKey, value: &[u8], ends: u64, capacity: usize) -> Result<(), LedgerError> {
        self.make_room(ENTRY_BYTES + value.len(), capacity)?;
        self.ends.insert((ends, true, key));
        self.kept.insert(key, value.to_vec());
        Ok(())
    }

    /// Whether an entry is held no more; if it is, `waker` is woken when it is not.
    fn is_changed(&mut self, key: EntryKey, waker: &Waker) -> bool {
        let Some(entry) = self.entries.get_mut(&key).filter(|entry| matches!(entry.state, State::Held { .. })) else {
            return true;
        };
        if !entry.waiting.iter().any(|known| known.will_wake(waker)) {
            entry.waiting.push(waker.clone());
        }
        false
    }

    fn held_by(&mut self, key: EntryKey, holder: Holder) -> Option<&mut Entry> {
        let is_held = |entry: &&mut Entry| matches!(entry.state, State::Held { holder: by, .. } if by == holder);
        self.entries.get_mut(&key).filter(is_held)
    }

    fn drop_ended(&mut self, now: u64) {
        while let Some(&(end, is_kept, key)) = self.ends.first().filter(|(end, ..)| *end <= now) {
            if is_kept {
                self.ends.remove(&(end, true, key));
                let value = self.kept.remove(&key).unwrap_or_default();
                self.bytes = self.bytes.saturating_sub(ENTRY_BYTES + value.len());
            } else {
                self.remove(key);
            }
        }
    }

    fn remove(&mut self, key: EntryKey) {
        let Some(mut entry) = self.entries.remove(&key) else { return };
        self.ends.remove(&(entry.ends, false, key));
        let response = if let State::Finished(response) = &entry.state { response.len() } else { 0 };
        self.bytes = self.bytes.saturating_sub(ENTRY_BYTES + response);
        self.due.append(&mut entry.waiting);
    }

    fn make_room(&mut self, more: usize, capacity: usize) -> Result<(), LedgerError> {
        let bytes = self.bytes.saturating_add(more);
        if bytes > capacity {
            return Err(LedgerError::Full(format!("{} entries fill {capacity} bytes of memory", self.len())));
        }
        self.bytes = bytes;
        Ok(())
    }

    fn len(&self) -> usize {
        self.entries.len() + self.kept.len()
    }
}

impl Ledger for MemoryLedger {
    fn claim(&self, claim: Claim) -> LedgerFuture<'_, Standing> {
        self.step(|book, now| book.claim(&claim, now, self.capacity))
    }

    fn renew(&self, key: EntryKey, holder: Holder, lease: Duration) -> LedgerFuture<'_, bool> {
        self.step(|book, now| Ok(book.renew(key, holder, now.saturating_add(millis(lease)))))
    }

    fn settle<'a>(&'a self, key: EntryKey, holder: Holder, settlement: Settlement<'a>) -> LedgerFuture<'a, bool> {
        self.step(|book, _| book.settle(key, holder, settlement, self.capacity))
    }

    fn keep<'a>(&'a self, key: EntryKey, value: &'a [u8], lifetime: Duration) -> LedgerFuture<'a, ()> {
        self.step(|book, now| book.keep(key, value, now.saturating_add(millis(lifetime)), self.capacity))
    }

    fn kept(&self, key: EntryKey) -> LedgerFuture<'_, Option<Vec<u8>>> {
        self.step(|book, _| Ok(book.kept.get(&key).cloned()))
    }

    fn check(&self) -> LedgerFuture<'_, ()> {
        Box::pin(ready(Ok(())))
    }

    /// A claim of this process is let go when its work is torn off, so this does not wait for the lease.
    fn changed(&self, key: EntryKey) -> Option<LedgerFuture<'_, ()>> {
        Some(Box::pin(poll_fn(move |task| {
            if self.update(|book, _| book.is_changed(key, task.waker())) { Poll::Ready(Ok(())) } else { Poll::Pending }
        })))
    }

    fn let_go(&self, key: EntryKey, holder: Holder) {
        // Abandoning takes no room, so it cannot fail.
        let _ = self.update(|book, _| book.settle(key, holder, Settlement::Abandoned, self.capacity));
    }
}

impl fmt::Debug for MemoryLedger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryLedger").field("len", &self.len()).field("capacity", &self.capacity).finish()
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;

    fn claim(key: u8) -> Claim {
        let lifetime = Duration::from_secs(60);
        Claim {
            key: EntryKey([key; 16]),
            holder: Holder([1; 16]),
            content: [0; 16],
            operation: [0; 16],
            lease: lifetime,
            lifetime,
            takes_over: false,
        }
    }

    /// What a step that waits for nothing gives.
    fn now<T>(step: LedgerFuture<'_, T>) -> Result<T, LedgerError> {
        step.now_or_never().expect("it waits for nothing")
    }

    #[test]
    fn a_full_ledger_takes_no_more_claims_and_forgets_none() {
        let ledger = MemoryLedger::new().capacity(2 * ENTRY_BYTES + 10);
        for key in [1, 2] {
            assert_eq!(now(ledger.claim(claim(key))).ok(), Some(Standing::Claimed));
        }
        assert!(matches!(now(ledger.claim(claim(3))), Err(LedgerError::Full(_))));
        let settle = |response| now(ledger.settle(EntryKey([1; 16]), Holder([1; 16]), Settlement::Finished(response)));
        assert!(matches!(settle(b"more than there is room for"), Err(LedgerError::Full(_))));
        assert_eq!(settle(b"short").ok(), Some(true), "what did not fit is still claimed");
        assert_eq!(ledger.len(), 2);
    }

    #[test]
    fn what_has_ended_leaves_its_room() {
        let ledger = MemoryLedger::new().capacity(ENTRY_BYTES);
        for key in 0..100 {
            let ended = Claim { lifetime: Duration::ZERO, ..claim(key) };
            assert_eq!(now(ledger.claim(ended)).ok(), Some(Standing::Claimed), "entry {key}");
        }
    }
}
