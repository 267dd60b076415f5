//! A message of the wire on lines of its own, each number and escape as it came.

/// How request states are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum States {
    /// As a beginning and a size.
    Short,
    /// As they are.
    Full,
}

/// Lays JSON out with an indent of two; `None` if it is no JSON.
///
/// Nothing is parsed into values and printed again, so that what is shown is what was sent: only white space differs,
/// and the states where they are to be short.
pub(crate) fn pretty(text: &str, states: States) -> Option<String> {
    serde_json::from_str::<serde::de::IgnoredAny>(text).ok()?;
    let mut page = Page { out: String::with_capacity(text.len() * 2), frames: Vec::new(), states };
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let token = match first {
            '"' => string(rest),
            '{' | '}' | '[' | ']' | ',' | ':' => &rest[..1],
            _ => rest.split(|c: char| c.is_ascii_whitespace() || ",]}".contains(c)).next().unwrap_or(rest),
        };
        rest = rest.get(token.len().max(first.len_utf8())..).unwrap_or_default().trim_start();
        page.put(token, rest);
    }
    Some(page.out)
}

/// A string with its quotes, from a text that begins with it.
fn string(text: &str) -> &str {
    let mut is_escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => return &text[..=at],
            _ => {}
        }
    }
    text
}

struct Page<'t> {
    out: String,
    frames: Vec<Frame<'t>>,
    states: States,
}

/// An object or list that is open.
struct Frame<'t> {
    is_object: bool,
    /// The name of the member being written, quotes included; `None` where a name comes next.
    name: Option<&'t str>,
}

impl<'t> Page<'t> {
    fn put(&mut self, token: &'t str, rest: &str) {
        match token {
            "{" | "[" => {
                self.out.push_str(token);
                self.frames.push(Frame { is_object: token == "{", name: None });
                if !rest.starts_with(['}', ']']) {
                    self.line();
                }
            }
            "}" | "]" => {
                let is_empty = self.out.ends_with(['{', '[']);
                self.frames.pop();
                if !is_empty {
                    self.line();
                }
                self.out.push_str(token);
            }
            "," => {
                self.out.push(',');
                if let Some(frame) = self.frames.last_mut() {
                    frame.name = None;
                }
                self.line();
            }
            ":" => self.out.push_str(": "),
            _ if self.is_state() => self.out.push_str(&shortened(token)),
            _ => {
                if let Some(frame) = self.frames.last_mut().filter(|frame| frame.is_object && frame.name.is_none()) {
                    frame.name = Some(token);
                }
                self.out.push_str(token);
            }
        }
    }

    fn line(&mut self) {
        self.out.push('\n');
        self.out.push_str(&"  ".repeat(self.frames.len()));
    }

    /// Tells whether the value that comes now is a state that is to be short.
    fn is_state(&self) -> bool {
        let [outer, inner] = self.frames.as_slice() else { return false };
        self.states == States::Short
            && matches!(outer.name, Some("\"params\"" | "\"result\""))
            && inner.name == Some("\"requestState\"")
    }
}

/// How many characters of a state are shown: the version and the key of those made by this library.
const SHOWN: usize = 9;

/// `"m1.AAECAw…(169 B)"`. A state that is not much longer than that stays.
fn shortened(token: &str) -> String {
    let Some(state) = token.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) else {
        return token.to_owned();
    };
    if state.len() <= 2 * SHOWN {
        return token.to_owned();
    }
    // Half an escape would be no JSON.
    let shown: String = state.chars().take(SHOWN).take_while(|c| *c != '\\').collect();
    format!("\"{shown}…({} B)\"", state.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_laid_out_and_stays_as_it_was_spelled() {
        let text = r#"{"a":[1.10,{}, [] ,"x\"},:"],"big":12345678901234567890123,"\u0061":null}"#;
        let expected = "{\n  \"a\": [\n    1.10,\n    {},\n    [],\n    \"x\\\"},:\"\n  ],\n  \"big\": 12345678901234567890123,\n  \"\\u0061\": null\n}";
        assert_eq!(pretty(text, States::Short).as_deref(), Some(expected));
        assert_eq!(pretty("7", States::Short).as_deref(), Some("7"));
        assert_eq!(pretty("<html>", States::Short), None);
        assert_eq!(pretty("{} {}", States::Short), None);
    }

    #[test]
    fn states_are_short_where_they_are_states() {
        let state = format!("m1.AAECAw{}", "x".repeat(160));
        let text = format!(r#"{{"params":{{"requestState":"{state}","arguments":{{"requestState":"{state}"}}}}}}"#);
        let short = pretty(&text, States::Short).unwrap();
        assert!(short.contains("    \"requestState\": \"m1.AAECAw…(169 B)\",\n"), "{short}");
        assert!(short.contains(&format!("      \"requestState\": \"{state}\"\n")), "an argument is none: {short}");
        assert!(!pretty(&text, States::Full).unwrap().contains('…'));
        assert_eq!(shortened(r#""\u0061bcdefghijklmnopqrstuvwxyz""#), "\"…(31 B)\"");
        assert_eq!(shortened("null"), "null");
    }
}
