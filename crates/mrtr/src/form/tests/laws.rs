//! What holds for every form and every answer.

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use proptest::sample::subsequence;
use serde_json::json;

use super::*;

/// Any JSON value, with the words schemas are made of more often than chance would have it.
fn any_json() -> impl Strategy<Value = Value> {
    let word = prop_oneof![
        "[a-z$]{0,4}",
        prop::sample::select(vec![
            "type",
            "string",
            "integer",
            "number",
            "boolean",
            "array",
            "object",
            "null",
            "enum",
            "enumNames",
            "oneOf",
            "anyOf",
            "allOf",
            "const",
            "title",
            "items",
            "properties",
            "required",
            "$ref",
            "#",
            "#/$defs/a",
            "$defs",
            "a",
            "minimum",
            "maxLength",
            "default",
            "format",
            "email",
            "pattern",
            "uniqueItems",
            "minItems",
            "$schema",
            "$id",
        ])
        .prop_map(str::to_owned),
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        (0..4_i64).prop_map(Value::from),
        word.clone().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 60, 6, move |inner| {
        prop_oneof![
            vec(inner.clone(), 0..5).prop_map(Value::from),
            btree_map(word.clone(), inner, 0..6).prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// A property of a strict form, and values for it of which many are valid.
fn property() -> impl Strategy<Value = (Value, Value)> {
    let text = (0..4_u64, 4..8_u64, "\\PC{0,9}").prop_map(|(least, most, text)| {
        (json!({ "type": "string", "minLength": least, "maxLength": most }), json!(text))
    });
    let formats = vec![
        ("email", "a@example.com"),
        ("uri", "urn:x:y"),
        ("date", "2024-02-29"),
        ("date", "2023-02-29"),
        ("date-time", "2024-02-29T10:00:00Z"),
        ("date-time", "2024-02-29T10:00:00"),
    ];
    let formatted = prop::sample::select(formats)
        .prop_map(|(format, text)| (json!({ "type": "string", "format": format }), json!(text)));
    let integer = (
        -5..0_i64,
        0..99_i64,
        prop_oneof![(-9..99_i64).prop_map(Value::from), (-9..9_i64).prop_map(|n| json!(n as f64))],
    )
        .prop_map(|(low, high, value)| (json!({ "type": "integer", "minimum": low, "maximum": high }), value));
    let number = any::<f64>().prop_map(|value| (json!({ "type": "number", "maximum": 1.5 }), json!(value)));
    let boolean = any::<bool>().prop_map(|flag| (json!({ "type": "boolean" }), json!(flag)));
    let words = vec!["a", "b", "A", "a, b", " c", "", "[1]", "yes"];
    let choice = prop::sample::select(words.clone()).prop_map(|value| {
        (json!({ "type": "string", "enum": ["a", "b", "A", "a, b", " c", "", "[1]"] }), json!(value))
    });
    let titled = prop::sample::select(words.clone()).prop_map(|value| {
        (json!({ "oneOf": [{ "const": "a", "title": "b" }, { "const": "b", "title": "a" }, { "const": " c", "title": "" }] }), json!(value))
    });
    let several = subsequence(words, 0..4).prop_map(|values| {
        let items = json!({ "enum": ["a", "b", "A", "a, b", " c", "", "[1]"] });
        (json!({ "type": "array", "maxItems": 3, "items": items }), json!(values))
    });
    prop_oneof![text, formatted, integer, number, boolean, choice, titled, several]
}

/// A strict form, and an answer to it that is often valid.
fn asked() -> impl Strategy<Value = (Form, Map<String, Value>)> {
    let value = |valid: Value| prop_oneof![8 => Just(Some(valid)), 1 => Just(None), 1 => any_json().prop_map(Some)];
    let field = (property(), any::<bool>())
        .prop_flat_map(move |((schema, valid), required)| (Just(schema), Just(required), value(valid)));
    btree_map("\\PC{0,5}", field, 0..5).prop_map(|fields| {
        let required: Vec<&String> = fields.iter().filter(|(_, field)| field.1).map(|(name, _)| name).collect();
        let properties: Map<String, Value> =
            fields.iter().map(|(name, field)| (name.clone(), field.0.clone())).collect();
        let schema = json!({ "type": "object", "properties": properties, "required": required });
        let answer = fields.into_iter().filter_map(|(name, field)| Some((name, field.2?))).collect();
        (Form::from_schema(schema).expect("a strict schema"), answer)
    })
}

fn independent(schema: &Value) -> jsonschema::Validator {
    let options = jsonschema::options().with_draft(jsonschema::Draft::Draft202012);
    options.should_validate_formats(true).build(schema).expect("what is sent is a valid schema")
}

proptest! {
    #[test]
    fn what_is_accepted_fits_the_schema_that_was_sent((form, answer) in asked()) {
        match form.validate(&answer) {
            Ok(settled) => {
                prop_assert!(independent(form.schema()).is_valid(&Value::Object(settled.clone())));
                prop_assert_eq!(form.validate(&settled), Ok(settled.clone()));
                prop_assert_eq!(form.valid_part(&answer), settled);
            }
            Err(problems) => {
                prop_assert!(!problems.is_empty());
                let valid = form.valid_part(&answer);
                prop_assert!(problems.iter().all(|problem| !valid.contains_key(problem.field.as_deref().unwrap_or_default())));
            }
        }
    }

    #[test]
    fn what_is_refused_breaks_the_schema_or_repeats_a_choice((form, answer) in asked()) {
        let asked: Map<String, Value> = answer.into_iter().filter(|(_, value)| !value.is_null()).collect();
        if let Err(problems) = form.validate(&asked) {
            let stricter = problems.iter().all(|problem| problem.text.contains("more than once") || problem.text.contains("too large"));
            prop_assert!(stricter || !independent(form.schema()).is_valid(&Value::Object(asked)));
        }
    }

    #[test]
    fn a_form_is_read_back_as_it_was_sent((form, answer) in asked()) {
        let with_defaults = form.with_defaults(&answer);
        let again = Form::from_schema(with_defaults.clone()).expect("what was sent can be sent again");
        prop_assert_eq!(again.schema(), &with_defaults);
        let received = Form::lenient(form.schema());
        prop_assert_eq!(received.notes(), &[] as &[String]);
        let kinds = |form: &Form| form.fields().iter().map(|field| (field.kind.clone(), field.required)).collect::<Vec<_>>();
        prop_assert_eq!(kinds(&received), kinds(&form));
    }

    #[test]
    fn text_reads_back_as_the_value_it_shows((form, answer) in asked()) {
        for (name, value) in form.valid_part(&answer) {
            let field = form.field(&name).expect("a valid part has only fields");
            let text = field.to_text(&value);
            prop_assert_eq!(field.parse_text(&text), Ok(value), "{}", text);
        }
    }

    #[test]
    fn nothing_a_server_sends_loses_a_field_or_panics(properties in btree_map(any::<String>(), any_json(), 0..6), rest in any_json(), answer in any_json()) {
        let mut schema = map(json!({ "type": "object" }));
        if let Value::Object(rest) = rest {
            schema.extend(rest);
        }
        schema.shift_remove("$ref");
        schema.retain(|key, _| !matches!(key.as_str(), "allOf" | "anyOf" | "oneOf"));
        schema.insert("properties".to_owned(), Value::Object(properties.clone().into_iter().collect()));
        let form = Form::lenient(&Value::Object(schema));
        prop_assert_eq!(form.fields().len(), properties.len());
        for (field, name) in form.fields().iter().zip(properties.keys()) {
            prop_assert_eq!(&field.name, name);
            let _ = field.parse_text(&answer.to_string());
            if let Some(default) = &field.default {
                prop_assert_eq!(field.parse_text(&field.to_text(default)), Ok(default.clone()));
            }
        }
    }

    #[test]
    fn any_json_can_be_read_as_a_form_and_answered(schema in any_json(), answer in any_json()) {
        let form = Form::lenient(&schema);
        prop_assert_eq!(form.schema(), &schema);
        if let Value::Object(answer) = answer {
            let _ = form.validate(&answer);
            let _ = form.with_defaults(&answer);
        }
        let _ = Form::from_schema(schema);
    }
}
