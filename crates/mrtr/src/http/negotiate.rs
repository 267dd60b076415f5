//! What a request must look like before its body is worth reading: POST, JSON in, JSON or events out.
//!
//! [Sending Messages](https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#sending-messages)
//! has the rules; the matching of media types is RFC 9110's.

use http::{HeaderMap, HeaderName, HeaderValue, Method, header, request::Parts};

use super::refusal::Refusal;

/// Refuses everything that is not a plain JSON POST whose sender can read our replies.
pub(super) fn check(request: &Parts) -> Result<(), Refusal> {
    if request.method != Method::POST {
        return Err(Refusal::MethodNotAllowed);
    }
    if !is_json(&request.headers) {
        return Err(Refusal::ContentTypeNotJson);
    }
    if !is_plain(&request.headers) {
        return Err(Refusal::BodyEncoded);
    }
    if !accepts_replies(&request.headers) {
        return Err(Refusal::ReplyNotAcceptable);
    }
    Ok(())
}

/// The two spellings of `Accept` that nearly every request has.
const USUAL_ACCEPT: [&[u8]; 2] = [b"application/json, text/event-stream", b"text/event-stream, application/json"];

/// The value of a header that is there once.
fn only<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h [u8]> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (Some(only), None) => Some(only.as_bytes()),
        _ => None,
    }
}

/// Whether there is exactly one `Content-Type` and it is `application/json`, in UTF-8.
fn is_json(headers: &HeaderMap) -> bool {
    let Some(Ok(text)) = only(headers, &header::CONTENT_TYPE).map(std::str::from_utf8) else {
        return false;
    };
    if text == "application/json" {
        return true;
    }
    let mut parts = text.split(';').map(str::trim);
    parts.next().is_some_and(|essence| essence.eq_ignore_ascii_case("application/json"))
        && parts.all(is_harmless_parameter)
}

/// Every parameter is fine but a `charset` that would make the bytes something else than UTF-8.
fn is_harmless_parameter(parameter: &str) -> bool {
    let Some((name, value)) = parameter.split_once('=') else {
        return true;
    };
    let value = value.trim().trim_matches('"');
    !name.trim_end().eq_ignore_ascii_case("charset")
        || value.eq_ignore_ascii_case("utf-8")
        || value.eq_ignore_ascii_case("utf8")
}

/// Whether no content coding but `identity` is named: we inflate nothing, so nothing inflates us.
fn is_plain(headers: &HeaderMap) -> bool {
    headers
        .get_all(header::CONTENT_ENCODING)
        .iter()
        .all(|value| elements(value).all(|coding| coding.eq_ignore_ascii_case("identity")))
}

/// Whether `Accept` admits both kinds of reply, as every client must say.
///
/// A request without any `Accept` is let in. The specification obliges the client to send the header but
/// not the server to refuse its absence, and RFC 9110 (section 12.5.1) reads absence as "any media type":
/// nobody is harmed by answering, while refusing would break callers behind proxies that drop the header.
/// A header that is there and leaves one of the two out is a client that cannot read half of the replies.
fn accepts_replies(headers: &HeaderMap) -> bool {
    // As the specification's examples and most clients write it.
    if only(headers, &header::ACCEPT).is_some_and(|value| USUAL_ACCEPT.contains(&value)) {
        return true;
    }
    let ranges = || headers.get_all(header::ACCEPT).iter().flat_map(elements);
    !headers.contains_key(header::ACCEPT)
        || (admits(ranges(), "application", "json") && admits(ranges(), "text", "event-stream"))
}

/// Whether the most specific range that matches the type has a weight above zero.
fn admits<'a>(ranges: impl Iterator<Item = &'a str>, main: &str, sub: &str) -> bool {
    ranges
        .filter_map(|range| {
            let mut parts = range.split(';').map(str::trim);
            let specificity = specificity(parts.next()?, main, sub)?;
            Some((specificity, !parts.any(is_zero_weight)))
        })
        .max()
        .is_some_and(|(_, wanted)| wanted)
}

/// How exactly a media range names the type; `None` when it does not cover it.
fn specificity(range: &str, main: &str, sub: &str) -> Option<u8> {
    let (range_main, range_sub) = range.split_once('/')?;
    match (range_main, range_sub) {
        ("*", "*") => Some(0),
        (range_main, "*") if range_main.eq_ignore_ascii_case(main) => Some(1),
        _ if range_main.eq_ignore_ascii_case(main) && range_sub.eq_ignore_ascii_case(sub) => Some(2),
        _ => None,
    }
}

/// Whether a parameter is `q=0`, in any of its spellings (`0`, `0.`, `0.000`).
fn is_zero_weight(parameter: &str) -> bool {
    let Some((name, value)) = parameter.split_once('=') else {
        return false;
    };
    name.trim_end().eq_ignore_ascii_case("q") && value.trim().parse() == Ok(0.0_f32)
}

/// The comma-separated elements of a header; none when it is not ASCII.
fn elements(value: &HeaderValue) -> impl Iterator<Item = &str> {
    value.to_str().unwrap_or_default().split(',').map(str::trim).filter(|element| !element.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(name: &HeaderName, values: &[&'static str]) -> HeaderMap {
        values.iter().map(|value| (name.clone(), HeaderValue::from_static(value))).collect()
    }

    #[test]
    fn content_type_is_json_whatever_its_case_and_parameters() {
        for (value, expected) in [
            ("application/json", true),
            ("Application/JSON", true),
            ("application/json; charset=utf-8", true),
            ("application/json;charset=\"UTF-8\"; v=1", true),
            ("application/json;", true),
            ("application/json; charset=utf-16", false),
            ("application/json; Charset = latin1", false),
            ("application/jsonp", false),
            ("application/vnd.api+json", false),
            ("text/plain", false),
            ("", false),
        ] {
            assert_eq!(is_json(&headers(&header::CONTENT_TYPE, &[value])), expected, "{value}");
        }
        assert!(!is_json(&HeaderMap::new()));
        assert!(!is_json(&headers(&header::CONTENT_TYPE, &["application/json", "application/json"])));
    }

    #[test]
    fn accept_must_admit_both_kinds_of_reply() {
        for (values, expected) in [
            (&[][..], true),
            (&["application/json, text/event-stream"], true),
            (&["application/json", "text/event-stream"], true),
            (&["*/*"], true),
            (&["application/*, TEXT/*;q=0.1"], true),
            (&["text/html, */*;q=0.001"], true),
            (&["application/json;charset=utf-8;q=1.0,text/event-stream"], true),
            (&["application/json"], false),
            (&["text/event-stream"], false),
            (&["application/json;q=0, */*"], false),
            (&["application/json, text/event-stream;q=0.000"], false),
            (&["*/*; q=0"], false),
            (&["json, event-stream"], false),
            (&[""], false),
        ] {
            assert_eq!(accepts_replies(&headers(&header::ACCEPT, values)), expected, "{values:?}");
        }
    }

    #[test]
    fn only_the_identity_coding_is_plain() {
        for (values, expected) in [
            (&[][..], true),
            (&["identity"], true),
            (&["Identity, identity"], true),
            (&["gzip"], false),
            (&["identity", "br"], false),
        ] {
            assert_eq!(is_plain(&headers(&header::CONTENT_ENCODING, values)), expected, "{values:?}");
        }
    }
}
