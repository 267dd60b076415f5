//! Reads one property of a schema into what a form can ask.
//!
//! There is one reader for both directions. What it had to overlook it reports as an [`Oddity`]: a strict form, which
//! is about to be sent, refuses the first one; a lenient form, which came from a peer, keeps going and notes it.

use serde_json::{Map, Number, Value};

use super::choices;
use super::field::{FieldKind, TextFormat};
use super::problem::quoted;
use super::resolve::{Resolved, resolve};

/// Something a form schema should not contain, and what its author can do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Oddity {
    /// The fact.
    pub(super) what: String,
    /// The way out.
    pub(super) instead: &'static str,
}

impl Oddity {
    pub(super) fn new(what: impl Into<String>, instead: &'static str) -> Self {
        Self {
            what: what.into(),
            instead,
        }
    }

    pub(super) fn any_value() -> Self {
        Self::new(
            "it has no type, so any JSON value would do",
            "give it a type: text, number, boolean or an enum",
        )
    }
}

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

/// Reads `raw`, a property of the schema `root`.
pub(super) fn read(root: &Value, raw: &Value) -> Reading {
    let (resolved, unresolved) = match resolve(root, raw) {
        Ok(resolved) => (resolved, None),
        Err(oddity) => (Resolved::unfollowed(raw), Some(oddity)),
    };
    let mut keywords = Keywords {
        schema: resolved.schema,
        oddities: Vec::new(),
        foreign: Vec::new(),
    };
    let title = keywords.text("title");
    let description = keywords.text("description");
    let default = keywords
        .schema
        .shift_remove("default")
        .filter(|value| !value.is_null());
    let mut extras = Map::new();
    let kind = unresolved.map_or_else(|| kind(root, &mut keywords, &mut extras), Err);
    keywords.leftovers(&mut extras);
    let Keywords {
        oddities, foreign, ..
    } = keywords;
    Reading {
        kind,
        title,
        description,
        default,
        nullable: resolved.nullable,
        extras,
        oddities,
        foreign,
    }
}

