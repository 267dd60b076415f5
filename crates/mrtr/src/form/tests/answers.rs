//! Answers judged against strict forms.

use serde_json::json;

use super::*;

fn claim() -> Form {
    Form::from_schema(json!({
        "type": "object",
        "properties": {
            "email": { "type": "string", "format": "email" },
            "description": { "type": "string", "minLength": 20, "maxLength": 500 },
            "city": { "type": "string" },
            "amount": { "type": "number", "minimum": 0 },
            "parcels": { "type": "integer", "maximum": 10 },
            "fast": { "type": "boolean" },
            "kind": { "type": "string", "oneOf": [{ "const": "l", "title": "Lost" }, { "const": "d", "title": "Damaged" }] },
            "proof": { "type": "array", "minItems": 1, "items": { "type": "string", "enum": ["photo", "receipt"] } },
        },
        "required": ["email", "description", "city"],
    }))
    .expect("a flat object")
}

#[test]
fn all_problems_are_reported_in_the_order_of_the_fields() {
    let form = claim();
    let answer = json!({
        "proof": [], "kind": "x", "fast": "true", "parcels": 11, "amount": -1, "description": "short", "email": "a@",
    });
    insta::assert_snapshot!(problems(&form, answer).join("\n"), @r#"
    "email" must be an e-mail address
    "description" must have at least 20 characters (it has 5)
    "city" is required
    "amount" must be at least 0, not -1
    "parcels" must be at most 10, not 11
    "fast" must be true or false, not "true"
    "kind" must be one of "l", "d", not "x"
    "proof" needs at least 1 choice (it has 0)
    "#);
}

#[test]
fn of_the_wrong_type_nothing_else_is_said() {
    let answer = json!({
        "email": 5, "description": null, "city": ["x"], "amount": "3", "parcels": "123abc", "fast": 1, "kind": 3, "proof": "photo",
    });
    insta::assert_snapshot!(problems(&claim(), answer).join("\n"), @r#"
    "email" must be text, not 5
    "description" is required
    "city" must be text, not a list
    "amount" must be a number, not "3"
    "parcels" must be a whole number, not "123abc"
    "fast" must be true or false, not 1
    "kind" must be one of "l", "d", not 3
    "proof" must be a list of choices, not "photo"
    "#);
}

#[test]
fn null_for_an_optional_field_is_no_answer_and_unknown_keys_are_dropped() {
    let answer = json!({
        "extra": 1, "city": "", "description": "x".repeat(20), "email": "a@example.com", "fast": null, "amount": 1.5,
    });
    let handed_on = accepted(&claim(), answer);
    let expected = format!(r#"{{"email":"a@example.com","description":"{}","city":"","amount":1.5}}"#, "x".repeat(20));
    assert_eq!(handed_on.to_string(), expected);
}

#[test]
fn an_all_optional_form_accepts_nothing() {
    let form = Form::from_schema(json!({ "type": "object", "properties": { "note": { "type": "string" } } }));
    assert_eq!(accepted(&form.expect("flat"), json!({})), json!({}));
}

#[test]
fn a_whole_number_may_be_spelled_with_a_fraction_of_zero() {
    let form = one(json!({ "type": "integer" }));
    for (spelling, whole) in [("1.0", "1"), ("1e2", "100"), ("-0.0", "0"), ("9007199254740993", "9007199254740993")] {
        let answer: Value = serde_json::from_str(&format!(r#"{{"x":{spelling}}}"#)).expect("JSON");
        assert_eq!(accepted(&form, answer)["x"].to_string(), whole);
    }
    for spelling in ["1.5", "1e30", "99999999999999999999", "9007199254740993.0e1"] {
        let answer: Value = serde_json::from_str(&format!(r#"{{"x":{spelling}}}"#)).expect("JSON");
        assert_eq!(problems(&form, answer).len(), 1, "{spelling}");
    }
}

#[test]
fn a_number_keeps_its_fraction() {
    let form = one(json!({ "type": "number" }));
    assert_eq!(accepted(&form, json!({ "x": 1.5 })).to_string(), r#"{"x":1.5}"#);
    assert_eq!(accepted(&form, json!({ "x": 1.0 })).to_string(), r#"{"x":1.0}"#);
}

#[test]
fn lengths_are_counted_in_code_points() {
    let form = one(json!({ "type": "string", "minLength": 2, "maxLength": 2 }));
    assert_eq!(accepted(&form, json!({ "x": "🦀é" })), json!({ "x": "🦀é" }));
    assert_eq!(problems(&form, json!({ "x": "🦀" })), [r#""x" must have at least 2 characters (it has 1)"#]);
    assert_eq!(problems(&form, json!({ "x": "🦀🦀🦀" })), [r#""x" must have at most 2 characters (it has 3)"#]);
}

#[test]
fn dates_are_real_and_instants_have_a_zone() {
    let judged = |format: &str, text: &str| {
        let form = one(json!({ "type": "string", "format": format }));
        form.validate(&map(json!({ "x": text }))).is_ok()
    };
    assert!(judged("date", "2024-02-29"));
    assert!(!judged("date", "2026-02-30"));
    assert!(!judged("date", "2026-2-3"));
    assert!(judged("date-time", "2025-10-22T15:50:22Z"));
    assert!(judged("date-time", "2025-10-22T15:50:22.5+02:00"));
    assert!(judged("date-time", "2016-12-31T23:59:60Z"));
    assert!(!judged("date-time", "2025-10-22T15:50:22"));
    assert!(!judged("date-time", "2024-02-30T00:00:00Z"));
    assert!(judged("email", "a.b@example.com"));
    assert!(!judged("email", "@"));
    assert!(!judged("email", "Jane <jane@example.com>"));
    assert!(!judged("email", "a@b@c"));
    assert!(judged("uri", "https://example.com/a?b#c"));
    assert!(!judged("uri", "example.com/a"));
    assert!(!judged("uri", "not a uri"));
}

#[test]
fn several_choices_are_each_known_and_each_once() {
    let plain = one(json!({ "type": "array", "maxItems": 2, "items": { "type": "string", "enum": ["a", "b", "c"] } }));
    let titled = one(
        json!({ "type": "array", "items": { "anyOf": [{ "const": "a", "title": "A" }, { "const": "b", "title": "B" }] } }),
    );
    assert_eq!(accepted(&plain, json!({ "x": [] })), json!({ "x": [] }));
    assert_eq!(accepted(&titled, json!({ "x": ["b", "a"] })), json!({ "x": ["b", "a"] }));
    assert_eq!(problems(&plain, json!({ "x": ["a", "a"] })), [r#""x" has "a" more than once"#]);
    assert_eq!(problems(&titled, json!({ "x": ["B"] })), [r#""x" has "B", which is not one of "a", "b""#]);
    insta::assert_snapshot!(problems(&plain, json!({ "x": ["a", "z", 3] })).join("\n"), @r#"
    "x" takes at most 2 choices (it has 3)
    "x" has "z", which is not one of "a", "b", "c"
    "x" has 3, which is not one of "a", "b", "c"
    "#);
}

#[test]
fn what_a_peer_sends_is_cut_and_escaped_in_messages() {
    let form = one(json!({ "type": "string", "enum": ["a"] }));
    let text = problems(&form, json!({ "x": format!("\u{1b}[2J\u{202e}{}", "y".repeat(1_000_000)) })).join("");
    assert!(text.starts_with(r#""x" must be one of "a", not "\u{1b}[2J\u{202e}yyy"#), "{text}");
    assert!(text.chars().count() < 150, "{text}");
}

#[test]
fn a_thousand_wrong_choices_do_not_make_a_thousand_problems() {
    let form = one(json!({ "type": "array", "items": { "type": "string", "enum": ["a"] } }));
    let wrong: Vec<String> = (0..1000).map(|n| n.to_string()).collect();
    assert_eq!(problems(&form, json!({ "x": wrong })).len(), 5);
}

#[test]
fn the_valid_part_is_what_is_kept_for_the_next_round() {
    let answer =
        map(json!({ "email": "a@example.com", "description": "short", "parcels": 2.0, "city": null, "extra": 1 }));
    let form = claim();
    assert_eq!(Value::Object(form.valid_part(&answer)), json!({ "email": "a@example.com", "parcels": 2 }));
    let mut expected = form.schema().clone();
    expected["properties"]["email"]["default"] = json!("a@example.com");
    expected["properties"]["parcels"]["default"] = json!(2);
    assert_eq!(form.with_defaults(&answer), expected);
    assert_eq!(form.with_defaults(&Map::new()), *form.schema());
}

#[test]
fn decoding_says_what_the_schema_could_not() {
    #[derive(Debug, serde::Deserialize)]
    struct Even {
        #[serde(rename = "x", deserialize_with = "even")]
        _x: u8,
    }
    fn even<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<u8, D::Error> {
        let number: u8 = serde::Deserialize::deserialize(deserializer)?;
        if number.is_multiple_of(2) { Ok(number) } else { Err(serde::de::Error::custom("an odd number")) }
    }
    let form = one(json!({ "type": "integer" }));
    assert!(form.decode::<Even>(map(json!({ "x": 2 }))).is_ok());
    let problem = form.decode::<Even>(map(json!({ "x": 3 }))).unwrap_err();
    assert_eq!(problem.to_string(), "the answer cannot be read: an odd number");
}
