//! States too large to travel: kept by the ledger, and what travels is a sealed handle.

use serde::{Deserialize, Serialize};

use super::token::{self, NONCE_LEN, SPILLED};
use super::{Digest, Keyring, StateError};

/// A handle to a sealed state that is kept elsewhere. What is kept is a state like any other, bound and short-lived:
/// whoever gets hold of the store has gained nothing, and one that gives back another state is found out.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Spilled {
    /// Where it is kept.
    pub(crate) at: [u8; 16],
    state: Digest,
}

impl Spilled {
    /// A handle to `state`, kept at `at`.
    pub(crate) fn new(at: [u8; 16], state: &str) -> Self {
        Self { at, state: digest(state.as_bytes()) }
    }

    /// Whether a token is such a handle, or would be if its seal is right.
    pub(crate) fn is_meant(token: &str) -> bool {
        token.as_bytes().starts_with(SPILLED)
    }

    pub(crate) fn seal(&self, keys: &Keyring, nonce: [u8; NONCE_LEN]) -> String {
        let payload = postcard::to_allocvec(self).expect("handles hold nothing postcard cannot write");
        token::encode(keys, SPILLED, nonce, payload)
    }

    /// # Errors
    /// As for a state.
    pub(crate) fn open(keys: &Keyring, token: &str) -> Result<Self, StateError> {
        Self::read(&token::decode(keys, SPILLED, token)?)
    }

    /// What a handle's payload says.
    pub(crate) fn read(payload: &[u8]) -> Result<Self, StateError> {
        match postcard::take_from_bytes(payload) {
            Ok((handle, [])) => Ok(handle),
            _ => Err(StateError::Unreadable),
        }
    }

    /// What was kept, if it is the state this handle was made for.
    pub(crate) fn check(&self, kept: Vec<u8>) -> Result<String, StateError> {
        if digest(&kept) != self.state {
            return Err(StateError::BrokenSeal);
        }
        String::from_utf8(kept).map_err(|_| StateError::Unreadable)
    }
}

fn digest(state: &[u8]) -> Digest {
    Digest::of("spilled state", &[state])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_takes_back_the_state_it_was_made_for_and_no_other() {
        let keys = Keyring::new([[1; 32]]).expect("one key");
        let token = Spilled::new([7; 16], "m1.state").seal(&keys, [0; NONCE_LEN]);
        assert!(Spilled::is_meant(&token) && !Spilled::is_meant("m1.state"));
        let handle = Spilled::open(&keys, &token).expect("its own seal");
        assert_eq!((handle.at, handle.check(b"m1.state".to_vec()).as_deref()), ([7; 16], Ok("m1.state")));
        assert_eq!(handle.check(b"m1.other".to_vec()), Err(StateError::BrokenSeal));
        assert!(Spilled::open(&keys, &token.replace("s1.", "m1.")).is_err());
        assert!(Spilled::open(&Keyring::random(), &token).is_err());
    }
}
