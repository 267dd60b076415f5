//! What a server asked or returned against what a file says, for people to read.

use std::fmt;

use serde_json::Value;
use similar::{ChangeTag, TextDiff};
use thiserror::Error;

use super::{Expected, Pattern, Question};
use crate::client::{Ask, Kind, Output};
use crate::visible;
use crate::wire::json::canonical;

/// Something is not as the file has it; the cause of a [`CallError::Responder`](crate::client::CallError::Responder)
/// when it is a question.
///
/// It prints as lines of at most 80 columns: what it is about and where the file has it, then what is recorded (`-`)
/// and what came (`+`). The server's text is made harmless.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{file}:{line}: {what} is not what was recorded\n--- recorded\n+++ came\n{}", Lines(.recorded, .came))]
#[non_exhaustive]
pub struct Difference {
    /// The file.
    pub file: String,
    /// The line of the answer, or call.
    pub line: usize,
    /// What differs, such as `the question "confirm" of round 1`.
    pub what: String,
    /// What the file says, in lines.
    pub recorded: String,
    /// What came, in lines.
    pub came: String,
}

impl Difference {
    /// Compares a question with what it was.
    pub(super) fn of_question(file: &str, line: usize, recorded: &Question, ask: &Ask) -> Option<Self> {
        let mut sides = Sides::default();
        if let Some(kind) = recorded.kind {
            sides.text("kind", word(kind), word(ask.kind));
        }
        sides.pattern("message", recorded.message.as_ref(), &ask.message());
        sides.pattern("url", recorded.url.as_ref(), &ask.url().unwrap_or_default());
        sides.json("schema", recorded.schema.as_ref(), || ask.requested_schema());
        sides.json("params", recorded.params.as_ref(), || serde_json::from_str(ask.params.get()).unwrap_or_default());
        let key = crate::form::harmless(&ask.key, 40);
        sides.into_difference(file, line, format!("the question \"{key}\" of round {}", ask.round))
    }

    /// Compares the questions of a round with those it had; their order in a round means nothing.
    pub(super) fn of_keys(file: &str, line: usize, round: u32, recorded: &[&str], came: &[&str]) -> Option<Self> {
        let is_same = recorded.len() == came.len() && recorded.iter().all(|key| came.contains(key));
        let lines = |keys: &[&str]| keys.iter().map(|key| labelled("asked", key)).collect::<String>();
        let what = format!("what round {round} asks");
        let (recorded, came) = (lines(recorded), lines(came));
        (!is_same).then(|| Self { file: file.to_owned(), line, what, recorded, came })
    }

    /// Compares a result with what it was.
    pub(super) fn of_result(file: &str, line: usize, recorded: &Expected, output: &Output) -> Option<Self> {
        let (came, mut sides) = (Expected::of(output), Sides::default());
        let value = output.value();
        sides.pattern("text", recorded.text.as_ref(), came.text.as_ref().map_or("", Pattern::as_str));
        if let Some(is_error) = recorded.is_error {
            sides.text("error", &is_error.to_string(), &output.is_error().to_string());
        }
        if let Some(blocks) = &recorded.blocks {
            sides.text("blocks", &blocks.join(", "), &came.blocks.unwrap_or_default().join(", "));
        }
        sides.json("structured", recorded.structured.as_ref(), || came.structured.unwrap_or_default());
        sides.json("value", recorded.value.as_ref(), || value);
        sides.into_difference(file, line, "the result".to_owned())
    }
}

impl Expected {
    /// What a later run of the same call is to be held to.
    pub(super) fn of(output: &Output) -> Self {
        let value = output.value();
        let Some(blocks) = value["content"].as_array() else {
            // Prompts, resources: there is no shorter way to say what they are.
            return Self { value: Some(value), ..Self::default() };
        };
        Self {
            text: Some(Pattern::Exactly(output.text())),
            is_error: Some(output.is_error()),
            blocks: Some(blocks.iter().map(|block| block["type"].as_str().unwrap_or("?").to_owned()).collect()),
            structured: value.get("structuredContent").cloned(),
            value: None,
        }
    }
}

