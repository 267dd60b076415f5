//! The fuzz targets without a fuzzer: their seeds as they are, and their seeds with random edits.
//!
//! `PROPTEST_CASES=100000 cargo nextest run fuzz` looks harder.

use std::path::Path;

use proptest::prelude::*;
use proptest::sample::{Index, select};

use crate::properties;

proptest! {
    // What fails shrinks to something that becomes a test with a name; files of seeds would only be noise.
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_body_gets_a_reply_the_protocol_knows(body in input("frame")) {
        properties::frame(&body);
    }

    #[test]
    fn no_text_opens_but_the_state_that_was_sealed(data in input("token_open")) {
        properties::token_open(&data);
    }

    #[test]
    fn what_a_form_accepts_fits_its_schema(data in input("form_answer")) {
        properties::form_answer(&data);
    }

    #[cfg(feature = "client")]
    #[test]
    fn any_response_ends_a_call_or_is_answered_to_the_letter(response in input("client_reply")) {
        crate::properties_client::client_reply(&response);
    }
}

#[test]
fn seeds_hold() {
    seeds("frame").iter().for_each(|seed| properties::frame(seed));
    seeds("token_open").iter().for_each(|seed| properties::token_open(seed));
    seeds("form_answer").iter().for_each(|seed| properties::form_answer(seed));
    #[cfg(feature = "client")]
    seeds("client_reply").iter().for_each(|seed| crate::properties_client::client_reply(seed));
}

fn seeds(target: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds").join(target);
    let mut files: Vec<_> =
        std::fs::read_dir(&folder).expect("seeds").map(|file| file.expect("a file").path()).collect();
    files.sort();
    assert!(!files.is_empty(), "no seeds in {}", folder.display());
    files.iter().map(|file| std::fs::read(file).expect("a seed")).collect()
}

/// A seed with up to eight edits, or any bytes.
fn input(target: &str) -> impl Strategy<Value = Vec<u8>> {
    let edit = (any::<Index>(), 0..6_usize, inserted());
    let edited = (select(seeds(target)), prop::collection::vec(edit, 0..8)).prop_map(|(mut bytes, edits)| {
        for (at, removed, inserted) in edits {
            let at = at.index(bytes.len() + 1);
            let end = bytes.len().min(at + removed);
            bytes.splice(at..end, inserted);
        }
        bytes
    });
    prop_oneof![9 => edited, 1 => prop::collection::vec(any::<u8>(), 0..64)]
}

/// What breaks parsers, and what the protocol is made of.
fn inserted() -> impl Strategy<Value = Vec<u8>> {
    let words = [
        "",
        "{",
        "}",
        "[",
        "]",
        "\"",
        ":",
        ",",
        "\\",
        "\n",
        "null",
        "true",
        "0",
        "-1",
        "1.0",
        "1e400",
        "1e-7",
        "\\ud800",
        "\\u0000",
        "\u{202e}",
        "\u{1b}[2J",
        "\"id\":null,",
        "\"id\":2,",
        "\"_meta\":{},",
        "\"params\":{},",
        "\"method\":5,",
        "\"requestState\":\"m1.AAAA\",",
        "\"requestState\":null,",
        "\"inputResponses\":{\"confirm\":{\"action\":\"accept\"}},",
        "\"arguments\":{\"service\":\"a\"},",
        "\"type\":\"string\",",
        "\"type\":[\"integer\",\"null\"],",
        "\"enum\":[\"a\",\"b\"],",
        "\"$ref\":\"#\",",
        "\"default\":",
        "\"format\":\"date-time\",",
        "\"minimum\":",
        "\"maxLength\":3,",
        "\"required\":[\"a\"],",
        "\"pattern\":\"^a\",",
        "\"a\":",
        "\"action\":\"decline\"",
        "9007199254740993",
        "\"\"",
        "é",
        "\"resultType\":\"complete\",",
    ];
    let nested = (select(vec!["[", "{\"a\":"]), 1..200_usize).prop_map(|(open, depth)| open.repeat(depth).into_bytes());
    prop_oneof![
        8 => select(words.to_vec()).prop_map(|word| word.as_bytes().to_vec()),
        3 => prop::collection::vec(any::<u8>(), 0..4),
        1 => nested,
    ]
}
