//! The request state's bytes are a promise between instances of different versions: `fixtures/README.md`.

use std::collections::BTreeSet;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::Value;

use crate::flow::Journal;
use crate::seal::{Binding, Claims, Keyring, NONCE_LEN, Opened, Principal, audience};
use crate::wire::json;

const TOKEN: &str = include_str!("../../../../fixtures/state/m1.txt");
const CLAIMS: &str = include_str!("../../../../fixtures/state/m1.json");

const NONCE: [u8; NONCE_LEN] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11];
/// When the token was sealed, for [`LIFETIME`].
const SEALED: Duration = Duration::from_secs(1_800_000_000);
const LIFETIME: Duration = Duration::from_secs(600);

fn keys() -> Keyring {
    Keyring::parse("BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc").expect("the key of the fixtures")
}

fn binding() -> Binding {
    let arguments = json::canonical(r#"{"service":"api"}"#).expect("JSON");
    let ann = Principal::new("https://id.example", "ann");
    Binding::new("tools/call", "deploy", &arguments, Some(&ann), audience("releases"))
}

fn claims() -> Claims<Journal> {
    serde_json::from_str(CLAIMS).expect("claims")
}

fn now() -> SystemTime {
    UNIX_EPOCH + SEALED
}

#[test]
fn a_state_of_an_earlier_version_opens() {
    let opened = Claims::open_at(&keys(), TOKEN.trim_end(), &binding(), now());
    assert_eq!(opened, Ok(Opened::Live(claims())));
}

#[test]
fn the_same_claims_are_sealed_as_the_same_text() {
    assert_eq!(claims().seal_at(&keys(), NONCE, now(), LIFETIME), TOKEN.trim_end());
}

#[test]
fn the_fixture_has_every_kind_place_state_and_answer() {
    let mut claims: Value = serde_json::from_str(CLAIMS).expect("JSON");
    let journal = claims["journal"].take();
    for enumeration in ["/kind", "/place", "/state", "/state/Answered/answer"] {
        let entries = journal.as_array().expect("entries").iter();
        let used: BTreeSet<_> = entries.filter_map(|entry| entry.pointer(enumeration)).map(variant).collect();
        assert_eq!(used, known(journal.clone(), enumeration), "{enumeration}");
    }
}

fn variant(value: &Value) -> String {
    match value {
        Value::Object(variant) => variant.keys().next().cloned().unwrap_or_default(),
        unit => unit.as_str().unwrap_or_default().to_owned(),
    }
}

/// The variants there are, from the complaint about one that is not.
fn known(mut journal: Value, enumeration: &str) -> BTreeSet<String> {
    let mut entries = journal.as_array_mut().expect("entries").iter_mut();
    *entries.find_map(|entry| entry.pointer_mut(enumeration)).expect("an entry that has it") = "NoSuch".into();
    let complaint = serde_json::from_value::<Journal>(journal).expect_err(enumeration).to_string();
    complaint.split('`').skip(3).step_by(2).map(str::to_owned).collect()
}
