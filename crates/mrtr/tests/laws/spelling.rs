//! JSON values apart from how they are spelled: numbers as exact decimals, and many texts for each value.

use proptest::prelude::*;
use serde_json::json;

/// A JSON value; equal values, and only those, are the same value to JSON.
#[derive(Clone, Debug)]
pub enum Json {
    Null,
    Bool(bool),
    /// An integer of any length times a power of ten.
    Number {
        negative: bool,
        digits: String,
        exponent: i32,
    },
    Text(String),
    List(Vec<Self>),
    /// Keys are unique.
    Object(Vec<(String, Self)>),
}

pub fn values() -> impl Strategy<Value = Json> {
    let text = prop_oneof!["[a-z]{0,3}", any::<String>()];
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::Bool),
        (any::<bool>(), "[1-9][0-9]{0,22}", -20..20_i32).prop_map(|(negative, digits, exponent)| Json::Number {
            negative,
            digits,
            exponent
        }),
        text.clone().prop_map(Json::Text),
    ];
    leaf.prop_recursive(4, 24, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Json::List),
            prop::collection::btree_map(text.clone(), inner, 0..4)
                .prop_map(|members| Json::Object(members.into_iter().collect())),
        ]
    })
}

impl Json {
    /// One of the value's many texts; `choose(n)` picks among `n`.
    pub fn spell(&self, choose: &mut impl FnMut(usize) -> usize) -> String {
        match self {
            Self::Null => "null".to_owned(),
            Self::Bool(flag) => flag.to_string(),
            Self::Number { negative, digits, exponent } => {
                let sign = if *negative { "-" } else { "" };
                format!("{sign}{}", spell_number(digits, *exponent, choose))
            }
            Self::Text(text) => spell_text(text, choose),
            Self::List(items) => {
                let items: Vec<String> = items.iter().map(|item| item.spell(choose)).collect();
                format!("[{}]", items.join(&format!(",{}", space(choose))))
            }
            Self::Object(members) => {
                let mut texts: Vec<String> = Vec::new();
                for (key, value) in members {
                    let text = format!("{}{}:{}", spell_text(key, choose), space(choose), value.spell(choose));
                    texts.insert(choose(texts.len() + 1), text);
                }
                format!("{{{}{}}}", space(choose), texts.join(","))
            }
        }
    }

    /// Another value, different in the `at`-th place that can differ.
    pub fn altered(&self, at: usize) -> Self {
        let mut other = self.clone();
        let places = other.places();
        other.alter(&mut (at % places));
        other
    }

    fn places(&self) -> usize {
        1 + match self {
            Self::List(items) => items.iter().map(Self::places).sum(),
            Self::Object(members) => members.iter().map(|(_, value)| value.places()).sum(),
            _ => 0,
        }
    }

    /// Counts `left` down and changes the place it reaches zero at; tells whether it did.
    fn alter(&mut self, left: &mut usize) -> bool {
        if *left == 0 {
            self.change();
            return true;
        }
        *left -= 1;
        match self {
            Self::List(items) => items.iter_mut().any(|item| item.alter(left)),
            Self::Object(members) => members.iter_mut().any(|(_, value)| value.alter(left)),
            _ => false,
        }
    }

    fn change(&mut self) {
        match self {
            Self::Null => *self = Self::Bool(false),
            Self::Bool(flag) => *flag = !*flag,
            Self::Number { digits, .. } => {
                let last = digits.pop().expect("a digit");
                digits.push(if last == '1' { '2' } else { '1' });
            }
            Self::Text(text) => text.push('.'),
            Self::List(items) => items.push(Self::Null),
            Self::Object(members) => members.push((format!("{}.", members.len()), Self::Null)),
        }
    }
}

fn spell_number(digits: &str, exponent: i32, choose: &mut impl FnMut(usize) -> usize) -> String {
    // Zeros that change nothing, then a point somewhere, then what is left of the exponent.
    let zeros = choose(3);
    let padded = format!("{digits}{}", "0".repeat(zeros));
    let after_point = choose(padded.len());
    let (whole, fraction) = padded.split_at(padded.len() - after_point);
    let exponent = exponent - zeros as i32 + after_point as i32;
    let point = if fraction.is_empty() { "" } else { "." };
    match exponent {
        0 if choose(2) == 0 => format!("{whole}{point}{fraction}"),
        1.. if fraction.is_empty() && choose(2) == 0 => format!("{whole}{}", "0".repeat(exponent as usize)),
        _ => {
            let sign = if exponent >= 0 { ["", "+"][choose(2)] } else { "" };
            format!("{whole}{point}{fraction}{}{sign}{exponent}", ["e", "E"][choose(2)])
        }
    }
}

fn spell_text(text: &str, choose: &mut impl FnMut(usize) -> usize) -> String {
    let mut spelled = String::from("\"");
    for c in text.chars() {
        let plain = json!(c).to_string();
        match choose(3) {
            0 | 1 => spelled.push_str(&plain[1..plain.len() - 1]),
            _ => {
                let mut units = [0; 2];
                for unit in c.encode_utf16(&mut units) {
                    spelled.push_str(&format!("\\u{unit:04x}"));
                }
            }
        }
    }
    spelled.push('"');
    spelled
}

fn space(choose: &mut impl FnMut(usize) -> usize) -> &'static str {
    ["", " ", "\n\t", "\r"][choose(4)]
}
