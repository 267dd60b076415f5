//! One field of a form, asked by the control that suits its kind.

use inquire::validator::Validation;
use inquire::{Confirm, InquireError, MultiSelect, Select, Text};
use mrtr::form::{Choice, Field, FieldKind, Problem};
use serde_json::{Number, Value};

use super::escape;
use super::layout::{cut, screen, wrap};
use super::prompt::{Left, Pick, dim, insist, page_size};

/// Asks for a field. `current` is what to offer; `None` in return leaves an optional field out.
pub(super) fn ask(field: &Field, current: Option<&Value>) -> Result<Option<Value>, Left> {
    let label = label(field);
    describe(field, &label);
    let offered = current.or(field.default.as_ref());
    insist(|| match &field.kind {
        FieldKind::Boolean if field.required => yes_or_no(field, &label, offered).map(Some),
        FieldKind::Boolean => yes_no_or_neither(&label, offered),
        FieldKind::Choice { options } if !options.is_empty() => one_of(field, &label, options, offered),
        FieldKind::MultiChoice { options, .. } if !options.is_empty() => some_of(field, &label, options, offered),
        _ => typed(field, &label, offered),
    })
}

/// The field's name as a prompt, harmless and no longer than half a line or so.
pub(super) fn label(field: &Field) -> String {
    let optional = if field.required { "" } else { " (optional)" };
    cut(&escape::line(field.label()), screen().0.saturating_sub(30).max(20)) + optional
}

/// A value as it would be typed.
pub(super) fn shown(field: &Field, value: &Value) -> String {
    if value == "" { EMPTY_TEXT.to_owned() } else { field.to_text(value) }
}

fn describe(field: &Field, label: &str) {
    let about = field.description.as_deref().map(str::trim).unwrap_or_default();
    if !about.is_empty() && escape::line(about) != label {
        for line in wrap(&escape::block(about), screen().0.saturating_sub(2)) {
            anstream::eprintln!("  {line}");
        }
    }
    if let FieldKind::Unsupported { reason, .. } = &field.kind {
        anstream::eprintln!("{}", dim(&format!("  (no control for this field: {})", escape::line(reason))));
    }
}

/// A yes or no that has to be given: Enter alone is only enough where there is a default.
fn yes_or_no(field: &Field, label: &str, offered: Option<&Value>) -> Result<Value, InquireError> {
    let parse = |text: &str| match field.parse_text(text) {
        Ok(Value::Bool(flag)) => Ok(flag),
        _ => Err(()),
    };
    let mut prompt = Confirm::new(label).with_parser(&parse).with_error_message("type yes or no");
    prompt.default = offered.and_then(Value::as_bool);
    prompt.placeholder = prompt.default.is_none().then_some("yes or no");
    prompt.prompt().map(Value::Bool)
}

fn yes_no_or_neither(label: &str, offered: Option<&Value>) -> Result<Option<Value>, InquireError> {
    let picks = vec![Pick::new(LEAVE_OUT, None), Pick::new("Yes", Some(true)), Pick::new("No", Some(false))];
    let start = match offered.and_then(Value::as_bool) {
        None => 0,
        Some(true) => 1,
        Some(false) => 2,
    };
    let picked = Select::new(label, picks).with_starting_cursor(start).prompt()?;
    Ok(picked.value.map(Value::Bool))
}

fn one_of(
    field: &Field,
    label: &str,
    options: &[Choice],
    offered: Option<&Value>,
) -> Result<Option<Value>, InquireError> {
    let mut picks: Vec<_> = options.iter().map(|choice| Pick::new(title(choice, options), Some(choice))).collect();
    let offered = options.iter().position(|choice| offered.and_then(Value::as_str) == Some(&choice.value));
    let mut start = offered.unwrap_or(0);
    if !field.required {
        picks.insert(0, Pick::new(LEAVE_OUT, None));
        start = offered.map_or(0, |position| position + 1);
    }
    let size = page_size(picks.len());
    let picked = Select::new(label, picks).with_starting_cursor(start).with_page_size(size).prompt()?;
    Ok(picked.value.map(|choice| choice.value.as_str().into()))
}

