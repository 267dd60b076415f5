//! Forms: elicitation schemas from Rust types, their validation, and the model clients render.
//!
//! A [`Form`] is a schema read once. Servers make theirs from a type ([`Form::of`]) or a
//! hand-written schema ([`Form::from_schema`]); both are strict, because what goes out must be
//! something every client can show. Clients read whatever came in with [`Form::lenient`], which
//! never fails and never loses a field.
//!
//! Answers are judged field by field, by the same rules on both sides: [`Form::validate`] reports
//! every problem at once, and returns what passed in the form it is handed on in. A [`Draft`] holds
//! answers while they are made. This module does no I/O and resolves nothing over the network.
//!
//! ```
//! use mrtr::form::Form;
//! use serde_json::{Value, json};
//!
//! #[derive(schemars::JsonSchema)]
//! struct Contact {
//!     #[schemars(email)]
//!     email: String,
//!     age: Option<u8>,
//! }
//!
//! let form = Form::of::<Contact>()?;
//! assert_eq!(form.schema()["required"], json!(["email"]));
//!
//! let answer = json!({ "email": "not an address", "age": 300 });
//! let problems = form.validate(answer.as_object().expect("an object")).unwrap_err();
//! assert_eq!(problems[0].to_string(), r#""email" must be an e-mail address"#);
//! assert_eq!(problems[1].to_string(), r#""age" must be at most 255, not 300"#);
//! # Ok::<(), mrtr::form::SchemaError>(())
//! ```

mod cache;
mod choices;
mod draft;
mod field;
mod judge;
mod keywords;
mod lenient;
mod problem;
mod read;
mod resolve;
mod rules;
mod secret;
mod strict;
#[cfg(test)]
mod tests;
mod text;

use std::collections::HashSet;
use std::sync::OnceLock;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

pub(crate) use cache::cached;
pub use draft::{Draft, Entry};
pub use field::{Choice, FaultyDefault, Field, FieldKind, TextFormat};
pub(crate) use judge::compile;
pub(crate) use keywords::whole;
pub use problem::Problem;
pub(crate) use problem::harmless;
#[cfg(feature = "answers")]
pub(crate) use problem::quoted;
pub(crate) use read::RUST_FORMATS;
pub use strict::{MAX_FIELDS, SchemaError};

/// An elicitation schema that was read and compiled once; share it in an `Arc`.
#[derive(Debug)]
pub struct Form {
    schema: Value,
    json: String,
    fields: Vec<Field>,
    notes: Vec<String>,
    /// Whether answers carry anything beside the fields.
    keeps_extra: bool,
    fingerprint: OnceLock<[u8; 32]>,
}

/// The schema a question of type `T` sends: the one-line test that `T` can be asked at all.
///
/// ```
/// #[derive(schemars::JsonSchema)]
/// struct Confirm {
///     /// Confirm production deploy
///     confirm: bool,
/// }
///
/// let schema = mrtr::form::schema_of::<Confirm>()?;
/// assert_eq!(schema["properties"]["confirm"]["description"], "Confirm production deploy");
/// # Ok::<(), mrtr::form::SchemaError>(())
/// ```
///
/// # Errors
///
/// As [`Form::of`].
pub fn schema_of<T: JsonSchema>() -> Result<Value, SchemaError> {
    Form::of::<T>().map(|form| form.schema)
}

impl Form {
    /// Makes the form of a Rust type.
    ///
    /// A struct with named fields becomes a form with the same fields in the same order.
    /// `Option<T>` and fields with `#[serde(default)]` need no answer; a unit enum is one choice, a
    /// list or set of one is several; variants with doc comments are shown by the first paragraph.
    /// `#[schemars(length(..), range(..), email, url)]` are kept, and so are jiff's and chrono's
    /// dates and instants. `()` and unit structs are forms without fields.
    ///
    /// A default that the field itself would refuse is not offered. Of an enum that documents only
    /// some of its variants, schemars lists the others first.
    ///
    /// # Errors
    ///
    /// When a field does not fit the restricted subset of JSON Schema that MCP allows in forms:
    /// nesting, maps, tuples, enums with data, lists of anything but choices, patterns, exclusive
    /// bounds, more than [`MAX_FIELDS`]. The message names the type and the field and says what to use
    /// instead.
    pub fn of<T: JsonSchema>() -> Result<Self, SchemaError> {
        strict::form_of::<T>()
    }

    /// Makes a form of a schema written by hand, which is held to the same rules.
    ///
    /// References, unions with `null` and `enumNames` are rewritten into what the specification
    /// lists; annotations it does not list are dropped.
    ///
    /// # Errors
    ///
    /// As [`Form::of`], and when a default is not valid for its field or `required` names a
    /// property that is missing.
    // By value, because a schema is made to be asked: callers have no further use for it.
    #[expect(clippy::needless_pass_by_value, reason = "the caller hands the schema over")]
    pub fn from_schema(schema: Value) -> Result<Self, SchemaError> {
        strict::form_from(&schema)
    }

    /// Reads whatever a server sent as a schema.
    ///
    /// It never fails and never loses a field: those that forms have no control for become
    /// [`FieldKind::Unsupported`], and take JSON. What had to be overlooked is in
    /// [`notes`](Self::notes).
    #[must_use]
    pub fn lenient(schema: &Value) -> Self {
        lenient::form_of(schema)
    }

    fn strict(schema: Value, fields: Vec<Field>) -> Self {
        let json = schema.to_string();
        Self { json, schema, fields, notes: Vec::new(), keeps_extra: false, fingerprint: OnceLock::new() }
    }

