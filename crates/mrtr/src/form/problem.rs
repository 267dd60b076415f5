//! What is wrong with an answer, in words a person can act on.
//!
//! Answers and schemas come from a peer, so nothing of theirs is repeated as it came: quoted text
//! is cut and every character that could move a cursor, hide or reorder text is shown as its code.

use std::fmt;

use serde_json::Value;

use crate::visible;

/// One thing that is wrong with an answer to a form.
///
/// It prints as one sentence without a full stop, for example `"email" must be an e-mail address`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Problem {
    /// The field it is about; `None` where it is about the answer as a whole.
    pub field: Option<String>,
    /// What is wrong, as the rest of a sentence that starts with the field: `must be an e-mail
    /// address`.
    pub text: String,
}

impl Problem {
    /// Says `text` about one field.
    pub(super) fn of(field: &str, text: impl Into<String>) -> Self {
        Self { field: Some(field.to_owned()), text: text.into() }
    }

    /// Says `text` about the whole answer, or the whole schema.
    pub(super) fn whole(text: impl Into<String>) -> Self {
        Self { field: None, text: text.into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.field {
            Some(field) => write!(f, "{} {}", quoted(field), self.text),
            None => f.write_str(&self.text),
        }
    }
}

impl std::error::Error for Problem {}

/// A peer's text in double quotes: cut at [`QUOTE_LIMIT`] characters, harmless in a terminal.
pub(crate) fn quoted(text: &str) -> String {
    format!("\"{}\"", harmless(text, QUOTE_LIMIT))
}

/// A peer's text cut at `limit` characters, with control and invisible characters shown as their
/// codes.
pub(crate) fn harmless(text: &str, limit: usize) -> String {
    let mut shown = String::with_capacity(text.len().min(limit));
    for (position, (c, is_unsafe)) in visible::characters(text).enumerate() {
        if position == limit {
            shown.push('…');
            break;
        }
        match c {
            '"' | '\\' => shown.extend(['\\', c]),
            c if is_unsafe => shown.extend(c.escape_default()),
            c => shown.push(c),
        }
    }
    shown
}

/// A peer's value in a few words: scalars as they are, anything larger by what it is.
pub(super) fn shown(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => quoted(text),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    }
}

/// A peer's values, quoted and counted: `"a", "b" and 4998 more`.
pub(super) fn list<'a>(values: impl ExactSizeIterator<Item = &'a str>) -> String {
    let total = values.len();
    let mut text = values.take(LIST_LIMIT).map(quoted).collect::<Vec<_>>().join(", ");
    if total > LIST_LIMIT {
        text.push_str(&format!(" and {} more", total - LIST_LIMIT));
    }
    text
}

/// `1 character`, `2 characters`.
pub(super) fn count(number: u64, noun: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{ending}")
}

/// Longest quotation of a peer's text, in characters.
const QUOTE_LIMIT: usize = 60;

/// Most values named in one message.
const LIST_LIMIT: usize = 8;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_problem_reads_as_a_sentence() {
        assert_eq!(Problem::of("city", "is required").to_string(), r#""city" is required"#);
        assert_eq!(Problem::whole("is not an object").to_string(), "is not an object");
    }

    #[test]
    fn escape_sequences_and_bidi_marks_are_shown_as_codes() {
        let hostile = "\u{1b}[2J\u{202e}\u{200b}\r\"";
        assert_eq!(Problem::of(hostile, "x").to_string(), r#""\u{1b}[2J\u{202e}\u{200b}\r\"" x"#);
    }

    #[test]
    fn huge_values_are_cut() {
        assert!(shown(&json!("x".repeat(1_000_000))).chars().count() < 70);
        assert_eq!(shown(&json!([1, 2, 3])), "a list");
        let many: Vec<String> = (0..5000).map(|n| n.to_string()).collect();
        assert!(list(many.iter().map(String::as_str)).ends_with(r#""7" and 4992 more"#));
    }
}
