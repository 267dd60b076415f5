//! What a field takes, in words: the hints beside a prompt.

use std::fmt::Display;

use serde_json::{Number, Value};

use super::field::{Field, FieldKind, TextFormat};
use super::problem::harmless;

impl Field {
    /// What the field takes, in a few short phrases for the person who answers: `a whole number`, `1 to 5`.
    ///
    /// They are harmless in a terminal, whatever the server wrote into its schema. The choices of a list are not among
    /// them, nor whether an answer is required.
    ///
    /// ```
    /// use mrtr::form::Form;
    /// use serde_json::json;
    ///
    /// let form = Form::lenient(&json!({ "properties": { "n": { "type": "integer", "minimum": 1, "multipleOf": 5 } } }));
    /// assert_eq!(form.fields()[0].rules(), ["a whole number", "at least 1", "a multiple of 5"]);
    /// ```
    #[must_use]
    pub fn rules(&self) -> Vec<String> {
        let mut rules = self.rules_of_kind();
        for (keyword, words) in EXTRAS {
            if let Some(Value::Number(bound)) = self.judge.extra(keyword) {
                rules.push(format!("{words} {bound}"));
            }
        }
        rules.extend(self.pattern().map(|pattern| format!("matching {}", harmless(pattern, LONGEST_PATTERN))));
        rules
    }

    /// The regular expression the answer must match, where the schema has one.
    #[must_use]
    pub fn pattern(&self) -> Option<&str> {
        self.judge.extra("pattern").and_then(Value::as_str)
    }

    fn rules_of_kind(&self) -> Vec<String> {
        match &self.kind {
            FieldKind::Text { min_length, max_length, format } => {
                let format = format.as_ref().and_then(looks_like).map(str::to_owned);
                format.into_iter().chain(range(min_length.as_ref(), max_length.as_ref(), "character")).collect()
            }
            FieldKind::Number { integer, minimum, maximum } => {
                let what = if *integer { "a whole number" } else { "a number" };
                let range = range::<Number>(minimum.as_ref(), maximum.as_ref(), "");
                [what.to_owned()].into_iter().chain(range).collect()
            }
            FieldKind::MultiChoice { min_items, max_items, .. } => {
                range(min_items.as_ref(), max_items.as_ref(), "choice").into_iter().collect()
            }
            FieldKind::Unsupported { schema, .. } => match schema.get("type").and_then(Value::as_str) {
                Some(name) => vec![format!("JSON ({})", harmless(name, LONGEST_NAME))],
                None => vec!["JSON".to_owned()],
            },
            FieldKind::Boolean | FieldKind::Choice { .. } => Vec::new(),
        }
    }
}

fn looks_like(format: &TextFormat) -> Option<&'static str> {
    match format {
        TextFormat::Email => Some("an e-mail address"),
        TextFormat::Uri => Some("a full URI, such as https://example.com/page"),
        TextFormat::Date => Some("a date, such as 2026-07-28"),
        TextFormat::DateTime => Some("a date and time with a zone, such as 2026-07-28T15:30:00Z"),
        TextFormat::Other(_) => None,
    }
}

fn range<T: Display + PartialEq>(low: Option<&T>, high: Option<&T>, unit: &str) -> Option<String> {
    let phrase = match (low, high) {
        (None, None) => return None,
        (Some(low), None) => format!("at least {low}"),
        (None, Some(high)) => format!("at most {high}"),
        (Some(low), Some(high)) if low == high => format!("exactly {low}"),
        (Some(low), Some(high)) => format!("{low} to {high}"),
    };
    let is_one = high.or(low).is_some_and(|last| last.to_string() == "1");
    Some(match (unit, is_one) {
        ("", _) => phrase,
        (unit, true) => format!("{phrase} {unit}"),
        (unit, false) => format!("{phrase} {unit}s"),
    })
}

/// Rules of numbers that forms have no room for, and which hold all the same.
const EXTRAS: [(&str, &str); 3] =
    [("exclusiveMinimum", "above"), ("exclusiveMaximum", "below"), ("multipleOf", "a multiple of")];

/// Longest part of a pattern that is shown, in characters.
const LONGEST_PATTERN: usize = 120;

/// Longest name of a type that is shown, in characters.
const LONGEST_NAME: usize = 20;
