//! The tree of an answers file: what is written where, before anything is made of it.
//!
//! YAML and JSON become the same tree. A scalar keeps its text and whether it was quoted, and is given a type only
//! where it is used: what a bare word means is decided by the field it answers. So `no` stays a word, `1.10` keeps its
//! zero and a number its digits.

use std::collections::HashSet;

use saphyr_parser::{Event, Marker, Parser, ScalarStyle, ScanError, Span};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::ScriptError;
use crate::client::response::Entries;

/// A value and the line it begins in.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) line: usize,
    pub(super) it: It,
}

#[derive(Clone, Debug)]
pub(super) enum It {
    /// A bare word or number. Empty for no value at all.
    Bare(String),
    /// Text in quotes, or a block of text.
    Text(String),
    List(Vec<Node>),
    Map(Vec<(Key, Node)>),
}

/// A key and its line.
#[derive(Clone, Debug)]
pub(super) struct Key {
    pub(super) line: usize,
    pub(super) name: String,
}

impl Node {
    /// Reads a file: as JSON if it is JSON, and as YAML otherwise.
    pub(super) fn read(file: &str, text: &str) -> Result<Self, ScriptError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        match serde_json::from_str::<&RawValue>(text) {
            Ok(raw) => Json { file, text }.node(raw, 0),
            Err(error) if file.ends_with(".json") => {
                Err(ScriptError::new(file, error.line(), format!("not JSON: {error}")))
            }
            Err(_) => Yaml { file, events: Parser::new_from_str(text) }.document(),
        }
    }

    /// Tells whether there is no value: nothing, `~` or `null`.
    pub(super) fn is_null(&self) -> bool {
        matches!(&self.it, It::Bare(text) if matches!(text.as_str(), "" | "~" | "null"))
    }

    /// Returns a scalar's text, quoted or not.
    pub(super) fn text(&self) -> Option<&str> {
        match &self.it {
            It::Bare(text) | It::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Names what it is.
    pub(super) fn what(&self) -> String {
        match &self.it {
            It::Bare(_) if self.is_null() => "nothing".to_owned(),
            It::Bare(text) | It::Text(text) => crate::form::quoted(text),
            It::List(_) => "a list".to_owned(),
            It::Map(_) => "a mapping".to_owned(),
        }
    }

    /// Makes JSON of it: a bare word is what it would be in JSON, and otherwise text.
    pub(super) fn to_value(&self, file: &str) -> Result<Value, ScriptError> {
        Ok(match &self.it {
            It::Bare(text) => bare(text).map_err(|what| ScriptError::new(file, self.line, what))?,
            It::Text(text) => Value::from(text.as_str()),
            It::List(items) => items.iter().map(|item| item.to_value(file)).collect::<Result<_, _>>()?,
            It::Map(entries) => {
                let entry = |(key, node): &(Key, Self)| Ok((key.name.clone(), node.to_value(file)?));
                Value::Object(entries.iter().map(entry).collect::<Result<Map<_, _>, ScriptError>>()?)
            }
        })
    }
}

/// What a bare word is in JSON. A whole number that would lose digits is refused.
pub(super) fn bare(text: &str) -> Result<Value, String> {
    if matches!(text, "" | "~") {
        return Ok(Value::Null);
    }
    match serde_json::from_str::<Value>(text) {
        Ok(Value::Number(number)) => {
            let is_whole = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
            if is_whole && text != "-0" && number.is_f64() {
                return Err(format!("{text} is too long for a number; put it into quotes if it is text"));
            }
            Ok(Value::Number(number))
        }
        Ok(value @ (Value::Null | Value::Bool(_))) => Ok(value),
        _ => Ok(Value::from(text)),
    }
}

/// How deep lists and mappings may be in each other.
const DEEPEST: usize = 64;

struct Yaml<'t> {
    file: &'t str,
    events: Parser<'t, saphyr_parser::StrInput<'t>>,
}

impl<'t> Yaml<'t> {
    fn document(&mut self) -> Result<Node, ScriptError> {
        loop {
            match self.next()? {
                (Event::StreamStart | Event::DocumentStart(_), _) => {}
                (Event::StreamEnd, span) => return Err(self.error(span, "the file is empty")),
                (event, span) => {
                    let node = self.node(event, span, 0)?;
                    return self.end().map(|()| node);
                }
            }
        }
    }

    fn end(&mut self) -> Result<(), ScriptError> {
        loop {
            match self.next()? {
                (Event::DocumentEnd, _) => {}
                (Event::StreamEnd, _) => return Ok(()),
                (_, span) => return Err(self.error(span, "a second document begins; a file has one")),
            }
        }
    }

