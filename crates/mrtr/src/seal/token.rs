//! The token: its kind and base64url of key id, nonce, ciphertext, tag. One text per token, no other spelling opens.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};

use super::{Keyring, StateError};

/// What a token is, and the version of everything behind it: a change to any of it is a new prefix.
pub(crate) type Prefix = [u8; 3];
pub(crate) const STATE: &Prefix = b"m1.";
pub(crate) const CURSOR: &Prefix = b"c1.";
/// A handle to a state the ledger keeps.
pub(crate) const SPILLED: &Prefix = b"s1.";
/// What the ledger keeps to give again; as bytes, it never travels as text.
pub(super) const RECORD: &Prefix = b"r1.";

pub(crate) const KEY_ID_LEN: usize = 4;
pub(crate) const NONCE_LEN: usize = 12;
const HEADER_LEN: usize = KEY_ID_LEN + NONCE_LEN;

/// Seals `payload` with the ring's first key.
///
/// GCM-SIV keeps its promises even if a nonce repeats, so random ones are safe for a whole fleet (RFC 8452, section 9).
pub(crate) fn encode(keys: &Keyring, prefix: &Prefix, nonce: [u8; NONCE_LEN], payload: Vec<u8>) -> String {
    let sealed = encode_bytes(keys, prefix, nonce, payload);
    let mut token = String::with_capacity(prefix.len() + sealed.len().div_ceil(3) * 4);
    token.extend(prefix.iter().copied().map(char::from));
    URL_SAFE_NO_PAD.encode_string(&sealed, &mut token);
    token
}

/// As [`encode`], without the text around it; the prefix is sealed in all the same.
pub(super) fn encode_bytes(keys: &Keyring, prefix: &Prefix, nonce: [u8; NONCE_LEN], mut payload: Vec<u8>) -> Vec<u8> {
    let ring = keys.ring();
    let id = ring.sealing_id();
    ring.encrypt(&nonce, &associated(prefix, id), &mut payload);
    payload.splice(..0, id.into_iter().chain(nonce));
    payload
}

/// Opens a token and returns its payload.
pub(crate) fn decode(keys: &Keyring, prefix: &Prefix, token: &str) -> Result<Vec<u8>, StateError> {
    decode_bytes(keys, prefix, bytes(prefix, token)?)
}

/// Opens what [`encode_bytes`] sealed.
///
/// An unknown key is reported apart from a broken seal: the first is usually a rotation that went too fast.
pub(super) fn decode_bytes(keys: &Keyring, prefix: &Prefix, mut sealed: Vec<u8>) -> Result<Vec<u8>, StateError> {
    let (id, nonce) = head(&sealed)?;
    sealed.drain(..HEADER_LEN);
    match keys.ring().decrypt(id, nonce, &associated(prefix, id), &mut sealed) {
        Some(true) => Ok(sealed),
        Some(false) => Err(StateError::BrokenSeal),
        None => Err(StateError::UnknownKey),
    }
}

/// The id of the key a token says it was sealed with.
pub(crate) fn key_id(prefix: &Prefix, token: &str) -> Result<[u8; KEY_ID_LEN], StateError> {
    head(&bytes(prefix, token)?).map(|(id, _)| id)
}

fn bytes(prefix: &Prefix, token: &str) -> Result<Vec<u8>, StateError> {
    let encoded = token.as_bytes().strip_prefix(prefix).ok_or(StateError::NotOurs)?;
    // The decoder accepts no padding and no trailing bits: a second spelling of the same bytes is refused here.
    URL_SAFE_NO_PAD.decode(encoded).map_err(|_| StateError::NotBase64)
}

/// What a sealed payload begins with: the key's id and the nonce.
fn head(sealed: &[u8]) -> Result<([u8; KEY_ID_LEN], [u8; NONCE_LEN]), StateError> {
    let (id, rest) = sealed.split_first_chunk().ok_or(StateError::Truncated)?;
    Ok((*id, *rest.first_chunk().ok_or(StateError::Truncated)?))
}

/// What the seal covers besides the payload: the prefix and the key id.
fn associated(prefix: &Prefix, id: [u8; KEY_ID_LEN]) -> [u8; 7] {
    let ([x, y, z], [a, b, c, d]) = (*prefix, id);
    [x, y, z, a, b, c, d]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ring(byte: u8) -> Keyring {
        Keyring::new([[byte; 32]]).expect("one key")
    }

    #[test]
    fn what_was_sealed_opens_again() {
        let token = encode(&ring(1), STATE, [9; NONCE_LEN], b"payload".to_vec());
        assert!(token.starts_with("m1."));
        assert_eq!(decode(&ring(1), STATE, &token), Ok(b"payload".to_vec()));
    }

    #[test]
    fn every_other_text_is_refused() {
        let token = encode(&ring(1), STATE, [9; NONCE_LEN], b"payload".to_vec());
        let alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_=+/. ";
        for index in 0..token.len() {
            for other in alphabet.chars().filter(|c| !token[index..].starts_with(*c)) {
                let mut changed = token.clone();
                changed.replace_range(index..=index, &other.to_string());
                assert!(decode(&ring(1), STATE, &changed).is_err(), "{changed}");
            }
            assert!(decode(&ring(1), STATE, &token[..index]).is_err());
        }
        for added in [format!("{token}="), format!("{token}A"), format!(" {token}"), format!("{token}\n")] {
            assert!(decode(&ring(1), STATE, &added).is_err(), "{added:?}");
        }
    }

    #[test]
    fn a_token_of_another_ring_has_an_unknown_key() {
        let token = encode(&ring(1), STATE, [9; NONCE_LEN], b"payload".to_vec());
        assert_eq!(decode(&ring(2), STATE, &token), Err(StateError::UnknownKey));
    }
}
