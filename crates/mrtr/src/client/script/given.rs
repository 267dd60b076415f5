//! A scripted value of a field, which the form gives its type.

use serde_json::Value;

use super::ScriptError;
use super::node::{It, Node, bare};
use crate::form::{Field, FieldKind, Form, Problem};

/// What a file says about one field.
///
/// A word or number is read as if it was typed into the field: `yes` is true for a boolean field and three letters for
/// a text field, `1.10` is a number for a number field and keeps its zero in a text field.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Given {
    /// The field is left out, whatever its default.
    Nothing,
    /// A bare word or number.
    Bare(String),
    /// Text in quotes.
    Text(String),
    /// A list.
    List(Vec<Self>),
    /// A mapping.
    Object(Value),
}

impl Given {
    pub(super) fn read(file: &str, node: &Node) -> Result<Self, ScriptError> {
        Ok(match &node.it {
            _ if node.is_null() => Self::Nothing,
            It::Bare(text) => Self::Bare(text.clone()),
            It::Text(text) => Self::Text(text.clone()),
            It::List(items) => Self::List(items.iter().map(|item| Self::read(file, item)).collect::<Result<_, _>>()?),
            It::Map(_) => Self::Object(node.to_value(file)?),
        })
    }

    /// The value this is for a field of the form.
    pub(super) fn for_field(&self, form: &Form, name: &str) -> Result<Value, Problem> {
        let Some(field) = form.field(name) else {
            // Says that there is no such field.
            return form.parse_text(name, "");
        };
        self.typed(field).map_err(|text| Problem { field: Some(name.to_owned()), text })
    }

    fn typed(&self, field: &Field) -> Result<Value, String> {
        let typed = |text: &str| field.parse_text(text).map_err(|problem| problem.text);
        match (self, &field.kind) {
            (Self::Nothing, _) => Ok(Value::Null),
            (Self::Bare(_) | Self::Text(_), FieldKind::Unsupported { .. }) => self.to_json(),
            (Self::Bare(text) | Self::Text(text), _) => typed(text),
            // Choices are texts, however bare they are.
            (Self::List(items), FieldKind::MultiChoice { .. }) => {
                let texts = items.iter().map(Self::to_choice).collect::<Result<Value, _>>()?;
                typed(&texts.to_string())
            }
            (Self::List(_) | Self::Object(_), _) => self.to_json(),
        }
    }

    fn to_choice(&self) -> Result<Value, String> {
        match self {
            Self::Bare(text) | Self::Text(text) => Ok(text.as_str().into()),
            _ => self.to_json(),
        }
    }

    fn to_json(&self) -> Result<Value, String> {
        match self {
            Self::Nothing => Ok(Value::Null),
            Self::Bare(text) => bare(text),
            Self::Text(text) => Ok(text.as_str().into()),
            Self::List(items) => items.iter().map(Self::to_json).collect(),
            Self::Object(value) => Ok(value.clone()),
        }
    }
}
