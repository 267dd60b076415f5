//! Where keys come from, how they change, and what never shows.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

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

#[test]
fn comments_are_no_keys() {
    let (a, b) = (Keyring::generate(), Keyring::generate());
    let text = format!("# the keys of releases\r\n{a}  # since spring\r\n\n  # {}\r\n{b}", Keyring::generate());
    let plain = Keyring::parse(&format!("{a},{b}")).expect("two keys");
    assert_eq!(Keyring::parse(&text).expect("two keys").fingerprints(), plain.fingerprints());
    assert_eq!(Keyring::parse("# nothing else").expect_err("refused"), KeyringError::Empty);
}

/// A file of this test alone, gone with it.
struct KeysFile(PathBuf);

impl KeysFile {
    fn of(text: &str) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("mrtr-keys-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let file = Self(std::env::temp_dir().join(name));
        file.write(text);
        file
    }

    fn write(&self, text: &str) {
        std::fs::write(&self.0, text).expect("a file");
    }
}

impl Drop for KeysFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn a_file_is_read_again_for_all_clones() {
    let (old, new) = (Keyring::generate(), Keyring::generate());
    let file = KeysFile::of(&old);
    let keys = Keyring::from_file(&file.0).expect("one key");
    let clone = keys.clone();
    assert_eq!(keys.reload(), Ok(false));
    file.write(&format!("{new} {old}"));
    assert_eq!(keys.reload(), Ok(true));
    assert_eq!(clone.fingerprints(), Keyring::parse(&format!("{new},{old}")).expect("two keys").fingerprints());
    assert_eq!(clone.reload(), Ok(false));
    file.write(&format!("{old} {new}"));
    assert_eq!(clone.reload(), Ok(true), "the order is what counts");
}

#[test]
fn a_file_that_is_wrong_is_named_and_changes_nothing() {
    let key = Keyring::generate();
    let file = KeysFile::of(&key);
    let keys = Keyring::from_file(&file.0).expect("one key");
    let before = keys.fingerprints();
    let long = format!("{key}\n{}", "#".repeat(70_000));
    for (text, said) in [
        ("", "a keyring needs at least one key; `mrtr keygen` prints one"),
        ("c2hvcnQ", "key 1 has 5 bytes; at least 32 are needed"),
        ("not/base64", "key 1 is not unpadded base64url"),
        (&long, "cannot be read: it is longer than 65536 bytes"),
    ] {
        file.write(text);
        let error = keys.reload().expect_err("refused").to_string();
        assert!(error.contains(said) && error.contains(&*file.0.to_string_lossy()), "{error}");
        assert_eq!(keys.fingerprints(), before);
    }
    std::fs::write(&file.0, [0xff; 40]).expect("a file");
    assert!(keys.reload().expect_err("refused").to_string().contains("it is not text"));
    std::fs::remove_file(&file.0).expect("removed");
    let error = keys.reload().expect_err("refused").to_string();
    assert!(error.starts_with("the keys file /") && error.contains("cannot be read: "), "{error}");
    assert_eq!(Keyring::from_file(&file.0).expect_err("refused").to_string(), error);
    assert_eq!(keys.fingerprints(), before);
}

#[test]
fn a_function_is_asked_again_and_may_fail() {
    let asked = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&asked);
    let keys = Keyring::from_fn(move || match count.fetch_add(1, Ordering::Relaxed) {
        0 | 1 => Ok(vec![Zeroizing::new(vec![1; 32])]),
        2 => Err("the key service is down"),
        _ => Ok(vec![Zeroizing::new(vec![2; 32]), Zeroizing::new(vec![1; 32])]),
    })
    .expect("one key");
    assert_eq!(keys.reload(), Ok(false));
    assert_eq!(keys.reload(), Err(KeyringError::Source("the key service is down".into())));
    assert_eq!(keys.fingerprints().len(), 1);
    assert_eq!(keys.reload(), Ok(true));
    assert_eq!(keys.fingerprints().len(), 2);
    assert_eq!(asked.load(Ordering::Relaxed), 4);
}

#[test]
fn keys_can_be_replaced_whatever_they_came_from() {
    let keys = Keyring::new([[1; 32]]).expect("one key");
    let clone = keys.clone();
    assert_eq!(keys.reload(), Ok(false), "there is nothing to read again");
    assert_eq!(keys.replace([[2; 32], [1; 32]]), Ok(true));
    assert_eq!(clone.fingerprints(), Keyring::new([[2; 32], [1; 32]]).expect("two keys").fingerprints());
    assert_eq!(keys.replace([[2; 32], [1; 32]]), Ok(false));
    assert_eq!(keys.replace([[3; 8]]), Err(KeyringError::TooShort { position: 1, len: 8 }));
    assert_eq!(clone.fingerprints().len(), 2);
}

#[test]
fn only_what_can_change_is_loaded_again() {
    let file = KeysFile::of(&Keyring::generate());
    let from_file = Keyring::from_file(&file.0).expect("one key");
    let from_fn = Keyring::from_fn(|| Ok::<_, String>(vec![[1; 32]])).expect("one key");
    let fixed = Keyring::random();
    assert_eq!([&from_file, &from_fn, &fixed].map(Keyring::is_reloadable), [true, true, false]);
    assert_eq!([&from_file, &from_fn, &fixed].map(Keyring::looks), [Some(Duration::from_secs(5)), None, None]);
    assert_eq!(from_file.look_every(Duration::ZERO).looks(), Some(Duration::from_millis(10)));
}

#[test]
fn whoever_seals_while_keys_change_uses_one_ring() {
    use crate::seal::token::{self, NONCE_LEN, STATE};

    let keys = Keyring::new([[1; 32]]).expect("one key");
    let both = Keyring::new([[1; 32], [2; 32]]).expect("two keys");
    std::thread::scope(|scope| {
        let sealing = scope.spawn(|| {
            for _ in 0..2_000 {
                let token = token::encode(&keys, STATE, [0; NONCE_LEN], b"payload".to_vec());
                assert_eq!(token::decode(&both, STATE, &token).as_deref(), Ok(&b"payload"[..]));
            }
        });
        let mut byte = 1;
        while !sealing.is_finished() {
            byte = 3 - byte;
            keys.replace([[byte; 32]]).expect("one key");
        }
    });
}
