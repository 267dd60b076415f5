//! URI templates, the other way round: which values make a template the URI at hand.
//!
//! RFC 6570 defines how a template and values make a URI; servers need the values back. Templates are turned into
//! regular expressions, which match in time linear in the URI. What a simple expression stands for never crosses
//! a `/`; a `{?query}` takes its parameters in any order, each of them optional.

use std::collections::HashMap;
use std::fmt::Write as _;

use percent_encoding::percent_decode_str;
use regex::Regex;

/// The longest URI that is looked at.
pub(super) const MAX_URI: usize = 8 * 1024;

/// A template that URIs can be held against.
#[derive(Clone, Debug)]
pub(super) struct UriTemplate {
    pub(super) text: String,
    pattern: Regex,
    /// All of them, in order; those of the query last.
    variables: Vec<String>,
    /// How many of them are in the path.
    in_path: usize,
}

impl UriTemplate {
    /// Reads a template.
    ///
    /// # Errors
    /// What cannot be matched: an expression that is not closed, named badly or twice, modifiers (`{a*}`, `{a:3}`), two
    /// expressions with nothing between them, a query that is not the end.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let mut reading = Reading { pattern: "^".to_owned(), variables: Vec::new(), in_path: None };
        let mut rest = text;
        let mut after_expression = false;
        while let Some((literal, from)) = rest.split_once('{') {
            let (expression, behind) = from.split_once('}').ok_or("an expression is not closed with }")?;
            if after_expression && literal.is_empty() && !expression.starts_with(['/', '.', '#', '?']) {
                return Err(format!("nothing tells {{{expression}}} from what is before it"));
            }
            reading.literal(literal)?;
            reading.expression(expression)?;
            (rest, after_expression) = (behind, true);
        }
        reading.literal(rest)?;
        reading.finish(text)
    }

    /// The names the template stands for.
    pub(super) fn variables(&self) -> &[String] {
        &self.variables
    }

    /// The decoded values that make the template this URI; `None` if none do.
    ///
    /// No URI has control characters in it (RFC 3986, section 2), and in logs they would pass for something else.
    pub(super) fn matches(&self, uri: &str) -> Option<HashMap<String, String>> {
        if uri.len() > MAX_URI || uri.contains(char::is_control) {
            return None;
        }
        let (path, query) = match uri.split_once('?') {
            Some((path, query)) if self.in_path < self.variables.len() => (path, Some(query)),
            _ => (uri, None),
        };
        let found = self.pattern.captures(path)?;
        let mut values = HashMap::with_capacity(self.variables.len());
        for (name, value) in self.variables.iter().take(self.in_path).zip(found.iter().skip(1)) {
            values.insert(name.clone(), decoded(value?.as_str())?);
        }
        for pair in query.into_iter().flat_map(|query| query.split('&')).filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let known = self.variables.iter().skip(self.in_path).any(|known| known == name);
            if !known || values.insert(name.to_owned(), decoded(value)?).is_some() {
                return None;
            }
        }
        Some(values)
    }
}

fn decoded(text: &str) -> Option<String> {
    percent_decode_str(text).decode_utf8().ok().map(std::borrow::Cow::into_owned)
}

/// A template being read.
struct Reading {
    pattern: String,
    variables: Vec<String>,
    /// Set once the query begins.
    in_path: Option<usize>,
}

impl Reading {
    fn literal(&mut self, text: &str) -> Result<(), String> {
        if text.contains('}') {
            return Err("a } closes nothing".to_owned());
        }
        if self.in_path.is_some() && !text.is_empty() {
            return Err("a query expression must be the end of the template".to_owned());
        }
        self.pattern.push_str(&regex::escape(text));
        Ok(())
    }

    fn expression(&mut self, expression: &str) -> Result<(), String> {
        let (operator, names) = match expression.chars().next() {
            Some(operator @ ('+' | '#' | '.' | '/' | ';' | '?' | '&')) => (Some(operator), &expression[1..]),
            _ => (None, expression),
        };
        if self.in_path.is_some() {
            return Err("a query expression must be the end of the template".to_owned());
        }
        match operator {
            Some(';' | '&') => return Err(format!("{{{expression}}} is a kind of expression that is not supported")),
            Some('?') if self.pattern.contains("\\?") => {
                return Err("a ? stands before the query expression; leave it to the expression".to_owned());
            }
            Some('?') => self.in_path = Some(self.variables.len()),
            Some('#') => self.pattern.push('#'),
            _ => {}
        }
        for (index, name) in names.split(',').enumerate() {
            self.name(name)?;
            let value = match operator {
                Some('?') => continue,
                Some('+' | '#') => "(.+)",
                Some('.') => "\\.([^/?#.]+)",
                Some('/') => "/([^/?#]+)",
                _ => "([^/?#,]+)",
            };
            let separator = if index > 0 && !matches!(operator, Some('.' | '/')) { "," } else { "" };
            // Writing to a string cannot fail.
            let _ = write!(self.pattern, "{separator}{value}");
        }
        Ok(())
    }

