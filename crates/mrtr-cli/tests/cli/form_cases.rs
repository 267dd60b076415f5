//! Faults that users met in other clients' forms, as far as they are about the screen. The table of all rows is at the
//! top of the library's test of the same name.

use serde_json::{Value, json};

use crate::person::{DOWN, ENTER, ESC, Person};
use crate::server;

/// The end of a call that sends this content, or this action.
fn sends(person: Person, answer: &Value) {
    let code = if answer["action"] == "accept" { 0 } else { 4 };
    person.sees(&answer.to_string()).exits(code);
}

fn accepts(person: Person, content: &Value) {
    sends(person, &json!({ "action": "accept", "content": content }));
}

fn asked(property: &Value, required: bool) -> Person {
    let required: &[&str] = if required { &["x"] } else { &[] };
    Person::is_asked(&json!({ "type": "object", "properties": { "x": property }, "required": required }).to_string())
}

/// Fills in the optional fields, in place of agreeing without.
fn filling(person: Person) -> Person {
    person.sees("Go ahead?").sees("Esc: more").types("fill").types(ENTER)
}

#[test]
fn an_object_is_typed_as_json_and_sent_as_typed() {
    let person = asked(&json!({ "type": "object" }), true)
        .sees("There is no control for this field")
        .sees("Answer in JSON")
        .types("{\"a\":")
        .types(ENTER)
        .sees("! must be JSON")
        .types("[1, 2.50]}")
        .types(ENTER);
    accepts(person, &json!({ "x": { "a": [1, 2.5] } }));
}

#[test]
fn a_form_without_required_fields_is_agreed_to_blank() {
    let blank = || asked(&json!({ "type": "string" }), false);
    accepts(blank().sees("Go ahead?").shows("Esc: more", "all_optional").types("yes").types(ENTER), &json!({}));
    sends(blank().sees("Esc: more").types("no").types(ENTER), &json!({ "action": "decline" }));
    accepts(filling(blank()).sees("x (optional)").sees("Esc: more").types(ENTER), &json!({}));
}

#[test]
fn blank_is_left_out_and_empty_is_said_on_purpose() {
    let text = || filling(asked(&json!({ "type": "string", "default": "John" }), false)).sees("> John");
    accepts(text().types(ENTER), &json!({ "x": "John" }));
    accepts(text().types("\u{15}").types(ENTER), &json!({}));
    accepts(text().types("\u{15}\"\"").types(ENTER), &json!({ "x": "" }));
    let by_menu = |what: &str| text().sees("Esc: more").types(ESC).sees("Leave the question?").types(what).types(ENTER);
    accepts(by_menu("leave this"), &json!({}));
    accepts(by_menu("answer with"), &json!({ "x": "" }));
    let required = || asked(&json!({ "type": "string" }), true).sees("Esc: more").types(ENTER);
    accepts(required().sees("! is required (\"\" is an empty text)").types("\"\"").types(ENTER), &json!({ "x": "" }));
}

#[test]
fn yes_and_no_are_two_options_and_the_default_is_under_the_cursor() {
    let flag = |default: bool| asked(&json!({ "type": "boolean", "default": default }), true);
    accepts(flag(true).sees("> Yes").sees("Esc: more").types(ENTER), &json!({ "x": true }));
    accepts(flag(false).sees("> No").sees("Esc: more").types(ENTER), &json!({ "x": false }));
    let optional = filling(asked(&json!({ "type": "boolean" }), false)).sees("> (leave it out)").sees("Yes").sees("No");
    accepts(optional.shows("Esc: more", "three_states").types(ENTER), &json!({}));
}

#[test]
fn falsy_defaults_are_offered_and_sent() {
    let schema = json!({ "properties": {
        "n": { "type": "integer", "default": 0 }, "s": { "type": "string", "default": "" },
        "b": { "type": "boolean", "default": false }, "l": { "type": "array", "items": { "enum": ["a"] }, "default": [] },
    }});
    let person = Person::is_asked(&schema.to_string()).sees("Yes, with what is offered");
    accepts(
        person.shows("Esc: more", "falsy_defaults").types("yes").types(ENTER),
        &json!({ "n": 0, "s": "", "b": false, "l": [] }),
    );
}

