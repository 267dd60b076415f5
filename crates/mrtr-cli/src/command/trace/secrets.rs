//! What no trace shows: the values of headers that the user gave.

use std::borrow::Cow;
use std::sync::{Mutex, PoisonError};

use hyper::HeaderMap;
use hyper::header::{COOKIE, PROXY_AUTHORIZATION, SET_COOKIE};
use url::Url;

/// The values seen so far that are secret, wherever they turn up.
#[derive(Debug)]
pub(super) struct Secrets(Mutex<Vec<String>>);

/// What stands in the place of a secret.
pub(super) const NOT_SHOWN: &str = "(not shown)";

impl Secrets {
    /// Starts with what the server's URL has in it: errors name the server.
    pub(super) fn of(server: &str) -> Self {
        let url = Url::parse(server).ok();
        let password = url.as_ref().and_then(Url::password).filter(|password| password.len() >= SHORTEST);
        Self(Mutex::new(password.map(str::to_owned).into_iter().collect()))
    }

    /// Learns the secrets of a request. What a scheme such as `Bearer` names is one by itself.
    pub(super) fn learn(&self, headers: &HeaderMap) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for value in headers.values().filter(|value| value.is_sensitive()) {
            let Ok(text) = value.to_str() else { continue };
            let token = text.split_once(' ').map_or("", |(_, token)| token.trim());
            for secret in [text, token] {
                // Shorter ones would be found in any text.
                if secret.len() >= SHORTEST && !known.iter().any(|it| it == secret) {
                    known.push(secret.to_owned());
                }
            }
        }
    }

    /// Takes the secrets out of a text: servers may echo what they were sent.
    pub(super) fn scrub<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut text = Cow::Borrowed(text);
        for secret in known.iter() {
            let escaped = serde_json::Value::from(secret.as_str()).to_string();
            for spelling in [secret.as_str(), escaped.trim_matches('"')] {
                if text.contains(spelling) {
                    text = Cow::Owned(text.replace(spelling, NOT_SHOWN));
                }
            }
        }
        text
    }

    /// Returns headers as they may be shown.
    pub(super) fn headers(&self, headers: &HeaderMap) -> Vec<(String, String)> {
        let shown = |(name, value): (&hyper::header::HeaderName, &hyper::header::HeaderValue)| {
            let is_secret = value.is_sensitive() || [SET_COOKIE, COOKIE, PROXY_AUTHORIZATION].contains(name);
            let text = String::from_utf8_lossy(value.as_bytes());
            let text = if is_secret { NOT_SHOWN.to_owned() } else { self.scrub(&text).into_owned() };
            (name.as_str().to_owned(), text)
        };
        headers.iter().map(shown).collect()
    }
}

const SHORTEST: usize = 6;