    fn name(&mut self, name: &str) -> Result<(), String> {
        if name.contains(['*', ':']) {
            return Err(format!("{name:?} has a modifier, which cannot be matched"));
        }
        if name.is_empty() || !name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'.') {
            return Err(format!("{name:?} is not a variable's name"));
        }
        if self.variables.iter().any(|known| known == name) {
            return Err(format!("{name:?} is used twice"));
        }
        self.variables.push(name.to_owned());
        Ok(())
    }

    fn finish(mut self, text: &str) -> Result<UriTemplate, String> {
        if self.variables.is_empty() {
            return Err("it has no expression; use Resource for a single URI".to_owned());
        }
        self.pattern.push('$');
        let pattern = Regex::new(&self.pattern).map_err(|error| error.to_string())?;
        let in_path = self.in_path.unwrap_or(self.variables.len());
        Ok(UriTemplate { text: text.to_owned(), pattern, variables: self.variables, in_path })
    }
}

#[cfg(test)]
mod tests {
    use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
    use proptest::prelude::*;

    use super::*;

    /// The values as `name=value`, in the template's order.
    fn matched(template: &str, uri: &str) -> Option<Vec<String>> {
        let template = UriTemplate::parse(template).expect(template);
        let values = template.matches(uri)?;
        let named = |name: &String| values.get(name).map(|value| format!("{name}={value}"));
        Some(template.variables().iter().filter_map(named).collect())
    }

    #[test]
    fn values_are_found_and_decoded() {
        for (template, uri, values) in [
            ("test://{id}/data", "test://7/data", &["id=7"][..]),
            ("file:///{path}", "file:///a%2Fb%20c", &["path=a/b c"]),
            ("file:///{+path}", "file:///a/b/c.txt", &["path=a/b/c.txt"]),
            ("db://{table}/{id}", "db://users/%C3%A9", &["table=users", "id=é"]),
            ("geo:{lat},{lon}", "geo:1.5,-2", &["lat=1.5", "lon=-2"]),
            ("geo:{lat,lon}", "geo:1.5,-2", &["lat=1.5", "lon=-2"]),
            ("x:{name}{.format}", "x:report.pdf", &["name=report", "format=pdf"]),
            ("x:a{/b,c}", "x:a/1/2", &["b=1", "c=2"]),
            ("x:doc{#part}", "x:doc#a/b", &["part=a/b"]),
            ("x:search{?q,page}", "x:search?page=2&q=a%26b", &["q=a&b", "page=2"]),
            ("x:search{?q,page}", "x:search", &[]),
            ("x:{kind}{?q}", "x:books?q=", &["kind=books", "q="]),
        ] {
            assert_eq!(matched(template, uri).unwrap_or_else(|| panic!("{template} {uri}")), values, "{template}");
        }
    }

    #[test]
    fn what_the_template_cannot_make_does_not_match() {
        for (template, uri) in [
            ("test://{id}/data", "test:///data"),
            ("test://{id}/data", "test://a/b/data"),
            ("test://{id}/data", "test://7/data/"),
            ("test://{id}/data", "xtest://7/data"),
            ("test://{id}/data", "test://7/data?x=1"),
            ("test.//{id}", "testx//7"),
            ("file:///{path}", "file:///a/b"),
            ("file:///{path}", "file:///%ff"),
            ("x:search{?q}", "x:search?r=1"),
            ("x:search{?q}", "x:search?q=1&q=2"),
        ] {
            assert_eq!(matched(template, uri), None, "{template} {uri}");
        }
    }

    proptest! {
        /// What RFC 6570 makes of values gives those values back.
        #[test]
        fn a_uri_that_was_made_of_values_gives_them_back(table in "\\PC{1,12}", id in "\\PC{1,12}", q in "\\PC{0,12}") {
            let encode = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
            let uri = format!("db://{}/{}?q={}", encode(&table), encode(&id), encode(&q));
            let values = [format!("table={table}"), format!("id={id}"), format!("q={q}")];
            prop_assert_eq!(matched("db://{table}/{id}{?q}", &uri), Some(values.to_vec()));
        }

        #[test]
        fn any_text_is_a_template_or_not_and_any_uri_matches_or_not(template in "[a{},+?/.#:%é]{0,16}", uri in "\\PC{0,32}") {
            if let Ok(template) = UriTemplate::parse(&template) {
                let _ = template.matches(&uri);
            }
        }
    }

    #[test]
    fn control_characters_are_in_no_uri_unless_encoded() {
        for uri in ["x:b\nx", "x:b\n", "x:\u{1b}[2J", "x:b\0"] {
            assert_eq!(matched("x:{a}", uri), None, "{uri:?}");
        }
        assert_eq!(matched("x:{a}", "x:b%0Ax"), Some(vec!["a=b\nx".to_owned()]));
    }

    #[test]
    fn templates_that_cannot_be_matched_say_why() {
        for (template, why) in [
            ("x:{a", "closed"),
            ("x:a}", "closes nothing"),
            ("x:{}", "name"),
            ("x:{a b}", "name"),
            ("x:{a*}", "modifier"),
            ("x:{a:3}", "modifier"),
            ("x:{a}/{a}", "twice"),
            ("x:{a}{b}", "nothing tells"),
            ("x:{?a}/b", "the end"),
            ("x:{?a}{b}", "nothing tells"),
            ("x:{;a}", "not supported"),
            ("x:a?b=1{?q}", "leave it to the expression"),
            ("x:y", "Resource"),
        ] {
            let error = UriTemplate::parse(template).expect_err(template);
            assert!(error.contains(why), "{template}: {error}");
        }
    }
}
