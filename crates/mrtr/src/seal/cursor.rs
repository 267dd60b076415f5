//! Cursors: where a list goes on, sealed with the keys of the states and never to be taken for one.

use serde::{Deserialize, Serialize};

use super::token::{self, CURSOR, NONCE_LEN};
use super::{Digest, Keyring};

/// The nonce of all cursors. One made of the text would let guesses at the text be checked without the key.
const NONCE: [u8; NONCE_LEN] = [0; NONCE_LEN];

/// The cursors of one service.
///
/// They hold nothing that ages or belongs to a caller, and a place in a list has one cursor, so that caches can tell
/// pages apart. GCM-SIV allows it: under one nonce it tells that two texts are equal, and nothing else of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cursors {
    audience: Digest,
}

/// What a cursor holds.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Place<'a> {
    pub(crate) audience: Digest,
    pub(crate) list: &'a str,
    pub(crate) last: &'a str,
}

impl<'a> Place<'a> {
    /// Reads what was sealed, whoever presents it.
    pub(crate) fn read(payload: &'a [u8]) -> Option<Self> {
        let (place, rest) = postcard::take_from_bytes(payload).ok()?;
        rest.is_empty().then_some(place)
    }
}

impl Cursors {
    pub(crate) fn new(audience: Digest) -> Self {
        Self { audience }
    }

    /// The cursor behind the entry `last` of `list`.
    pub(crate) fn seal(&self, keys: &Keyring, list: &str, last: &str) -> String {
        let place = Place { audience: self.audience, list, last };
        let payload = postcard::to_allocvec(&place).expect("texts and digests can always be written");
        token::encode(keys, CURSOR, NONCE, payload)
    }

    /// The entry behind which `list` goes on; `None` for whatever was not sealed for that.
    pub(crate) fn open(&self, keys: &Keyring, list: &str, cursor: &str) -> Option<String> {
        let payload = token::decode(keys, CURSOR, cursor).ok()?;
        let place = Place::read(&payload)?;
        (place.audience == self.audience && place.list == list).then(|| place.last.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seal::audience;

    #[test]
    fn a_cursor_opens_for_its_own_list_of_its_own_service_only() {
        let keys = Keyring::new([[1; 32]]).expect("one key");
        let ours = Cursors::new(audience("ours"));
        let cursor = ours.seal(&keys, "tools/list", "deploy");
        assert_eq!(ours.open(&keys, "tools/list", &cursor).as_deref(), Some("deploy"));
        assert_eq!(cursor, ours.seal(&keys, "tools/list", "deploy"), "a place has one cursor");
        assert_eq!(ours.open(&keys, "prompts/list", &cursor), None);
        assert_eq!(Cursors::new(audience("other")).open(&keys, "tools/list", &cursor), None);
        assert_eq!(ours.open(&Keyring::random(), "tools/list", &cursor), None);
        assert_eq!(ours.open(&keys, "tools/list", &cursor.replace("c1.", "m1.")), None);
        assert!(token::decode(&keys, token::STATE, &cursor.replace("c1.", "m1.")).is_err(), "nor is it a state");
    }
}
