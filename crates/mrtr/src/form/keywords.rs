//! The keywords of one property, taken out one by one as they are understood; what stays behind is
//! foreign.

use serde_json::{Map, Number, Value};

use super::problem::quoted;

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
        Self { what: what.into(), instead }
    }

    pub(super) fn any_value() -> Self {
        Self::new("it has no type, so any JSON value would do", "give it a type: text, number, boolean or an enum")
    }
}

/// The keywords of one property, taken out as they are understood.
pub(super) struct Keywords {
    pub(super) schema: Map<String, Value>,
    pub(super) oddities: Vec<Oddity>,
    pub(super) foreign: Vec<Oddity>,
}

impl Keywords {
    pub(super) fn text(&mut self, key: &str) -> Option<String> {
        match self.schema.shift_remove(key)? {
            Value::String(text) => Some(text),
            _ => self.overlooked(key, "is not text"),
        }
    }

    /// A length: a whole number, however it is spelled.
    pub(super) fn size(&mut self, key: &str) -> Option<u64> {
        let value = self.schema.shift_remove(key)?;
        match value.as_number().map(|number| whole(number.clone())) {
            Some(number) if number.is_u64() => number.as_u64(),
            _ => self.overlooked(key, "is not a whole number of zero or more"),
        }
    }

    /// A bound of a number; `1.0` is spelled `1` where only whole numbers are meant.
    pub(super) fn bound(&mut self, key: &str, integer: bool) -> Option<Number> {
        match self.schema.shift_remove(key)? {
            Value::Number(number) => Some(if integer { whole(number) } else { number }),
            _ => self.overlooked(key, "is not a number"),
        }
    }

    fn overlooked<T>(&mut self, key: &str, why: &str) -> Option<T> {
        self.oddities.push(Oddity::new(format!("its {key} {why}"), "correct it"));
        None
    }

    pub(super) fn in_order(&mut self, low: &str, least: Option<u64>, high: &str, most: Option<u64>) {
        if let (Some(least), Some(most)) = (least, most)
            && least > most
        {
            self.oddities.push(impossible(low, least, high, most));
        }
    }

    /// Everything that was not understood: annotations go silently, assertions are kept and
    /// reported.
    pub(super) fn leftovers(&mut self, extras: &mut Map<String, Value>) {
        for (key, value) in std::mem::take(&mut self.schema) {
            if ANNOTATIONS.contains(&key.as_str()) {
                continue;
            }
            let instead = match key.as_str() {
                "exclusiveMinimum" => "use minimum",
                "exclusiveMaximum" => "use maximum",
                _ => "remove it, and let the tool check the answer",
            };
            self.foreign.push(Oddity::new(format!("forms have no keyword {}", quoted(&key)), instead));
            if JUDGED.contains(&key.as_str()) {
                extras.insert(key, value);
            }
        }
    }
}

/// Says that `low` is above `high`.
pub(super) fn impossible(low: &str, least: impl std::fmt::Display, high: &str, most: impl std::fmt::Display) -> Oddity {
    Oddity::new(format!("no answer can be valid: {low} {least} is above {high} {most}"), "correct the bounds")
}

/// A number in its integer spelling, when it is a whole one and no other number reads as the same float.
pub(crate) fn whole(number: Number) -> Number {
    match number.as_f64() {
        Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() < EXACT => (float as i64).into(),
        _ => number,
    }
}

/// The first whole number that shares its float with another one: `9007199254740993.0` reads as this one too.
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
const JUDGED: [&str; 6] = ["const", "enum", "exclusiveMaximum", "exclusiveMinimum", "multipleOf", "pattern"];
