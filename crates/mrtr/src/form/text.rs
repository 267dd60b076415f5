//! Between a value and the text a person types, or a flag carries, for it.

use serde_json::{Number, Value};

use super::field::{Choice, Field, FieldKind};
use super::keywords::whole;
use super::problem::{Problem, count, list, quoted};

impl Field {
    /// Reads the field's value from what a person typed, and checks it.
    ///
    /// Text is taken as it is. `3`, `1.0` and `1e3` are whole numbers, `123abc` is not; yes and no
    /// may be `yes`, `no`, `true`, `false`, `y` or `n`; a choice is named by its value or its
    /// title, several are separated by commas or written as a JSON list. An unsupported field takes
    /// JSON. Blank text is blank text here: leaving an optional field out is the caller's decision.
    ///
    /// # Errors
    ///
    /// The first thing that is wrong with the text.
    pub fn parse_text(&self, text: &str) -> Result<Value, Problem> {
        let problem = |text| Problem::of(&self.name, text);
        let value = self.value_of(text).map_err(problem)?;
        self.settle(&value).map_err(|texts| problem(texts.into_iter().next().unwrap_or_default()))
    }

    /// The text that [`parse_text`](Self::parse_text) reads as this value: what to prefill a prompt
    /// with.
    #[must_use]
    pub fn to_text(&self, value: &Value) -> String {
        match (&self.kind, value) {
            (FieldKind::Boolean, Value::Bool(flag)) => if *flag { "yes" } else { "no" }.to_owned(),
            (FieldKind::MultiChoice { options, .. }, Value::Array(_)) => chosen_to_text(options, value),
            (FieldKind::Unsupported { .. }, _) => value.to_string(),
            (_, Value::String(text)) => text.clone(),
            _ => value.to_string(),
        }
    }

    fn value_of(&self, text: &str) -> Result<Value, String> {
        match &self.kind {
            FieldKind::Text { format: None, .. } => Ok(text.into()),
            FieldKind::Text { .. } => Ok(text.trim().into()),
            FieldKind::Number { integer, .. } => number(text.trim(), *integer),
            FieldKind::Boolean => boolean(text.trim()),
            FieldKind::Choice { options } => choice(options, text).map(Value::from),
            FieldKind::MultiChoice { options, .. } => several(options, text),
            FieldKind::Unsupported { .. } => {
                serde_json::from_str(text).map_err(|error| format!("must be JSON ({error})"))
            }
        }
    }
}

fn number(text: &str, integer: bool) -> Result<Value, String> {
    let wanted = if integer { "a whole number" } else { "a number" };
    let refused = || format!("must be {wanted}, not {}", quoted(text));
    // `f64` would also read "inf" and "nan".
    if !text.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte)) {
        return Err(refused());
    }
    let digits = if integer { without_zero_fraction(text) } else { text };
    if let Some(number) = integer_of(digits) {
        return Ok(Value::Number(number));
    }
    let float: f64 = text.parse().map_err(|_| refused())?;
    let number = Number::from_f64(float).ok_or_else(|| format!("is too large for a number: {}", quoted(text)))?;
    if !integer && Decimal::of(text) != Decimal::of(&number.to_string()) {
        return Err(format!("has more digits than a number keeps: {} would become {number}", quoted(text)));
    }
    Ok(Value::Number(if integer { whole(number) } else { number }))
}

/// A number as its digits say it, whatever the spelling: `1.50`, `15e-1` and `0.15E1` are the same.
#[derive(PartialEq)]
struct Decimal {
    is_negative: bool,
    /// Without zeros at either end.
    digits: String,
    /// Places the point is to the right of the last digit.
    exponent: i64,
}

impl Decimal {
    /// Of something that is read as a number.
    fn of(text: &str) -> Option<Self> {
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let exponent: i64 = exponent.parse().ok()?;
        let (sign, mantissa) = match mantissa.strip_prefix('-') {
            Some(mantissa) => (true, mantissa),
            None => (false, mantissa.strip_prefix('+').unwrap_or(mantissa)),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all = format!("{whole}{fraction}");
        let digits = all.trim_start_matches('0').trim_end_matches('0').to_owned();
        if digits.is_empty() {
            return Some(Self { is_negative: false, digits, exponent: 0 });
        }
        let zeros = all.len() - all.trim_end_matches('0').len();
        let exponent = exponent - i64::try_from(fraction.len()).ok()? + i64::try_from(zeros).ok()?;
        Some(Self { is_negative: sign, digits, exponent })
    }
}

/// `12` for `12.00`: cut as text, because a large one would lose digits on its way through a float.
fn without_zero_fraction(text: &str) -> &str {
    match text.split_once('.') {
        Some((digits, zeros)) if !zeros.is_empty() && zeros.bytes().all(|zero| zero == b'0') => digits,
        _ => text,
    }
}

fn integer_of(digits: &str) -> Option<Number> {
    let signed = digits.parse::<i64>().map(Number::from);
    signed.or_else(|_| digits.parse::<u64>().map(Number::from)).ok()
}

fn boolean(text: &str) -> Result<Value, String> {
    match text.to_ascii_lowercase().as_str() {
        "yes" | "y" | "true" => Ok(true.into()),
        "no" | "n" | "false" => Ok(false.into()),
        _ => Err(format!("must be yes or no, not {}", quoted(text))),
    }
}

fn choice<'a>(options: &'a [Choice], text: &str) -> Result<&'a str, String> {
    let found = find(options, text);
    match found.as_slice() {
        [only] => Ok(&only.value),
        [] => Err(format!("must be one of {}, not {}", values(options), quoted(text))),
        several => Err(format!(
            "could mean {} by {}: give one of the values {}",
            count(several.len() as u64, "choice"),
            quoted(text),
            list(several.iter().map(|choice| choice.value.as_str())),
        )),
    }
}

