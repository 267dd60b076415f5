//! Telling operations apart: a name of the client's own for each, whatever the server sends.

use std::fmt;
use std::sync::Arc;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};

/// The client's own name for one operation, from its first request to its result.
///
/// Random, of 16 letters, digits, `-` and `_`, and so no two operations share one, be it in one process or in many. It never goes to the
/// server: group by it what a request state cannot, as that may change, be absent, or be the same twice.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OperationId(Arc<str>);

impl OperationId {
    /// Makes one up.
    pub(super) fn random() -> Self {
        // 96 bits: a billion operations share none with a probability of one in a hundred billion.
        Self(URL_SAFE_NO_PAD.encode(rand::random::<[u8; 12]>()).into())
    }

    /// Returns it as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for OperationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for OperationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
