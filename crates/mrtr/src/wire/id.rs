//! Request ids: strings or integers, never `null`.

use serde_json::value::RawValue;

use super::{RpcError, json};

/// The id of a request, kept as JSON text ready to be echoed.
///
/// A string keeps its spelling. An integer spelled as a float (`1.0`, `1e2`) *is* that integer and is echoed as one:
/// some JSON libraries know no other way to write it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RequestId(Box<str>);

impl RequestId {
    /// Reads an id.
    ///
    /// # Errors
    /// `-32600` for `null`, booleans, fractions, arrays, objects, and strings that are not Unicode.
    pub(crate) fn parse(raw: &RawValue) -> Result<Self, RpcError> {
        let text = raw.get();
        match text.as_bytes().first() {
            Some(b'"') if serde_json::from_str::<String>(text).is_ok() => Ok(Self(text.into())),
            // The usual spelling, which is the digits themselves.
            Some(b'1'..=b'9') if text.bytes().all(|b| b.is_ascii_digit()) => Ok(Self(text.into())),
            Some(b'-' | b'0'..=b'9') => json::integer(text)
                .map(|digits| Self(digits.into()))
                .ok_or_else(|| RpcError::invalid_request("id must be a string or an integer, not a fraction")),
            _ => Err(RpcError::invalid_request("id must be a string or an integer; null is not an id in MCP")),
        }
    }

    /// The id as JSON text.
    pub(crate) fn as_json(&self) -> &str {
        &self.0
    }
}

impl From<u64> for RequestId {
    fn from(number: u64) -> Self {
        Self(number.to_string().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<RequestId, RpcError> {
        RequestId::parse(&RawValue::from_string(text.to_owned()).expect("valid JSON"))
    }

    #[test]
    fn integers_strings_and_float_formed_integers_are_ids() {
        for (given, echoed) in [
            ("1", "1"),
            ("-7", "-7"),
            ("1.0", "1"),
            ("1e2", "100"),
            ("-0.0", "0"),
            ("9007199254740993", "9007199254740993"),
            ("123456789012345678901234567890", "123456789012345678901234567890"),
            ("\"a\\u0062\"", "\"a\\u0062\""),
            ("\"\"", "\"\""),
        ] {
            assert_eq!(parse(given).expect(given).as_json(), echoed);
        }
    }

    #[test]
    fn everything_else_is_refused() {
        for given in ["null", "true", "1.5", "1e-2", "1e400", "[1]", "{}", "\"\\ud800\""] {
            assert_eq!(parse(given).expect_err(given).code(), -32600);
        }
    }
}
