//! What is inside a token, for the operator who has the key.
//!
//! [`Keyring::inspect`] opens a token without the request it belongs to, expired or not, and tells what it holds. That is
//! for looking at: nothing of it proves that whoever presented the token may use it, so servers do not act on it.
//! `mrtr state inspect` prints it.
//!
//! A new kind of token is a line in `KINDS`, a variant of [`Content`] and a function that reads it.

mod state;

use std::fmt;

pub use self::state::{InspectedBinding, InspectedEntry, InspectedState, Progress};
use crate::Keyring;
use crate::seal::token::{self, CURSOR, Prefix, SPILLED, STATE};
use crate::seal::{Place, Spilled, StateError, hex};

/// A token that was opened.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Inspected {
    /// The id of the key it is sealed with, in hex.
    pub fingerprint: String,
    /// What it holds.
    pub content: Content,
}

/// What a token holds, by its kind.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Content {
    /// `m1.`: the state of an operation.
    State(InspectedState),
    /// `s1.`: a handle to a state that is too large to travel.
    #[non_exhaustive]
    Spilled {
        /// Where the ledger keeps it, in hex: as [`EntryKey`](crate::ledger::EntryKey) shows it.
        at: String,
    },
    /// `c1.`: the place where a list goes on.
    Cursor(InspectedCursor),
}

/// What a cursor holds.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InspectedCursor {
    /// The digest of the audience it was made for, in hex.
    pub audience: String,
    /// The method whose list it continues.
    pub list: String,
    /// The name or URI of the last entry that was shown.
    pub last: String,
}

/// Why a token cannot be shown. The text says what to do about it.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum InspectError {
    /// It starts like no token of this version.
    #[error(
        "a token starts with {}, and this starts with {start:?}: give the text of requestState or nextCursor, whole and without quotes",
        known()
    )]
    UnknownKind {
        /// Its first characters, three at most.
        start: String,
    },
    /// What follows the prefix is no text a server sends.
    #[error("what follows its prefix is not canonical base64url: it was cut off or changed where it was copied")]
    NotBase64,
    /// Too short to hold a key id and a nonce.
    #[error("it is cut off: there is too little of it to say which key it needs")]
    Truncated,
    /// None of these keys sealed it.
    #[error("it is sealed with key {fingerprint}, and the keyring has {}: give the keys of the servers that made it, or those from before a rotation", ring.join(", "))]
    UnknownKey {
        /// The id of the key it needs, in hex.
        fingerprint: String,
        /// The ids there are, in hex.
        ring: Vec<String>,
    },
    /// The key is right and the bytes are not.
    #[error(
        "key {fingerprint} is in the keyring and its seal is broken: it was cut off or changed after it was sealed"
    )]
    BrokenSeal {
        /// The id of the key, in hex.
        fingerprint: String,
    },
    /// Sealed with the right key, by a version with another layout.
    #[error("key {fingerprint} opens it and its content has another layout: use the mrtr of the servers that made it")]
    Unreadable {
        /// The id of the key, in hex.
        fingerprint: String,
    },
}

impl Keyring {
    /// Opens a token a server sealed with one of these keys, whatever request it was made for and however old it is.
    ///
    /// ```
    /// use mrtr::Keyring;
    /// use mrtr::inspect::{Content, InspectError};
    ///
    /// let keys = Keyring::parse("BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc")?;
    /// let token = include_str!("../../../../fixtures/state/m1.txt").trim_end();
    /// let inspected = keys.inspect(token)?;
    /// let Content::State(state) = &inspected.content else { panic!("it is a state") };
    /// assert_eq!((state.round, state.entries[0].key.as_str()), (300, "accepted"));
    /// assert_eq!(state.entries[0].reveal(), Some(r#"{"confirm":true}"#));
    ///
    /// let other = Keyring::random().inspect(token);
    /// assert!(matches!(other, Err(InspectError::UnknownKey { fingerprint, .. }) if fingerprint == inspected.fingerprint));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// What is no token, was changed, or needs another key or version.
    ///
    /// # Security
    /// For the operator's eyes. A server that acted on what this returns would take any caller's state for any request.
    pub fn inspect(&self, token: &str) -> Result<Inspected, InspectError> {
        let Some((prefix, read)) = KINDS.iter().find(|(prefix, _)| token.as_bytes().starts_with(*prefix)) else {
            return Err(InspectError::UnknownKind { start: token.chars().take(3).collect() });
        };
        let id = token::key_id(prefix, token).map_err(|error| self.explain(error, String::new()))?;
        let fingerprint = hex(&id);
        let opened = token::decode(self, prefix, token).and_then(|payload| read(&payload));
        match opened {
            Ok(content) => Ok(Inspected { fingerprint, content }),
            Err(error) => Err(self.explain(error, fingerprint)),
        }
    }

    fn explain(&self, error: StateError, fingerprint: String) -> InspectError {
        match error {
            StateError::NotBase64 => InspectError::NotBase64,
            StateError::Truncated => InspectError::Truncated,
            StateError::UnknownKey => InspectError::UnknownKey { fingerprint, ring: self.fingerprints() },
            StateError::BrokenSeal => InspectError::BrokenSeal { fingerprint },
            _ => InspectError::Unreadable { fingerprint },
        }
    }
}

type Read = fn(&[u8]) -> Result<Content, StateError>;

/// The kinds of tokens, and what reads the payload of each.
const KINDS: [(&Prefix, Read); 3] = [(STATE, state::read), (SPILLED, spilled), (CURSOR, cursor)];

fn spilled(payload: &[u8]) -> Result<Content, StateError> {
    Ok(Content::Spilled { at: hex(&Spilled::read(payload)?.at) })
}

fn cursor(payload: &[u8]) -> Result<Content, StateError> {
    let place = Place::read(payload).ok_or(StateError::Unreadable)?;
    Ok(Content::Cursor(InspectedCursor {
        audience: place.audience.to_hex(),
        list: place.list.to_owned(),
        last: place.last.to_owned(),
    }))
}

/// The prefixes, for the error that misses one.
fn known() -> String {
    let prefixes: Vec<String> = KINDS.iter().map(|(prefix, _)| String::from_utf8_lossy(*prefix).into_owned()).collect();
    prefixes.join(" or ")
}

impl fmt::Display for Content {
    /// The kind of token, in a word.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::State(_) => "state",
            Self::Spilled { .. } => "spilled state",
            Self::Cursor(_) => "cursor",
        })
    }
}

#[cfg(test)]
mod tests;
