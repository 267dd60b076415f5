//! Scenarios for forms, one file for each direction a form is used in.

mod answers;
mod laws;
mod lenient;
mod schemas;
mod typed;
mod types;

use serde_json::{Map, Value};

use super::*;

/// The members of an object literal.
fn map(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        other => panic!("{other} is not an object"),
    }
}

/// What is wrong with `content`, as people read it.
fn problems(form: &Form, content: Value) -> Vec<String> {
    match form.validate(&map(content)) {
        Ok(content) => panic!("accepted as {}", Value::Object(content)),
        Err(problems) => problems.iter().map(Problem::to_string).collect(),
    }
}

/// What is handed on of `content`.
fn accepted(form: &Form, content: Value) -> Value {
    match form.validate(&map(content)) {
        Ok(content) => Value::Object(content),
        Err(problems) => panic!("refused: {problems:?}"),
    }
}

/// A strict form with one property, `x`.
#[expect(clippy::needless_pass_by_value, reason = "scenarios pass literals")]
fn one(property: Value) -> Form {
    let schema = serde_json::json!({ "type": "object", "properties": { "x": property }, "required": ["x"] });
    Form::from_schema(schema).expect("a schema that can be asked")
}

/// A lenient form with one required property, `x`.
#[expect(clippy::needless_pass_by_value, reason = "scenarios pass literals")]
fn lenient(property: Value) -> Form {
    let schema = serde_json::json!({ "type": "object", "properties": { "x": property }, "required": ["x"] });
    Form::lenient(&schema)
}

#[test]
fn forms_are_shared_between_threads() {
    fn shared<T: Send + Sync + std::fmt::Debug + 'static>() {}
    shared::<Form>();
    shared::<SchemaError>();
    shared::<Problem>();
}
