//! The operator's keys, which can be changed while the server runs.
//!
//! All clones share one ring, and whoever seals or opens takes a snapshot of it. A change that fails leaves the ring as it
//! is: a server with yesterday's keys goes on, one without keys would not.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use thiserror::Error;
use tracing::{error, info};
use zeroize::Zeroizing;

use super::key_source::Source;
use super::ring::{MIN_SECRET, Ring};

/// The operator's keys: the first seals, all of them open. All instances of a fleet share them; nothing else is shared.
///
/// Clones are one keyring: what changes in one changes in all, the server's among them. A keyring from a
/// [file](Self::from_file) or a [function](Self::from_fn) reads its keys again when it is told to ([`reload`](Self::reload)),
/// and a server does that by itself: on SIGHUP, and for a file when the file changes. `docs/state-format.md` has the
/// procedure.
///
/// Rotation without a refused state: `[old, new]`, then `[new, old]`, then `[new]`, each step rolled out everywhere and
/// the last one taken when the states of the second-to-last have expired.
///
/// ```
/// use mrtr::Keyring;
/// let keys = Keyring::parse(&Keyring::generate())?;
/// assert!(format!("{keys:?}").starts_with("Keyring([Key("));
/// # Ok::<(), mrtr::KeyringError>(())
/// ```
///
/// # Security
/// Secrets are wiped after the sealing keys are derived from them (HKDF-SHA256), derived keys when the last one who uses
/// their ring is done. `Debug` and the log show key ids, which are public: they are part of every state.
#[derive(Clone)]
pub struct Keyring {
    shared: Arc<Shared>,
}

struct Shared {
    /// Held for as long as it takes to clone or to swap a pointer.
    ring: RwLock<Arc<Ring>>,
    source: Source,
    /// How often a server looks at a file, in milliseconds.
    every: AtomicU64,
    /// Held while keys are read, so that what was read first cannot come last.
    reading: Mutex<Reading>,
}

#[derive(Debug, Default)]
struct Reading {
    /// When somebody last looked.
    looked: Option<Instant>,
    /// What was wrong when the file was last looked at: it is said once.
    failing: Option<KeyringError>,
}

/// Why a keyring could not be made or changed. The text never contains key material.
#[derive(Clone, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeyringError {
    /// The environment variable is not set.
    #[error("environment variable {0} is not set; `mrtr keygen` prints a key for it")]
    NotSet(String),
    /// Nothing to seal with.
    #[error("a keyring needs at least one key; `mrtr keygen` prints one")]
    Empty,
    /// Not base64url.
    #[error("key {0} is not unpadded base64url; `mrtr keygen` prints a valid one")]
    NotBase64(usize),
    /// Shorter than 32 bytes.
    #[error("key {position} has {len} bytes; at least {MIN_SECRET} are needed, and `mrtr keygen` prints that many")]
    TooShort {
        /// Which key, counted from 1.
        position: usize,
        /// How many bytes it has.
        len: usize,
    },
    /// The same key twice, or two keys whose ids collide.
    #[error("keys {0} and {1} are the same")]
    Repeated(usize, usize),
    /// The file is not there, not permitted, or no text.
    #[error("the keys file {} cannot be read: {reason}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system says, or what is wrong with it.
        reason: String,
    },
    /// What is in the file is no keyring.
    #[error("the keys file {}: {cause}", path.display())]
    InFile {
        /// The file.
        path: PathBuf,
        /// What is wrong in it.
        cause: Box<Self>,
    },
    /// The function that brings the keys failed; this is what it says.
    #[error("the source of the keys failed: {0}")]
    Source(String),
}

/// As `Display` has it: what `main` returns is printed this way, and a variant's name tells nobody what to do.
impl fmt::Debug for KeyringError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Keyring {
    /// Derives the ring from secrets of at least 32 bytes; the first one seals.
    ///
    /// # Errors
    /// No secret, one that is too short, or the same one twice.
    pub fn new(secrets: impl IntoIterator<Item = impl AsRef<[u8]>>) -> Result<Self, KeyringError> {
        Ok(Self::of(Ring::derive(secrets)?, Source::Fixed))
    }

