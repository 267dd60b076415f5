//! Decides whether a value fits a field, and says in plain words why not.
//!
//! Which choices there are is looked up; every other decision is the `jsonschema` crate's, on a
//! schema that holds one field and no references: nothing is fetched, patterns run in linear time,
//! and the cost of one answer is bounded by the size of the schema.

use std::collections::HashSet;
use std::fmt;
use std::sync::OnceLock;

use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::{Draft, EmailOptions, PatternOptions, ValidationError, Validator};
use serde_json::{Map, Number, Value, json};

use super::field::{Choice, Field, FieldKind, TextFormat};
use super::keywords::{EXACT, whole};
use super::problem::{count, harmless, list, quoted, shown};
use super::resolve::weight;

/// The rules of one field. They are compiled when the first value is judged: a form may have
/// thousands of fields, and a person answers a few.
pub(super) struct Judge {
    /// What must compile, or there are no rules.
    rules: Option<Value>,
    /// What is judged as well if it compiles.
    extras: Map<String, Value>,
    compiled: OnceLock<Option<Validator>>,
}

impl Judge {
    /// The rules of `kind`, and `extras`. Which choices there are is not among them: that is looked
    /// up in the field.
    pub(super) fn new(kind: &FieldKind, extras: Map<String, Value>) -> Self {
        let rules = match kind {
            FieldKind::Unsupported { schema, .. } => (!refers(schema)).then(|| schema.clone()),
            FieldKind::Choice { .. } => Some(json!({ "type": "string" })),
            FieldKind::MultiChoice { min_items, max_items, .. } => {
                let plain =
                    FieldKind::MultiChoice { options: Vec::new(), min_items: *min_items, max_items: *max_items };
                Some(without_items(plain.to_schema()))
            }
            _ => Some(kind.to_schema()),
        };
        let extras = if matches!(kind, FieldKind::Unsupported { .. }) { Map::new() } else { extras };
        Self { rules, extras, compiled: OnceLock::new() }
    }

    /// The rules that can be judged without compiling a pattern.
    pub(super) fn without_patterns(&self) -> Self {
        let rules = self.rules.clone().filter(|rules| patterns(rules) == 0);
        let mut extras = self.extras.clone();
        extras.shift_remove("pattern");
        Self { rules, extras, compiled: OnceLock::new() }
    }

    /// A rule beside those of the field's kind.
    pub(super) fn extra(&self, keyword: &str) -> Option<&Value> {
        self.extras.get(keyword)
    }

    /// How many patterns there are to compile.
    pub(super) fn patterns(&self) -> usize {
        self.rules.as_ref().map_or(0, patterns) + usize::from(self.extras.contains_key("pattern"))
    }

    /// Whether there are no rules at all: everything is accepted, and the peer has the last word.
    pub(super) fn is_blind(&self) -> bool {
        self.validator().is_none()
    }

    /// Whether a value was judged, or could have been.
    #[cfg(test)]
    pub(super) fn is_compiled(&self) -> bool {
        self.compiled.get().is_some()
    }

    fn validator(&self) -> Option<&Validator> {
        self.compiled.get_or_init(|| self.build()).as_ref()
    }

    fn build(&self) -> Option<Validator> {
        let rules = self.rules.as_ref()?;
        if self.extras.is_empty() {
            return compile(rules);
        }
        compile(&json!({ "allOf": [rules, self.extras] })).or_else(|| compile(rules))
    }
}

impl fmt::Debug for Judge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Judge").finish_non_exhaustive()
    }
}

fn without_items(mut schema: Value) -> Value {
    if let Value::Object(schema) = &mut schema {
        schema.shift_remove("items");
    }
    schema
}

impl Field {
    /// The value in the form it is passed on in, or everything that is wrong with it.
    pub(super) fn settle(&self, value: &Value) -> Result<Value, Vec<String>> {
        let value = self.normal(value).map_err(|problem| vec![problem])?;
        let problems = self.complaints(&value);
        if problems.is_empty() { Ok(value) } else { Err(problems) }
    }

    /// Whole numbers are spelled as such: `1.0` is an integer in JSON Schema, but not to every
    /// deserialiser.
    fn normal(&self, value: &Value) -> Result<Value, String> {
        match (&self.kind, value) {
            (FieldKind::Number { integer: true, .. }, Value::Number(number)) => exact(number).map(Value::Number),
            _ => Ok(value.clone()),
        }
    }

