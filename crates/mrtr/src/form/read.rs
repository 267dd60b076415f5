//! Reads one property of a schema into what a form can ask.
//!
//! There is one reader for both directions. What it had to overlook it reports as an [`Oddity`]: a
//! strict form, which is about to be sent, refuses the first one; a lenient form, which came from a
//! peer, keeps going and notes it.

use serde_json::{Map, Value};

use super::choices;
use super::field::{FieldKind, TextFormat};
use super::keywords::{Keywords, Oddity, impossible};
use super::problem::quoted;
use super::resolve::{Document, Resolved, resolve};

/// A property as it was understood.
#[derive(Debug)]
pub(super) struct Reading {
    /// What to ask, or why forms have no control for it.
    pub(super) kind: Result<FieldKind, Oddity>,
    pub(super) title: Option<String>,
    pub(super) description: Option<String>,
    /// As written: nobody has checked it yet.
    pub(super) default: Option<Value>,
    /// Whether `null` was allowed beside the kind.
    pub(super) nullable: bool,
    /// Assertions the kind has no room for, which still decide what is valid.
    pub(super) extras: Map<String, Value>,
    /// What was overlooked because it makes no sense.
    pub(super) oddities: Vec<Oddity>,
    /// What makes sense elsewhere in JSON Schema, but not in a form.
    pub(super) foreign: Vec<Oddity>,
}

/// Reads `raw`, a property of the schema `document`.
pub(super) fn read(document: &Document<'_>, raw: &Value) -> Reading {
    let (resolved, unresolved) = match resolve(document, raw) {
        Ok(resolved) => (resolved, None),
        Err(oddity) => (Resolved::unfollowed(raw), Some(oddity)),
    };
    let mut keywords = Keywords { schema: resolved.schema, oddities: Vec::new(), foreign: Vec::new() };
    let title = keywords.text("title");
    let description = keywords.text("description");
    let default = keywords.schema.shift_remove("default").filter(|value| !value.is_null());
    let mut extras = Map::new();
    let kind = unresolved.map_or_else(|| kind(document, &mut keywords, &mut extras), Err);
    keywords.leftovers(&mut extras);
    let Keywords { oddities, foreign, .. } = keywords;
    Reading { kind, title, description, default, nullable: resolved.nullable, extras, oddities, foreign }
}

fn kind(
    document: &Document<'_>,
    keywords: &mut Keywords,
    extras: &mut Map<String, Value>,
) -> Result<FieldKind, Oddity> {
    let Some(kind) = keywords.schema.shift_remove("type") else {
        return untyped(keywords);
    };
    match kind.as_str() {
        Some("string") => text_or_choice(keywords),
        Some("integer") => number(keywords, true, extras),
        Some("number") => number(keywords, false, extras),
        Some("boolean") => Ok(FieldKind::Boolean),
        Some("array") => multi_choice(document, keywords),
        Some("object") => Err(object(keywords)),
        Some("null") => Err(Oddity::new("it takes nothing but null", "remove the field")),
        _ if kind.is_array() => Err(Oddity::new("it takes several kinds of value", "give the field one type")),
        _ => Err(Oddity::new(
            "its type is not one JSON Schema knows",
            "give it a type: text, number, boolean or an enum",
        )),
    }
}

/// Without a `type`, only a list of choices says what is wanted.
fn untyped(keywords: &mut Keywords) -> Result<FieldKind, Oddity> {
    match choices::take(&mut keywords.schema, &mut keywords.oddities) {
        Some(options) => Ok(FieldKind::Choice { options: options? }),
        None => Err(Oddity::any_value()),
    }
}

fn text_or_choice(keywords: &mut Keywords) -> Result<FieldKind, Oddity> {
    if let Some(options) = choices::take(&mut keywords.schema, &mut keywords.oddities) {
        return Ok(FieldKind::Choice { options: options? });
    }
    let (min_length, max_length) = (keywords.size("minLength"), keywords.size("maxLength"));
    let format = keywords.text("format").map(|name| TextFormat::named(&name));
    if let Some(TextFormat::Other(name)) = &format {
        keywords.oddities.push(unknown_format(name));
    }
    keywords.in_order("minLength", min_length, "maxLength", max_length);
    Ok(FieldKind::Text { min_length, max_length, format })
}

