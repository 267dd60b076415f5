//! JSON text as text: number spelling, and a canonical form in which equal values have equal bytes.
//!
//! `serde_json` reads a number into 64 bits, which makes two large integers equal that are not. Binding a state to the
//! arguments of its call needs better, so this walks the text itself. The input is valid JSON already (a `RawValue`);
//! what is checked here is what JSON leaves open: duplicate keys, lone surrogates, depth.

use std::borrow::Cow;
use std::ops::Range;

use thiserror::Error;

use super::object::Names;

/// How deep arrays and objects of a request may nest. Fixed: it is the bound `serde_json` has, and stacks are finite.
pub(crate) const MAX_DEPTH: usize = 128;

/// Why a text has no canonical form.
#[derive(Debug, Error, PartialEq, Eq)]
pub(crate) enum CanonicalError {
    #[error("an object names the key {0:?} twice")]
    DuplicateKey(String),
    #[error("a string holds a lone surrogate or another escape that is no character")]
    NotUnicode,
    #[error("it nests deeper than {MAX_DEPTH} levels")]
    TooDeep,
    #[error("it is not JSON")]
    NotJson,
}

impl CanonicalError {
    pub(super) fn duplicate(key: &str) -> Self {
        Self::DuplicateKey(key.chars().take(60).collect())
    }
}

/// The canonical form of a JSON text: keys sorted, escapes resolved, white space gone, one spelling per number.
///
/// `{"b":1.0,"a":1e2}` and `{"a":100,"b":1}` have the same form; `9007199254740993` and `9007199254740992` do not.
pub(crate) fn canonical(text: &str) -> Result<Vec<u8>, CanonicalError> {
    let mut walker = Walker { text, at: 0 };
    let mut out = Vec::with_capacity(text.len());
    walker.value(&mut out, 0)?;
    walker.skip_space();
    if walker.at == text.len() { Ok(out) } else { Err(CanonicalError::NotJson) }
}

/// Whether a text has a canonical form, for those who need only that.
pub(crate) fn check(text: &str) -> Result<(), CanonicalError> {
    Walker { text, at: 0 }.pass(0)
}

/// The decimal digits of a number that is an integer however it is spelled, or `None`.
///
/// Exponents beyond 308 are refused rather than written out.
pub(crate) fn integer(text: &str) -> Option<String> {
    let number = Decimal::parse(text)?;
    if number.digits.is_empty() {
        return Some("0".to_owned());
    }
    let zeros = usize::try_from(number.exponent).ok().filter(|zeros| *zeros <= 308)?;
    let sign = if number.negative { "-" } else { "" };
    Some(format!("{sign}{}{}", number.digits, "0".repeat(zeros)))
}

/// A string as JSON text.
pub(crate) fn string(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len() + 2);
    write_string(text, &mut out);
    String::from_utf8(out).expect("JSON is UTF-8")
}

/// A member of an object, and where it was written.
struct Member<'a> {
    key: Cow<'a, str>,
    written: Range<usize>,
}