    fn complaints(&self, value: &Value) -> Vec<String> {
        match (&self.kind, value) {
            (FieldKind::Choice { options }, _) if !options.iter().any(|choice| *value == choice.value) => {
                vec![format!("must be one of {}, not {}", values(options), shown(value))]
            }
            (FieldKind::MultiChoice { options, .. }, Value::Array(items)) => {
                let mut texts = self.broken_rules(value);
                let room = MOST_TEXTS.saturating_sub(texts.len());
                texts.extend(strangers(items, options, room));
                texts.extend(repeated(items));
                texts
            }
            _ => self.broken_rules(value),
        }
    }

    /// Whether a peer's value can be judged, and what is wrong with it told, in no time. What forms
    /// have no control for may apply every part of its schema to every part of the value.
    pub(super) fn is_quick_to_judge(&self, value: &Value) -> bool {
        match &self.kind {
            FieldKind::Unsupported { schema, .. } => {
                let sizes = weight(schema, usize::MAX).zip(weight(value, usize::MAX));
                sizes.is_some_and(|(schema, value)| schema.saturating_mul(value) <= MOST_WORK)
            }
            _ => true,
        }
    }

    fn broken_rules(&self, value: &Value) -> Vec<String> {
        // Nearly every answer is valid, and that is much quicker to see than what is wrong.
        let Some(validator) = self.judge.validator().filter(|validator| !validator.is_valid(value)) else {
            return Vec::new();
        };
        if !self.is_quick_to_judge(value) {
            return vec![NOT_VALID.to_owned()];
        }
        let errors: Vec<_> = validator.iter_errors(value).collect();
        // Of the wrong type, nothing else that is wrong with it matters.
        if let Some(error) = errors.iter().find(|error| is_whole_type_error(error)) {
            return vec![self.phrase(error)];
        }
        let mut texts: Vec<String> = Vec::new();
        for error in &errors {
            if texts.len() == MOST_TEXTS {
                break;
            }
            let text = self.phrase(error);
            if !texts.contains(&text) {
                texts.push(text);
            }
        }
        if texts.is_empty() {
            texts.push(NOT_VALID.to_owned());
        }
        texts
    }

    fn phrase(&self, error: &ValidationError<'_>) -> String {
        let value = error.instance();
        match error.kind() {
            ValidationErrorKind::Type { kind } => format!("must be {}, not {}", self.wanted(kind), shown(value)),
            kind => phrase(kind, value)
                .unwrap_or_else(|| format!("is not valid: {}", harmless(&error.to_string(), LONGEST))),
        }
    }

    fn wanted(&self, kind: &TypeKind) -> String {
        match self.kind {
            FieldKind::Text { .. } => "text".to_owned(),
            FieldKind::Number { integer: true, .. } => "a whole number".to_owned(),
            FieldKind::Number { .. } => "a number".to_owned(),
            FieldKind::Boolean => "true or false".to_owned(),
            FieldKind::MultiChoice { .. } => "a list of choices".to_owned(),
            FieldKind::Choice { .. } | FieldKind::Unsupported { .. } => match kind {
                TypeKind::Single(name) => format!("of type {name}"),
                TypeKind::Multiple(_) => "of another type".to_owned(),
            },
        }
    }
}

/// The rule that was broken, in words; `None` for rules forms do not have.
fn phrase(kind: &ValidationErrorKind, value: &Value) -> Option<String> {
    Some(match kind {
        ValidationErrorKind::Format { format } => looks_like(&TextFormat::named(format)),
        ValidationErrorKind::MinLength { limit } => {
            format!("must have at least {} (it has {})", count(*limit, "character"), length(value))
        }
        ValidationErrorKind::MaxLength { limit } => {
            format!("must have at most {} (it has {})", count(*limit, "character"), length(value))
        }
        ValidationErrorKind::Minimum { limit } => {
            format!("must be at least {limit}, not {}", shown(value))
        }
        ValidationErrorKind::Maximum { limit } => {
            format!("must be at most {limit}, not {}", shown(value))
        }
        ValidationErrorKind::ExclusiveMinimum { limit } => {
            format!("must be above {limit}, not {}", shown(value))
        }
        ValidationErrorKind::ExclusiveMaximum { limit } => {
            format!("must be below {limit}, not {}", shown(value))
        }
        ValidationErrorKind::MultipleOf { multiple_of } => {
            format!("must be a multiple of {multiple_of}, not {}", shown(value))
        }
        ValidationErrorKind::MinItems { limit } => {
            format!("needs at least {} (it has {})", count(*limit, "choice"), length(value))
        }
        ValidationErrorKind::MaxItems { limit } => {
            format!("takes at most {} (it has {})", count(*limit, "choice"), length(value))
        }
        ValidationErrorKind::Pattern { pattern } => {
            format!("must match the pattern {}", quoted(pattern))
        }
        ValidationErrorKind::Constant { expected_value } => {
            format!("must be {}", shown(expected_value))
        }
        _ => return None,
    })
}

