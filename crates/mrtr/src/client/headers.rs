//! The headers that mirror a request, so that a load balancer can route it without reading the body.

use http::{HeaderMap, HeaderName, HeaderValue, header};
use serde_json::Value;

use crate::wire::{PROTOCOL_VERSION, encode_value};
pub(super) use crate::wire::{ParamHeader, param_headers};

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

/// Adds the header of each mirrored parameter the arguments have a value for.
pub(super) fn mirror(params: &[ParamHeader], arguments: &Value, headers: &mut HeaderMap) {
    for param in params {
        if let Some(text) = param.text_in(arguments) {
            let name = HeaderName::try_from(param.name()).expect("a token, checked in the schema");
            headers.insert(name, encode(&text));
        }
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
}
