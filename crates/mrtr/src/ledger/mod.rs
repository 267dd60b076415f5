//! The ledger: what makes a sealed state redeemable once.
//!
//! A state by itself can be presented until it expires. For what was declared [`once`](crate::Tool::once) the server
//! writes down, before the handler runs, that this round of this operation is taken, and afterwards what came of it. Who
//! comes back with the same request is told the same again; who comes with another one is refused.
//!
//! This module is the store's side: the trait a store implements, and two stores. What the server makes of it is in
//! `server::once`; what is promised in all, `docs/guarantees.md`.

#[cfg(feature = "testing")]
pub(crate) mod contract;
mod entry;
mod memory;
#[cfg(feature = "redis")]
mod redis;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use thiserror::Error;

pub use entry::{Claim, EntryKey, Holder, Settlement, Standing};
pub use memory::MemoryLedger;
#[cfg(feature = "redis")]
pub use redis::RedisLedger;

/// What a ledger's methods return.
pub type LedgerFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, LedgerError>> + Send + 'a>>;

/// A store of entries, shared by all instances that can open each other's states.
///
/// Each method is one atomic step, whoever else is at work on the same entry. A method that cannot be sure of its step
/// fails: then the handler does not run, and the client is told to come again. Time is the store's own: leases and
/// lifetimes are durations from now, so that instances need no common clock.
///
/// `mrtr::testing::ledger_contract` (feature `testing`) checks an implementation against all of this.
///
/// # Security
/// Entries say which operations there were, not what they were about: keys are digests, and values are sealed before
/// they get here. A store that forgets an entry early lets its state be redeemed again; one that invents entries makes
/// operations fail. It cannot make a handler run that no valid state asks for.
pub trait Ledger: Send + Sync + 'static {
    /// Takes an entry, or tells how it stands. The first claim of a key makes the entry, which then lives for
    /// [`Claim::lifetime`] whatever becomes of it.
    ///
    /// The holder of an entry may claim it again, after a reply that was lost, say: it is theirs still. A claim with
    /// another content is [`Standing::Forked`], always. Otherwise an entry stands as it was settled; one that is held
    /// is [`Standing::Held`] until its lease is over, then [`Standing::Gone`]. A claim that
    /// [takes over](Claim::takes_over) gets an entry that is gone.
    fn claim(&self, claim: Claim) -> LedgerFuture<'_, Standing>;

    /// Makes a held entry's lease end `lease` from now. False if the entry is no longer this holder's.
    fn renew(&self, key: EntryKey, holder: Holder, lease: Duration) -> LedgerFuture<'_, bool>;

    /// Ends a claim. False, and nothing done, if the entry is no longer this holder's, or no longer there. A lease that
    /// is over does not matter as long as nobody took over.
    fn settle<'a>(&'a self, key: EntryKey, holder: Holder, settlement: Settlement<'a>) -> LedgerFuture<'a, bool>;

    /// Keeps a value for `lifetime`, in a room apart from the entries. A key is written once.
    fn keep<'a>(&'a self, key: EntryKey, value: &'a [u8], lifetime: Duration) -> LedgerFuture<'a, ()>;

    /// A value that was kept; `None` once its time is over.
    fn kept(&self, key: EntryKey) -> LedgerFuture<'_, Option<Vec<u8>>>;

    /// Whether the store answers at all: for readiness probes.
    fn check(&self) -> LedgerFuture<'_, ()>;

    /// Resolves when a held entry may stand differently: it was settled, its lease is over, or its time is. `None`, the
    /// default, where the store cannot tell; then it is asked now and then.
    fn changed(&self, key: EntryKey) -> Option<LedgerFuture<'_, ()>> {
        let _ = key;
        None
    }

    /// Takes note, without waiting, that a holder's work was torn off. The default leaves it to the lease.
    fn let_go(&self, key: EntryKey, holder: Holder) {
        let _ = (key, holder);
    }
}

/// Why a ledger could not do its step. For the log; the client reads that it may come again.
#[derive(Error)]
#[non_exhaustive]
pub enum LedgerError {
    /// Where it is said to be is no address.
    #[error("the ledger's address {0}")]
    Address(String),
    /// It cannot be reached.
    #[error("the ledger cannot be reached: {0}")]
    Unavailable(String),
    /// It took longer than the server waits for it.
    #[error("the ledger did not answer within {0:?}")]
    Slow(Duration),
    /// It has no room for another entry.
    #[error("the ledger is full: {0}")]
    Full(String),
    /// It answered something that no ledger answers: another program's data, or another version's.
    #[error("the ledger answers what it should not: {0}")]
    Corrupt(String),
    /// Its code panicked.
    #[error("the ledger panicked: {0}")]
    Panicked(String),
}

/// One ledger for several servers of a process.
impl<L: Ledger + ?Sized> Ledger for Arc<L> {
    fn claim(&self, claim: Claim) -> LedgerFuture<'_, Standing> {
        (**self).claim(claim)
    }

    fn renew(&self, key: EntryKey, holder: Holder, lease: Duration) -> LedgerFuture<'_, bool> {
        (**self).renew(key, holder, lease)
    }

    fn settle<'a>(&'a self, key: EntryKey, holder: Holder, settlement: Settlement<'a>) -> LedgerFuture<'a, bool> {
        (**self).settle(key, holder, settlement)
    }

    fn keep<'a>(&'a self, key: EntryKey, value: &'a [u8], lifetime: Duration) -> LedgerFuture<'a, ()> {
        (**self).keep(key, value, lifetime)
    }

    fn kept(&self, key: EntryKey) -> LedgerFuture<'_, Option<Vec<u8>>> {
        (**self).kept(key)
    }

    fn check(&self) -> LedgerFuture<'_, ()> {
        (**self).check()
    }

    fn changed(&self, key: EntryKey) -> Option<LedgerFuture<'_, ()>> {
        (**self).changed(key)
    }

    fn let_go(&self, key: EntryKey, holder: Holder) {
        (**self).let_go(key, holder);
    }
}

/// As `Display` has it: what `main` returns is printed this way, and a variant's name tells nobody what to do.
impl std::fmt::Debug for LedgerError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

impl std::fmt::Debug for dyn Ledger {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Ledger")
    }
}