/// The choices `text` can mean, by the closest way of naming any: value, title, then either without
/// regard to case.
fn find<'a>(options: &'a [Choice], text: &str) -> Vec<&'a Choice> {
    let trimmed = text.trim();
    let lower = trimmed.to_lowercase();
    let ways: [&dyn Fn(&Choice) -> bool; 4] = [
        &|choice| choice.value == text,
        &|choice| choice.value == trimmed,
        &|choice| choice.label() == trimmed,
        &|choice| choice.value.to_lowercase() == lower || choice.label().to_lowercase() == lower,
    ];
    let found = ways.iter().map(|way| options.iter().filter(|choice| way(choice)).collect::<Vec<_>>());
    found.into_iter().find(|found| !found.is_empty()).unwrap_or_default()
}

fn several(options: &[Choice], text: &str) -> Result<Value, String> {
    if text.trim().is_empty() {
        return Ok(Value::Array(Vec::new()));
    }
    if let Ok(Value::Array(items)) = serde_json::from_str(text) {
        return Ok(Value::Array(items));
    }
    let mut parts: Vec<&str> = text.split(',').collect();
    // A trailing comma ends the list, it does not add an empty choice.
    if parts.last().is_some_and(|last| last.trim().is_empty()) {
        parts.pop();
    }
    let longest = most_commas(options) + 1;
    let mut chosen = Vec::new();
    let mut rest = parts.as_slice();
    while !rest.is_empty() {
        let (value, used) = next_choice(options, longest, rest)?;
        chosen.push(Value::from(value));
        rest = rest.get(used..).unwrap_or_default();
    }
    Ok(Value::Array(chosen))
}

/// The choice at the head of `parts`, and how many of them it takes, `longest` at most: titles are
/// sentences, and may hold commas.
fn next_choice<'a>(options: &'a [Choice], longest: usize, parts: &[&str]) -> Result<(&'a str, usize), String> {
    for used in (2..=longest.min(parts.len())).rev() {
        let joined = parts.iter().take(used).copied().collect::<Vec<_>>().join(",");
        if let [only] = find(options, &joined).as_slice() {
            return Ok((&only.value, used));
        }
    }
    let first = parts.first().copied().unwrap_or_default();
    choice(options, first).map(|value| (value, 1))
}

fn most_commas(options: &[Choice]) -> usize {
    let commas = |choice: &Choice| choice.value.matches(',').count().max(choice.label().matches(',').count());
    options.iter().map(commas).max().unwrap_or(0)
}

/// Comma separated where that is quickly seen to read back as the same choices, else as a JSON list.
fn chosen_to_text(options: &[Choice], value: &Value) -> String {
    let items = value.as_array().map(Vec::as_slice).unwrap_or_default();
    let texts: Option<Vec<&str>> = items.iter().map(Value::as_str).collect();
    let joined = texts.map(|texts| texts.join(", "));
    let joined = joined.filter(|text| is_quick_to_read(options, text));
    joined.filter(|text| several(options, text).as_ref() == Ok(value)).unwrap_or_else(|| value.to_string())
}

/// Whether looking for each part of `text` among the choices comes to little: both may be a peer's.
fn is_quick_to_read(options: &[Choice], text: &str) -> bool {
    let parts = text.matches(',').count() + 1;
    let searches = parts.saturating_mul(parts.min(most_commas(options) + 1));
    let bytes: usize = options.iter().map(|choice| choice.value.len() + choice.label().len()).sum();
    searches.saturating_mul(bytes) <= MOST_SEARCHED
}

fn values(options: &[Choice]) -> String {
    list(options.iter().map(|choice| choice.value.as_str()))
}

/// Most bytes of choices compared to show chosen ones as a person would type them: a dozen or more
/// out of five thousand.
const MOST_SEARCHED: usize = 4 * 1024 * 1024;
