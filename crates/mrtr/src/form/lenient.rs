//! Schemas that a server sent: whatever they are, the person sees every field and the round goes
//! on.
//!
//! What has no control becomes [`FieldKind::Unsupported`], what made no sense is noted, and the
//! schema itself stays as it came.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::Form;
use super::field::{FaultyDefault, Field, FieldKind};
use super::problem::quoted;
use super::read::{Reading, read};
use super::resolve::{Document, resolve};

/// The form of any JSON value.
pub(super) fn form_of(schema: &Value) -> Form {
    let mut notes = Vec::new();
    let document = Document::new(schema);
    let root = match resolve(&document, schema) {
        Ok(resolved) => resolved.schema,
        Err(oddity) => {
            notes.push(format!("the form's schema cannot be used: {}", oddity.what));
            Map::new()
        }
    };
    let required = required(&root, &mut notes);
    let mut patterns = MOST_PATTERNS;
    let fields = match root.get("properties") {
        None => Vec::new(),
        Some(Value::Object(properties)) => properties
            .iter()
            .map(|(name, raw)| field(&document, name, raw, required.contains(name.as_str()), &mut patterns, &mut notes))
            .collect(),
        Some(_) => {
            notes.push("the form's properties are not an object".to_owned());
            Vec::new()
        }
    };
    Form::lenient_parts(schema.clone(), fields, notes)
}

/// The names in `required`. Those that are repeated or name nothing do no harm: only fields are
/// looked up here.
fn required<'a>(root: &'a Map<String, Value>, notes: &mut Vec<String>) -> HashSet<&'a str> {
    match root.get("required") {
        None => HashSet::new(),
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        Some(_) => {
            notes.push("the form's required is not a list of names".to_owned());
            HashSet::new()
        }
    }
}

fn field(
    document: &Document<'_>,
    name: &str,
    raw: &Value,
    listed: bool,
    patterns: &mut usize,
    notes: &mut Vec<String>,
) -> Field {
    let mut reading = read(document, raw);
    let own_notes: Vec<String> = reading.oddities.iter().map(|oddity| oddity.what.clone()).collect();
    let default = reading.default.take();
    let kind = kind(&reading, raw);
    let mut field = Field::new(name, listed, kind, reading);
    field.notes = own_notes;
    match patterns.checked_sub(field.judge.patterns()) {
        Some(left) => *patterns = left,
        None => {
            field.notes.push("the form has too many patterns, so its own are left to the server".to_owned());
            field.judge = Arc::new(field.judge.without_patterns());
        }
    }
    if let Some(default) = default {
        offer(&mut field, default);
    }
    notes.extend(field.notes.iter().map(|note| format!("{}: {note}", quoted(name))));
    field
}

/// Makes `default` the field's, if the field takes it.
fn offer(field: &mut Field, default: Value) {
    if !field.is_quick_to_judge(&default) {
        field.notes.push("its default is too large to be checked".to_owned());
        return;
    }
    match field.settle(&default) {
        Ok(default) => field.default = Some(default),
        Err(problems) => {
            let problem = problems.join(", ");
            field.notes.push(format!("its default {problem}"));
            field.faulty_default = Some(FaultyDefault { value: default, problem });
        }
    }
}

fn kind(reading: &Reading, raw: &Value) -> FieldKind {
    match &reading.kind {
        Ok(kind) => kind.clone(),
        Err(oddity) => FieldKind::Unsupported { schema: raw.clone(), reason: oddity.what.clone() },
    }
}

/// Most patterns of one form. A default has to be judged when the form is read, and an answer may
/// have all fields; a pattern takes up to some milliseconds to compile.
const MOST_PATTERNS: usize = 200;