fn unknown_format(name: &str) -> Oddity {
    let instead = match name {
        "zoned-date-time" | "partial-date-time" => {
            "use a type that is an instant, such as jiff::Timestamp or chrono::DateTime<Utc>"
        }
        "partial-time" | "time" => "ask for a date-time, or for plain text that the tool checks",
        _ => "ask for plain text, and let the tool check it",
    };
    Oddity::new(format!("its format {} is not one of email, uri, date and date-time", quoted(name)), instead)
}

fn number(keywords: &mut Keywords, integer: bool, extras: &mut Map<String, Value>) -> Result<FieldKind, Oddity> {
    if keywords.schema.contains_key("enum") || keywords.schema.contains_key("oneOf") {
        choices::take(&mut keywords.schema, &mut keywords.oddities).transpose()?;
        return Err(Oddity::new("its choices are text but its type is a number", "give choices the type string"));
    }
    let (minimum, maximum) = (keywords.bound("minimum", integer), keywords.bound("maximum", integer));
    if let (Some(low), Some(high)) = (&minimum, &maximum)
        && low.as_f64() > high.as_f64()
    {
        keywords.oddities.push(impossible("minimum", low, "maximum", high));
    }
    if let Some(format) = keywords.text("format") {
        machine_format(&format, extras, &mut keywords.oddities);
    }
    extras.retain(|key, _| if key == "minimum" { minimum.is_none() } else { maximum.is_none() });
    Ok(FieldKind::Number { integer, minimum, maximum })
}

/// The formats schemars gives Rust's numbers. No client knows them.
pub(crate) const RUST_FORMATS: [&str; 14] = [
    "int8", "int16", "int32", "int64", "int128", "int", "uint8", "uint16", "uint32", "uint64", "uint128", "uint",
    "float", "double",
];

/// The widths of Rust's numbers: clients refuse them as formats, but they still bound the answer.
fn machine_format(name: &str, extras: &mut Map<String, Value>, oddities: &mut Vec<Oddity>) {
    let (low, high): (Value, Value) = match name {
        "int32" => (i32::MIN.into(), i32::MAX.into()),
        "uint32" => (0.into(), u32::MAX.into()),
        "int64" => (i64::MIN.into(), i64::MAX.into()),
        "uint64" => (0.into(), u64::MAX.into()),
        _ if RUST_FORMATS.contains(&name) => return,
        _ => return oddities.push(unknown_format(name)),
    };
    extras.insert("minimum".to_owned(), low);
    extras.insert("maximum".to_owned(), high);
}

fn multi_choice(document: &Document<'_>, keywords: &mut Keywords) -> Result<FieldKind, Oddity> {
    if keywords.schema.contains_key("prefixItems") {
        return Err(Oddity::new("tuples cannot be asked in a form", "use one field for each part"));
    }
    let items = keywords.schema.shift_remove("items").unwrap_or(Value::Bool(true));
    let unread = |oddity| if document.is_spent() { oddity } else { not_choices() };
    let mut items = resolve(document, &items).map_err(unread)?.schema;
    if items.shift_remove("type").is_some_and(|name| name != "string") {
        return Err(not_choices());
    }
    let options = choices::take(&mut items, &mut keywords.oddities).ok_or_else(not_choices)??;
    // A set never holds anything twice; every multiple selection is one here, said or not.
    keywords.schema.shift_remove("uniqueItems");
    let (min_items, max_items) = (keywords.size("minItems"), keywords.size("maxItems"));
    keywords.in_order("minItems", min_items, "maxItems", max_items);
    keywords.in_order("minItems", min_items, "the number of choices", Some(options.len() as u64));
    Ok(FieldKind::MultiChoice { options, min_items, max_items })
}

fn not_choices() -> Oddity {
    Oddity::new(
        "a list of anything but choices cannot be asked in a form",
        "use a list of a unit enum, or one text field that the tool splits",
    )
}

fn object(keywords: &Keywords) -> Oddity {
    let open = keywords.schema.get("additionalProperties").is_some_and(|more| *more != Value::Bool(false));
    if open && !keywords.schema.contains_key("properties") {
        return Oddity::new("maps cannot be asked in a form", "use one field for each key");
    }
    Oddity::new("nested objects cannot be asked in a form", "use one flat struct")
}