struct Walker<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Walker<'a> {
    fn value(&mut self, out: &mut Vec<u8>, depth: usize) -> Result<(), CanonicalError> {
        if depth > MAX_DEPTH {
            return Err(CanonicalError::TooDeep);
        }
        self.skip_space();
        match self.peek() {
            Some(b'{') => self.object(out, depth),
            Some(b'[') => self.array(out, depth),
            Some(b'"') => {
                write_text(&self.string()?, out);
                Ok(())
            }
            Some(b'-' | b'0'..=b'9') => {
                let number = self.take_while(|b| matches!(b, b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9'));
                Decimal::parse(number).ok_or(CanonicalError::NotJson)?.write(out);
                Ok(())
            }
            Some(b't' | b'f' | b'n') => {
                let word = self.take_while(|b| b.is_ascii_lowercase());
                out.extend_from_slice(word.as_bytes());
                Ok(())
            }
            _ => Err(CanonicalError::NotJson),
        }
    }

    /// Passes over a value.
    fn pass(&mut self, depth: usize) -> Result<(), CanonicalError> {
        if depth > MAX_DEPTH {
            return Err(CanonicalError::TooDeep);
        }
        self.skip_space();
        match self.peek() {
            Some(b'{') => {
                let mut names = Names::default();
                self.items(b'}', |walker| {
                    let key = walker.key()?;
                    names.add(key).map_err(|key| CanonicalError::duplicate(&key))?;
                    walker.pass(depth + 1)
                })
            }
            Some(b'[') => self.items(b']', |walker| walker.pass(depth + 1)),
            Some(b'"') => self.string().map(drop),
            Some(_) => {
                self.take_while(|b| !matches!(b, b',' | b'}' | b']'));
                Ok(())
            }
            None => Err(CanonicalError::NotJson),
        }
    }

    /// The name of a member, and the colon behind it.
    fn key(&mut self) -> Result<Cow<'a, str>, CanonicalError> {
        self.skip_space();
        let key = self.string()?;
        self.skip_space();
        self.expect(b':')?;
        Ok(key)
    }

    fn object(&mut self, out: &mut Vec<u8>, depth: usize) -> Result<(), CanonicalError> {
        out.push(b'{');
        // Members are written as they come, and put in order only if they were not.
        let start = out.len();
        let mut members: Vec<Member<'_>> = Vec::new();
        self.items(b'}', |walker| {
            let key = walker.key()?;
            if !members.is_empty() {
                out.push(b',');
            }
            let start = out.len();
            write_text(&key, out);
            out.push(b':');
            walker.value(out, depth + 1)?;
            members.push(Member { key, written: start..out.len() });
            Ok(())
        })?;
        if !members.is_sorted_by(|a, b| a.key < b.key) {
            members.sort_by(|a, b| a.key.cmp(&b.key));
            if let Some(pair) = members.windows(2).find(|pair| pair[0].key == pair[1].key) {
                return Err(CanonicalError::duplicate(&pair[0].key));
            }
            let parts: Vec<&[u8]> = members.iter().map(|member| &out[member.written.clone()]).collect();
            let sorted = parts.join(&b',');
            out.truncate(start);
            out.extend_from_slice(&sorted);
        }
        out.push(b'}');
        Ok(())
    }

    fn array(&mut self, out: &mut Vec<u8>, depth: usize) -> Result<(), CanonicalError> {
        out.push(b'[');
        let mut first = true;
        self.items(b']', |walker| {
            if !std::mem::take(&mut first) {
                out.push(b',');
            }
            walker.value(out, depth + 1)
        })?;
        out.push(b']');
        Ok(())
    }

    /// Walks comma-separated items from an opening bracket to `close`.
    fn items(
        &mut self,
        close: u8,
        mut item: impl FnMut(&mut Self) -> Result<(), CanonicalError>,
    ) -> Result<(), CanonicalError> {
        self.at += 1;
        self.skip_space();
        if self.peek() == Some(close) {
            self.at += 1;
            return Ok(());
        }
        loop {
            item(self)?;
            self.skip_space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b) if b == close => {
                    self.at += 1;
                    return Ok(());
                }
                _ => return Err(CanonicalError::NotJson),
            }
        }
    }

    /// A string: borrowed exactly when it has no escapes, and then it is spelled as it is written.
    fn string(&mut self) -> Result<Cow<'a, str>, CanonicalError> {
        let start = self.at;
        self.expect(b'"')?;
        let mut escaped = false;
        while let Some(byte) = self.peek() {
            self.at += 1;
            match byte {
                b'"' => {
                    let token = self.text.get(start..self.at).ok_or(CanonicalError::NotJson)?;
                    return match escaped {
                        false => Ok(Cow::Borrowed(&token[1..token.len() - 1])),
                        true => serde_json::from_str(token).map(Cow::Owned).map_err(|_| CanonicalError::NotUnicode),
                    };
                }
                b'\\' => {
                    escaped = true;
                    self.at += 1;
                }
                _ => {}
            }
        }
        Err(CanonicalError::NotJson)
    }

    fn expect(&mut self, byte: u8) -> Result<(), CanonicalError> {
        if self.peek() != Some(byte) {
            return Err(CanonicalError::NotJson);
        }
        self.at += 1;
        Ok(())
    }

    fn take_while(&mut self, accept: impl Fn(u8) -> bool) -> &'a str {
        let start = self.at;
        while self.peek().is_some_and(&accept) {
            self.at += 1;
        }
        &self.text[start..self.at]
    }

    fn skip_space(&mut self) {
        self.take_while(|b| matches!(b, b' ' | b'\t' | b'\n' | b'\r'));
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }
}

