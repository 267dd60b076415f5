//! Header values that carry what a header cannot: the Base64 sentinel.
//!
//! Spec: `basic/transports/streamable-http#value-encoding`.

use std::borrow::Cow;

use base64::{Engine as _, engine::general_purpose::STANDARD};

const PREFIX: &str = "=?base64?";
const SUFFIX: &str = "?=";

/// Writes a value so that a header can carry it: as it is where that is safe, behind the sentinel otherwise.
///
/// ```
/// assert_eq!(mrtr::wire::encode_value("us-west1"), "us-west1");
/// assert_eq!(mrtr::wire::encode_value(" padded "), "=?base64?IHBhZGRlZCA=?=");
/// ```
pub fn encode_value(value: &str) -> Cow<'_, str> {
    let plain = value.bytes().all(|b| matches!(b, b'\t' | b' '..=b'~'))
        && !value.starts_with([' ', '\t'])
        && !value.ends_with([' ', '\t'])
        && !is_sentinel(value);
    if plain { value.into() } else { format!("{PREFIX}{}{SUFFIX}", STANDARD.encode(value)).into() }
}

/// Reads a header value back; `None` when the sentinel does not hold Base64 of UTF-8.
pub fn decode_value(header: &str) -> Option<Cow<'_, str>> {
    if !is_sentinel(header) {
        return Some(header.into());
    }
    let encoded = header.strip_prefix(PREFIX)?.strip_suffix(SUFFIX)?;
    String::from_utf8(STANDARD.decode(encoded).ok()?).ok().map(Into::into)
}

fn is_sentinel(value: &str) -> bool {
    value.len() >= PREFIX.len() + SUFFIX.len() && value.starts_with(PREFIX) && value.ends_with(SUFFIX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_specs_examples_encode_and_decode() {
        for (value, header) in [
            ("us-west1", "us-west1"),
            ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
            (" padded ", "=?base64?IHBhZGRlZCA=?="),
            ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
            ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
        ] {
            assert_eq!(encode_value(value), header);
            assert_eq!(decode_value(header).as_deref(), Some(value));
        }
    }

    #[test]
    fn a_broken_sentinel_is_no_value() {
        assert_eq!(decode_value("=?base64?%%%?="), None);
        assert_eq!(decode_value("=?base64?gA==?="), None, "not UTF-8");
        assert_eq!(decode_value("=?base64?=").as_deref(), Some("=?base64?="), "prefix and suffix may not overlap");
    }
}