    /// Reads keys as `mrtr keygen` prints them, separated by commas or white space; the first one seals. From `#` to the
    /// end of its line is a comment.
    ///
    /// # Errors
    /// As [`Keyring::new`], or a key that is not unpadded base64url.
    pub fn parse(text: &str) -> Result<Self, KeyringError> {
        Ok(Self::of(Ring::parse(text)?, Source::Fixed))
    }

    /// Reads keys from an environment variable, in the form [`Keyring::parse`] takes.
    ///
    /// # Errors
    /// As [`Keyring::parse`], or the variable is not set.
    pub fn from_env(variable: &str) -> Result<Self, KeyringError> {
        let text = std::env::var(variable).map_err(|error| match error {
            std::env::VarError::NotPresent => KeyringError::NotSet(variable.to_owned()),
            std::env::VarError::NotUnicode(_) => KeyringError::NotBase64(1),
        })?;
        Self::parse(&Zeroizing::new(text))
    }

    /// Reads keys from a file, in the form [`Keyring::parse`] takes. A server that has them looks at the file
    /// [every few seconds](Self::look_every) and goes on with what it finds.
    ///
    /// Write a new file beside it and rename it over the old one: a file that is written in place may be read half-written.
    ///
    /// # Errors
    /// As [`Keyring::parse`], or the file cannot be read, or is longer than 64 KiB. The text names the file.
    ///
    /// # Security
    /// On Unix a file that all users can read or write is used, and warned of in the log.
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self, KeyringError> {
        Self::from_source(Source::File(path.as_ref().to_owned()))
    }