/// The word for a kind of question in a file.
pub(super) fn word(kind: Kind) -> &'static str {
    match kind {
        Kind::Form => "form",
        Kind::Url => "url",
        Kind::Sampling => "sampling",
        Kind::Roots => "roots",
    }
}

/// The two sides of a comparison, as lines.
#[derive(Default)]
struct Sides {
    recorded: String,
    came: String,
}

impl Sides {
    fn text(&mut self, name: &str, recorded: &str, came: &str) {
        self.recorded.push_str(&labelled(name, recorded));
        self.came.push_str(&labelled(name, came));
    }

    fn pattern(&mut self, name: &str, recorded: Option<&Pattern>, came: &str) {
        match recorded {
            Some(recorded) if recorded.matches(came) => self.text(name, came, came),
            Some(Pattern::Like(pattern)) => self.text(name, &format!("(like) {pattern}"), came),
            Some(Pattern::Exactly(text)) => self.text(name, text, came),
            None => {}
        }
    }

    /// Values are compared by what they mean, and shown as they are written only where they differ.
    fn json(&mut self, name: &str, recorded: Option<&Value>, came: impl FnOnce() -> Value) {
        let Some(recorded) = recorded else { return };
        let came = came();
        let form = |value: &Value| canonical(&value.to_string()).unwrap_or_default();
        let pretty = |value: &Value| serde_json::to_string_pretty(value).unwrap_or_default();
        let recorded_text = pretty(recorded);
        let is_same = form(recorded) == form(&came) && order(recorded) == order(&came);
        let came_text = if is_same { recorded_text.clone() } else { pretty(&came) };
        self.text(name, &recorded_text, &came_text);
    }

    fn into_difference(self, file: &str, line: usize, what: String) -> Option<Difference> {
        let Self { recorded, came } = self;
        (recorded != came).then(|| Difference { file: file.to_owned(), line, what, recorded, came })
    }
}

/// The order of the fields of a form, which people see.
fn order(schema: &Value) -> Option<Vec<&String>> {
    schema["properties"].as_object().map(|fields| fields.keys().collect())
}

/// A name and a value in lines of their own, none longer than fits.
fn labelled(name: &str, value: &str) -> String {
    let mut text = String::new();
    for (index, line) in value.split('\n').enumerate() {
        let line: String = visible::characters(line).fold(String::new(), |mut shown, (c, is_unsafe)| {
            if is_unsafe {
                shown.extend(c.escape_default())
            } else {
                shown.push(c)
            }
            shown
        });
        let label = if index == 0 { format!("{name}: ") } else { "  ".to_owned() };
        wrapped(&format!("{label}{line}"), &mut text);
    }
    text
}

/// The widest line of a side: with its sign it fits into 80 columns.
const WIDEST: usize = 76;

fn wrapped(line: &str, text: &mut String) {
    let mut column = 0;
    for c in line.chars() {
        // Characters of two columns are rare enough to be counted as such without a table.
        let width = if c.is_ascii() { 1 } else { 2 };
        if column + width > WIDEST {
            text.push_str("\n    ");
            column = 4;
        }
        text.push(c);
        column += width;
    }
    text.push('\n');
}

struct Lines<'a>(&'a str, &'a str);

impl fmt::Display for Lines<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let diff = TextDiff::from_lines(self.0, self.1);
        for (index, group) in diff.grouped_ops(3).iter().enumerate() {
            if index > 0 {
                writeln!(f, "  ...")?;
            }
            for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
                let sign = match change.tag() {
                    ChangeTag::Delete => '-',
                    ChangeTag::Insert => '+',
                    ChangeTag::Equal => ' ',
                };
                writeln!(f, "{sign} {}", change.value().trim_end_matches('\n'))?;
            }
        }
        Ok(())
    }
}
