//! What operators see of a token, and what they are told about one they cannot see into.

use super::*;
use crate::seal::token::NONCE_LEN;
use crate::seal::{Cursors, audience};

const TOKEN: &str = include_str!("../../../../fixtures/state/m1.txt");

fn keys() -> Keyring {
    Keyring::new([[7; 32]]).expect("one key")
}

#[test]
fn every_entry_of_the_fixture_is_shown() {
    let Content::State(state) = keys().inspect(TOKEN.trim_end()).expect("a token").content else {
        panic!("it is a state");
    };
    let shown: Vec<String> = state
        .entries
        .iter()
        .map(|entry| format!("{} {} {} {:?}", entry.key, entry.kind, entry.progress, entry.reveal()))
        .collect();
    insta::assert_snapshot!(shown.join("\n"));
    assert_eq!(
        (state.operation.as_str(), state.waits, state.expires_ms),
        ("EBESExQVFhcYGRobHB0eHw", 7, 1_800_000_600_000)
    );
    assert_eq!(state.binding.request, "20e20897b38284da4ee774b29fdd4778");
    assert_eq!(state.binding.principal.as_deref(), Some("9067aab936cf05b792fd6b4f2e9d89c3"));
    assert!(state.entries.iter().all(|entry| entry.size > entry.key.len()));
}

#[test]
fn what_is_printed_by_accident_has_no_values() {
    let inspected = keys().inspect(TOKEN.trim_end()).expect("a token");
    let printed = format!("{inspected:?}");
    assert!(printed.contains("\"accepted\"") && !printed.contains("confirm") && !printed.contains("r-1"), "{printed}");
}

#[test]
fn a_cursor_is_shown() {
    let cursor = Cursors::new(audience("ours")).seal(&keys(), "tools/list", "deploy");
    let inspected = keys().inspect(&cursor).expect("a token");
    assert_eq!(inspected.fingerprint, keys().fingerprints()[0]);
    let Content::Cursor(place) = inspected.content else { panic!("it is a cursor") };
    assert_eq!((place.list.as_str(), place.last.as_str()), ("tools/list", "deploy"));
    assert_eq!(place.audience, audience("ours").to_hex());
}

#[test]
fn what_cannot_be_shown_says_what_to_do() {
    let token = TOKEN.trim_end();
    let fingerprint = keys().fingerprints().remove(0);
    let other = Keyring::new([[8; 32], [9; 32]]).expect("two keys");
    let changed = format!("{}{}{}", &token[..40], if &token[40..41] == "A" { "B" } else { "A" }, &token[41..]);
    let layout = token::encode(&keys(), STATE, [0; NONCE_LEN], b"short".to_vec());
    let broken = || InspectError::BrokenSeal { fingerprint: fingerprint.clone() };
    for (keys, token, error) in [
        (&keys(), "eyJhbGciOi", InspectError::UnknownKind { start: "eyJ".into() }),
        (&keys(), "", InspectError::UnknownKind { start: String::new() }),
        (&keys(), "m2.AAAA", InspectError::UnknownKind { start: "m2.".into() }),
        (&keys(), "ü\u{1b}", InspectError::UnknownKind { start: "ü\u{1b}".into() }),
        (&keys(), "m1.AAA=", InspectError::NotBase64),
        (&keys(), "m1.AAAAAAAA", InspectError::Truncated),
        (&keys(), &changed, broken()),
        (&keys(), &token.replace("m1.", "c1."), broken()),
        (&keys(), &layout, InspectError::Unreadable { fingerprint: fingerprint.clone() }),
        (&other, token, InspectError::UnknownKey { fingerprint: fingerprint.clone(), ring: other.fingerprints() }),
    ] {
        assert_eq!(keys.inspect(token), Err(error), "{token}");
    }
    let said = other.inspect(token).expect_err("another key").to_string();
    assert!(said.contains(&fingerprint) && said.contains(&other.fingerprints().join(", ")), "{said}");
    assert!(keys().inspect("?").expect_err("none").to_string().contains("m1. or s1. or c1."));
}

#[test]
fn a_handle_to_a_spilled_state_tells_where_that_is_kept() {
    let handle = Spilled::new([0xab; 16], "m1.state").seal(&keys(), [0; NONCE_LEN]);
    let inspected = keys().inspect(&handle).expect("its own seal");
    assert_eq!(inspected.content, Content::Spilled { at: "ab".repeat(16) });
    assert_eq!(inspected.content.to_string(), "spilled state");
}
