//! Values from what people type and flags carry.

use serde_json::json;

use super::*;

fn read(property: Value, text: &str) -> Result<Value, String> {
    one(property).parse_text("x", text).map_err(|problem| problem.to_string())
}

#[test]
fn whole_numbers() {
    let integer = || json!({ "type": "integer", "maximum": 9_007_199_254_740_993_i64 });
    for (text, value) in [
        ("3", json!(3)),
        (" -4 ", json!(-4)),
        ("1.0", json!(1)),
        ("1e3", json!(1000)),
        ("9007199254740993.00", json!(9_007_199_254_740_993_i64)),
    ] {
        assert_eq!(read(integer(), text), Ok(value), "{text}");
    }
    let refusals: Vec<String> = ["123abc", "abc", "", "1.5", "NaN", "inf", "0x10", "1e999", "1e30", "9007199254740994"]
        .into_iter()
        .map(|text| read(integer(), text).expect_err(text))
        .collect();
    insta::assert_snapshot!(refusals.join("\n"), @r#"
    "x" must be a whole number, not "123abc"
    "x" must be a whole number, not "abc"
    "x" must be a whole number, not ""
    "x" must be a whole number, not 1.5
    "x" must be a whole number, not "NaN"
    "x" must be a whole number, not "inf"
    "x" must be a whole number, not "0x10"
    "x" is too large for a number: "1e999"
    "x" is too large for a whole number: 1e+30
    "x" must be at most 9007199254740993, not 9007199254740994
    "#);
}

#[test]
fn numbers() {
    let number = || json!({ "type": "number", "minimum": 0 });
    assert_eq!(read(number(), "1.5"), Ok(json!(1.5)));
    assert_eq!(read(number(), ".5"), Ok(json!(0.5)));
    assert_eq!(read(number(), "3"), Ok(json!(3)));
    assert_eq!(read(number(), "1,5"), Err(r#""x" must be a number, not "1,5""#.to_owned()));
    assert_eq!(read(number(), "-1"), Err(r#""x" must be at least 0, not -1"#.to_owned()));
}

#[test]
fn yes_and_no() {
    for (text, flag) in [("yes", true), ("Y", true), ("true", true), ("no", false), ("False", false), (" n ", false)] {
        assert_eq!(read(json!({ "type": "boolean" }), text), Ok(json!(flag)), "{text}");
    }
    assert_eq!(read(json!({ "type": "boolean" }), "ok"), Err(r#""x" must be yes or no, not "ok""#.to_owned()));
}

#[test]
fn text_is_taken_as_it_is() {
    assert_eq!(read(json!({ "type": "string" }), " a, b "), Ok(json!(" a, b ")));
    assert_eq!(read(json!({ "type": "string" }), ""), Ok(json!("")));
    assert_eq!(read(json!({ "type": "string", "format": "date" }), " 2024-02-29 "), Ok(json!("2024-02-29")));
    let refused = read(json!({ "type": "string", "format": "date" }), "2026-02-30");
    assert_eq!(refused, Err(r#""x" must be a date, such as 2026-07-28"#.to_owned()));
}

fn colours() -> Value {
    json!([
        { "const": "#f00", "title": "Red, bright" }, { "const": "#0f0", "title": "Green" },
        { "const": "g2", "title": "Green" }, { "const": "Green", "title": "Leaf" },
    ])
}

#[test]
fn a_choice_goes_by_value_then_title() {
    let choice = || json!({ "type": "string", "oneOf": colours() });
    assert_eq!(read(choice(), "#f00"), Ok(json!("#f00")));
    assert_eq!(read(choice(), "red, BRIGHT"), Ok(json!("#f00")));
    assert_eq!(read(choice(), "Green"), Ok(json!("Green")));
    assert_eq!(read(choice(), " leaf "), Ok(json!("Green")));
    assert_eq!(
        read(choice(), "blue"),
        Err(r##""x" must be one of "#f00", "#0f0", "g2", "Green", not "blue""##.to_owned())
    );
    let alike =
        json!({ "type": "string", "oneOf": [{ "const": "1", "title": "One" }, { "const": "2", "title": "One" }] });
    let ambiguous = read(alike, "one").expect_err("ambiguous");
    assert_eq!(ambiguous, r#""x" could mean 2 choices by "one": give one of the values "1", "2""#);
}

#[test]
fn several_choices_are_separated_by_commas() {
    let several = || json!({ "type": "array", "items": { "anyOf": colours() } });
    assert_eq!(read(several(), "Leaf, Red, bright,g2"), Ok(json!(["Green", "#f00", "g2"])));
    assert_eq!(read(several(), r#"["g2"]"#), Ok(json!(["g2"])));
    assert_eq!(read(several(), " "), Ok(json!([])));
    assert_eq!(read(several(), "g2,"), Ok(json!(["g2"])));
    assert_eq!(read(several(), "g2,g2"), Err(r#""x" has "g2" more than once"#.to_owned()));
    assert!(read(several(), "g2,,#f00").is_err());
    let one_at_least = json!({ "type": "array", "minItems": 1, "items": { "enum": ["a"] } });
    assert_eq!(read(one_at_least, ""), Err(r#""x" needs at least 1 choice (it has 0)"#.to_owned()));
}

#[test]
fn values_are_shown_as_what_would_be_typed() {
    let text = |property: Value, value: Value| one(property).fields()[0].to_text(&value);
    assert_eq!(text(json!({ "type": "boolean" }), json!(true)), "yes");
    assert_eq!(text(json!({ "type": "string" }), json!("a\nb")), "a\nb");
    assert_eq!(text(json!({ "type": "number" }), json!(1.0)), "1.0");
    assert_eq!(text(json!({ "type": "array", "items": { "enum": ["a", "b"] } }), json!(["b", "a"])), "b, a");
    let commas = json!({ "type": "array", "items": { "enum": ["a", "b", "a, b"] } });
    assert_eq!(text(commas, json!(["a", "b"])), r#"["a","b"]"#);
}

#[test]
fn a_field_nobody_asks_for_is_named() {
    let problem = one(json!({ "type": "boolean" })).parse_text("y\u{1b}", "1").unwrap_err();
    assert_eq!(problem.to_string(), r#""y\u{1b}" is not asked: the form has "x""#);
    let problem = Form::lenient(&json!({})).parse_text("y", "1").unwrap_err();
    assert_eq!(problem.to_string(), r#""y" is not asked: the form has no fields"#);
}

#[test]
fn an_unsupported_field_takes_json() {
    let form = lenient(json!({ "type": "object", "properties": { "a": { "type": "integer" } } }));
    assert_eq!(form.parse_text("x", r#"{"a":1}"#), Ok(json!({ "a": 1 })));
    assert!(form.parse_text("x", r#"{"a":"b"}"#).is_err());
    assert!(form.parse_text("x", "{").unwrap_err().text.starts_with("must be JSON ("));
}
