//! Schemas written by hand, held to the same rules.

use serde_json::json;

use super::*;

fn refusal(schema: Value) -> String {
    Form::from_schema(schema).expect_err("a schema that cannot be asked").to_string()
}

fn sent(property: Value) -> Value {
    one(property).schema()["properties"]["x"].clone()
}

#[test]
fn every_example_of_the_specification_is_sent_as_it_is() {
    for property in [
        json!({ "type": "string", "minLength": 3, "maxLength": 50, "format": "email", "title": "Display Name",
            "description": "Description text", "default": "user@example.com" }),
        json!({ "type": "number", "minimum": 0, "maximum": 100, "title": "Display Name", "default": 50 }),
        json!({ "type": "boolean", "title": "Display Name", "default": false }),
        json!({ "type": "string", "enum": ["Red", "Green", "Blue"], "title": "Color Selection", "default": "Red" }),
        json!({ "type": "string", "oneOf": [{ "const": "#FF0000", "title": "Red" }, { "const": "#00FF00", "title": "Green" }],
            "default": "#FF0000" }),
        json!({ "type": "array", "minItems": 1, "maxItems": 2, "items": { "type": "string", "enum": ["Red", "Green"] },
            "default": ["Red", "Green"] }),
        json!({ "type": "array", "items": { "anyOf": [{ "const": "#FF0000", "title": "Red" }, { "const": "#00FF00", "title": "Green" }] },
            "default": ["#FF0000"] }),
    ] {
        assert_eq!(sent(property.clone()).to_string(), property.to_string());
    }
}

#[test]
fn other_spellings_are_rewritten() {
    let titled = json!({ "type": "string", "oneOf": [{ "const": "a", "title": "A" }, { "const": "b", "title": "B" }] });
    assert_eq!(sent(json!({ "type": "string", "enum": ["a", "b"], "enumNames": ["A", "B"] })), titled);
    assert_eq!(sent(json!({ "oneOf": [{ "const": "a", "title": "A" }, { "const": "b", "title": "B" }] })), titled);
    assert_eq!(
        sent(json!({ "anyOf": [{ "type": "string" }, { "type": "null" }], "default": null })),
        json!({ "type": "string" })
    );
    assert_eq!(sent(json!({ "type": "integer", "minimum": 1.0 })).to_string(), r#"{"type":"integer","minimum":1}"#);
    assert_eq!(sent(json!({ "type": "string", "const": "only" })), json!({ "type": "string", "enum": ["only"] }));
    assert_eq!(
        sent(json!({ "type": "array", "uniqueItems": true, "items": { "enum": ["a"] } })),
        json!({ "type": "array", "items": { "type": "string", "enum": ["a"] } })
    );
}

#[test]
fn root_decoration_is_dropped_and_a_name_may_be_required_twice() {
    let form = Form::from_schema(json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema", "title": "T", "description": "d", "type": "object",
        "additionalProperties": false, "properties": { "p": { "$ref": "#/$defs/P" } },
        "$defs": { "P": { "type": "string" } }, "required": ["p", "p"],
    }));
    assert_eq!(
        form.expect("a flat object").json(),
        r#"{"type":"object","properties":{"p":{"type":"string"}},"required":["p"]}"#
    );
}

#[test]
fn refusals() {
    let property = |property: Value| refusal(json!({ "type": "object", "properties": { "x": property } }));
    let many: Map<String, Value> = (0..101).map(|n| (format!("f{n}"), json!({ "type": "boolean" }))).collect();
    let refusals = [
        refusal(json!("abc")),
        refusal(json!({ "properties": {} })),
        refusal(json!({ "type": "object", "properties": [] })),
        refusal(json!({ "type": "object", "properties": many })),
        refusal(json!({ "type": "object", "properties": {}, "required": ["zip"] })),
        refusal(json!({ "type": "object", "properties": {}, "required": true })),
        refusal(json!({ "type": "object", "properties": {}, "minProperties": 1 })),
        property(json!(true)),
        property(json!(false)),
        property(json!(7)),
        property(json!({ "title": "no type" })),
        property(json!({ "type": "strnig" })),
        property(json!({ "type": ["string", "integer"] })),
        property(json!({ "$ref": "https://example.com/x" })),
        property(json!({ "$ref": "#/$defs/missing" })),
        property(json!({ "type": "string", "enum": [] })),
        property(json!({ "type": "string", "enum": ["a", "a"] })),
        property(json!({ "type": "string", "enum": ["a", 1] })),
        property(json!({ "type": "string", "enum": ["a"], "enumNames": ["A", "B"] })),
        property(json!({ "type": "string", "minLength": "3" })),
        property(json!({ "type": "string", "minLength": 3, "maxLength": 2 })),
        property(json!({ "type": "string", "format": "password" })),
        property(json!({ "type": "string", "default": 3 })),
        property(json!({ "type": "string", "format": "email", "default": "nobody" })),
        property(json!({ "type": "array", "items": { "enum": ["a"] }, "minItems": 2 })),
        property(json!({ "type": "boolean", "const": true })),
    ];
    insta::assert_snapshot!(refusals.join("\n"));
}
