//! Writing YAML: the small part of it that an answers file needs, and that every reader of YAML reads alike.
//!
//! Text is in double quotes, as in JSON, unless it is a plain word that nothing could take for anything else.

use serde_json::Value;

use super::node::bare;
use crate::visible;

/// A document that grows line by line.
#[derive(Debug, Default)]
pub(super) struct Yaml(String);

impl Yaml {
    pub(super) fn comment(&mut self, text: &str) {
        self.0.push_str(&format!("# {text}\n"));
    }

    /// Writes `key:` on a line of its own, for what follows deeper.
    pub(super) fn open(&mut self, indent: usize, key: &str) {
        self.0.push_str(&format!("{}{}:\n", spaces(indent), scalar(key)));
    }

    /// Writes `key: word`.
    pub(super) fn word(&mut self, indent: usize, key: &str, word: &str) {
        self.0.push_str(&format!("{}{}: {word}\n", spaces(indent), scalar(key)));
    }

    /// Writes the first member of an item of a list; the others are two deeper.
    pub(super) fn item(&mut self, indent: usize, key: &str, text: &str) {
        self.0.push_str(&format!("{}- {key}: {}\n", spaces(indent), scalar(text)));
    }

    /// Begins an item of a list that is a mapping; its members are two deeper.
    pub(super) fn bare_item(&mut self, indent: usize) {
        self.0.push_str(&format!("{}-\n", spaces(indent)));
    }

    pub(super) fn text(&mut self, indent: usize, key: &str, text: &str) {
        self.word(indent, key, &scalar(text));
    }

    /// Writes a key and a value of any sort.
    pub(super) fn value(&mut self, indent: usize, key: &str, value: &Value) {
        self.0.push_str(&format!("{}{}:", spaces(indent), scalar(key)));
        self.below(indent, value);
    }

    /// Writes what stands behind a colon or a dash: on the same line, or deeper.
    fn below(&mut self, indent: usize, value: &Value) {
        match value {
            Value::Object(members) if !members.is_empty() => {
                self.0.push('\n');
                for (key, value) in members {
                    self.value(indent + 2, key, value);
                }
            }
            Value::Array(items) if !items.is_empty() => {
                self.0.push('\n');
                for item in items {
                    self.0.push_str(&format!("{}-", spaces(indent + 2)));
                    self.below(indent + 2, item);
                }
            }
            Value::String(text) => self.0.push_str(&format!(" {}\n", scalar(text))),
            other => self.0.push_str(&format!(" {other}\n")),
        }
    }

    pub(super) fn into_text(self) -> String {
        self.0
    }
}

fn spaces(indent: usize) -> String {
    " ".repeat(indent)
}

/// Text as a scalar that is read as this text.
fn scalar(text: &str) -> String {
    let is_word = text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/'))
        // Older readers take these for yes and no.
        && !["yes", "no", "on", "off", "y", "n", "true", "false", "null"].contains(&&*text.to_ascii_lowercase())
        && bare(text).is_ok_and(|value| value.is_string());
    if is_word {
        return text.to_owned();
    }
    let mut quoted = String::from("\"");
    for (c, is_unsafe) in visible::characters(text) {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            // All that YAML does not allow as it is, and what an editor does not show.
            c if is_unsafe && u32::from(c) > 0xffff => quoted.push_str(&format!("\\U{:08x}", u32::from(c))),
            c if is_unsafe || matches!(c, '\u{fffe}' | '\u{ffff}') => {
                quoted.push_str(&format!("\\u{:04x}", u32::from(c)));
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}
