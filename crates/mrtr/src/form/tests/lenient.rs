//! Whatever servers send.

use std::time::{Duration, Instant};

use serde_json::json;

use super::*;

fn kind(property: Value) -> FieldKind {
    lenient(property).fields()[0].kind.clone()
}

fn reason(property: Value) -> String {
    match kind(property) {
        FieldKind::Unsupported { reason, .. } => reason,
        other => panic!("supported: {other:?}"),
    }
}

fn plain(values: &[&str]) -> Vec<Choice> {
    values.iter().map(|value| Choice { value: (*value).to_owned(), title: None }).collect()
}

const TEXT: FieldKind = FieldKind::Text { min_length: None, max_length: None, format: None };

#[test]
fn an_empty_form_has_no_fields_and_accepts_nothing() {
    for schema in [json!({ "type": "object", "properties": {} }), json!({ "type": "object" }), json!({})] {
        let form = Form::lenient(&schema);
        assert!(form.fields().is_empty() && form.notes().is_empty());
        assert_eq!(accepted(&form, json!({})), json!({}));
    }
}

#[test]
fn what_is_no_schema_at_all_is_noted() {
    for schema in
        [json!(null), json!(true), json!("abc"), json!([1]), json!({ "properties": 3 }), json!({ "required": 1 })]
    {
        let form = Form::lenient(&schema);
        assert!(form.fields().is_empty());
        assert_eq!(form.notes().len(), 1, "{schema}");
        assert_eq!(form.schema(), &schema);
        assert_eq!(form.json(), schema.to_string());
        assert_eq!(accepted(&form, json!({})), json!({}));
    }
}