fn looks_like(format: &TextFormat) -> String {
    match format {
        TextFormat::Email => "must be an e-mail address".to_owned(),
        TextFormat::Uri => "must be a full URI, such as https://example.com/page".to_owned(),
        TextFormat::Date => "must be a date, such as 2026-07-28".to_owned(),
        TextFormat::DateTime => "must be a date and time with a zone, such as 2026-07-28T15:30:00Z".to_owned(),
        TextFormat::Other(name) => format!("must have the format {}", quoted(name)),
    }
}

/// The number as an integer. One without a fraction that is too large to be told from its
/// neighbours is refused: guessing which one was meant would change the answer.
fn exact(number: &Number) -> Result<Number, String> {
    let Some(float) = number.as_f64().filter(|_| number.is_f64()) else {
        return Ok(number.clone());
    };
    if float.fract() == 0.0 && float.abs() >= EXACT {
        return Err(format!("is too large for a whole number: {number}"));
    }
    Ok(whole(number.clone()))
}

/// Says of at most `room` items that they are not among the choices, of each value once.
fn strangers(items: &[Value], options: &[Choice], room: usize) -> Vec<String> {
    let known: HashSet<&str> = options.iter().map(|choice| choice.value.as_str()).collect();
    let mut told: Vec<&Value> = Vec::new();
    for item in items.iter().filter(|item| item.as_str().is_none_or(|item| !known.contains(item))) {
        if told.len() == room {
            break;
        }
        if !told.contains(&item) {
            told.push(item);
        }
    }
    told.iter().map(|item| format!("has {}, which is not one of {}", shown(item), values(options))).collect()
}

fn repeated(items: &[Value]) -> Option<String> {
    let mut seen = HashSet::new();
    let twice = items.iter().filter_map(Value::as_str).find(|item| !seen.insert(*item))?;
    Some(format!("has {} more than once", quoted(twice)))
}

fn length(value: &Value) -> usize {
    match value {
        Value::String(text) => text.chars().count(),
        Value::Array(items) => items.len(),
        _ => 0,
    }
}

fn values(options: &[Choice]) -> String {
    list(options.iter().map(|choice| choice.value.as_str()))
}

fn is_whole_type_error(error: &ValidationError<'_>) -> bool {
    error.instance_path().is_empty() && matches!(error.kind(), ValidationErrorKind::Type { .. })
}

pub(crate) fn compile(schema: &Value) -> Option<Validator> {
    let patterns = PatternOptions::regex().size_limit(PATTERN_BYTES).dfa_size_limit(PATTERN_BYTES);
    jsonschema::options()
        .with_draft(Draft::Draft202012)
        .offline()
        .should_validate_formats(true)
        .with_pattern_options(patterns)
        // By itself it also takes `Jane <jane@example.com>`, which is not an address but a header's
        // way to write one.
        .with_email_options(EmailOptions::default().without_display_text())
        .build(schema)
        .ok()
}

/// Whether a schema leads anywhere but into itself: such a one can take for ever to judge by.
fn refers(schema: &Value) -> bool {
    match schema {
        Value::Object(keywords) => keywords.iter().any(|(key, value)| {
            matches!(key.as_str(), "$ref" | "$dynamicRef" | "$recursiveRef" | "$schema" | "$id") || refers(value)
        }),
        Value::Array(items) => items.iter().any(refers),
        _ => false,
    }
}

/// The patterns anywhere in a schema.
fn patterns(schema: &Value) -> usize {
    match schema {
        Value::Object(keywords) => keywords
            .iter()
            .map(|(key, value)| match (key.as_str(), value) {
                ("pattern", Value::String(_)) => 1,
                ("patternProperties", Value::Object(members)) => members.len() + patterns(value),
                _ => patterns(value),
            })
            .sum(),
        Value::Array(items) => items.iter().map(patterns).sum(),
        _ => 0,
    }
}

const NOT_VALID: &str = "is not valid";

/// Most bytes of schema times bytes of value that are explained: a thousand numbers by a thousand
/// rules, as each counts for its size in memory.
const MOST_WORK: usize = 1 << 31;

/// Room for one compiled pattern; a peer's form may have hundreds.
const PATTERN_BYTES: usize = 256 * 1024;

/// Most problems told about one field: a list of a thousand unknown choices needs no thousand lines.
const MOST_TEXTS: usize = 5;

/// Longest message passed on from the validator, in characters.
const LONGEST: usize = 160;
