//! Reads the choices of a single or multiple selection, in every spelling that is about: `enum`,
//! `enum` with `enumNames`, `oneOf`/`anyOf` with `const` and `title`, a lone `const`, and schemars'
//! documented variants.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::field::Choice;
use super::keywords::Oddity;
use super::problem::{list, shown};

/// The choices `schema` offers; `None` where it offers none at all, as free text does.
///
/// The keywords it understood are removed from `schema`. What it tolerated is added to `oddities`.
pub(super) fn take(schema: &mut Map<String, Value>, oddities: &mut Vec<Oddity>) -> Option<Result<Vec<Choice>, Oddity>> {
    let choices = if let Some(values) = schema.shift_remove("enum") {
        let names = schema.shift_remove("enumNames");
        from_enum(&values, names.as_ref(), oddities)
    } else if let Some(members) = schema.shift_remove("oneOf").or_else(|| schema.shift_remove("anyOf")) {
        from_members(&members)
    } else {
        plain(std::slice::from_ref(&schema.shift_remove("const")?))
    };
    Some(choices.and_then(|choices| once_each(choices, oddities)))
}

fn from_enum(values: &Value, names: Option<&Value>, oddities: &mut Vec<Oddity>) -> Result<Vec<Choice>, Oddity> {
    let values = values.as_array().ok_or_else(|| Oddity::new("its enum is not a list", LIST_THEM))?;
    let mut choices = plain(values)?;
    let Some(names) = names else {
        return Ok(choices);
    };
    let names: Option<Vec<&str>> = names.as_array().and_then(|names| names.iter().map(Value::as_str).collect());
    match names {
        Some(names) if names.len() == choices.len() => {
            for (choice, name) in choices.iter_mut().zip(names) {
                choice.title = Some(name.to_owned());
            }
        }
        _ => {
            oddities.push(Oddity::new("its enumNames do not match its enum", "use oneOf with const and title instead"))
        }
    }
    Ok(choices)
}

fn plain(values: &[Value]) -> Result<Vec<Choice>, Oddity> {
    let texts: Option<Vec<Choice>> =
        values.iter().map(|value| Some(Choice { value: value.as_str()?.to_owned(), title: None })).collect();
    texts.ok_or_else(|| not_text(values))
}

fn not_text(values: &[Value]) -> Oddity {
    let shown: Vec<String> = values.iter().take(SHOWN).map(shown).collect();
    Oddity::new(
        format!("its choices are not all text: {}", shown.join(", ")),
        "use a unit enum, whose variants are written as text",
    )
}

/// `oneOf`/`anyOf`: each member is a `const` with its label, or a plain `enum` of several values.
fn from_members(members: &Value) -> Result<Vec<Choice>, Oddity> {
    let members = members.as_array().ok_or_else(|| Oddity::new("its choices are not a list", LIST_THEM))?;
    let mut choices = Vec::with_capacity(members.len());
    for member in members {
        if let Some(value) = member.get("const") {
            let value = value.as_str().ok_or_else(|| not_text(std::slice::from_ref(value)))?.to_owned();
            choices.push(Choice { value, title: label(member) });
        } else if let Some(values) = member.get("enum").and_then(Value::as_array) {
            choices.extend(plain(values)?);
        } else {
            return Err(no_const(member));
        }
    }
    // One label is enough to label them all: the wire's titled form wants a title in every choice.
    if choices.iter().any(|choice| choice.title.is_some()) {
        for choice in &mut choices {
            choice.title.get_or_insert_with(|| choice.value.clone());
        }
    }
    Ok(choices)
}

/// A member's `title`, or the first paragraph of its `description`: a variant's doc comment.
fn label(member: &Value) -> Option<String> {
    if let Some(title) = member.get("title").and_then(Value::as_str) {
        return Some(title.to_owned());
    }
    let description = member.get("description").and_then(Value::as_str)?;
    let paragraph = description.trim_start().split("\n\n").next().unwrap_or_default();
    let words: Vec<&str> = paragraph.split_whitespace().collect();
    (!words.is_empty()).then(|| words.join(" "))
}

fn no_const(member: &Value) -> Oddity {
    let carries_data =
        member.get("type").is_some_and(|name| name == "object" || name == "array") || member.get("$ref").is_some();
    if carries_data {
        return Oddity::new(
            "an enum whose variants carry data cannot be asked in a form",
            "use a unit enum, and fields beside it for the rest",
        );
    }
    Oddity::new("it takes several kinds of value", "give the field one type")
}

fn once_each(mut choices: Vec<Choice>, oddities: &mut Vec<Oddity>) -> Result<Vec<Choice>, Oddity> {
    if choices.is_empty() {
        return Err(Oddity::new("it has no choices", LIST_THEM));
    }
    let mut seen = HashSet::new();
    let mut repeated = Vec::new();
    choices.retain(|choice| {
        let new = seen.insert(choice.value.clone());
        if !new {
            repeated.push(choice.value.clone());
        }
        new
    });
    if !repeated.is_empty() {
        let repeated = list(repeated.iter().map(String::as_str));
        oddities.push(Oddity::new(format!("it offers a choice more than once: {repeated}"), "list each once"));
    }
    Ok(choices)
}

const LIST_THEM: &str = "list the values a person can choose";

/// Most values repeated in a message about them.
const SHOWN: usize = 5;