    /// Asks a function for the secrets, such as one that calls a key service: now, and again on each
    /// [`reload`](Self::reload), which a server does on SIGHUP. The first secret seals.
    ///
    /// The function may block: a server calls it on a thread for that. Where asking takes an `async` client, ask first
    /// and use [`Keyring::new`], then [`replace`](Self::replace).
    ///
    /// ```
    /// use mrtr::Keyring;
    /// # fn secrets_of_the_key_service() -> Result<Vec<[u8; 32]>, String> { Ok(vec![[7; 32]]) }
    /// let keys = Keyring::from_fn(secrets_of_the_key_service)?;
    /// assert!(!keys.reload()?, "the same keys as before");
    /// # Ok::<(), mrtr::KeyringError>(())
    /// ```
    ///
    /// # Errors
    /// As [`Keyring::new`], or the function fails.
    ///
    /// # Security
    /// Secrets are dropped once keys are derived from them; let the function return a type that wipes itself. What it says
    /// when it fails goes to the log as it is.
    pub fn from_fn<S, E>(load: impl Fn() -> Result<Vec<S>, E> + Send + Sync + 'static) -> Result<Self, KeyringError>
    where
        S: AsRef<[u8]>,
        E: fmt::Display,
    {
        Self::from_source(Source::function(load))
    }

    /// A ring with one random key. States sealed with it open in this process only.
    pub fn random() -> Self {
        Self::new([random_secret()]).expect("one key of 32 bytes")
    }

    /// A new random key as text, for [`Keyring::parse`] and everything that reads such text.
    pub fn generate() -> String {
        URL_SAFE_NO_PAD.encode(random_secret())
    }

    /// Sets how often a server looks at the [file](Self::from_file) these keys are from; at least 10 ms, default 5 seconds.
    ///
    /// Looking reads the file. Keys from elsewhere are not looked at.
    #[must_use]
    pub fn look_every(self, every: Duration) -> Self {
        self.shared.every.store(millis(every.max(Duration::from_millis(10))), Ordering::Relaxed);
        self
    }

    /// The public ids of the keys, in order, in hex.
    pub fn fingerprints(&self) -> Vec<String> {
        self.ring().fingerprints()
    }

    /// Reads the keys again from where they came, for all clones, and tells whether they have changed. Keys that came from
    /// nowhere one could look again never change: that is no error.
    ///
    /// This may block. The log has the new fingerprints, or why the keys stay as they are.
    ///
    /// # Errors
    /// Those of the constructor. The keys stay as they are.
    pub fn reload(&self) -> Result<bool, KeyringError> {
        let mut reading = self.reading();
        let reloaded = self.read_again();
        if let Err(error) = &reloaded {
            self.keep(error);
        }
        reading.failing = reloaded.as_ref().err().cloned();
        reloaded
    }

    /// Takes these secrets from now on, in all clones, and tells whether the keys have changed. The first one seals.
    ///
    /// For keys that come from a service with an `async` client. A keyring from a file or a function forgets these keys
    /// when it is loaded again and finds others.
    ///
    /// # Errors
    /// As [`Keyring::new`]. The keys stay as they are, and the log says so.
    pub fn replace(&self, secrets: impl IntoIterator<Item = impl AsRef<[u8]>>) -> Result<bool, KeyringError> {
        Ring::derive(secrets).map(|ring| self.swap(ring)).inspect_err(|error| self.keep(error))
    }

    /// Looks whether the file has changed, unless somebody just did. As [`reload`](Self::reload), but what is wrong with it
    /// is said once.
    #[cfg_attr(not(any(feature = "http", feature = "stdio")), allow(dead_code, reason = "servers look"))]
    pub(crate) fn look(&self) {
        let mut reading = self.reading();
        let Some(every) = self.looks() else { return };
        if reading.looked.is_some_and(|looked| looked.elapsed() < every / 2) {
            return;
        }
        reading.looked = Some(Instant::now());
        let failure = self.read_again().err();
        if let Some(error) = failure.as_ref().filter(|error| reading.failing.as_ref() != Some(error)) {
            self.keep(error);
        } else if failure.is_none() && reading.failing.is_some() {
            info!(keys = ?self.ring(), "the keys can be read again");
            self.shared.source.warn();
        }
        reading.failing = failure;
    }

    /// How often to look; `None` for keys that are not from a file.
    #[cfg_attr(not(any(feature = "http", feature = "stdio")), allow(dead_code, reason = "servers look"))]
    pub(crate) fn looks(&self) -> Option<Duration> {
        let every = || Duration::from_millis(self.shared.every.load(Ordering::Relaxed));
        matches!(self.shared.source, Source::File(_)).then(every)
    }

    /// Whether loading again can bring other keys.
    #[cfg_attr(not(any(feature = "http", feature = "stdio")), allow(dead_code, reason = "servers reload"))]
    pub(crate) fn is_reloadable(&self) -> bool {
        !matches!(self.shared.source, Source::Fixed)
    }

    /// The keys of this moment.
    pub(crate) fn ring(&self) -> Arc<Ring> {
        Arc::clone(&self.shared.ring.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn from_source(source: Source) -> Result<Self, KeyringError> {
        let ring = source.load()?.expect("what is read from is never fixed");
        source.warn();
        Ok(Self::of(ring, source))
    }

    fn of(ring: Ring, source: Source) -> Self {
        let ring = RwLock::new(Arc::new(ring));
        let (every, reading) = (AtomicU64::new(millis(LOOK_EVERY)), Mutex::default());
        Self { shared: Arc::new(Shared { ring, source, every, reading }) }
    }

    fn reading(&self) -> MutexGuard<'_, Reading> {
        // What panics in there is the author's function, and it leaves everything as it was.
        self.shared.reading.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read_again(&self) -> Result<bool, KeyringError> {
        let Some(ring) = self.shared.source.load()? else { return Ok(false) };
        let has_changed = self.swap(ring);
        if has_changed {
            self.shared.source.warn();
        }
        Ok(has_changed)
    }

    /// Puts a ring in place of the current one, unless it is the same.
    fn swap(&self, ring: Ring) -> bool {
        let now = Arc::new(ring);
        let mut current = self.shared.ring.write().unwrap_or_else(PoisonError::into_inner);
        if now.is_same(&current) {
            return false;
        }
        let before = std::mem::replace(&mut *current, Arc::clone(&now));
        drop(current);
        info!(?before, ?now, "the keys have changed");
        true
    }

    fn keep(&self, error: &KeyringError) {
        error!(keys = ?self.ring(), "the keys stay as they are: {error}");
    }
}

fn random_secret() -> Zeroizing<[u8; 32]> {
    Zeroizing::new(rand::random())
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

const LOOK_EVERY: Duration = Duration::from_secs(5);

impl fmt::Debug for Keyring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Keyring").field(&self.ring()).finish()
    }
}

#[cfg(test)]
mod tests;
