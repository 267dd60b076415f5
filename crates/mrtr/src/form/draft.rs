//! Answers on their way to being sent: what a person, or a script, has said about each field so far.
//!
//! Three things are easily taken for one another and are told apart here: a field nobody touched, which sends the
//! default the server offers; one that was left out on purpose, whose key is not sent; and one that was given a value,
//! which may well be the empty text, `0` or `false`.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::{Field, Form, Problem};

/// What has been said about one field.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Entry {
    /// Nothing: the default is sent, if there is one.
    #[default]
    Untouched,
    /// That it is to be left out, whatever the default is.
    Omitted,
    /// A value.
    Given(Value),
}

/// The answer to a form while it is filled in.
///
/// ```
/// use mrtr::form::{Draft, Form};
/// use serde_json::json;
///
/// let form = Form::lenient(&json!({ "properties": {
///     "retries": { "type": "integer", "default": 0 },
///     "note": { "type": "string", "default": "none" },
/// }}));
/// let mut draft = Draft::new(&form);
/// draft.omit("note");
/// assert_eq!(json!(draft.content().expect("a valid answer")), json!({ "retries": 0 }));
/// ```
#[derive(Clone, Debug)]
pub struct Draft<'f> {
    form: &'f Form,
    entries: HashMap<String, Entry>,
    /// What was settled elsewhere under names the form does not have.
    beside: Map<String, Value>,
}

impl<'f> Draft<'f> {
    /// Starts with no field touched.
    #[must_use]
    pub fn new(form: &'f Form) -> Self {
        Self { form, entries: HashMap::new(), beside: Map::new() }
    }

    /// Starts with these values given, for example those that flags settled. Names the form does not have are kept and
    /// sent with the rest.
    #[must_use]
    pub fn with(form: &'f Form, values: &Map<String, Value>) -> Self {
        let mut draft = Self::new(form);
        for (name, value) in values {
            match form.field(name) {
                Some(_) => draft.give(name, value.clone()),
                None => drop(draft.beside.insert(name.clone(), value.clone())),
            }
        }
        draft
    }

    /// The form that is filled in.
    #[must_use]
    pub fn form(&self) -> &'f Form {
        self.form
    }

    /// What has been said about the field of this name.
    #[must_use]
    pub fn entry(&self, name: &str) -> &Entry {
        self.entries.get(name).unwrap_or(&Entry::Untouched)
    }

    /// Gives a field a value. It is judged by [`content`](Self::content), or before, by [`Field::parse_text`].
    pub fn give(&mut self, name: &str, value: Value) {
        self.set(name, Entry::Given(value));
    }

    /// Leaves a field out on purpose.
    pub fn omit(&mut self, name: &str) {
        self.set(name, Entry::Omitted);
    }

    /// Says something about a field, or takes back what was said.
    pub fn set(&mut self, name: &str, entry: Entry) {
        self.entries.insert(name.to_owned(), entry);
    }

    /// The value that would be sent for a field as things are: the one it was given, or its default.
    #[must_use]
    pub fn value<'a>(&'a self, field: &'a Field) -> Option<&'a Value> {
        match self.entry(&field.name) {
            Entry::Untouched => field.default.as_ref(),
            Entry::Omitted => None,
            Entry::Given(value) => Some(value),
        }
    }

    /// The answer as it would be sent.
    ///
    /// # Errors
    ///
    /// Every problem with every field, as [`Form::validate`] has them; and each default that breaks its own schema and
    /// was neither replaced nor left out.
    pub fn content(&self) -> Result<Map<String, Value>, Vec<Problem>> {
        let mut content = self.beside.clone();
        let mut problems = Vec::new();
        for field in self.form.fields() {
            match self.value(field) {
                Some(value) => drop(content.insert(field.name.clone(), value.clone())),
                None => problems.extend(self.unfixed(field)),
            }
        }
        let named = |problem: &Problem, problems: &[Problem]| problems.iter().any(|it| it.field == problem.field);
        match self.form.validate(&content) {
            Ok(content) if problems.is_empty() => Ok(content),
            Ok(_) => Err(problems),
            Err(others) => {
                let others: Vec<_> = others.into_iter().filter(|other| !named(other, &problems)).collect();
                problems.extend(others);
                Err(problems)
            }
        }
    }

    fn unfixed(&self, field: &Field) -> Option<Problem> {
        let faulty = field.faulty_default.as_ref().filter(|_| *self.entry(&field.name) == Entry::Untouched)?;
        Some(Problem::of(&field.name, format!("has a default that does not fit: it {}", faulty.problem)))
    }
}