    fn node(&mut self, event: Event<'t>, span: Span, depth: usize) -> Result<Node, ScriptError> {
        if depth > DEEPEST {
            return Err(self.error(span, "too many levels"));
        }
        let line = span.start.line();
        match event {
            Event::Alias(_) => Err(self.error(span, "aliases (*) are not read here; repeat the value")),
            Event::Scalar(_, _, _, Some(_)) | Event::SequenceStart(_, Some(_)) | Event::MappingStart(_, Some(_)) => {
                Err(self.error(span, "tags (!) are not read here; quotes make text of anything"))
            }
            Event::Scalar(text, ScalarStyle::Plain, ..) => Ok(Node { line, it: It::Bare(text.into_owned()) }),
            Event::Scalar(text, ..) => Ok(Node { line, it: It::Text(text.into_owned()) }),
            Event::SequenceStart(..) => Ok(Node { line, it: It::List(self.items(depth)?) }),
            Event::MappingStart(..) => Ok(Node { line, it: It::Map(self.entries(depth)?) }),
            _ => Err(self.error(span, "a value is missing")),
        }
    }

    fn items(&mut self, depth: usize) -> Result<Vec<Node>, ScriptError> {
        let mut items = Vec::new();
        loop {
            match self.next()? {
                (Event::SequenceEnd, _) => return Ok(items),
                (event, span) => items.push(self.node(event, span, depth + 1)?),
            }
        }
    }

    fn entries(&mut self, depth: usize) -> Result<Vec<(Key, Node)>, ScriptError> {
        let (mut entries, mut seen) = (Vec::new(), HashSet::new());
        loop {
            let (name, span) = match self.next()? {
                (Event::MappingEnd, _) => return Ok(entries),
                (Event::Scalar(name, _, _, None), span) => (name.into_owned(), span),
                (_, span) => return Err(self.error(span, "a key must be plain text")),
            };
            if !seen.insert(name.clone()) {
                return Err(self.error(span, &format!("the key {} comes twice", crate::form::quoted(&name))));
            }
            let (event, value) = self.next()?;
            entries.push((Key { line: span.start.line(), name }, self.node(event, value, depth + 1)?));
        }
    }

    fn next(&mut self) -> Result<(Event<'t>, Span), ScriptError> {
        match self.events.next() {
            Some(Ok(event)) => Ok(event),
            Some(Err(error)) => Err(self.broken(&error)),
            None => Ok((Event::StreamEnd, Span::empty(Marker::default()))),
        }
    }

    fn broken(&self, error: &ScanError) -> ScriptError {
        let what = format!("not YAML: {}, in column {}", error.info(), error.marker().col() + 1);
        ScriptError::new(self.file, error.marker().line(), what)
    }

    fn error(&self, span: Span, what: &str) -> ScriptError {
        ScriptError::new(self.file, span.start.line(), what)
    }
}

struct Json<'t> {
    file: &'t str,
    text: &'t str,
}

impl Json<'_> {
    fn node(&self, raw: &RawValue, depth: usize) -> Result<Node, ScriptError> {
        let (token, line) = (raw.get(), self.line(raw.get()));
        let error = |what: String| ScriptError::new(self.file, line, what);
        if depth > DEEPEST {
            return Err(error("too many levels".to_owned()));
        }
        let parsed = |cause: serde_json::Error| error(format!("not JSON: {cause}"));
        let it = match token.as_bytes().first() {
            Some(b'"') => It::Text(serde_json::from_str(token).map_err(parsed)?),
            Some(b'[') => {
                let items: Vec<&RawValue> = serde_json::from_str(token).map_err(parsed)?;
                It::List(items.into_iter().map(|item| self.node(item, depth + 1)).collect::<Result<_, _>>()?)
            }
            Some(b'{') => {
                let Entries(entries) = serde_json::from_str(token).map_err(parsed)?;
                let entry = |(name, raw): (String, &RawValue)| {
                    Ok((Key { line: self.line(raw.get()), name }, self.node(raw, depth + 1)?))
                };
                It::Map(entries.into_iter().map(entry).collect::<Result<_, _>>()?)
            }
            _ => It::Bare(token.to_owned()),
        };
        Ok(Node { line, it })
    }

    /// The line of a token, which is a part of the text: raw values borrow.
    fn line(&self, token: &str) -> usize {
        let offset = (token.as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize);
        let before = self.text.as_bytes().get(..offset).unwrap_or_default();
        1 + before.iter().filter(|byte| **byte == b'\n').count()
    }
}