#[test]
fn a_number_is_exact_or_asked_again() {
    let typed =
        |kind: &str, text: &str| asked(&json!({ "type": kind }), true).sees("Esc: more").types(text).types(ENTER);
    accepts(typed("integer", "9007199254740993"), &json!({ "x": 9_007_199_254_740_993_i64 }));
    accepts(typed("integer", "1.0"), &json!({ "x": 1 }));
    accepts(typed("number", "0.10"), &json!({ "x": 0.1 }));
    let person = typed("number", "1e999").sees("! is too large for a number").types("\u{15}NaN").types(ENTER);
    let person = person.sees("! must be a number").types("\u{15}9007199254740993.5").types(ENTER);
    accepts(person.sees("! has more digits than a number keeps").types("\u{15}2").types(ENTER), &json!({ "x": 2 }));
}

#[test]
fn a_default_that_does_not_fit_is_shown_and_has_to_be_fixed() {
    let person = asked(&json!({ "type": "integer", "default": "many" }), false)
        .sees("Careful: the server offers \"many\", which does not fit")
        .sees("> many")
        .sees("Esc: more")
        .types(ENTER)
        .sees("! must be a whole number")
        .shows("Esc: more", "faulty_default")
        .types("\u{15}3")
        .types(ENTER);
    accepts(person, &json!({ "x": 3 }));
    let person = asked(&json!({ "type": "boolean", "default": "true" }), true).sees("does not fit").sees("Enter: pick");
    accepts(person.types(ENTER).sees("! pick one").types("yes").types(ENTER), &json!({ "x": true }));
}

