//! The keys: the first seals, all of them open.

use std::fmt;
use std::sync::Arc;

use aes_gcm_siv::aead::{AeadInOut, KeyInit};
use aes_gcm_siv::{Aes256GcmSiv, Nonce};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use hkdf::Hkdf;
use sha2::Sha256;
use thiserror::Error;
use zeroize::Zeroizing;

use super::token::{KEY_ID_LEN, NONCE_LEN};

/// The shortest secret accepted, in bytes.
const MIN_SECRET: usize = 32;

/// The operator's keys. All instances of a fleet share them; nothing else is shared.
///
/// Rotation without a refused state: `[old, new]`, then `[new, old]`, then `[new]`, each step rolled out everywhere and
/// the last one taken when the states of the second-to-last have expired.
///
/// ```
/// use mrtr::Keyring;
/// let keys = Keyring::parse(&Keyring::generate())?;
/// assert!(format!("{keys:?}").starts_with("Keyring([Key("));
/// # Ok::<(), mrtr::KeyringError>(())
/// ```
///
/// # Security
/// Secrets are wiped after the sealing keys are derived from them (HKDF-SHA256), derived keys when the ring is dropped.
/// `Debug` shows key ids, which are public: they are part of every state.
#[derive(Clone)]
pub struct Keyring {
    keys: Arc<[Key]>,
}

struct Key {
    id: [u8; KEY_ID_LEN],
    cipher: Aes256GcmSiv,
}

/// Why a keyring could not be made. The text never contains key material.
#[derive(Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeyringError {
    /// The environment variable is not set.
    #[error("environment variable {0} is not set; `mrtr keygen` prints a key for it")]
    NotSet(String),
    /// Nothing to seal with.
    #[error("a keyring needs at least one key; `mrtr keygen` prints one")]
    Empty,
    /// Not base64url.
    #[error("key {0} is not unpadded base64url; `mrtr keygen` prints a valid one")]
    NotBase64(usize),
    /// Shorter than 32 bytes.
    #[error("key {position} has {len} bytes; at least {MIN_SECRET} are needed, and `mrtr keygen` prints that many")]
    TooShort {
        /// Which key, counted from 1.
        position: usize,
        /// How many bytes it has.
        len: usize,
    },
    /// The same key twice, or two keys whose ids collide.
    #[error("keys {0} and {1} are the same")]
    Repeated(usize, usize),
}

/// As `Display` has it: what `main` returns is printed this way, and a variant's name tells nobody what to do.
impl fmt::Debug for KeyringError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Keyring {
    /// Derives the ring from secrets of at least 32 bytes; the first one seals.
    ///
    /// # Errors
    /// No secret, one that is too short, or the same one twice.
    pub fn new(secrets: impl IntoIterator<Item = impl AsRef<[u8]>>) -> Result<Self, KeyringError> {
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

    /// Reads keys as `mrtr keygen` prints them, separated by commas or white space; the first one seals.
    ///
    /// # Errors
    /// As [`Keyring::new`], or a key that is not unpadded base64url.
    pub fn parse(text: &str) -> Result<Self, KeyringError> {
        let words = text.split([',', ' ', '\t', '\r', '\n']).filter(|word| !word.is_empty());
        let secrets = words.enumerate().map(|(index, word)| match URL_SAFE_NO_PAD.decode(word) {
            Ok(secret) => Ok(Zeroizing::new(secret)),
            Err(_) => Err(KeyringError::NotBase64(index + 1)),
        });
        Self::new(secrets.collect::<Result<Vec<_>, _>>()?)
    }

    /// Reads keys from an environment variable, in the form [`Keyring::parse`] takes.
    ///
    /// # Errors
    /// As [`Keyring::parse`], or the variable is not set.
    pub fn from_env(variable: &str) -> Result<Self, KeyringError> {
        let text = std::env::var(variable).map_err(|error| match error {
            std::env::VarError::NotPresent => KeyringError::NotSet(variable.to_owned()),
            std::env::VarError::NotUnicode(_) => KeyringError::NotBase64(1),
        })?;
        Self::parse(&Zeroizing::new(text))
    }

    /// A ring with one random key. States sealed with it open in this process only.
    pub fn random() -> Self {
        Self { keys: Arc::new([Key::derive(&*random_secret())]) }
    }

    /// A new random key as text, for [`Keyring::parse`] and [`Keyring::from_env`].
    pub fn generate() -> String {
        URL_SAFE_NO_PAD.encode(random_secret())
    }

    /// The public ids of the keys, in order, in hex.
    pub fn fingerprints(&self) -> Vec<String> {
        self.keys.iter().map(|key| hex(&key.id)).collect()
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

fn random_secret() -> Zeroizing<[u8; 32]> {
    Zeroizing::new(rand::random())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl fmt::Debug for Keyring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Keyring").field(&self.keys).finish()
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({})", hex(&self.id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_read_as_keygen_prints_them() {
        let (a, b) = (Keyring::generate(), Keyring::generate());
        let ring = Keyring::parse(&format!(" {a},\n{b}\n")).expect("two keys");
        assert_eq!(ring.fingerprints().len(), 2);
        assert_eq!(ring.fingerprints()[0], Keyring::parse(&a).expect("one key").fingerprints()[0]);
    }

    #[test]
    fn errors_name_the_key_and_never_show_it() {
        let good = Keyring::generate();
        for (text, error) in [
            (String::new(), KeyringError::Empty),
            (format!("{good},not base64!"), KeyringError::NotBase64(2)),
            (format!("{good},c2hvcnQ"), KeyringError::TooShort { position: 2, len: 5 }),
            (format!("{good} {good}"), KeyringError::Repeated(1, 2)),
        ] {
            assert_eq!(Keyring::parse(&text).expect_err("refused"), error);
            assert!(!error.to_string().contains(&good));
        }
        let error = Keyring::from_env("MRTR_TEST_NO_SUCH_VARIABLE").expect_err("not set");
        assert!(error.to_string().contains("MRTR_TEST_NO_SUCH_VARIABLE"), "{error}");
    }

    #[test]
    fn an_error_that_main_returns_says_what_to_do() {
        let error: Box<dyn std::error::Error> = Keyring::parse("garbage!").expect_err("no key").into();
        assert_eq!(format!("{error:?}"), "key 1 is not unpadded base64url; `mrtr keygen` prints a valid one");
    }

    #[test]
    fn debug_shows_the_id_and_nothing_else() {
        let ring = Keyring::new([[7; 32]]).expect("one key");
        assert_eq!(format!("{ring:?}"), format!("Keyring([Key({})])", ring.fingerprints()[0]));
    }
}