#[test]
fn root_title_and_schema_are_ignored_and_the_order_is_the_servers() {
    let form = Form::lenient(&json!({
        "$schema": "http://json-schema.org/draft-07/schema#", "title": "T", "x-unknown": 1, "type": "object",
        "properties": { "zip": { "type": "string" }, "age": { "type": "integer" } }, "required": ["zip", "zip", "gone"],
    }));
    let names: Vec<&str> = form.fields().iter().map(|field| field.name.as_str()).collect();
    assert_eq!(names, ["zip", "age"]);
    assert_eq!(problems(&form, json!({})), [r#""zip" is required"#]);
    assert_eq!(accepted(&form, json!({ "zip": "" })), json!({ "zip": "" }));
}

#[test]
fn a_form_behind_a_reference_is_found() {
    let form = Form::lenient(
        &json!({ "$ref": "#/$defs/F", "$defs": { "F": { "properties": { "a": { "type": "boolean" } } } } }),
    );
    assert_eq!(form.fields().len(), 1);
}

#[test]
fn local_references_are_followed() {
    for defs in ["$defs", "definitions"] {
        let schema = json!({
            "type": "object", "properties": { "p": { "$ref": format!("#/{defs}/P"), "title": "Priority" } },
            defs: { "P": { "type": "string", "enum": ["low", "high"], "title": "P" } },
        });
        let form = Form::lenient(&schema);
        assert_eq!(form.fields()[0].kind, FieldKind::Choice { options: plain(&["low", "high"]) });
        assert_eq!(form.fields()[0].label(), "Priority");
    }
}

#[test]
fn references_that_lead_nowhere_leave_the_other_fields_alone() {
    let form = Form::lenient(&json!({
        "properties": {
            "remote": { "$ref": "https://example.com/s.json" }, "gone": { "$ref": "#/$defs/gone" },
            "cycle": { "$ref": "#/$defs/A" }, "whole": { "$ref": "#" }, "odd": { "$ref": 3 },
            "email": { "type": "string", "format": "email" },
        },
        "$defs": { "A": { "$ref": "#/$defs/A" } },
    }));
    let unsupported = form.fields().iter().filter(|field| matches!(field.kind, FieldKind::Unsupported { .. }));
    assert_eq!(unsupported.count(), 5);
    assert_eq!(problems(&form, json!({ "email": "x", "cycle": 1 })), [r#""email" must be an e-mail address"#]);
}

#[test]
fn nullable_fields_are_optional() {
    for property in [
        json!({ "anyOf": [{ "type": "string" }, { "type": "null" }], "default": null, "title": "O" }),
        json!({ "type": ["string", "null"] }),
    ] {
        let form = lenient(property);
        let field = &form.fields()[0];
        assert_eq!((&field.kind, field.required, &field.default), (&TEXT, false, &None));
        // The server insists on the key: leaving it out would be refused there.
        assert_eq!(accepted(&form, json!({})), json!({ "x": null }));
        assert_eq!(accepted(&form, json!({ "x": null })), json!({ "x": null }));
        assert_eq!(accepted(&form, json!({ "x": "a" })), json!({ "x": "a" }));
    }
    let form = lenient(json!({ "type": ["string", "null"] }));
    assert_eq!(form.valid_part(&Map::new()), Map::new());
    let optional = Form::lenient(&json!({ "properties": { "x": { "type": ["string", "null"] } } }));
    assert_eq!(accepted(&optional, json!({ "x": null })), json!({}));
}

#[test]
fn a_nullable_object_may_be_left_blank_too() {
    let form = lenient(json!({ "anyOf": [{ "type": "object" }, { "type": "null" }] }));
    assert!(!form.fields()[0].required);
    assert_eq!(accepted(&form, json!({})), json!({ "x": null }));
}

#[test]
fn every_spelling_of_choices() {
    let titled = vec![
        Choice { value: "a".to_owned(), title: Some("A".to_owned()) },
        Choice { value: "b".to_owned(), title: Some("B".to_owned()) },
    ];
    let members = json!([{ "const": "a", "title": "A" }, { "const": "b", "title": "B" }]);
    for property in [
        json!({ "type": "string", "enum": ["a", "b"], "enumNames": ["A", "B"] }),
        json!({ "type": "string", "oneOf": members }),
        json!({ "oneOf": members }),
        json!({ "anyOf": members }),
    ] {
        assert_eq!(kind(property), FieldKind::Choice { options: titled.clone() });
    }
    let several = FieldKind::MultiChoice { options: titled, min_items: Some(1), max_items: None };
    assert_eq!(kind(json!({ "type": "array", "minItems": 1.0, "items": { "anyOf": members } })), several);
    assert_eq!(
        kind(json!({ "type": "array", "minItems": 1, "items": { "type": "string", "oneOf": members } })),
        several
    );
    assert_eq!(kind(json!({ "type": "string", "enum": [""] })), FieldKind::Choice { options: plain(&[""]) });
    assert_eq!(
        kind(json!({ "type": ["string", "null"], "enum": ["a", null] })),
        FieldKind::Choice { options: plain(&["a"]) }
    );
}

#[test]
fn a_repeated_choice_is_offered_once_and_can_be_chosen() {
    let form =
        lenient(json!({ "type": "string", "oneOf": [{ "const": "a", "title": "A" }, { "const": "a", "title": "B" }] }));
    assert_eq!(form.notes(), [r#""x": it offers a choice more than once: "a""#]);
    assert_eq!(accepted(&form, json!({ "x": "a" })), json!({ "x": "a" }));
    let form = lenient(json!({ "type": "string", "enum": ["a", "a", "b"] }));
    assert_eq!(form.fields()[0].kind, FieldKind::Choice { options: plain(&["a", "b"]) });
}

#[test]
fn fields_without_a_control_say_why() {
    let reasons = [
        reason(json!({ "type": "object" })),
        reason(json!({ "type": "object", "additionalProperties": { "type": "string" } })),
        reason(json!({ "type": "array", "items": { "anyOf": [{ "type": "object" }, { "type": "object" }] } })),
        reason(json!({ "type": "array", "items": { "type": "string" } })),
        reason(json!({ "type": "array" })),
        reason(json!({ "type": "array", "prefixItems": [] })),
        reason(json!({ "type": "string", "oneOf": [{ "title": "A" }, { "const": "b", "title": "B" }] })),
        reason(json!({ "enum": ["a", 1, true] })),
        reason(json!({ "type": "integer", "enum": [1, 2] })),
        reason(json!({ "type": "string", "enum": [] })),
        reason(json!({ "type": "string", "enum": 3 })),
        reason(json!({ "type": ["string", "integer"] })),
        reason(json!({ "anyOf": [{ "type": "string" }, { "type": "integer" }] })),
        reason(json!({ "type": "null" })),
        reason(json!({ "type": 7 })),
        reason(json!({})),
        reason(json!(true)),
        reason(json!(false)),
        reason(json!("string")),
    ];
    insta::assert_snapshot!(reasons.join("\n"));
}

#[test]
fn an_unsupported_field_keeps_its_schema_and_is_judged_by_it() {
    let property = json!({ "type": "integer", "enum": [1, 2], "title": "Level", "default": 2 });
    let form = lenient(property.clone());
    let field = &form.fields()[0];
    assert!(matches!(&field.kind, FieldKind::Unsupported { schema, .. } if *schema == property));
    assert_eq!((field.label(), &field.default, field.required), ("Level", &Some(json!(2)), true));
    assert_eq!(accepted(&form, json!({ "x": 1 })), json!({ "x": 1 }));
    assert_eq!(problems(&form, json!({ "x": 3 })).len(), 1);
    assert_eq!(problems(&form, json!({})), [r#""x" is required"#]);
}

#[test]
fn an_unknown_format_is_plain_text_with_a_note() {
    let form = lenient(json!({ "type": "string", "format": "password" }));
    let format = Some(TextFormat::Other("password".to_owned()));
    assert_eq!(form.fields()[0].kind, FieldKind::Text { min_length: None, max_length: None, format });
    assert_eq!(form.notes(), [r#""x": its format "password" is not one of email, uri, date and date-time"#]);
    assert_eq!(accepted(&form, json!({ "x": "hunter2" })), json!({ "x": "hunter2" }));
}

#[test]
fn keywords_forms_do_not_have_are_still_judged() {
    let form = lenient(json!({ "type": "string", "pattern": "^[a-z]+$", "x-hint": 1 }));
    assert_eq!(form.fields()[0].kind, TEXT);
    assert!(form.notes().is_empty());
    assert_eq!(problems(&form, json!({ "x": "A" })), [r#""x" must match the pattern "^[a-z]+$""#]);
    let form = lenient(json!({ "type": "number", "exclusiveMinimum": 0, "multipleOf": 0.5 }));
    let wrong = ["\"x\" must be above 0, not 0"];
    assert_eq!(problems(&form, json!({ "x": 0 })), wrong);
    assert_eq!(problems(&form, json!({ "x": 0.3 })), ["\"x\" must be a multiple of 0.5, not 0.3"]);
}

#[test]
fn rules_that_cannot_be_compiled_are_left_to_the_server() {
    let form = lenient(json!({ "type": "string", "minLength": 2, "pattern": "(?=look-around)(" }));
    assert_eq!(problems(&form, json!({ "x": "a" })), [r#""x" must have at least 2 characters (it has 1)"#]);
    assert_eq!(accepted(&form, json!({ "x": "ab" })), json!({ "x": "ab" }));
}

#[test]
fn a_pattern_made_to_be_slow_is_not() {
    let form = lenient(json!({ "type": "string", "pattern": "^(a+)+$" }));
    let start = Instant::now();
    assert_eq!(problems(&form, json!({ "x": format!("{}!", "a".repeat(50_000)) })).len(), 1);
    assert!(start.elapsed() < Duration::from_secs(5));
}

#[test]
fn references_made_to_explode_do_not() {
    let mut defs: Map<String, Value> = (0..40)
        .map(|n| {
            let next = json!({ "$ref": format!("#/$defs/d{}", n + 1) });
            (format!("d{n}"), json!({ "allOf": [next, next] }))
        })
        .collect();
    defs.insert("d40".to_owned(), json!({ "type": "string" }));
    let form = Form::lenient(&json!({ "properties": { "x": { "$ref": "#/$defs/d0" } }, "$defs": defs }));
    assert_eq!(accepted(&form, json!({ "x": 1 })), json!({ "x": 1 }));
}

/// A form whose fields all refer to one list of choices.
fn sharing(fields: usize, choices: usize) -> Form {
    let values: Vec<String> = (0..choices).map(|n| format!("value {n}")).collect();
    let reference = json!({ "$ref": "#/$defs/P" });
    let fields: Map<String, Value> = (0..fields).map(|n| (format!("f{n}"), reference.clone())).collect();
    Form::lenient(&json!({ "properties": fields, "$defs": { "P": { "type": "string", "enum": values } } }))
}

fn choices(form: &Form) -> usize {
    form.fields()
        .iter()
        .map(|field| if let FieldKind::Choice { options } = &field.kind { options.len() } else { 0 })
        .sum()
}

#[test]
fn many_fields_that_refer_to_many_choices_took_memory_for_every_pair() {
    let form = sharing(4000, 4000);
    assert_eq!(form.fields().len(), 4000);
    assert!(choices(&form) < 100_000, "{} choices", choices(&form));
    let FieldKind::Unsupported { schema, reason } = &form.fields()[3999].kind else { panic!("one field too many") };
    assert_eq!(schema, &json!({ "$ref": "#/$defs/P" }));
    assert!(reason.contains("references repeat too much"), "{reason}");
    assert_eq!(accepted(&form, json!({ "f3999": "value 1" })), json!({ "f3999": "value 1" }));
}

#[test]
fn a_list_whose_choices_are_one_copy_too_many_says_so() {
    let list = json!({ "type": "array", "items": { "$ref": "#/$defs/P" } });
    let fields: Map<String, Value> = (0..1000).map(|n| (format!("f{n}"), list.clone())).collect();
    let form = Form::lenient(&json!({ "properties": fields, "$defs": { "P": { "enum": vec!["a"; 1000] } } }));
    let FieldKind::Unsupported { reason, .. } = &form.fields()[999].kind else { panic!("one field too many") };
    assert!(reason.contains("references repeat too much"), "{reason}");
}

#[test]
fn a_long_list_of_choices_may_be_shared() {
    assert_eq!(choices(&sharing(8, 5000)), 40_000);
    assert_eq!(choices(&sharing(1, 100_000)), 100_000);
    assert_eq!(choices(&sharing(100, 250)), 25_000);
}

#[test]
fn reading_a_form_compiled_the_pattern_of_every_field() {
    let field = json!({ "type": "string", "pattern": "^\\w{40}$" });
    let fields: Map<String, Value> = (0..20_000).map(|n| (format!("f{n}"), field.clone())).collect();
    let form = Form::lenient(&json!({ "properties": fields }));
    let compiled = || form.fields().iter().filter(|field| field.judge.is_compiled()).count();
    assert_eq!((form.fields().len(), compiled()), (20_000, 0));
    assert_eq!(problems(&form, json!({ "f7": "x" })), [r#""f7" must match the pattern "^\\w{40}$""#]);
    assert_eq!(compiled(), 1);
}

#[test]
fn a_default_beside_every_pattern_compiled_them_all_the_same() {
    let field = json!({ "type": "string", "pattern": "^\\w*$", "default": "a" });
    let fields: Map<String, Value> = (0..1000).map(|n| (format!("f{n}"), field.clone())).collect();
    let form = Form::lenient(&json!({ "properties": fields }));
    assert!(form.fields().iter().all(|field| field.default == Some(json!("a"))));
    let patterns: usize = form.fields().iter().map(|field| field.judge.patterns()).sum();
    assert_eq!((patterns, form.notes().len()), (200, 800));
    assert_eq!(problems(&form, json!({ "f999": 1, "f0": "-" })).len(), 2);
    assert_eq!(form.notes()[0], r#""f200": the form has too many patterns, so its own are left to the server"#);
    let hidden: Vec<Value> = (0..1000).map(|_| json!({ "pattern": "a" })).collect();
    assert!(lenient(json!({ "type": "object", "anyOf": hidden })).fields()[0].judge.is_blind());
}

#[test]
fn a_long_default_took_every_item_through_every_rule() {
    let numbers: Vec<u32> = (0..5000).collect();
    let others: Vec<u32> = (5000..10_000).collect();
    let form = lenient(json!({ "type": "array", "items": { "type": "integer", "enum": numbers }, "default": others }));
    assert_eq!(form.notes(), [r#""x": its default is too large to be checked"#]);
    assert!(!form.fields()[0].judge.is_compiled());
    assert_eq!(problems(&form, json!({ "x": others[..400] })), [r#""x" is not valid"#]);
    assert!(problems(&form, json!({ "x": [-1] }))[0].starts_with(r#""x" is not valid: -1 is not one of"#));
}

#[test]
fn showing_a_long_default_looked_for_every_choice_among_all() {
    let start = Instant::now();
    let values: Vec<String> = (0..10_000).map(|n| format!("{n},{n}")).collect();
    let form = lenient(json!({ "type": "array", "items": { "enum": values }, "default": values }));
    let text = form.fields()[0].to_text(&json!(values));
    assert_eq!(form.parse_text("x", &text), Ok(json!(values)));
    assert_eq!(form.fields()[0].to_text(&json!(["7,7", "9,9"])), "7,7, 9,9");
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
}

#[test]
fn a_wrong_answer_took_every_choice_through_the_validator() {
    let start = Instant::now();
    let values: Vec<String> = (0..20_000).map(|n| format!("value {n}")).collect();
    let members: Vec<Value> = values.iter().map(|value| json!({ "const": value, "title": value })).collect();
    for property in [json!({ "enum": values }), json!({ "oneOf": members })] {
        let several = lenient(json!({ "type": "array", "items": property }));
        let form = lenient(property);
        assert!(!form.fields()[0].judge.is_compiled());
        let said = form.parse_text("x", "nope").unwrap_err().to_string();
        assert!(said.ends_with(r#""value 7" and 19992 more, not "nope""#), "{said}");
        assert_eq!(problems(&form, json!({ "x": "nope" })), [said]);
        assert!(!form.fields()[0].judge.is_compiled());
        assert_eq!(problems(&several, json!({ "x": vec!["nope"; 1000] })).len(), 2);
        assert_eq!(accepted(&several, json!({ "x": values }))["x"][19_999], "value 19999");
    }
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
}

#[test]
fn malformed_bounds_are_noted_and_do_no_harm() {
    let form = lenient(json!({ "type": "string", "minLength": "3", "maxLength": -1, "title": 4, "format": [] }));
    assert_eq!(form.fields()[0].kind, TEXT);
    assert_eq!(form.notes().len(), 4);
    let number = FieldKind::Number { integer: true, minimum: Some(1.into()), maximum: None };
    assert_eq!(kind(json!({ "type": "integer", "minimum": 1.0, "maximum": "9" })), number);
}

#[test]
fn bounds_that_exclude_everything_are_noted() {
    let form = lenient(json!({ "type": "integer", "minimum": 5, "maximum": 3 }));
    assert_eq!(form.notes(), [r#""x": no answer can be valid: minimum 5 is above maximum 3"#]);
}

#[test]
fn falsy_defaults_are_offered_and_wrong_ones_are_not() {
    let default = |property: Value| lenient(property).fields()[0].default.clone();
    assert_eq!(default(json!({ "type": "integer", "default": 0 })), Some(json!(0)));
    assert_eq!(default(json!({ "type": "integer", "default": 1.0 })), Some(json!(1)));
    assert_eq!(default(json!({ "type": "string", "default": "" })), Some(json!("")));
    assert_eq!(default(json!({ "type": "boolean", "default": false })), Some(json!(false)));
    assert_eq!(default(json!({ "type": "array", "items": { "enum": ["a"] }, "default": [] })), Some(json!([])));
    assert_eq!(default(json!({ "type": "boolean", "default": "true" })), None);
    let form = lenient(json!({ "type": "integer", "default": "many" }));
    assert_eq!(form.notes(), [r#""x": its default must be a whole number, not "many""#]);
}

#[test]
fn keys_the_schema_does_not_name_are_passed_on() {
    let form = lenient(json!({ "type": "boolean" }));
    assert_eq!(accepted(&form, json!({ "y": 1, "x": true })).to_string(), r#"{"x":true,"y":1}"#);
}

#[test]
fn five_hundred_fields_and_five_thousand_choices_are_quick() {
    let values: Vec<String> = (0..5000).map(|n| format!("value {n}")).collect();
    let mut fields: Map<String, Value> = (0..500)
        .map(|n| (format!("f{n}"), json!({ "type": "string", "format": "email", "minLength": 3, "title": "E" })))
        .collect();
    fields.insert("pick".to_owned(), json!({ "type": "string", "enum": values }));
    let start = Instant::now();
    let form = Form::lenient(&json!({ "type": "object", "properties": fields }));
    assert_eq!(form.fields().len(), 501);
    assert_eq!(problems(&form, json!({ "f499": "x", "pick": "value 5000" })).len(), 3);
    assert_eq!(form.parse_text("pick", "VALUE 4999"), Ok(json!("value 4999")));
    assert!(start.elapsed() < Duration::from_secs(5));
}
