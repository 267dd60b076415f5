//! Schemas that are about to be sent: only what every client can show, or an error the author can
//! act on.
//!
//! The schema of a strict form is written from the fields that were read, so nothing the
//! specification does not list can slip through.

use std::any::type_name;
use std::collections::HashSet;
use std::fmt;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

use super::Form;
use super::field::Field;
use super::keywords::Oddity;
use super::problem::quoted;
use super::read::read;
use super::resolve::{Document, resolve};

/// A schema that cannot be asked as a form.
///
/// It prints as one sentence that names the type, the field and the way out:
/// `form type Order, field "lines": nested objects cannot be asked in a form; use one flat struct`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaError {
    origin: Origin,
    field: Option<String>,
    oddity: Oddity,
}

impl SchemaError {
    /// The property that cannot be asked; `None` where the whole schema cannot.
    #[must_use]
    pub fn field(&self) -> Option<&str> {
        self.field.as_deref()
    }
}

impl fmt::Display for SchemaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.origin {
            Origin::Type(name) => write!(f, "form type {name}")?,
            Origin::Schema => f.write_str("form schema")?,
        }
        if let Some(field) = &self.field {
            write!(f, ", field {}", quoted(field))?;
        }
        write!(f, ": {}; {}", self.oddity.what, self.oddity.instead)
    }
}

impl std::error::Error for SchemaError {}

/// Who wrote the schema.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Origin {
    /// A Rust type of this name, through schemars.
    Type(String),
    /// The author, by hand.
    Schema,
}

/// The form of a Rust type.
pub(super) fn form_of<T: JsonSchema>() -> Result<Form, SchemaError> {
    let schema = SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<T>().to_value();
    Builder { origin: Origin::Type(short_name(type_name::<T>())), document: Document::new(&schema) }.build()
}

/// The form of a schema written by hand.
pub(super) fn form_from(schema: &Value) -> Result<Form, SchemaError> {
    Builder { origin: Origin::Schema, document: Document::new(schema) }.build()
}

struct Builder<'a> {
    origin: Origin,
    document: Document<'a>,
}

