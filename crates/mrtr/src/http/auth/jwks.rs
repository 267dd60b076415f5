//! Where an issuer's keys come from: a text, a file, or a URL that is asked again when it must be.

use std::{
    error::Error as StdError,
    fmt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, SystemTime},
};

use bytes::BytesMut;
use reqwest::redirect::Policy;
use tokio::sync::watch;
use url::{Host, Url};

use super::{
    AuthError,
    keys::{KeySet, KeySetError},
};
use crate::tls;

/// A JSON Web Key Set: the public keys an issuer signs its tokens with.
///
/// Keys from a URL are fetched when the first token arrives, and again when they are no longer fresh or a token names a
/// key that is not among them, at most once in ten seconds. Requests that need the same fetch share it. While the key
/// server cannot be reached the keys at hand stay good for a while; after that tokens are answered with 503.
#[derive(Clone, Debug)]
pub struct Jwks {
    source: Source,
    lifetime: Lifetime,
}

/// How old fetched keys may be.
#[derive(Clone, Copy, Debug)]
struct Lifetime {
    fresh: Duration,
    /// How much older while there are no newer ones.
    stale: Duration,
}

impl Lifetime {
    fn whole(self) -> Duration {
        self.fresh.saturating_add(self.stale)
    }
}

#[derive(Clone, Debug)]
enum Source {
    Fixed(Arc<KeySet>),
    Url(Arc<Remote>),
}

/// Why keys cannot be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JwksError {
    /// The text is no usable key set.
    #[error("cannot use the key set: {0}")]
    Unusable(String),
    /// The file cannot be read.
    #[error("cannot read the key set {}", .path.display())]
    File {
        /// The file as it was given.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The URL is not one to fetch keys from.
    #[error("cannot fetch keys from {url:?}: {reason}")]
    Url {
        /// The URL as it was given.
        url: String,
        /// What is wrong with it.
        reason: String,
    },
}

impl Jwks {
    /// Takes the keys of this JSON text.
    ///
    /// # Errors
    ///
    /// When it is not a JSON Web Key Set, or no key in it can verify a signature.
    pub fn from_json(text: &str) -> Result<Self, JwksError> {
        Self::fixed(text.as_bytes())
    }

    /// Takes the keys of this file, as it is now; a file that changes is read by the next process.
    ///
    /// # Errors
    ///
    /// When it cannot be read, is not a JSON Web Key Set, or no key in it can verify a signature.
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self, JwksError> {
        let path = path.as_ref();
        let text = std::fs::read(path).map_err(|source| JwksError::File { path: path.to_owned(), source })?;
        Self::fixed(&text)
    }

    /// Fetches the keys from the issuer, usually from the `jwks_uri` of its metadata.
    ///
    /// # Errors
    ///
    /// When the URL is not `https` (plain `http` is for loopback hosts), carries credentials, or no TLS trust store can
    /// be loaded.
    ///
    /// # Security
    ///
    /// Whoever answers at this URL decides who may call. Certificates are checked against the platform's trust store;
    /// redirects are not followed and proxy settings of the environment are not read.
    pub fn from_url(url: &str) -> Result<Self, JwksError> {
        let remote = Remote::new(url).map_err(|reason| JwksError::Url { url: url.to_owned(), reason })?;
        Ok(Self::new(Source::Url(Arc::new(remote))))
    }

    /// Sets for how long fetched keys are used without asking again: how long a key works that the issuer has withdrawn.
    ///
    /// Default: 5 minutes. Fixed keys never age.
    #[must_use]
    pub fn fresh_for(mut self, time: Duration) -> Self {
        self.lifetime.fresh = time;
        self
    }

    /// Sets for how much longer fetched keys are used while the key server cannot be reached. Default: 1 hour.
    #[must_use]
    pub fn stale_for(mut self, time: Duration) -> Self {
        self.lifetime.stale = time;
        self
    }

    fn fixed(text: &[u8]) -> Result<Self, JwksError> {
        let keys = KeySet::parse(text).map_err(|error| JwksError::Unusable(error.to_string()))?;
        Ok(Self::new(Source::Fixed(Arc::new(keys))))
    }

    fn new(source: Source) -> Self {
        let lifetime = Lifetime { fresh: Duration::from_secs(5 * 60), stale: Duration::from_secs(60 * 60) };
        Self { source, lifetime }
    }

    /// The keys to verify a token with that names this one.
    pub(super) async fn keys(&self, id: Option<&str>, now: SystemTime) -> Result<Arc<KeySet>, AuthError> {
        let remote = match &self.source {
            Source::Fixed(keys) => return Ok(Arc::clone(keys)),
            Source::Url(remote) => remote,
        };
        if let Some(mut running) = remote.fetch_if_needed(id, now, self.lifetime) {
            // Ends with an error, always: nothing is sent, the sender is dropped when the fetch is over.
            while running.changed().await.is_ok() {}
        }
        let state = remote.state();
        let keys = state.usable(now, self.lifetime.whole()).ok_or(AuthError::Unavailable)?;
        if state.failed && !keys.knows(id) {
            // It may be a new key: whether it is cannot be told now, and the client should not throw its token away.
            return Err(AuthError::Unavailable);
        }
        Ok(keys)
    }
}

/// The time between two attempts at a fetch, whoever asks for it.
const PAUSE: Duration = Duration::from_secs(10);
/// The time one fetch may take.
const FETCH_TIME: Duration = Duration::from_secs(5);
/// The largest document that is read; a key takes about half a KiB.
const MAX_DOCUMENT: usize = 256 * 1024;

