//! How dispatch reads HTTP headers: by name, once or not at all, in plain ASCII.

use http::HeaderMap;

use crate::server::{Header, HeaderSource};

/// A repeated header is [`Header::Invalid`] even when the values agree: two readers of the same request
/// could each pick another one. So is a value outside visible ASCII, space and tab.
impl HeaderSource for HeaderMap {
    fn get(&self, name: &str) -> Header<'_> {
        let mut values = self.get_all(name).iter();
        match (values.next(), values.next()) {
            (None, _) => Header::Absent,
            (Some(only), None) => only.to_str().map_or(Header::Invalid, Header::Value),
            (Some(_), Some(_)) => Header::Invalid,
        }
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn found<'a>(headers: &'a HeaderMap, name: &str) -> Header<'a> {
        HeaderSource::get(headers, name)
    }

    #[test]
    fn a_value_is_visible_ascii_with_spaces_and_tabs() {
        let mut headers = HeaderMap::new();
        headers.insert("mcp-name", HeaderValue::from_static("deploy\t release"));
        headers.insert("mcp-method", HeaderValue::from_bytes("é".as_bytes()).unwrap());
        assert_eq!(found(&headers, "mcp-name"), Header::Value("deploy\t release"));
        assert_eq!(found(&headers, "mcp-method"), Header::Invalid);
        assert_eq!(found(&headers, "mcp-protocol-version"), Header::Absent);
        assert_eq!(found(&headers, "not a header name"), Header::Absent);
    }

    #[test]
    fn a_repeated_header_is_invalid_even_when_the_values_agree() {
        let mut headers = HeaderMap::new();
        headers.append("mcp-name", HeaderValue::from_static("a"));
        headers.append("mcp-name", HeaderValue::from_static("a"));
        assert_eq!(found(&headers, "mcp-name"), Header::Invalid);
    }
}
