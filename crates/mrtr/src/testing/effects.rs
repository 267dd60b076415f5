//! What a tool did to the world, as its fakes tell it and as the engine sees it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::flow::{Context, Watch};

/// A list of what happened, to be kept beside a fake effect. Clones write on the same list.
///
/// Steps ([`Context::step`]) write themselves down under [`torture`](super::torture), unless something is recorded in the
/// middle of their work: then that stands for them.
///
/// ```
/// use mrtr::{Context, testing::Effects};
///
/// async fn pay(cx: &Context, effects: &Effects) {
///     effects.record(cx, "refund paid");   // where the real one would call the bank
/// }
/// ```
#[derive(Clone, Debug, Default)]
pub struct Effects(Arc<Mutex<Vec<Effect>>>);

/// Something that happened, and the operation it happened in.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Effect {
    operation: String,
    name: Named,
}

/// What it is called, and who called it so.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Named {
    Effect(String),
    Step(String),
}

impl Effects {
    /// An empty list.
    pub fn new() -> Self {
        Self::default()
    }

    /// Writes down that this happened, in the operation of this context.
    pub fn record(&self, cx: &Context, name: impl Into<String>) {
        self.record_for(cx.operation_id(), name);
    }

    /// As [`record`](Self::record), for a fake that has only the [operation's id](Context::operation_id).
    pub fn record_for(&self, operation: &str, name: impl Into<String>) {
        self.list().push(Effect { operation: operation.to_owned(), name: Named::Effect(name.into()) });
    }

    /// How often this was recorded, in all operations.
    pub fn count(&self, name: &str) -> usize {
        let is_it = |effect: &&Effect| matches!(&effect.name, Named::Effect(known) if known == name);
        self.list().iter().filter(is_it).count()
    }

    /// How much has happened so far.
    pub(super) fn len(&self) -> usize {
        self.list().len()
    }

    /// What happened after the first `seen` of them.
    pub(super) fn since(&self, seen: usize) -> Vec<Named> {
        self.list().iter().skip(seen).map(|effect| effect.name.clone()).collect()
    }

    /// How often each thing happened in the operation it happened in most. With `as_one`, all operations count as one.
    pub(super) fn most(&self, as_one: bool) -> BTreeMap<Named, usize> {
        let mut counts = BTreeMap::<(&str, &Named), usize>::new();
        let list = self.list();
        for Effect { operation, name } in list.iter() {
            *counts.entry((if as_one { "" } else { operation }, name)).or_default() += 1;
        }
        let mut most = BTreeMap::new();
        for ((_, name), count) in counts {
            let known = most.entry(name.clone()).or_insert(count);
            *known = count.max(*known);
        }
        most
    }

    fn list(&self) -> MutexGuard<'_, Vec<Effect>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Watch for Effects {
    fn begins(&self) -> usize {
        self.len()
    }

    fn done(&self, begun: usize, operation: &str, key: &str) {
        let mut list = self.list();
        if list.iter().skip(begun).all(|effect| effect.operation != operation || matches!(effect.name, Named::Step(_)))
        {
            list.push(Effect { operation: operation.to_owned(), name: Named::Step(key.to_owned()) });
        }
    }
}

impl Named {
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Effect(name) | Self::Step(name) => name,
        }
    }
}

impl std::fmt::Display for Named {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Effect(name) => write!(f, "{name:?}"),
            Self::Step(name) => write!(f, "step {name:?}"),
        }
    }
}
