//! The headers that mirror a request, so that a load balancer can route it without reading the body.

use http::{HeaderMap, HeaderName, HeaderValue, header};
use serde_json::{Map, Value};

use crate::wire::{PROTOCOL_VERSION, encode_value};

/// Builds the headers of a request. `name` is the tool, prompt or resource it is about.
pub(super) fn standard(method: &str, name: Option<&str>) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(header::ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
    headers.insert("mcp-protocol-version", HeaderValue::from_static(PROTOCOL_VERSION));
    headers.insert("mcp-method", encode(method));
    if let Some(name) = name {
        headers.insert("mcp-name", encode(name));
    }
    headers
}

/// Encodes text as a header value, as Base64 where plain ASCII would not carry it.
fn encode(text: &str) -> HeaderValue {
    HeaderValue::from_str(&encode_value(text)).expect("visible ASCII, or Base64")
}

/// A tool parameter that is mirrored into a header.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ParamHeader {
    name: HeaderName,
    /// The chain of property names that leads to the parameter.
    path: Vec<String>,
}

/// Finds the mirrored parameters of a tool, or says why its definition is invalid.
///
/// Spec: basic/transports/streamable-http#schema-extension.
pub(super) fn param_headers(input_schema: &Value) -> Result<Vec<ParamHeader>, String> {
    let mut found = Vec::new();
    collect(input_schema, &mut Vec::new(), true, &mut found)?;
    for (index, param) in found.iter().enumerate() {
        if found.iter().take(index).any(|other: &ParamHeader| other.name == param.name) {
            return Err(format!("x-mcp-header {:?} is given twice", param.name.as_str()));
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
    let invalid = || format!("x-mcp-header {annotation} is not a header name");
    let name = annotation.as_str().filter(|name| !name.is_empty()).ok_or_else(invalid)?;
    let name = HeaderName::try_from(format!("mcp-param-{name}")).map_err(|_| invalid())?;
    match schema.get("type").and_then(Value::as_str) {
        Some("string" | "integer" | "boolean") => Ok(ParamHeader { name, path: path.to_vec() }),
        _ => Err(format!("x-mcp-header {annotation} is on a parameter that is no string, integer or boolean")),
    }
}

/// Adds the header of each mirrored parameter the arguments have a value for.
pub(super) fn mirror(params: &[ParamHeader], arguments: &Value, headers: &mut HeaderMap) {
    for param in params {
        let value = param.path.iter().try_fold(arguments, |value, name| value.get(name));
        let text = match value {
            Some(Value::String(text)) => text.clone(),
            Some(value @ (Value::Number(_) | Value::Bool(_))) => value.to_string(),
            _ => continue,
        };
        headers.insert(param.name.clone(), encode(&text));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn parameters_are_mirrored_by_their_path() {
        let schema = json!({ "type": "object", "properties": {
            "region": { "type": "string", "x-mcp-header": "Region" },
            "page": { "type": "object", "properties": { "size": { "type": "integer", "x-mcp-header": "Size" } } },
            "dry": { "type": "boolean", "x-mcp-header": "Dry" },
            "absent": { "type": "string", "x-mcp-header": "Absent" },
        }});
        let params = param_headers(&schema).unwrap();
        let mut headers = HeaderMap::new();
        mirror(
            &params,
            &json!({ "region": "us-west1", "page": { "size": 42 }, "dry": true, "absent": null }),
            &mut headers,
        );
        let mut seen: Vec<_> = headers.iter().map(|(name, value)| (name.as_str(), value.to_str().unwrap())).collect();
        seen.sort_unstable();
        assert_eq!(seen, [("mcp-param-dry", "true"), ("mcp-param-region", "us-west1"), ("mcp-param-size", "42")]);
    }

    #[test]
    fn annotations_that_break_a_rule_make_the_tool_invalid() {
        let string = |name: &str| json!({ "type": "string", "x-mcp-header": name });
        for (why, schema) in [
            ("empty", json!({ "properties": { "a": string("") } })),
            ("no token", json!({ "properties": { "a": string("a b") } })),
            ("line feed", json!({ "properties": { "a": string("a\nb") } })),
            ("twice", json!({ "properties": { "a": string("A"), "b": string("a") } })),
            ("number", json!({ "properties": { "a": { "type": "number", "x-mcp-header": "A" } } })),
            ("in items", json!({ "properties": { "a": { "type": "array", "items": string("A") } } })),
            ("in anyOf", json!({ "properties": { "a": { "anyOf": [string("A")] } } })),
            ("at the root", string("A")),
        ] {
            assert!(param_headers(&schema).is_err(), "{why}");
        }
    }
}
