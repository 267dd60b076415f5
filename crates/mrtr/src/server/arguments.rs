//! A tool's arguments: bound as text, validated as JSON, decoded as the author's type. And the schema of what it returns.

use std::collections::HashSet;
use std::sync::Arc;

use jsonschema::{ValidationError, Validator};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, value::RawValue};

use crate::form::{self, RUST_FORMATS};
use crate::wire::{ParamHeader, RpcError, json, param_headers};

/// How many complaints about arguments are worth sending.
const MAX_PROBLEMS: usize = 8;
/// The dialect schemas are written in.
const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";
/// From this many bytes on, arguments get one complaint.
const LARGE: usize = 64 * 1024;

/// The rules for a tool's arguments.
#[derive(Clone, Debug)]
pub(super) struct InputSchema {
    pub(super) schema: Value,
    /// The arguments that headers repeat.
    pub(super) mirrored: Vec<ParamHeader>,
    rules: Rules,
}

/// The arguments of one call.
#[derive(Debug)]
pub(super) struct Arguments {
    /// One text for all spellings of the same arguments; what a state is bound to.
    pub(super) canonical: Vec<u8>,
    pub(super) value: Value,
}

impl InputSchema {
    /// The schema of an author's type.
    ///
    /// # Errors
    /// A sentence that says why it cannot be a tool's input schema.
    pub(super) fn of<A: JsonSchema>() -> Result<Self, String> {
        let mut schema = SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<A>().to_value();
        let object = schema.as_object_mut().ok_or("the schema of its arguments is no object")?;
        object.shift_remove("$schema");
        object.shift_remove("title");
        // What the struct is to Rust; what the tool is to the model, its own description says.
        object.shift_remove("description");
        drop_rust_formats(&mut schema);
        Self::new(schema)
    }

    /// A schema written by hand.
    ///
    /// # Errors
    /// As [`of`](Self::of).
    pub(super) fn new(schema: Value) -> Result<Self, String> {
        check_dialect(&schema)?;
        if schema.get("type").and_then(Value::as_str) != Some("object") {
            return Err("arguments must be a struct with named fields; use NoArguments for none".to_owned());
        }
        let rules = Rules::of(&schema).ok_or("the schema of its arguments does not compile")?;
        let mirrored = param_headers(&schema)?;
        Ok(Self { schema, mirrored, rules })
    }

    /// What is wrong with arguments of this many bytes, in one sentence the model can act on: everything, or of very large ones the first
    /// thing, since a million problems take a thousand times the memory of their text.
    pub(super) fn check(&self, value: &Value, bytes: usize) -> Result<(), String> {
        self.rules.check(value, if bytes > LARGE { 1 } else { MAX_PROBLEMS })
    }
}

/// The rules for a tool's structured content.
#[derive(Clone, Debug)]
pub(super) struct OutputSchema {
    pub(super) schema: Value,
    rules: Rules,
}

impl OutputSchema {
    /// The schema of an author's type, as it writes itself.
    pub(super) fn of<T: JsonSchema>() -> Result<Self, String> {
        let settings = SchemaSettings::draft2020_12().for_serialize();
        let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
        if let Some(schema) = schema.as_object_mut() {
            schema.shift_remove("$schema");
            schema.shift_remove("title");
        }
        drop_rust_formats(&mut schema);
        Self::new(schema)
    }

    pub(super) fn new(schema: Value) -> Result<Self, String> {
        if !schema.is_object() {
            return Err("the output schema must be an object; use {} for any value".to_owned());
        }
        check_dialect(&schema)?;
        let rules = Rules::of(&schema).ok_or("the output schema does not compile")?;
        Ok(Self { schema, rules })
    }

    /// What is wrong with structured content.
    pub(super) fn check(&self, content: Option<&Value>) -> Result<(), String> {
        let content = content.ok_or("there is none")?;
        self.rules.check(content, 1)
    }
}

/// A compiled schema.
#[derive(Clone, Debug)]
struct Rules {
    validator: Arc<Validator>,
    recurs: bool,
}

impl Rules {
    fn of(schema: &Value) -> Option<Self> {
        Some(Self { validator: Arc::new(form::compile(schema)?), recurs: recurs(schema) })
    }

    /// Says what is wrong with a value, at most so many things.
    ///
    /// Whether something is wrong is found in time that grows with the value. What it is takes a look at every way the
    /// schema could be met, and with each level of a schema that leads into itself there are several times as many of
    /// them: a few hundred bytes would keep a server busy for ever. Such values are told as much as can be told.
    fn check(&self, value: &Value, most: usize) -> Result<(), String> {
        if self.validator.is_valid(value) {
            return Ok(());
        }
        if self.recurs && is_deeper(value, SHALLOW) {
            return Err("something in them, or how they are nested, does not match the schema".to_owned());
        }
        // All of them are found before the first one is told, whatever is taken.
        let first = || self.validator.validate(value).map_err(|error| problem(&error));
        let several = || self.validator.iter_errors(value).take(most).map(|error| problem(&error));
        if most == 1 { first() } else { Err(several().collect::<Vec<_>>().join("; ")) }
    }
}