/// Keys at a URL.
struct Remote {
    url: Url,
    client: reqwest::Client,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The keys that came last, and when they were asked for.
    keys: Option<(Arc<KeySet>, SystemTime)>,
    attempted: Option<SystemTime>,
    /// Whether the last attempt brought nothing.
    failed: bool,
    /// Closes when the fetch that is under way is over.
    running: Option<watch::Receiver<()>>,
}

impl State {
    fn usable(&self, now: SystemTime, lifetime: Duration) -> Option<Arc<KeySet>> {
        let (keys, at) = self.keys.as_ref()?;
        (age(*at, now) <= lifetime).then(|| Arc::clone(keys))
    }
}

impl Remote {
    fn new(url: &str) -> Result<Self, String> {
        let parsed = Url::parse(url).map_err(|error| error.to_string())?;
        let is_https = parsed.scheme() == "https";
        let is_local = parsed.scheme() == "http" && is_loopback(&parsed);
        if !is_https && !is_local {
            return Err("keys must come over https; plain http is for loopback hosts only".to_owned());
        }
        if !parsed.username().is_empty() || parsed.password().is_some() {
            return Err("the keys are public, leave the credentials out".to_owned());
        }
        let tls = tls::config(is_https).map_err(|error| error.to_string())?;
        let client = reqwest::Client::builder()
            .tls_backend_preconfigured(tls)
            .redirect(Policy::none())
            .no_proxy()
            .referer(false)
            .timeout(FETCH_TIME)
            .build()
            .map_err(|error| innermost(&error))?;
        Ok(Self { url: parsed, client, state: Mutex::default() })
    }

    /// What to wait for before looking at the keys, if anything.
    fn fetch_if_needed(
        self: &Arc<Self>,
        id: Option<&str>,
        now: SystemTime,
        lifetime: Lifetime,
    ) -> Option<watch::Receiver<()>> {
        let mut state = self.state();
        let has_key_for = |age| state.usable(now, age).is_some_and(|keys| keys.knows(id));
        if has_key_for(lifetime.fresh) {
            return None;
        }
        let can_do_without = state.failed && has_key_for(lifetime.whole());
        let may_attempt = state.attempted.is_none_or(|at| age(at, now) >= PAUSE);
        let running = match state.running.take().filter(|running| running.has_changed().is_ok()) {
            Some(running) => Some(running),
            None if may_attempt => Some(self.start_fetch(&mut state, now)),
            None => None,
        };
        state.running.clone_from(&running);
        // While the key server is down nobody waits for it who can be judged by the keys at hand.
        running.filter(|_| !can_do_without)
    }

    /// Starts a fetch in a task of its own: it goes on when the request that wanted it is cancelled, so that nobody can
    /// use up the attempts without ever making one.
    fn start_fetch(self: &Arc<Self>, state: &mut State, now: SystemTime) -> watch::Receiver<()> {
        state.attempted = Some(now);
        let (sender, receiver) = watch::channel(());
        let remote = Arc::clone(self);
        tokio::spawn(async move {
            let fetched = remote.fetch().await;
            let mut state = remote.state();
            state.failed = fetched.is_err();
            match fetched {
                Ok(keys) => {
                    tracing::debug!(url = %remote.url, keys = keys.len(), "fetched the issuer's keys");
                    state.keys = Some((Arc::new(keys), now));
                }
                Err(error) => tracing::warn!(url = %remote.url, %error, "cannot fetch the issuer's keys"),
            }
            drop(sender);
        });
        receiver
    }

    async fn fetch(&self) -> Result<KeySet, FetchError> {
        let mut response = self.client.get(self.url.clone()).send().await?;
        if response.status() != reqwest::StatusCode::OK {
            return Err(FetchError::Status(response.status().as_u16()));
        }
        let mut document = BytesMut::new();
        while let Some(chunk) = response.chunk().await? {
            if document.len() + chunk.len() > MAX_DOCUMENT {
                return Err(FetchError::TooLarge);
            }
            document.extend_from_slice(&chunk);
        }
        Ok(KeySet::parse(&document)?)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Remote").field("url", &self.url.as_str()).finish_non_exhaustive()
    }
}

/// Why a fetch brought nothing; for the log.
#[derive(Debug, thiserror::Error)]
enum FetchError {
    #[error("{0}")]
    Transport(String),
    #[error("the answer has status {0}, expected 200")]
    Status(u16),
    #[error("the document is larger than {MAX_DOCUMENT} bytes")]
    TooLarge,
    #[error(transparent)]
    Unusable(#[from] KeySetError),
}

impl From<reqwest::Error> for FetchError {
    fn from(error: reqwest::Error) -> Self {
        Self::Transport(if error.is_timeout() { "no answer in time".to_owned() } else { innermost(&error) })
    }
}

/// How long ago something was. A clock that was set back counts as one that went on: what it said then means nothing now.
fn age(then: SystemTime, now: SystemTime) -> Duration {
    now.duration_since(then).unwrap_or_else(|ahead| ahead.duration())
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(ip)) => ip.is_loopback(),
        Some(Host::Ipv6(ip)) => ip.is_loopback(),
        None => false,
    }
}

/// What the system said, below the layers that pass it on.
fn innermost(error: &dyn StdError) -> String {
    let mut error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    error.to_string()
}