fn kind(
    root: &Value,
    keywords: &mut Keywords,
    extras: &mut Map<String, Value>,
) -> Result<FieldKind, Oddity> {
    let kind = match keywords.schema.shift_remove("type") {
        None => return untyped(keywords),
        Some(kind) => kind,
    };
    match kind.as_str() {
        Some("string") => text_or_choice(keywords),
        Some("integer") => number(keywords, true, extras),
        Some("number") => number(keywords, false, extras),
        Some("boolean") => Ok(FieldKind::Boolean),
        Some("array") => multi_choice(root, keywords),
        Some("object") => Err(object(keywords)),
        Some("null") => Err(Oddity::new("it takes nothing but null", "remove the field")),
        _ if kind.is_array() => Err(Oddity::new(
            "it takes several kinds of value",
            "give the field one type",
        )),
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
    Ok(FieldKind::Text {
        min_length,
        max_length,
        format,
    })
}

fn unknown_format(name: &str) -> Oddity {
    let instead = match name {
        "zoned-date-time" | "partial-date-time" => {
            "use a type that is an instant, such as jiff::Timestamp or chrono::DateTime<Utc>"
        }
        "partial-time" | "time" => "ask for a date-time, or for plain text that the tool checks",
        _ => "ask for plain text, and let the tool check it",
    };
    Oddity::new(
        format!(
            "its format {} is not one of email, uri, date and date-time",
            quoted(name)
        ),
        instead,
    )
}

fn number(
    keywords: &mut Keywords,
    integer: bool,
    extras: &mut Map<String, Value>,
) -> Result<FieldKind, Oddity> {
    if keywords.schema.contains_key("enum") || keywords.schema.contains_key("oneOf") {
        choices::take(&mut keywords.schema, &mut keywords.oddities).transpose()?;
        return Err(Oddity::new(
            "its choices are text but its type is a number",
            "give choices the type string",
        ));
    }
    let (minimum, maximum) = (
        keywords.bound("minimum", integer),
        keywords.bound("maximum", integer),
    );
    if let (Some(low), Some(high)) = (&minimum, &maximum)
        && low.as_f64() > high.as_f64()
    {
        keywords
            .oddities
            .push(impossible("minimum", low, "maximum", high));
    }
    if let Some(format) = keywords.text("format") {
        machine_format(&format, extras, &mut keywords.oddities);
    }
    extras.retain(|key, _| {
        if key == "minimum" {
            minimum.is_none()
        } else {
            maximum.is_none()
        }
    });
    Ok(FieldKind::Number {
        integer,
        minimum,
        maximum,
    })
}

/// The widths of Rust's numbers: clients refuse them as formats, but they still bound the answer.
fn machine_format(name: &str, extras: &mut Map<String, Value>, oddities: &mut Vec<Oddity>) {
    let (low, high): (Value, Value) = match name {
        "int32" => (i32::MIN.into(), i32::MAX.into()),
        "uint32" => (0.into(), u32::MAX.into()),
        "int64" => (i64::MIN.into(), i64::MAX.into()),
        "uint64" => (0.into(), u64::MAX.into()),
        "int" | "int8" | "int16" | "int128" | "uint" | "uint8" | "uint16" | "uint128" | "float"
        | "double" => return,
        _ => return oddities.push(unknown_format(name)),
    };
    extras.insert("minimum".to_owned(), low);
    extras.insert("maximum".to_owned(), high);
}

fn multi_choice(root: &Value, keywords: &mut Keywords) -> Result<FieldKind, Oddity> {
    if keywords.schema.contains_key("prefixItems") {
        return Err(Oddity::new(
            "tuples cannot be asked in a form",
            "use one field for each part",
        ));
    }
    let items = keywords
        .schema
        .shift_remove("items")
        .unwrap_or(Value::Bool(true));
    let mut items = resolve(root, &items).map_err(|_| not_choices())?.schema;
    if items
        .shift_remove("type")
        .is_some_and(|name| name != "string")
    {
        return Err(not_choices());
    }
    let options = choices::take(&mut items, &mut keywords.oddities).ok_or_else(not_choices)??;
    // A set never holds anything twice; every multiple selection is one here, said or not.
    keywords.schema.shift_remove("uniqueItems");
    let (min_items, max_items) = (keywords.size("minItems"), keywords.size("maxItems"));
    keywords.in_order("minItems", min_items, "maxItems", max_items);
    keywords.in_order(
        "minItems",
        min_items,
        "the number of choices",
        Some(options.len() as u64),
    );
    Ok(FieldKind::MultiChoice {
        options,
        min_items,
        max_items,
    })
}

fn not_choices() -> Oddity {
    Oddity::new(
        "a list of anything but choices cannot be asked in a form",
        "use a list of a unit enum, or one text field that the tool splits",
    )
}

fn object(keywords: &Keywords) -> Oddity {
    let open = keywords
        .schema
        .get("additionalProperties")
        .is_some_and(|more| *more != Value::Bool(false));
    if open && !keywords.schema.contains_key("properties") {
        return Oddity::new(
            "maps cannot be asked in a form",
            "use one field for each key",
        );
    }
    Oddity::new(
        "nested objects cannot be asked in a form",
        "use one flat struct",
    )
}

fn impossible(
    low: &str,
    least: impl std::fmt::Display,
    high: &str,
    most: impl std::fmt::Display,
) -> Oddity {
    Oddity::new(
        format!("no answer can be valid: {low} {least} is above {high} {most}"),
        "correct the bounds",
    )
}

/// The keywords of one property, taken out as they are understood.
struct Keywords {
    schema: Map<String, Value>,
    oddities: Vec<Oddity>,
    foreign: Vec<Oddity>,
}

impl Keywords {
    fn text(&mut self, key: &str) -> Option<String> {
        match self.schema.shift_remove(key)? {
            Value::String(text) => Some(text),
            _ => self.overlooked(key, "is not text"),
        }
    }

    /// A length: a whole number, however it is spelled.
    fn size(&mut self, key: &str) -> Option<u64> {
        let value = self.schema.shift_remove(key)?;
        match value.as_number().map(|number| whole(number.clone())) {
            Some(number) if number.is_u64() => number.as_u64(),
            _ => self.overlooked(key, "is not a whole number of zero or more"),
        }
    }

    /// A bound of a number; `1.0` is spelled `1` where only whole numbers are meant.
    fn bound(&mut self, key: &str, integer: bool) -> Option<Number> {
        match self.schema.shift_remove(key)? {
            Value::Number(number) => Some(if integer { whole(number) } else { number }),
            _ => self.overlooked(key, "is not a number"),
        }
    }

    fn overlooked<T>(&mut self, key: &str, why: &str) -> Option<T> {
        self.oddities
            .push(Oddity::new(format!("its {key} {why}"), "correct it"));
        None
    }

    fn in_order(&mut self, low: &str, least: Option<u64>, high: &str, most: Option<u64>) {
        if let (Some(least), Some(most)) = (least, most)
            && least > most
        {
            self.oddities.push(impossible(low, least, high, most));
        }
    }

    /// Everything that was not understood: annotations go silently, assertions are kept and reported.
    fn leftovers(&mut self, extras: &mut Map<String, Value>) {
        for (key, value) in std::mem::take(&mut self.schema) {
            if ANNOTATIONS.contains(&key.as_str()) {
                continue;
            }
            let instead = match key.as_str() {
                "exclusiveMinimum" => "use minimum",
                "exclusiveMaximum" => "use maximum",
                _ => "remove it, and let the tool check the answer",
            };
            self.foreign.push(Oddity::new(
                format!("forms have no keyword {}", quoted(&key)),
                instead,
            ));
            if JUDGED.contains(&key.as_str()) {
                extras.insert(key, value);
            }
        }
    }
}

/// A number in its integer spelling, when it is a whole one that 64 bits hold exactly.
pub(super) fn whole(number: Number) -> Number {
    match number.as_f64() {
        Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() <= EXACT => {
            (float as i64).into()
        }
        _ => number,
    }
}

/// Up to here every whole number has a floating-point spelling of its own.
pub(super) const EXACT: f64 = 9_007_199_254_740_992.0;

/// Keywords that change nothing about what is valid; a form drops them without a word.
const ANNOTATIONS: [&str; 11] = [
    "$anchor",
    "$comment",
    "$defs",
    "$id",
    "$schema",
    "definitions",
    "deprecated",
    "example",
    "examples",
    "readOnly",
    "writeOnly",
];

/// Assertions of one value that cost little to judge and cannot refer to anything.
const JUDGED: [&str; 6] = [
    "const",
    "enum",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "multipleOf",
    "pattern",
];