/// A number as its significant digits times a power of ten: the one spelling per value.
struct Decimal {
    negative: bool,
    /// Without leading or trailing zeros; empty for zero.
    digits: String,
    exponent: i64,
}

impl Decimal {
    fn parse(text: &str) -> Option<Self> {
        let (negative, unsigned) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, saturating_exponent(exponent)?),
            None => (unsigned, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        if whole.is_empty() || ![whole, fraction].iter().all(|part| part.bytes().all(|b| b.is_ascii_digit())) {
            return None;
        }
        let all = format!("{whole}{fraction}");
        let trimmed = all.trim_end_matches('0');
        let dropped = i64::try_from(all.len() - trimmed.len()).ok()?;
        let digits = trimmed.trim_start_matches('0').to_owned();
        if digits.is_empty() {
            return Some(Self { negative: false, digits, exponent: 0 });
        }
        let exponent = exponent.checked_sub(i64::try_from(fraction.len()).ok()?)?.checked_add(dropped)?;
        Some(Self { negative, digits, exponent })
    }

    fn write(&self, out: &mut Vec<u8>) {
        if self.digits.is_empty() {
            out.push(b'0');
            return;
        }
        if self.negative {
            out.push(b'-');
        }
        out.extend_from_slice(self.digits.as_bytes());
        if self.exponent != 0 {
            out.push(b'e');
            out.extend_from_slice(self.exponent.to_string().as_bytes());
        }
    }
}

/// An exponent of any length; beyond 64 bits it no longer matters which, only that it is not a small one.
fn saturating_exponent(text: &str) -> Option<i64> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let bound = i64::MAX / 4;
    let magnitude = digits.parse::<i64>().map_or(bound, |value| value.min(bound));
    Some(if text.starts_with('-') { -magnitude } else { magnitude })
}

#[expect(clippy::ptr_arg, reason = "only what is borrowed has nothing to escape")]
fn write_text(text: &Cow<'_, str>, out: &mut Vec<u8>) {
    match text {
        Cow::Borrowed(plain) => [b"\"", plain.as_bytes(), b"\""].iter().for_each(|part| out.extend_from_slice(part)),
        Cow::Owned(text) => write_string(text, out),
    }
}

fn write_string(string: &str, out: &mut Vec<u8>) {
    // Writing to a Vec cannot fail, and a str always serialises.
    let _ = serde_json::to_writer(out, string);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(text: &str) -> String {
        String::from_utf8(canonical(text).expect(text)).expect("UTF-8")
    }

    #[test]
    fn key_order_white_space_escapes_and_number_spelling_do_not_matter() {
        let spellings = [
            r#"{"a":100,"b":1,"c":[0,-25e-1]}"#,
            r#"{ "b" : 1.0, "\u0061":1e2 , "c":[ 0.00,-2.5 ]}"#,
            "{\"c\":[-0,-2.50],\n\"a\":1.00E+2,\"b\":10e-1}",
        ];
        for spelling in spellings {
            assert_eq!(form(spelling), form(spellings[0]));
        }
    }

    #[test]
    fn large_integers_stay_exact() {
        assert_ne!(form("9007199254740993"), form("9007199254740992"));
        assert_ne!(form("18446744073709551617"), form("18446744073709551618"));
        assert_ne!(form("1e400"), form("1e401"));
        assert_ne!(form("1"), form("\"1\""));
        assert_ne!(form("[]"), form("{}"));
    }

    #[test]
    fn what_json_leaves_open_is_refused() {
        assert_eq!(canonical(r#"{"a":{"x":1,"\u0078":2}}"#), Err(CanonicalError::DuplicateKey("x".into())));
        assert_eq!(canonical(r#"["\ud800"]"#), Err(CanonicalError::NotUnicode));
        let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
        assert_eq!(canonical(&deep), Err(CanonicalError::TooDeep));
    }
}
