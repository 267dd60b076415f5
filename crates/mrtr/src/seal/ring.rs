//! A ring as it is at one moment: keys derived from secrets, the first of them seals.
//!
//! Whoever seals or opens takes the ring once and goes on with it: a change in between belongs to the next token.

use std::fmt;

use aes_gcm_siv::aead::{AeadInOut, KeyInit};
use aes_gcm_siv::{Aes256GcmSiv, Nonce};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use hkdf::Hkdf;
use sha2::Sha256;
use zeroize::Zeroizing;

use super::KeyringError;
use super::token::{KEY_ID_LEN, NONCE_LEN};

/// The shortest secret accepted, in bytes.
pub(super) const MIN_SECRET: usize = 32;

/// Keys with different ids, at least one.
pub(crate) struct Ring {
    keys: Box<[Key]>,
}

struct Key {
    id: [u8; KEY_ID_LEN],
    cipher: Aes256GcmSiv,
}

impl Ring {
    /// Derives the keys. Secrets are not kept; wiping them is up to their type.
    pub(super) fn derive(secrets: impl IntoIterator<Item = impl AsRef<[u8]>>) -> Result<Self, KeyringError> {
        let mut keys: Vec<Key> = Vec::new();
        for (index, secret) in secrets.into_iter().enumerate() {
            let secret = secret.as_ref();
            if secret.len() < MIN_SECRET {
                return Err(KeyringError::TooShort { position: index + 1, len: secret.len() });
            }
            let key = Key::derive(secret);
            if let Some(twin) = keys.iter().position(|other| other.id == key.id) {
                return Err(KeyringError::Repeated(twin + 1, index + 1));
            }
            keys.push(key);
        }
        if keys.is_empty() { Err(KeyringError::Empty) } else { Ok(Self { keys: keys.into() }) }
    }

    /// Reads base64url secrets separated by commas or white space; `#` and what follows it on its line is a comment.
    pub(super) fn parse(text: &str) -> Result<Self, KeyringError> {
        let lines = text.lines().map(|line| line.split_once('#').map_or(line, |(keys, _)| keys));
        let words = lines.flat_map(|line| line.split([',', ' ', '\t', '\r'])).filter(|word| !word.is_empty());
        let secrets = words.enumerate().map(|(index, word)| match URL_SAFE_NO_PAD.decode(word) {
            Ok(secret) => Ok(Zeroizing::new(secret)),
            Err(_) => Err(KeyringError::NotBase64(index + 1)),
        });
        Self::derive(secrets.collect::<Result<Vec<_>, _>>()?)
    }

    /// The public ids of the keys, in order, in hex.
    pub(super) fn fingerprints(&self) -> Vec<String> {
        self.keys.iter().map(|key| hex(&key.id)).collect()
    }

    /// Whether these are the same keys in the same order, as far as ids tell.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.keys.iter().map(|key| key.id).eq(other.keys.iter().map(|key| key.id))
    }

    /// The id of the key that seals.
    pub(super) fn sealing_id(&self) -> [u8; KEY_ID_LEN] {
        self.keys[0].id
    }

    /// Encrypts `buffer` in place with the first key and appends the tag.
    pub(super) fn encrypt(&self, nonce: &[u8; NONCE_LEN], header: &[u8], buffer: &mut Vec<u8>) {
        let sealed = self.keys[0].cipher.encrypt_in_place(&Nonce::from(*nonce), header, buffer);
        sealed.expect("a state is far below the 64 GiB limit of the cipher");
    }

    /// Decrypts `buffer` in place; `None` for an unknown key, `Some(false)` for a buffer that was not sealed with it.
    pub(super) fn decrypt(
        &self,
        id: [u8; KEY_ID_LEN],
        nonce: [u8; NONCE_LEN],
        header: &[u8],
        buffer: &mut Vec<u8>,
    ) -> Option<bool> {
        let key = self.keys.iter().find(|key| key.id == id)?;
        Some(key.cipher.decrypt_in_place(&Nonce::from(nonce), header, buffer).is_ok())
    }
}

impl Key {
    fn derive(secret: &[u8]) -> Self {
        let expand = Hkdf::<Sha256>::new(None, secret);
        let mut key = Zeroizing::new([0; 32]);
        let mut id = [0; KEY_ID_LEN];
        expand.expand(b"mrtr state m1 AES-256-GCM-SIV", &mut *key).expect("32 bytes are a valid output length");
        expand.expand(b"mrtr state m1 key id", &mut id).expect("4 bytes are a valid output length");
        Self { id, cipher: Aes256GcmSiv::new((&*key).into()) }
    }
}

/// Bytes as fingerprints and digests are shown.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Ids only: they are public, a part of every token.
impl fmt::Debug for Ring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.keys).finish()
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({})", hex(&self.id))
    }
}