    fn lenient_parts(schema: Value, fields: Vec<Field>, notes: Vec<String>) -> Self {
        let json = schema.to_string();
        Self { json, schema, fields, notes, keeps_extra: true, fingerprint: OnceLock::new() }
    }

    /// The fields, in the schema's order.
    #[must_use]
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// The field of this name.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// The schema: of a strict form exactly what is sent, of a lenient one exactly what came.
    #[must_use]
    pub fn schema(&self) -> &Value {
        &self.schema
    }

    /// The schema as compact JSON text.
    #[must_use]
    pub fn json(&self) -> &str {
        &self.json
    }

    /// A digest of the schema's text, made once: questions are pinned to it in every round.
    pub(crate) fn fingerprint(&self) -> &[u8; 32] {
        self.fingerprint.get_or_init(|| Sha256::digest(&self.json).into())
    }

    /// What a lenient form had to overlook, in sentences for the person who looks into it; strict
    /// forms have none.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Checks an answer and returns it as it is handed on.
    ///
    /// In what is returned, `1.0` for a whole number is `1`, and optional fields answered with
    /// `null` are left out. Keys that nobody asked for are dropped by strict forms and passed on by
    /// lenient ones, whose server may know more than its schema says.
    ///
    /// # Errors
    ///
    /// Every problem with every field, in the order of the fields.
    pub fn validate(&self, content: &Map<String, Value>) -> Result<Map<String, Value>, Vec<Problem>> {
        let mut settled = Map::new();
        let mut problems = Vec::new();
        for field in &self.fields {
            match field.answer(content) {
                Ok(value) => settled.extend(value.map(|value| (field.name.clone(), value))),
                Err(texts) => problems.extend(texts.into_iter().map(|text| Problem::of(&field.name, text))),
            }
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        if self.keeps_extra {
            settled.extend(self.beside_the_fields(content));
        }
        Ok(settled)
    }

    /// The answers that are valid by themselves, as they would be handed on: what to keep when
    /// others are asked again.
    #[must_use]
    pub fn valid_part(&self, content: &Map<String, Value>) -> Map<String, Value> {
        let given = |field: &&Field| !content.get(&field.name).is_none_or(Value::is_null);
        let valid = |field: &Field| Some((field.name.clone(), field.answer(content).ok().flatten()?));
        self.fields.iter().filter(given).filter_map(valid).collect()
    }

    /// The schema with those of `values` as defaults that are valid for their field.
    #[must_use]
    pub fn with_defaults(&self, values: &Map<String, Value>) -> Value {
        let mut schema = self.schema.clone();
        let Some(Value::Object(properties)) = schema.get_mut("properties") else {
            return schema;
        };
        for (name, value) in self.valid_part(values) {
            if let Some(Value::Object(property)) = properties.get_mut(&name) {
                property.insert("default".to_owned(), value);
            }
        }
        schema
    }

    /// Reads one field's value from text, as [`Field::parse_text`] does.
    ///
    /// # Errors
    ///
    /// When there is no such field, or the text is not a valid value for it.
    pub fn parse_text(&self, name: &str, text: &str) -> Result<Value, Problem> {
        let field = self.field(name).ok_or_else(|| self.unknown(name))?;
        field.parse_text(text)
    }

    /// Turns content that passed [`validate`](Self::validate) into the author's type.
    ///
    /// # Errors
    ///
    /// When the type is stricter than its schema can say.
    pub fn decode<T: DeserializeOwned>(&self, content: Map<String, Value>) -> Result<T, Problem> {
        serde_json::from_value(Value::Object(content)).or_else(|error| {
            // `()` and unit structs are written as `null`, but the answer to their form is `{}`.
            let unit = if self.fields.is_empty() { serde_json::from_value(Value::Null).ok() } else { None };
            unit.ok_or_else(|| {
                let detail = harmless(&error.to_string(), DETAIL);
                Problem::whole(format!("the answer cannot be read: {detail}"))
            })
        })
    }

    fn unknown(&self, name: &str) -> Problem {
        if self.fields.is_empty() {
            return Problem::of(name, "is not asked: the form has no fields");
        }
        let names = problem::list(self.fields.iter().map(|field| field.name.as_str()));
        Problem::of(name, format!("is not asked: the form has {names}"))
    }

    fn beside_the_fields(&self, content: &Map<String, Value>) -> Map<String, Value> {
        let asked: HashSet<&str> = self.fields.iter().map(|field| field.name.as_str()).collect();
        let beside = content.iter().filter(|(name, _)| !asked.contains(name.as_str()));
        beside.map(|(name, value)| (name.clone(), value.clone())).collect()
    }
}

impl Field {
    /// This field's part of an answer: a value to hand on, nothing, or what is wrong.
    fn answer(&self, content: &Map<String, Value>) -> Result<Option<Value>, Vec<String>> {
        match content.get(&self.name) {
            None | Some(Value::Null) if self.null_when_blank => Ok(Some(Value::Null)),
            None | Some(Value::Null) if !self.required => Ok(None),
            Some(Value::Null) if !self.takes_null() => Err(vec![IS_REQUIRED.to_owned()]),
            None => Err(vec![IS_REQUIRED.to_owned()]),
            Some(value) => self.settle(value).map(Some),
        }
    }

    /// Only what no control was found for can mean `null` by it.
    fn takes_null(&self) -> bool {
        matches!(self.kind, FieldKind::Unsupported { .. })
    }
}

const IS_REQUIRED: &str = "is required";

/// Longest detail passed on from a deserialiser, in characters.
const DETAIL: usize = 160;
