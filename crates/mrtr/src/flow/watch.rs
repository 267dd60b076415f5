//! Who watches the steps of a round: the kit for tests, and nobody else.

use std::fmt;

/// Is told of every step that does its work, as opposed to one whose result comes from the journal.
pub(crate) trait Watch: Send + Sync {
    /// A step begins; what is returned is handed back when it is done.
    fn begins(&self) -> usize;

    /// A step of this operation, under this key, is done.
    fn done(&self, begun: usize, operation: &str, key: &str);
}

impl fmt::Debug for dyn Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Watch")
    }
}
