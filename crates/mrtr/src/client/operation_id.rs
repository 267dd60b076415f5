//! Telling operations apart: a name of the client's own for each, whatever the server sends, and what the caller attached.

use std::any::Any;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};

/// The client's own name for one operation, from its first request to its result.
///
/// Random, of 16 letters, digits, `-` and `_`, and so no two operations share one, be it in one process or in many. It never goes to the
/// server: group by it what a request state cannot, as that may change, be absent, or be the same twice.
///
/// What the caller gave with the call, [`Call::context`](super::Call::context), goes wherever this goes: into every question
/// and every event. Two ids are equal if their names are.
#[derive(Clone)]
pub struct OperationId {
    name: Arc<str>,
    context: Option<Arc<dyn Any + Send + Sync>>,
}

impl OperationId {
    /// Makes one up.
    pub(super) fn random() -> Self {
        // 96 bits: a billion operations share none with a probability of one in a hundred billion.
        Self::named(&URL_SAFE_NO_PAD.encode(rand::random::<[u8; 12]>()))
    }

    /// The name of an operation that goes on after having been saved.
    pub(super) fn named(name: &str) -> Self {
        Self { name: name.into(), context: None }
    }

    pub(super) fn attach(&mut self, context: Arc<dyn Any + Send + Sync>) {
        self.context = Some(context);
    }

    /// Returns it as text.
    pub fn as_str(&self) -> &str {
        &self.name
    }

    /// Returns what the caller gave with the call; `None` if that was nothing, or of another type.
    pub fn context<T: Any>(&self) -> Option<&T> {
        self.context.as_deref()?.downcast_ref()
    }
}

impl PartialEq for OperationId {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for OperationId {}

impl PartialOrd for OperationId {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for OperationId {
    fn cmp(&self, other: &Self) -> Ordering {
        self.name.cmp(&other.name)
    }
}

impl Hash for OperationId {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl fmt::Display for OperationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.name)
    }
}

impl fmt::Debug for OperationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}
