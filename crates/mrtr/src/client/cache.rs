//! Remembering what a server said may be remembered: lists, resources, and what it is.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use tokio::time::Instant;

use super::{CallError, Client, Output};
use crate::wire::Object;

/// Responses that a server marked as good for a while (`ttlMs`), so that they need not be asked for again.
///
/// Kept are complete results of `server/discover`, the four lists, page by page, and `resources/read`. Never kept is what
/// took questions to come about: answers are no part of the request. Clones share what they hold; give one to several
/// clients, and what is `public` serves all of them, what is `private` only those that send the same headers.
///
/// ```
/// use mrtr::client::{Cache, Client};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let cache = Cache::new();
/// let client = Client::new("http://127.0.0.1:8080/mcp")?.cache(cache.clone());
/// # let _ = client;
/// # Ok(())
/// # }
/// ```
///
/// # Security
///
/// A server decides by `cacheScope` who may see what it said; what does not say `public` is private. The authorization
/// context of a client are all its [headers](Client::header), whatever they are called. They are held as a digest.
#[derive(Clone)]
pub struct Cache {
    max_age: Duration,
    max_entries: usize,
    max_bytes: usize,
    held: Arc<Mutex<Held>>,
}

#[derive(Default)]
struct Held {
    entries: HashMap<Key, Entry>,
    bytes: usize,
}

/// Under which a response is kept.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Key {
    server: Arc<str>,
    method: Arc<str>,
    /// The parameters and what the client declares, both of which a result may depend on.
    request: [u8; 32],
    /// Whose it is; `None` if it is everybody's.
    principal: Option<[u8; 32]>,
}

struct Entry {
    result: Box<RawValue>,
    /// The resource it is about.
    uri: Option<String>,
    received: Instant,
    stale: Instant,
}

/// A request that may have been answered before.
pub(super) struct Lookup {
    private: Key,
    uri: Option<String>,
    has_cursor: bool,
}

/// A response that is still good.
pub(super) struct Hit {
    pub(super) result: Box<RawValue>,
    pub(super) age: Duration,
}

impl Cache {
    /// Makes an empty one.
    pub fn new() -> Self {
        Self { max_age: Duration::from_secs(3600), max_entries: 1000, max_bytes: 16 << 20, held: Arc::default() }
    }

    /// Keeps nothing for longer than this, whatever the server says. Default: an hour.
    #[must_use]
    pub fn max_age(mut self, age: Duration) -> Self {
        self.max_age = age;
        self
    }

    /// Keeps no more responses than this; what would go stale first makes room. Default: 1000.
    #[must_use]
    pub fn max_entries(mut self, entries: usize) -> Self {
        self.max_entries = entries;
        self
    }

    /// Keeps no more bytes of results than this in all. Default: 16 MiB.
    #[must_use]
    pub fn max_bytes(mut self, bytes: usize) -> Self {
        self.max_bytes = bytes;
        self
    }

    /// Forgets everything.
    pub fn clear(&self) {
        *self.held() = Held::default();
    }

    pub(super) fn get(&self, lookup: &Lookup) -> Option<Hit> {
        let now = Instant::now();
        let held = self.held();
        let private = held.entries.get(&lookup.private);
        let entry = private.filter(|entry| now < entry.stale).or_else(|| held.entries.get(&lookup.public()))?;
        (now < entry.stale).then(|| Hit { result: entry.result.clone(), age: now - entry.received })
    }

    /// Keeps what came of a request if it may, and forgets what turns out to be outdated.
    pub(super) fn learn(&self, lookup: &Lookup, outcome: &Result<Output, CallError>) {
        match outcome {
            Ok(output) => self.put(lookup, output),
            // Spec: server/utilities/caching#interaction-with-pagination. A cursor that is refused takes all pages along.
            Err(CallError::Rpc { .. }) if lookup.has_cursor => {
                self.forget(|key, _| key.server == lookup.private.server && key.method == lookup.private.method);
            }
            Err(_) => {}
        }
    }

