//! Sealed request states: what the server remembers, carried by the client, opened by any instance that has the key.
//!
//! A state is encrypted and authenticated (AES-256-GCM-SIV), bound to the request, the caller and the audience it was
//! made for, and short-lived. Time and randomness are arguments. `docs/state-format.md` describes the bytes.
//!
//! # Security
//! Whatever is wrong with a state, the peer reads one text; [`StateError`] is for the operator's log only.

mod binding;
mod claims;
mod cursor;
mod key_source;
mod keyring;
mod record;
mod ring;
mod spilled;
pub(crate) mod token;

pub(crate) use binding::{Binding, Digest, audience};
pub(crate) use claims::{CLOCK_SKEW, Claims, Opened, StateError};
pub(crate) use cursor::{Cursors, Place};
pub use keyring::{Keyring, KeyringError};
pub(crate) use record::Record;
pub(crate) use ring::hex;
pub(crate) use spilled::Spilled;
pub(crate) use token::NONCE_LEN;

/// Who the caller is: issuer and subject.
///
/// Never the access token: a token may be refreshed between two rounds, and the user is still the same.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Principal {
    /// Who vouches for the subject, usually the authorization server's issuer URL.
    pub issuer: String,
    /// The caller's identity at that issuer.
    pub subject: String,
}

impl Principal {
    /// Names a caller.
    pub fn new(issuer: impl Into<String>, subject: impl Into<String>) -> Self {
        Self { issuer: issuer.into(), subject: subject.into() }
    }
}