/// How deep a value may be whose problems are told one by one, whatever the schema.
const SHALLOW: usize = 4;

fn is_deeper(value: &Value, levels: usize) -> bool {
    let is_too_deep = |inner| levels == 0 || is_deeper(inner, levels - 1);
    match value {
        Value::Array(items) => items.iter().any(is_too_deep),
        Value::Object(members) => members.values().any(is_too_deep),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// How many references are followed, one from the other.
const MAX_REFERENCES: usize = 64;

/// Whether a schema may lead into itself; one whose references are not understood, or go on and on, may.
fn recurs(schema: &Value) -> bool {
    fn leads_back<'s>(root: &'s Value, at: &'s Value, above: &mut Vec<&'s str>, done: &mut HashSet<&'s str>) -> bool {
        match at {
            Value::Object(keywords) => keywords.iter().any(|(keyword, value)| match (keyword.as_str(), value) {
                ("$ref", Value::String(to)) => {
                    if above.contains(&to.as_str()) || above.len() > MAX_REFERENCES {
                        return true;
                    }
                    let Some(target) = to.strip_prefix('#').and_then(|path| root.pointer(path)) else { return true };
                    if done.insert(to) {
                        above.push(to);
                        let leads_back = leads_back(root, target, above, done);
                        above.pop();
                        return leads_back;
                    }
                    false
                }
                ("$dynamicRef" | "$recursiveRef", _) => true,
                (_, value) => leads_back(root, value, above, done),
            }),
            Value::Array(items) => items.iter().any(|item| leads_back(root, item, above, done)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
        }
    }
    leads_back(schema, schema, &mut vec!["#"], &mut HashSet::new())
}

/// Schemas are judged by the rules of one dialect, which is the protocol's default. Spec: `basic/index#json-schema-usage`.
fn check_dialect(schema: &Value) -> Result<(), String> {
    match schema.get("$schema").and_then(Value::as_str) {
        None => Ok(()),
        Some(dialect) if dialect.trim_end_matches('#') == DIALECT => Ok(()),
        Some(dialect) => Err(format!("its schema is written in the dialect {dialect:?}; only {DIALECT} is supported")),
    }
}

fn problem(error: &ValidationError<'_>) -> String {
    let path = error.instance_path().to_string();
    let path = if path.is_empty() { String::new() } else { format!("{}: ", form::harmless(&path, 80)) };
    format!("{path}{}", form::harmless(&error.to_string(), 200))
}

impl Arguments {
    /// Reads `params.arguments`; absent ones are an empty object.
    ///
    /// # Errors
    /// `-32602` when they are not an object, name a key twice, hold half a surrogate pair or nest too deep.
    pub(super) fn parse(raw: Option<&RawValue>) -> Result<Self, RpcError> {
        let text = raw.map_or("{}", RawValue::get);
        let malformed = |why: &dyn std::fmt::Display| RpcError::malformed_params(format!("params.arguments: {why}"));
        let canonical = json::canonical(text).map_err(|error| malformed(&error))?;
        match serde_json::from_str(text) {
            Ok(value @ Value::Object(_)) => Ok(Self { canonical, value }),
            Ok(_) => Err(malformed(&"it must be an object")),
            Err(error) => Err(malformed(&error)),
        }
    }
}

/// Drops formats that only Rust knows (`uint32`, `double`): strict clients refuse them, and the bounds say the same.
fn drop_rust_formats(schema: &mut Value) {
    match schema {
        Value::Object(keywords) => {
            if keywords.get("format").and_then(Value::as_str).is_some_and(|format| RUST_FORMATS.contains(&format)) {
                keywords.shift_remove("format");
            }
            for (keyword, value) in keywords {
                match (keyword.as_str(), value) {
                    // Data, whatever it looks like.
                    ("default" | "const" | "enum" | "examples", _) => {}
                    // Schemas by names of the author's choice, which may be those of keywords.
                    (
                        "properties" | "$defs" | "definitions" | "patternProperties" | "dependentSchemas",
                        Value::Object(schemas),
                    ) => schemas.values_mut().for_each(drop_rust_formats),
                    (_, schema) => drop_rust_formats(schema),
                }
            }
        }
        Value::Array(schemas) => schemas.iter_mut().for_each(drop_rust_formats),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Decodes validated arguments. A whole number spelled as a float is an integer to the schema, so it is one here too,
/// unless it is so large that it may have been another one: then an integer field refuses it.
pub(super) fn decode<A: DeserializeOwned>(arguments: Value) -> Result<A, String> {
    if !has_whole_floats(&arguments) {
        return serde_json::from_value(arguments).map_err(|error| error.to_string());
    }
    A::deserialize(&arguments)
        .or_else(|_| serde_json::from_value(whole(arguments)))
        .map_err(|error: serde_json::Error| error.to_string())
}

fn has_whole_floats(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.is_f64(),
        Value::Array(items) => items.iter().any(has_whole_floats),
        Value::Object(members) => members.values().any(has_whole_floats),
        Value::Null | Value::Bool(_) | Value::String(_) => false,
    }
}

fn whole(value: Value) -> Value {
    match value {
        Value::Number(number) => Value::Number(form::whole(number)),
        Value::Array(items) => items.into_iter().map(whole).collect(),
        Value::Object(members) => Value::Object(members.into_iter().map(|(k, v)| (k, whole(v))).collect::<Map<_, _>>()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(Debug, PartialEq, Deserialize, JsonSchema)]
    struct Order {
        item: String,
        /// How many.
        #[schemars(range(min = 1))]
        count: u32,
        price: Option<f64>,
    }

    fn check(schema: &InputSchema, text: &str) -> String {
        let raw = RawValue::from_string(text.to_owned()).expect("JSON");
        let arguments = Arguments::parse(Some(&raw)).expect("an object");
        schema.check(&arguments.value, arguments.canonical.len()).expect_err("invalid")
    }

    #[test]
    fn very_large_bad_arguments_get_one_complaint() {
        let schema = InputSchema::of::<Order>().expect("a struct");
        let item = "x".repeat(LARGE);
        let problems = check(&schema, &format!(r#"{{"item":"{item}","count":0,"price":"x"}}"#));
        assert!(problems.len() < 300 && !problems.contains("; "), "{problems}");
    }

    #[test]
    fn bad_arguments_are_named() {
        let schema = InputSchema::of::<Order>().expect("a struct");
        let problems = check(&schema, r#"{ "item": 5, "count": 0 }"#);
        assert!(problems.contains("/item") && problems.contains("/count"), "{problems}");
        let problems = check(&schema, r#"{ "count": 1 }"#);
        assert!(problems.contains("item"), "{problems}");
    }

    #[test]
    fn a_whole_float_decodes_as_an_integer_and_a_fraction_stays_one() {
        let order: Order = decode(serde_json::json!({ "item": "a", "count": 2.0, "price": 1.5 })).expect("valid");
        assert_eq!(order, Order { item: "a".into(), count: 2, price: Some(1.5) });
    }

    #[test]
    fn formats_only_rust_knows_are_dropped_from_schemas_and_from_nothing_else() {
        let data = serde_json::json!({ "format": "int32" });
        let mut schema = serde_json::json!({
            "properties": {
                "default": { "type": "integer", "format": "uint32" },
                "enum": { "items": { "format": "double" }, "default": [data], "examples": [data] },
                "format": { "format": "date-time", "const": data },
                "kept": { "format": "interval" },
            },
            "$defs": { "const": { "anyOf": [{ "format": "uint" }, { "format": "int128" }] } },
        });
        drop_rust_formats(&mut schema);
        assert_eq!(
            schema,
            serde_json::json!({
                "properties": {
                    "default": { "type": "integer" },
                    "enum": { "items": {}, "default": [data], "examples": [data] },
                    "format": { "format": "date-time", "const": data },
                    "kept": { "format": "interval" },
                },
                "$defs": { "const": { "anyOf": [{}, {}] } },
            })
        );
    }

    #[test]
    fn something_else_than_a_struct_is_refused_with_the_way_out() {
        assert!(InputSchema::of::<()>().expect_err("not a struct").contains("NoArguments"));
        assert!(InputSchema::of::<Vec<String>>().is_err());
    }

    #[test]
    fn a_schema_that_leads_into_itself_is_known_however_long_the_way() {
        let chain = |length: usize, last: Value| {
            let link = |n: usize| (format!("d{n}"), serde_json::json!({ "$ref": format!("#/$defs/d{}", n + 1) }));
            let mut defs: Map<String, Value> = (0..length).map(link).collect();
            defs.insert(format!("d{length}"), last);
            serde_json::json!({ "$defs": defs })
        };
        let twice = serde_json::json!({ "$ref": "#/$defs/d1" });
        assert!(!recurs(&chain(3, serde_json::json!({ "type": "integer", "properties": { "$ref": {} } }))));
        assert!(!recurs(&serde_json::json!({ "anyOf": [twice, twice], "$defs": { "d1": {} } })));
        assert!(recurs(&chain(3, twice)));
        assert!(recurs(&chain(5_000, serde_json::json!({}))), "as good as endless");
        for reference in ["#", "#/properties", "other.json", "#anchor"] {
            let schema = serde_json::json!({ "properties": { "a": { "$ref": reference } } });
            assert!(recurs(&schema), "{reference}");
        }
    }
}
