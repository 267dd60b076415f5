//! Tool parameters that are mirrored into headers: which ones a schema names, and what their headers say.
//!
//! Spec: `basic/transports/streamable-http#custom-headers-from-tool-parameters`. Clients write these headers, servers
//! compare them with the body; both read the schema here.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::json;

/// The longest name a header is given. The spec sets no bound; HTTP libraries do.
const MAX_NAME: usize = 256;

/// A tool parameter that is mirrored into a header.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ParamHeader {
    /// `Mcp-Param-` and a token, in the annotation's letter case.
    name: String,
    /// The same in lower case, as headers are looked up.
    key: String,
    /// The chain of property names that leads to the parameter.
    path: Vec<String>,
    is_integer: bool,
}

impl ParamHeader {
    /// The header's name: a token, to be compared without letter case.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The header's name in lower case.
    pub(crate) fn key(&self) -> &str {
        &self.key
    }

    /// What the header says, before it is encoded, when a call has these arguments; `None` where it is left out.
    pub(crate) fn text_in<'v>(&self, arguments: &'v Value) -> Option<Cow<'v, str>> {
        match self.path.iter().try_fold(arguments, |value, name| value.get(name))? {
            Value::String(text) => Some(text.into()),
            Value::Bool(true) => Some("true".into()),
            Value::Bool(false) => Some("false".into()),
            Value::Number(number) => {
                let text = number.to_string();
                Some(json::integer(&text).unwrap_or(text).into())
            }
            Value::Null | Value::Array(_) | Value::Object(_) => None,
        }
    }

    /// Whether a decoded header says what [`text_in`](Self::text_in) expects: `42.0` and `42` are one integer.
    pub(crate) fn agrees(&self, header: &str, expected: &str) -> bool {
        header == expected || self.is_integer && json::integer(header).as_deref() == Some(expected)
    }
}

/// Finds the mirrored parameters of a tool, or says why its definition is invalid.
pub(crate) fn param_headers(input_schema: &Value) -> Result<Vec<ParamHeader>, String> {
    let mut found = Vec::new();
    collect(input_schema, &mut Vec::new(), true, &mut found)?;
    for (index, param) in found.iter().enumerate() {
        if found.iter().take(index).any(|other: &ParamHeader| other.name.eq_ignore_ascii_case(&param.name)) {
            return Err(format!("the x-mcp-header of {} is given twice", param.name));
        }
    }
    Ok(found)
}

/// Walks a schema. `reachable` says whether `path` is made of `properties` keys alone.
fn collect(
    schema: &Value,
    path: &mut Vec<String>,
    reachable: bool,
    found: &mut Vec<ParamHeader>,
) -> Result<(), String> {
    let Value::Object(schema) = schema else {
        return Ok(());
    };
    if let Some(annotation) = schema.get("x-mcp-header") {
        if !reachable || path.is_empty() {
            return Err("x-mcp-header is used where no argument has a fixed place".to_owned());
        }
        found.push(param_header(annotation, schema, path)?);
    }
    for (keyword, value) in schema {
        match (keyword.as_str(), value) {
            ("properties", Value::Object(properties)) => {
                for (name, property) in properties {
                    path.push(name.clone());
                    collect(property, path, reachable, found)?;
                    path.pop();
                }
            }
            // Data, not schemas: an annotation-like member in there means nothing.
            ("default" | "const" | "enum" | "examples", _) => {}
            ("$defs" | "definitions" | "patternProperties" | "dependentSchemas", Value::Object(schemas)) => {
                schemas.values().try_for_each(|schema| collect(schema, path, false, found))?;
            }
            (_, Value::Array(schemas)) => {
                schemas.iter().try_for_each(|schema| collect(schema, path, false, found))?;
            }
            (_, schema) => collect(schema, path, false, found)?,
        }
    }
    Ok(())
}

fn param_header(annotation: &Value, schema: &Map<String, Value>, path: &[String]) -> Result<ParamHeader, String> {
    let name = annotation.as_str().filter(|name| is_token(name) && name.len() <= MAX_NAME);
    let name = name.ok_or_else(|| format!("x-mcp-header {} is not a header name", shown(annotation)))?;
    let is_integer = match schema.get("type").and_then(Value::as_str) {
        Some("integer") => true,
        Some("string" | "boolean") => false,
        _ => return Err(format!("x-mcp-header {name:?} is on a parameter that is no string, integer or boolean")),
    };
    let name = format!("Mcp-Param-{name}");
    Ok(ParamHeader { key: name.to_ascii_lowercase(), name, path: path.to_vec(), is_integer })
}

fn shown(annotation: &Value) -> String {
    annotation.to_string().chars().take(80).collect()
}

/// Whether a text is a token of RFC 9110, section 5.6.2.
fn is_token(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn parameters_are_read_by_their_path_and_absent_where_they_have_no_value() {
        let schema = json!({ "type": "object", "properties": {
            "region": { "type": "string", "x-mcp-header": "Region" },
            "page": { "type": "object", "properties": { "size": { "type": "integer", "x-mcp-header": "Size" } } },
            "dry": { "type": "boolean", "x-mcp-header": "Dry" },
            "null": { "type": "string", "x-mcp-header": "Null" },
            "absent": { "type": "string", "x-mcp-header": "Absent" },
            "properties": { "type": "string", "default": { "x-mcp-header": "data" } },
        }});
        let arguments = json!({ "region": "us-west1", "page": { "size": 42.0 }, "dry": true, "null": null });
        let params = param_headers(&schema).expect("valid");
        let said: Vec<_> = params.iter().map(|param| (param.name(), param.text_in(&arguments))).collect();
        assert_eq!(
            said,
            [
                ("Mcp-Param-Region", Some("us-west1".into())),
                ("Mcp-Param-Size", Some("42".into())),
                ("Mcp-Param-Dry", Some("true".into())),
                ("Mcp-Param-Null", None),
                ("Mcp-Param-Absent", None),
            ]
        );
    }

    #[test]
    fn annotations_that_break_a_rule_make_the_tool_invalid() {
        let string = |name: &str| json!({ "type": "string", "x-mcp-header": name });
        for (why, schema) in [
            ("empty", json!({ "properties": { "a": string("") } })),
            ("no text", json!({ "properties": { "a": { "type": "string", "x-mcp-header": 5 } } })),
            ("no token", json!({ "properties": { "a": string("a b") } })),
            ("not ASCII", json!({ "properties": { "a": string("é") } })),
            ("line feed", json!({ "properties": { "a": string("a\nb") } })),
            ("endless", json!({ "properties": { "a": string(&"a".repeat(70_000)) } })),
            ("twice", json!({ "properties": { "a": string("A"), "b": string("a") } })),
            ("number", json!({ "properties": { "a": { "type": "number", "x-mcp-header": "A" } } })),
            ("or null", json!({ "properties": { "a": { "type": ["string", "null"], "x-mcp-header": "A" } } })),
            ("in items", json!({ "properties": { "a": { "type": "array", "items": string("A") } } })),
            ("in anyOf", json!({ "properties": { "a": { "anyOf": [string("A")] } } })),
            ("behind $ref", json!({ "properties": { "a": { "$ref": "#/$defs/a" } }, "$defs": { "a": string("A") } })),
            ("at the root", string("A")),
        ] {
            assert!(param_headers(&schema).is_err(), "{why}");
        }
    }
}