    fn put(&self, lookup: &Lookup, output: &Output) {
        self.forget(|key, _| *key == lookup.private || *key == lookup.public());
        let Ok(Object(hint)) = serde_json::from_str::<Object<Hint>>(output.result.get()) else { return };
        let ttl = Duration::from_millis(hint.ttl_ms.as_u64().unwrap_or_default()).min(self.max_age);
        // Spec: server/utilities/caching#cache-key. Later rounds depend on answers.
        let is_first = output.rounds.iter().all(|round| round.round == 1);
        let bytes = output.result.get().len();
        if ttl.is_zero() || !is_first || bytes > self.max_bytes || self.max_entries == 0 {
            return;
        }
        let key = if hint.cache_scope == "public" { lookup.public() } else { lookup.private.clone() };
        let received = Instant::now();
        let entry = Entry { result: output.result.clone(), uri: lookup.uri.clone(), received, stale: received + ttl };
        let mut held = self.held();
        held.make_room(self.max_entries - 1, self.max_bytes - bytes);
        held.bytes += bytes;
        held.entries.insert(key, entry);
    }

    /// Acts on a notification that something changed.
    pub(super) fn outdate(&self, server: &str, message: &str) {
        let Ok(Object(change)) = serde_json::from_str::<Object<Change>>(message) else { return };
        let is_about = |key: &Key, entry: &Entry| match change.method.as_str() {
            "notifications/tools/list_changed" => &*key.method == "tools/list",
            "notifications/prompts/list_changed" => &*key.method == "prompts/list",
            "notifications/resources/list_changed" => {
                matches!(&*key.method, "resources/list" | "resources/templates/list")
            }
            "notifications/resources/updated" => {
                entry.uri.as_deref() == change.params["uri"].as_str() && entry.uri.is_some()
            }
            _ => false,
        };
        self.forget(|key, entry| &*key.server == server && is_about(key, entry));
    }

    fn forget(&self, is_outdated: impl Fn(&Key, &Entry) -> bool) {
        let mut held = self.held();
        held.entries.retain(|key, entry| !is_outdated(key, entry));
        held.bytes = held.entries.values().map(|entry| entry.result.get().len()).sum();
    }

    fn held(&self) -> std::sync::MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for Cache {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Cache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let held = self.held();
        f.debug_struct("Cache")
            .field("entries", &held.entries.len())
            .field("bytes", &held.bytes)
            .finish_non_exhaustive()
    }
}

impl Held {
    /// Drops what goes stale first until no more is left than this.
    fn make_room(&mut self, entries: usize, bytes: usize) {
        while self.entries.len() > entries || self.bytes > bytes {
            let first = self.entries.iter().min_by_key(|(_, entry)| entry.stale).map(|(key, _)| key.clone());
            let Some(entry) = first.and_then(|key| self.entries.remove(&key)) else { return };
            self.bytes -= entry.result.get().len();
        }
    }
}

impl Lookup {
    /// Names the request, if it is one whose response may be kept and the client has a cache.
    pub(super) fn of(client: &Client, method: &str, params: &Map<String, Value>) -> Option<Self> {
        client.cache.as_ref()?;
        if !CACHEABLE.contains(&method) {
            return None;
        }
        let mut request = Sha256::new();
        request.update(Sha256::digest(client.transport.identity()));
        request.update(client.responders.capabilities().to_string());
        request.update(serde_json::to_vec(params).ok()?);
        let mut principal = Sha256::new();
        for (name, value) in &client.headers {
            for part in [name.as_str().as_bytes(), value.as_bytes()] {
                principal.update((part.len() as u64).to_le_bytes());
                principal.update(part);
            }
        }
        let private = Key {
            server: client.server().into(),
            method: method.into(),
            request: request.finalize().into(),
            principal: Some(principal.finalize().into()),
        };
        let uri = params.get("uri").and_then(Value::as_str).map(str::to_owned);
        Some(Self { private, uri, has_cursor: params.contains_key("cursor") })
    }

    fn public(&self) -> Key {
        Key { principal: None, ..self.private.clone() }
    }
}

/// Spec: server/utilities/caching#cacheable-results.
const CACHEABLE: [&str; 6] =
    ["server/discover", "tools/list", "prompts/list", "resources/list", "resources/templates/list", "resources/read"];

/// What a result says about keeping it; of another type, it says nothing.
#[derive(Deserialize)]
struct Hint {
    #[serde(default, rename = "ttlMs")]
    ttl_ms: Value,
    #[serde(default, rename = "cacheScope")]
    cache_scope: Value,
}

#[derive(Deserialize)]
struct Change {
    method: String,
    #[serde(default)]
    params: Value,
}
