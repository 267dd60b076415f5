//! An entry of the ledger, from the server's side: what is claimed, how it stands, how it is settled.

use std::fmt;
use std::time::Duration;

/// What an entry is about, as 128 bits: a round of an operation, or a first call by its idempotency key. It is made of
/// what is inside the seal, never of a token's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EntryKey(pub [u8; 16]);

/// Who holds an entry: a random name for one request at work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Holder(pub [u8; 16]);

/// A wish to do what an entry is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The entry.
    pub key: EntryKey,
    /// Who wants it.
    pub holder: Holder,
    /// A digest of what came with the request. The entry belongs to the content it was first claimed with.
    pub content: [u8; 16],
    /// The operation, for whoever takes the entry over.
    pub operation: [u8; 16],
    /// How long the entry is this holder's unless it is renewed.
    pub lease: Duration,
    /// How long the entry lives if this claim makes it.
    pub lifetime: Duration,
    /// Takes the entry also from a holder that is gone.
    pub takes_over: bool,
}

/// How an entry stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It is the claimant's now.
    Claimed,
    /// Another holder is at work, for at most this long unless it renews its lease.
    Held(Duration),
    /// It was done, and this came of it.
    Finished(Vec<u8>),
    /// Its holder is gone and left nothing behind. It may have done its work, or not.
    Gone {
        /// The operation as it was first claimed.
        operation: [u8; 16],
    },
    /// It was claimed with another content.
    Forked,
}

/// How a claim ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settlement<'a> {
    /// The work is done; this is given to whoever comes again.
    Finished(&'a [u8]),
    /// The work stopped somewhere: the entry is [`Standing::Gone`].
    Abandoned,
    /// The work was not begun: the entry is as if it had never been claimed.
    Released,
}

impl fmt::Display for EntryKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        hex(&self.0, f)
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        hex(&self.0, f)
    }
}

fn hex(bytes: &[u8], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
}
