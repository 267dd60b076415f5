//! The token: `m1.` and base64url of key id, nonce, ciphertext, tag. One text per token, no other spelling opens.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};

use super::{Keyring, StateError};

/// Version of everything behind it. A change to any of it is a new prefix.
const PREFIX: &str = "m1.";
pub(crate) const KEY_ID_LEN: usize = 4;
pub(crate) const NONCE_LEN: usize = 12;
const HEADER_LEN: usize = KEY_ID_LEN + NONCE_LEN;

/// Seals `payload` with the ring's first key.
///
/// GCM-SIV keeps its promises even if a nonce repeats, so random ones are safe for a whole fleet (RFC 8452, section 9).
pub(super) fn encode(keys: &Keyring, nonce: [u8; NONCE_LEN], mut payload: Vec<u8>) -> String {
    let id = keys.sealing_id();
    keys.encrypt(&nonce, &associated(id), &mut payload);
    let mut bytes = Vec::with_capacity(HEADER_LEN + payload.len());
    bytes.extend_from_slice(&id);
    bytes.extend_from_slice(&nonce);
    bytes.append(&mut payload);
    let mut token = String::with_capacity(PREFIX.len() + bytes.len().div_ceil(3) * 4);
    token.push_str(PREFIX);
    URL_SAFE_NO_PAD.encode_string(&bytes, &mut token);
    token
}

/// Opens a token and returns its payload.
///
/// An unknown key is reported apart from a broken seal: the first is usually a rotation that went too fast.
pub(super) fn decode(keys: &Keyring, token: &str) -> Result<Vec<u8>, StateError> {
    let encoded = token.strip_prefix(PREFIX).ok_or(StateError::NotOurs)?;
    // The decoder accepts no padding and no trailing bits: a second spelling of the same bytes is refused here.
    let bytes = URL_SAFE_NO_PAD.decode(encoded).map_err(|_| StateError::NotBase64)?;
    let (id, rest) = bytes.split_first_chunk::<KEY_ID_LEN>().ok_or(StateError::Truncated)?;
    let (nonce, sealed) = rest.split_first_chunk::<NONCE_LEN>().ok_or(StateError::Truncated)?;
    let mut payload = sealed.to_vec();
    match keys.decrypt(*id, *nonce, &associated(*id), &mut payload) {
        Some(true) => Ok(payload),
        Some(false) => Err(StateError::BrokenSeal),
        None => Err(StateError::UnknownKey),
    }
}

/// What the seal covers besides the payload: the version and the key id.
fn associated(id: [u8; KEY_ID_LEN]) -> [u8; 7] {
    let [a, b, c, d] = id;
    [b'm', b'1', b'.', a, b, c, d]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ring(byte: u8) -> Keyring {
        Keyring::new([[byte; 32]]).expect("one key")
    }

    #[test]
    fn what_was_sealed_opens_again() {
        let token = encode(&ring(1), [9; NONCE_LEN], b"payload".to_vec());
        assert!(token.starts_with("m1."));
        assert_eq!(decode(&ring(1), &token), Ok(b"payload".to_vec()));
    }

    #[test]
    fn every_other_text_is_refused() {
        let token = encode(&ring(1), [9; NONCE_LEN], b"payload".to_vec());
        let alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_=+/. ";
        for index in 0..token.len() {
            for other in alphabet.chars().filter(|c| !token[index..].starts_with(*c)) {
                let mut changed = token.clone();
                changed.replace_range(index..=index, &other.to_string());
                assert!(decode(&ring(1), &changed).is_err(), "{changed}");
            }
            assert!(decode(&ring(1), &token[..index]).is_err());
        }
        for added in [format!("{token}="), format!("{token}A"), format!(" {token}"), format!("{token}\n")] {
            assert!(decode(&ring(1), &added).is_err(), "{added:?}");
        }
    }

    #[test]
    fn a_token_of_another_ring_has_an_unknown_key() {
        let token = encode(&ring(1), [9; NONCE_LEN], b"payload".to_vec());
        assert_eq!(decode(&ring(2), &token), Err(StateError::UnknownKey));
    }
}