fn some_of(
    field: &Field,
    label: &str,
    options: &[Choice],
    offered: Option<&Value>,
) -> Result<Option<Value>, InquireError> {
    let picks: Vec<_> = options.iter().map(|choice| Pick::new(title(choice, options), choice.value.clone())).collect();
    let offered = offered.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let offered: Vec<usize> = (0..options.len())
        .filter(|&index| options.get(index).is_some_and(|choice| offered.iter().any(|value| *value == choice.value)))
        .collect();
    let judge = field.clone();
    let validator = move |picked: &[inquire::list_option::ListOption<&Pick<String>>]| {
        let values = picked.iter().map(|option| Value::from(option.value.value.as_str())).collect();
        Ok(verdict(&chosen(&judge, values)))
    };
    let prompt = MultiSelect::new(label, picks)
        .with_default(&offered)
        .with_page_size(page_size(options.len()))
        .with_validator(validator);
    let values = prompt.prompt()?.into_iter().map(|pick| Value::from(pick.value)).collect();
    Ok(chosen(field, values).unwrap_or(None))
}

/// Checks a selection. Nothing selected leaves an optional field out.
fn chosen(field: &Field, values: Vec<Value>) -> Result<Option<Value>, Problem> {
    if values.is_empty() && !field.required {
        return Ok(None);
    }
    field.parse_text(&Value::Array(values).to_string()).map(Some)
}

/// Text, numbers, and JSON for what has no control.
fn typed(field: &Field, label: &str, offered: Option<&Value>) -> Result<Option<Value>, InquireError> {
    let offered = offered.map(|value| shown(field, value));
    // Prefilled text is echoed by the prompt, so it must be what it looks like.
    let offered = offered.filter(|text| escape::line(text) == *text);
    let hint = hint(field);
    let judge = field.clone();
    let mut prompt = Text::new(label).with_validator(move |text: &str| Ok(verdict(&value_of(&judge, text))));
    prompt.initial_value = offered.as_deref();
    prompt.help_message = (!hint.is_empty()).then_some(&hint);
    let text = prompt.prompt()?;
    Ok(value_of(field, &text).unwrap_or(None))
}

/// Reads typed text. Blank leaves an optional field out, and `""` is the empty text said on purpose.
fn value_of(field: &Field, text: &str) -> Result<Option<Value>, Problem> {
    let is_text = matches!(field.kind, FieldKind::Text { .. });
    match text {
        EMPTY_TEXT if is_text => field.parse_text("").map(Some),
        text if text.trim().is_empty() && !field.required => Ok(None),
        text => field.parse_text(text).map(Some),
    }
}

fn verdict(read: &Result<Option<Value>, Problem>) -> Validation {
    match read {
        Ok(_) => Validation::Valid,
        Err(problem) => Validation::Invalid(escape::line(&problem.text).into()),
    }
}

/// The title of a choice, with the value behind it where titles alone do not tell choices apart.
fn title(choice: &Choice, options: &[Choice]) -> String {
    let label = choice.label();
    let is_shared = choice.title.is_some() && options.iter().filter(|other| other.label() == label).count() > 1;
    let text = if is_shared { format!("{label} ({})", choice.value) } else { label.to_owned() };
    cut(&escape::line(&text), screen().0.saturating_sub(6))
}

fn hint(field: &Field) -> String {
    let mut parts = Vec::new();
    match &field.kind {
        FieldKind::Text { min_length, max_length, format } => {
            if let Some(format) = format {
                parts.push(escape::line(format.as_str()));
            }
            parts.extend(range(min_length.as_ref(), max_length.as_ref(), " characters"));
            if !field.required {
                parts.push(format!("blank leaves it out, {EMPTY_TEXT} is an empty text"));
            }
        }
        FieldKind::Number { integer, minimum, maximum } => {
            parts.push(if *integer { "a whole number" } else { "a number" }.to_owned());
            parts.extend(range::<Number>(minimum.as_ref(), maximum.as_ref(), ""));
            if !field.required {
                parts.push("blank leaves it out".to_owned());
            }
        }
        _ => {
            parts.push("JSON".to_owned());
            if !field.required {
                parts.push("blank leaves it out".to_owned());
            }
        }
    }
    parts.join(", ")
}

fn range<T: std::fmt::Display>(low: Option<&T>, high: Option<&T>, unit: &str) -> Option<String> {
    match (low, high) {
        (None, None) => None,
        (Some(low), None) => Some(format!("at least {low}{unit}")),
        (None, Some(high)) => Some(format!("at most {high}{unit}")),
        (Some(low), Some(high)) => Some(format!("{low} to {high}{unit}")),
    }
}

const LEAVE_OUT: &str = "(leave it out)";
const EMPTY_TEXT: &str = "\"\"";
