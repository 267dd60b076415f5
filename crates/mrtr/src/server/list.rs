//! Lists in pages. A cursor names the last entry that was shown; it is sealed, so that nobody makes one up.
//!
//! Spec: `server/utilities/pagination`, `server/utilities/caching`.

use serde_json::{Value, value::RawValue};

use super::answer::{Answer, Completed};
use crate::seal::{Cursors, Keyring};
use crate::wire::{Method, RpcError, json};

/// How long and by whom a result may be kept.
#[derive(Clone, Copy, Debug)]
pub(super) struct Caching {
    pub(super) ttl_ms: u64,
    pub(super) is_public: bool,
}

impl Caching {
    /// Not at all.
    pub(super) const NONE: Self = Self { ttl_ms: 0, is_public: false };

    pub(super) fn add_to(self, completed: Completed) -> Completed {
        let scope = if self.is_public { "\"public\"" } else { "\"private\"" };
        completed.with("ttlMs", &self.ttl_ms.to_string()).with("cacheScope", scope)
    }
}

/// A list as its method shows it: entries in the order they were given.
#[derive(Clone, Debug)]
pub(super) struct List {
    method: Method,
    /// The member of the result that holds the entries.
    member: &'static str,
    entries: Vec<Entry>,
}

#[derive(Clone, Debug)]
struct Entry {
    /// Unique in the list.
    key: String,
    /// As JSON.
    definition: String,
}

impl List {
    pub(super) fn new(method: Method, member: &'static str) -> Self {
        Self { method, member, entries: Vec::new() }
    }

    pub(super) fn push(&mut self, key: &str, definition: &Value) {
        self.entries.push(Entry { key: key.to_owned(), definition: definition.to_string() });
    }

    /// What its entries are told apart by.
    pub(super) fn keys(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|entry| entry.key.as_str())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The page a cursor asks for; the first one without.
    ///
    /// # Errors
    /// `-32602` for a cursor that is not ours, of another list, or behind an entry that is gone.
    pub(super) fn page(
        &self,
        cursor: Option<&RawValue>,
        size: usize,
        caching: Caching,
        keys: &Keyring,
        cursors: &Cursors,
    ) -> Answer {
        let start = match cursor {
            None => 0,
            Some(raw) => self.behind(raw, keys, cursors).ok_or_else(unknown_cursor)?,
        };
        let shown = &self.entries[start..self.entries.len().min(start.saturating_add(size.max(1)))];
        let length = shown.iter().map(|entry| entry.definition.len() + 1).sum::<usize>();
        let mut array = String::with_capacity(length + 2);
        for (index, entry) in shown.iter().enumerate() {
            array.push(if index == 0 { '[' } else { ',' });
            array.push_str(&entry.definition);
        }
        array.push_str(if shown.is_empty() { "[]" } else { "]" });
        let page = caching.add_to(Completed::final_with("").with(self.member, &array));
        Ok(match shown.last() {
            Some(last) if start + shown.len() < self.entries.len() => {
                page.with("nextCursor", &json::string(&cursors.seal(keys, self.method.name(), &last.key)))
            }
            _ => page,
        })
    }

    fn behind(&self, cursor: &RawValue, keys: &Keyring, cursors: &Cursors) -> Option<usize> {
        let token: String = serde_json::from_str(cursor.get()).ok()?;
        let last = cursors.open(keys, self.method.name(), &token)?;
        Some(self.entries.iter().position(|entry| entry.key == last)? + 1)
    }
}

fn unknown_cursor() -> RpcError {
    RpcError::invalid_params("unknown cursor: ask for the first page again, without one")
}
