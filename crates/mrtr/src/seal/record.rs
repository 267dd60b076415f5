//! What the ledger keeps of a leg: sealed, and good for one entry only.

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::token::{self, NONCE_LEN, RECORD};
use super::{Keyring, StateError};

/// A value and the entry it belongs to: a store that mixes its entries up is found out.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Record<T> {
    entry: [u8; 16],
    value: T,
}

impl<T> Record<T> {
    /// Seals what is to be given again for `entry`.
    pub(crate) fn seal(keys: &Keyring, nonce: [u8; NONCE_LEN], entry: [u8; 16], value: T) -> Vec<u8>
    where
        T: Serialize,
    {
        let payload =
            postcard::to_allocvec(&Self { entry, value }).expect("records hold nothing postcard cannot write");
        token::encode_bytes(keys, RECORD, nonce, payload)
    }

    /// What was sealed for `entry`.
    ///
    /// # Errors
    /// It was not sealed by this ring, not for this entry, or by a version with another layout.
    pub(crate) fn open(keys: &Keyring, entry: [u8; 16], sealed: Vec<u8>) -> Result<T, StateError>
    where
        T: DeserializeOwned,
    {
        let payload = token::decode_bytes(keys, RECORD, sealed)?;
        match postcard::take_from_bytes::<Self>(&payload) {
            Ok((record, [])) if record.entry == entry => Ok(record.value),
            Ok((_, [])) => Err(StateError::OtherRequest),
            _ => Err(StateError::Unreadable),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_opens_for_its_own_entry_only() {
        let keys = Keyring::new([[1; 32]]).expect("one key");
        let sealed = Record::seal(&keys, [0; NONCE_LEN], [5; 16], "paid".to_owned());
        let open = |entry, sealed: &[u8]| Record::<String>::open(&keys, entry, sealed.to_vec());
        assert_eq!(open([5; 16], &sealed).as_deref(), Ok("paid"));
        assert_eq!(open([6; 16], &sealed), Err(StateError::OtherRequest));
        assert_eq!(open([5; 16], &sealed[1..]), Err(StateError::UnknownKey));
        assert_eq!(open([5; 16], b"rubbish"), Err(StateError::Truncated));
        let mut changed = sealed;
        *changed.last_mut().expect("a tag") ^= 1;
        assert_eq!(open([5; 16], &changed), Err(StateError::BrokenSeal));
    }
}
