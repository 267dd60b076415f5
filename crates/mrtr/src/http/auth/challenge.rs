//! The `WWW-Authenticate` header of a refusal ([RFC 6750, section 3](https://www.rfc-editor.org/rfc/rfc6750#section-3),
//! [RFC 9728, section 5.1](https://www.rfc-editor.org/rfc/rfc9728#section-5.1)).

use std::fmt::Write;

use http::HeaderValue;

use super::AuthError;

/// The header that goes with this error, if one does. `scopes` are those a first token needs.
pub(super) fn header(error: &AuthError, scopes: &[String], metadata: Option<&str>) -> Option<HeaderValue> {
    let mut challenge = Challenge(String::from("Bearer"));
    match error {
        // Who sent no credential is told no error code (RFC 6750, section 3.1).
        AuthError::Missing => challenge.scopes(scopes),
        AuthError::Malformed(reason) => {
            challenge.parameter("error", "invalid_request");
            challenge.parameter("error_description", reason);
        }
        AuthError::Unauthorized(reason) => {
            challenge.parameter("error", "invalid_token");
            challenge.parameter("error_description", reason);
            challenge.scopes(scopes);
        }
        AuthError::Forbidden { scopes } => {
            challenge.parameter("error", "insufficient_scope");
            challenge.scopes(scopes);
        }
        AuthError::Unavailable => return None,
    }
    if let Some(url) = metadata {
        challenge.parameter("resource_metadata", url);
    }
    if challenge.is_bare() {
        // RFC 6750, section 3: the scheme is never alone.
        challenge.parameter("realm", "mcp");
    }
    HeaderValue::try_from(challenge.0).ok()
}

struct Challenge(String);

impl Challenge {
    fn is_bare(&self) -> bool {
        !self.0.ends_with('"')
    }

    fn scopes(&mut self, scopes: &[String]) {
        if !scopes.is_empty() {
            self.parameter("scope", &scopes.join(" "));
        }
    }

    /// What a quoted parameter cannot hold becomes `?`: an authenticator's text cannot add parameters of its own.
    fn parameter(&mut self, name: &str, value: &str) {
        let separator = if self.is_bare() { "" } else { "," };
        let value: String = value.chars().map(|letter| if is_plain(letter) { letter } else { '?' }).collect();
        write!(self.0, "{separator} {name}=\"{value}\"").expect("a String takes every text");
    }
}

/// Printable ASCII without the quote and the backslash.
fn is_plain(letter: char) -> bool {
    matches!(letter, ' '..='~') && !matches!(letter, '"' | '\\')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(error: &AuthError) -> String {
        let scopes = ["deploy".to_owned(), "read".to_owned()];
        let header = header(error, &scopes, Some("https://mcp.example.com/.well-known/oauth-protected-resource"));
        header.map_or_else(String::new, |header| header.to_str().unwrap().to_owned())
    }

    #[test]
    fn each_refusal_has_its_challenge() {
        const METADATA: &str = "resource_metadata=\"https://mcp.example.com/.well-known/oauth-protected-resource\"";
        for (error, expected) in [
            (AuthError::Missing, format!("Bearer scope=\"deploy read\", {METADATA}")),
            (
                AuthError::unauthorized("the token has expired"),
                format!(
                    "Bearer error=\"invalid_token\", error_description=\"the token has expired\", \
                     scope=\"deploy read\", {METADATA}"
                ),
            ),
            (
                AuthError::forbidden(["admin", "deploy"]),
                format!("Bearer error=\"insufficient_scope\", scope=\"admin deploy\", {METADATA}"),
            ),
            (
                AuthError::malformed("twice"),
                format!("Bearer error=\"invalid_request\", error_description=\"twice\", {METADATA}"),
            ),
            (AuthError::Unavailable, String::new()),
        ] {
            assert_eq!(text(&error), expected);
        }
    }

    #[test]
    fn nothing_of_a_reason_gets_out_of_its_quotes() {
        let error = AuthError::unauthorized("a\", realm=\"b\\\r\nSet-Cookie: c=é");
        assert!(text(&error).contains("error_description=\"a?, realm=?b???Set-Cookie: c=?\""), "{}", text(&error));
    }

    #[test]
    fn with_nothing_to_say_the_scheme_is_still_not_alone() {
        assert_eq!(header(&AuthError::Missing, &[], None).unwrap(), "Bearer realm=\"mcp\"");
    }
}