impl Builder<'_> {
    fn build(&self) -> Result<Form, SchemaError> {
        let mut root =
            resolve(&self.document, self.document.root()).map_err(|oddity| self.refuse(None, oddity))?.schema;
        // `()` and `struct Unit;`: a question whose only answers are the three actions.
        if matches!(self.origin, Origin::Type(_)) && root.get("type").is_some_and(|name| name == "null") {
            return Ok(Form::strict(to_schema(&[]), Vec::new()));
        }
        let properties = self.properties(&mut root)?;
        let required = self.required(&mut root, &properties)?;
        self.nothing_else(&root)?;
        let fields = properties
            .iter()
            .map(|(name, raw)| self.field(name, raw, required.contains(name)))
            .collect::<Result<Vec<_>, _>>()?;
        Ok(Form::strict(to_schema(&fields), fields))
    }

    fn properties(&self, root: &mut Map<String, Value>) -> Result<Map<String, Value>, SchemaError> {
        if root.shift_remove("type").is_none_or(|name| name != "object") {
            let what = "a form is a JSON object with one property for each field";
            return Err(self.refuse(None, Oddity::new(what, "use a struct with named fields")));
        }
        let properties = match root.shift_remove("properties") {
            None => Map::new(),
            Some(Value::Object(properties)) => properties,
            Some(_) => {
                return Err(self.refuse(None, Oddity::new("its properties are not an object", "correct them")));
            }
        };
        if properties.len() > MAX_FIELDS {
            let what = format!("{} fields are more than the {MAX_FIELDS} a form may have", properties.len());
            return Err(self.refuse(None, Oddity::new(what, "ask in several steps")));
        }
        Ok(properties)
    }

    fn required(
        &self,
        root: &mut Map<String, Value>,
        properties: &Map<String, Value>,
    ) -> Result<HashSet<String>, SchemaError> {
        let Some(required) = root.shift_remove("required") else {
            return Ok(HashSet::new());
        };
        let names: Option<Vec<&str>> = required.as_array().and_then(|names| names.iter().map(Value::as_str).collect());
        let Some(names) = names else {
            return Err(self.refuse(None, Oddity::new("its required is not a list of names", "list property names")));
        };
        if let Some(unknown) = names.iter().find(|name| !properties.contains_key(**name)) {
            let what = format!("it requires {}, which is not among its properties", quoted(unknown));
            return Err(self.refuse(None, Oddity::new(what, "add the property, or do not require it")));
        }
        Ok(names.into_iter().map(str::to_owned).collect())
    }

    /// Refuses whatever else the root says, except what says nothing.
    fn nothing_else(&self, root: &Map<String, Value>) -> Result<(), SchemaError> {
        let oddity = root.iter().find_map(|(key, value)| match key.as_str() {
            "$comment" | "$defs" | "$id" | "$schema" | "default" | "definitions" | "description" | "examples"
            | "title" => None,
            "additionalProperties" | "unevaluatedProperties" if *value == Value::Bool(false) => None,
            "additionalProperties" | "unevaluatedProperties" | "patternProperties" => Some(Oddity::new(
                "a form cannot ask for properties it does not name",
                "remove the flattened map, and use one field for each key",
            )),
            "oneOf" | "anyOf" | "allOf" => {
                Some(Oddity::new("a form has no alternatives", "use one flat struct, without flattened enums"))
            }
            key => Some(Oddity::new(
                format!("forms have no keyword {}", quoted(key)),
                "remove it, and let the tool check the answer",
            )),
        });
        oddity.map_or(Ok(()), |oddity| Err(self.refuse(None, oddity)))
    }

    fn field(&self, name: &str, raw: &Value, required: bool) -> Result<Field, SchemaError> {
        let refuse = |oddity| self.refuse(Some(name), oddity);
        let mut reading = read(&self.document, raw);
        let mut oddities = reading.kind.as_ref().err().into_iter().chain(&reading.oddities).chain(&reading.foreign);
        if let Some(oddity) = oddities.next() {
            return Err(refuse(oddity.clone()));
        }
        // Forms have no `null`: no answer is a key left out.
        reading.nullable = false;
        let default = reading.default.take();
        let kind = reading.kind.clone().map_err(refuse)?;
        let mut field = Field::new(name, required, kind, reading);
        // Asking also compiles the rules: answers are judged by what was built once.
        if field.judge.is_blind() {
            let what = "the validator cannot work with its schema, so no answer could be checked";
            return Err(refuse(Oddity::new(what, "simplify it")));
        }
        field.default = self.default(&field, default)?;
        Ok(field)
    }

    /// The default, checked. A type's may be dropped: with `#[serde(default)]` on a text that has a
    /// format, leaving the answer out is fine, and the empty text is not worth offering.
    fn default(&self, field: &Field, default: Option<Value>) -> Result<Option<Value>, SchemaError> {
        match default.map(|default| field.settle(&default)) {
            None => Ok(None),
            Some(Ok(default)) => Ok(Some(default)),
            Some(Err(_)) if matches!(self.origin, Origin::Type(_)) => Ok(None),
            Some(Err(problems)) => {
                let oddity = Oddity::new(format!("its default {}", problems.join(", ")), "correct the default");
                Err(self.refuse(Some(&field.name), oddity))
            }
        }
    }

    fn refuse(&self, field: Option<&str>, oddity: Oddity) -> SchemaError {
        SchemaError { origin: self.origin.clone(), field: field.map(str::to_owned), oddity }
    }
}

/// `{"type":"object","properties":{..},"required":[..]}`, and no more.
fn to_schema(fields: &[Field]) -> Value {
    let properties: Map<String, Value> = fields.iter().map(|field| (field.name.clone(), field.to_schema())).collect();
    let required: Vec<&str> = fields.iter().filter(|field| field.required).map(|field| field.name.as_str()).collect();
    let mut schema = serde_json::json!({ "type": "object", "properties": properties });
    if let (Value::Object(schema), false) = (&mut schema, required.is_empty()) {
        schema.insert("required".to_owned(), required.into());
    }
    schema
}

/// A type's name without the modules it lives in, its arguments included: `Vec<Order>`.
fn short_name(full: &str) -> String {
    let mut short = String::with_capacity(full.len());
    for piece in full.split_inclusive(|c: char| !c.is_alphanumeric() && c != '_' && c != ':') {
        short.push_str(piece.rsplit("::").next().unwrap_or(piece));
    }
    short
}

/// Most fields a form that is sent may have: nobody fills in more, and every client has to draw them.
pub const MAX_FIELDS: usize = 100;