#[test]
fn titles_help_and_bounds_are_on_the_screen() {
    let schema = json!({ "title": "Who are you?", "properties": {
        "name": { "type": "string", "title": "Full name", "description": "As in your passport.", "minLength": 2, "maxLength": 30 },
        "code": { "type": "string", "pattern": "^[A-Z]{3}$", "format": "iata" },
        "seat": { "type": "string", "oneOf": [{ "const": "w", "title": "Window" }, { "const": "a", "title": "Aisle" }] },
    }, "required": ["name", "code", "seat"] });
    Person::is_asked(&schema.to_string())
        .sees("Who are you?")
        .sees("Full name (1 of 3)")
        .sees("As in your passport.")
        .sees("2 to 30 characters")
        .types("Ada\r")
        .sees("code (2 of 3)")
        .sees("matching ^[A-Z]{3}$")
        .sees("its format \"iata\" is not one of email, uri, date and date-time")
        .types("osl\r")
        .sees("! must match the pattern")
        .types("\u{15}OSL\r")
        .sees("seat (3 of 3)")
        .sees("Aisle")
        .shows("Esc: more", "titles_and_bounds")
        .types("ais\r")
        .sees("3. seat: Aisle (a)")
        .sees("Send it?")
        .types(ENTER)
        .sees(r#""content":{"name":"Ada","code":"OSL","seat":"a"}"#)
        .exits(0);
}

#[test]
fn too_few_choices_are_said_before_anything_is_sent() {
    let list = json!({ "type": "array", "minItems": 2, "maxItems": 2, "items": { "type": "string", "enum": ["a", "b", "c"] } });
    let person = asked(&list, true)
        .sees("exactly 2 choices")
        .sees("Space: tick")
        .types(" ")
        .types(ENTER)
        .sees("! needs at least 2 choices (it has 1)")
        .types(DOWN)
        .types(" ")
        .sees("[x] b")
        .types(ENTER);
    accepts(person, &json!({ "x": ["a", "b"] }));
}

#[test]
fn an_empty_list_and_no_answer_are_told_apart() {
    let list = || {
        filling(asked(&json!({ "type": "array", "items": { "enum": ["a", "b"] } }), false))
            .sees("Space: tick")
            .types(ENTER)
            .sees("Nothing is picked.")
    };
    accepts(list().sees("Enter: pick").types(ENTER), &json!({}));
    accepts(list().sees("Enter: pick").types("answer").types(ENTER), &json!({ "x": [] }));
}

#[test]
fn real_dates_only() {
    let person = asked(&json!({ "type": "string", "format": "date" }), true)
        .sees("a date, such as 2026-07-28")
        .types("2026-02-30\r")
        .sees("! must be a date")
        .types("\u{15}2028-02-29\r");
    accepts(person, &json!({ "x": "2028-02-29" }));
}

#[test]
fn a_long_message_never_takes_the_actions_away() {
    let schema = r#"schema:={"properties":{"ok":{"type":"boolean"}},"required":["ok"]}"#;
    let long = |times: &str| Person::calls(&["ask", schema, "message=Read me", &format!("times:={times}")]);
    long("200")
        .sees("168 more lines")
        .shows("Esc: more", "long_message")
        .types("go to\r")
        .sees("Enter: pick")
        .types("yes\r")
        .sees(r#""content":{"ok":true}"#)
        .exits(0);
    long("200").sees("more lines").types("decl\r").sees(r#"{"action":"decline"}"#).exits(4);
    // A megabyte of it.
    long("130000").sees("more lines").types("go to\r").sees("Enter: pick").types("no\r").sees(r#""ok":false"#).exits(0);
}

#[test]
fn five_thousand_choices_are_searched_and_five_hundred_fields_end() {
    let values: Vec<String> = (0..5000).map(|n| format!("value {n}")).collect();
    let person = asked(&json!({ "type": "string", "enum": values }), true).sees("(1 to 20 of 5000)").sees("Esc: more");
    accepts(person.types("value 4999").sees("> value 4999").types(ENTER), &json!({ "x": "value 4999" }));
    let fields: serde_json::Map<String, Value> =
        (0..500).map(|n| (format!("f{n}"), json!({ "type": "integer" }))).collect();
    let person = Person::is_asked(&json!({ "properties": fields, "required": ["f499", "f499"] }).to_string())
        .sees("499 fields are optional")
        .types(ENTER)
        .sees("f499")
        .sees("Esc: more")
        .types("7\r")
        .sees("500. f499: 7")
        .sees("(499 fields are left out)")
        .sees("Send it?")
        .types("3\r")
        .sees("f2 (optional)")
        .sees("Esc: more")
        .types("8\r")
        .sees("3. f2: 8")
        .sees("Send it?")
        .types(ENTER);
    accepts(person, &json!({ "f2": 8, "f499": 7 }));
}

#[test]
fn what_is_asked_for_like_a_secret_gets_a_warning() {
    let schema = json!({ "properties": { "api_key": { "type": "string" } }, "required": ["api_key"] });
    Person::is_asked(&schema.to_string())
        .sees("Careful: this looks as if it asked for an API key.")
        .shows("Esc: more", "secret")
        .types(ESC)
        .sees("Leave the question?")
        .types("decl\r")
        .sees(r#"{"action":"decline"}"#)
        .exits(4);
}

#[test]
fn markup_of_a_server_is_inert_in_every_place() {
    let schema = json!({ "title": "[bold]\u{1b}[1mT", "required": ["f\u{200b}\u{1b}[2J"], "properties": {
        "f\u{200b}\u{1b}[2J": {
            "type": "string", "title": "t\u{202e}", "description": "d\u{1b}]0;x\u{7}", "default": "v\u{1b}[31m",
            "format": "p\u{9b}", "maxLength": 4, "pattern": "\u{1b}[^a]",
        },
    }});
    let mut person = Person::is_asked(&schema.to_string());
    let seen = person.reads("(?s)(.*)Enter: go on");
    let codes = seen.split('\u{1b}').skip(1);
    // Only what the prompt itself needs to move its cursor.
    let ours = |code: &str| ["[J", "[?2004h", "[?25l", "[?25h", "[1A", "[2A"].iter().any(|own| code.starts_with(own));
    let theirs: Vec<&str> = codes.filter(|code| !ours(code)).collect();
    assert!(theirs.is_empty(), "{theirs:?}");
    assert!(!seen.contains(['\u{9b}', '\u{7}', '\u{202e}', '\u{200b}']), "{seen:?}");
    for shown in [r"[bold]\u{1b}[1mT", r"t\u{202e}", r"d\u{1b}]0;x\u{7}", r"v\u{1b}[31m", r"p\u{9b}"] {
        assert!(seen.contains(shown), "{shown}: {seen:?}");
    }
    person.types("\u{3}").exits(4);
}

#[test]
fn a_form_that_was_declined_is_not_checked() {
    let person = asked(&json!({ "type": "integer" }), true).sees("Esc: more").types("abc").types(ESC);
    sends(person.sees("Leave the question?").types("canc\r"), &json!({ "action": "cancel" }));
}

#[test]
fn nobody_there_is_no_decline() {
    let url = server::start();
    let ran = crate::mrtr(["call", &url, "approve"]);
    assert_eq!(ran.code, 5, "{ran:?}");
    assert!(!ran.stdout.contains("decline"), "{ran:?}");
}
