//! Questions to the user: forms answered in-band, pages visited out of band.
//!
//! Spec: `client/elicitation`.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::{Value, json, value::RawValue};

use super::answer::ElicitResult;
use super::ask::{Again, Ask, Prepared, Question, Verdict};
use super::journal::Kind;
use super::round::UrlQuestion;
use crate::form::{Form, SchemaError};
use crate::seal::Digest;
use crate::wire::{ClientCapabilities, json::string};

/// A form whose answer is a `T`: what [`Context::elicit`](crate::Context::elicit) asks.
pub struct FormOf<T> {
    message: String,
    form: Result<Arc<Form>, SchemaError>,
    check: Option<Check<T>>,
    answer: PhantomData<fn() -> T>,
}

type Check<T> = Box<dyn Fn(&T) -> Result<(), String> + Send>;

/// A page to visit: what [`Context::elicit_url`](crate::Context::elicit_url) asks.
#[derive(Debug)]
pub struct UrlVisit(UrlQuestion);

impl<T: DeserializeOwned + Send> Ask<FormOf<T>> {
    /// Adds a rule the schema cannot express. What fails is asked again, with the rule's text as the hint.
    ///
    /// ```
    /// # use mrtr::{Context, ToolError};
    /// # #[derive(serde::Deserialize, schemars::JsonSchema)] struct Trip { nights: u32, rooms: u32 }
    /// # async fn handler(cx: Context) -> Result<String, ToolError> {
    /// let trip: Trip = cx
    ///     .elicit("trip", "How long, and for how many?")
    ///     .check(|trip: &Trip| match trip.rooms <= trip.nights {
    ///         true => Ok(()),
    ///         false => Err("there cannot be more rooms than nights".into()),
    ///     })
    ///     .await?;
    /// # Ok(format!("{} nights", trip.nights)) }
    /// ```
    pub fn check(mut self, check: impl Fn(&T) -> Result<(), String> + Send + 'static) -> Self {
        self.question_mut().check = Some(Box::new(check));
        self
    }
}

impl<T> FormOf<T> {
    pub(super) fn new(message: String, form: Result<Arc<Form>, SchemaError>) -> Self {
        Self { message, form, check: None, answer: PhantomData }
    }
}

impl<T: DeserializeOwned + Send> Question for FormOf<T> {
    type Output = T;

    fn prepare(&mut self) -> Result<Prepared, String> {
        let form = self.form.as_ref().map_err(SchemaError::to_string)?;
        Ok(Prepared {
            kind: Kind::Form,
            digest: Digest::of("form", &[self.message.as_bytes(), form.fingerprint()]),
            needs: || ClientCapabilities::default().with_form(),
            supported: |client| client.can_elicit_form(),
        })
    }

    fn request(&self, again: &Again) -> String {
        let Ok(form) = &self.form else { return String::new() };
        let message = match &again.problems {
            None => string(&self.message),
            Some(problems) => string(&format!("{}\n\nThe last answer could not be used: {problems}.", self.message)),
        };
        let kept = again.kept.as_deref().and_then(|kept| serde_json::from_str(kept).ok());
        let schema = kept.map(|kept| form.with_defaults(&kept).to_string());
        let schema = schema.as_deref().unwrap_or_else(|| form.json());
        let start = r#"{"method":"elicitation/create","params":{"mode":"form","message":"#;
        [start, &message, r#","requestedSchema":"#, schema, "}}"].concat()
    }

    fn judge(&self, answer: &RawValue) -> Verdict<T> {
        let invalid = |problems, kept: Option<String>| Verdict::Invalid { problems, kept };
        let content = match ElicitResult::parse(answer) {
            Ok(ElicitResult::Accept(content)) => content,
            Ok(ElicitResult::Decline) => return Verdict::Declined,
            Ok(ElicitResult::Cancel) => return Verdict::Cancelled,
            Err(problem) => return invalid(problem, None),
        };
        let Ok(form) = &self.form else { return invalid("the form is broken".into(), None) };
        let content = match form.validate(&content) {
            Ok(content) => content,
            Err(problems) => {
                let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
                return invalid(problems.join("; "), Some(Value::Object(form.valid_part(&content)).to_string()));
            }
        };
        let recorded = serde_json::to_string(&content).expect("a JSON value can be written");
        let value: T = match form.decode(content) {
            Ok(value) => value,
            Err(problem) => return invalid(problem.to_string(), Some(recorded)),
        };
        match self.check.as_ref().map_or(Ok(()), |check| check(&value)) {
            Ok(()) => Verdict::Accepted(value, recorded),
            Err(problem) => invalid(problem, Some(recorded)),
        }
    }

    /// As the answer was decoded when it came: a form without fields is an object here too.
    fn recall(&self, recorded: &str) -> Result<T, String> {
        let form = self.form.as_ref().map_err(SchemaError::to_string)?;
        let content = serde_json::from_str(recorded).map_err(|error| error.to_string())?;
        form.decode(content).map_err(|problem| problem.to_string())
    }
}

impl UrlVisit {
    pub(super) fn new(message: String, url: String) -> Self {
        Self(UrlQuestion { message, url })
    }
}

impl UrlQuestion {
    /// Checks what the spec demands of the author: an absolute URL a browser opens.
    pub(super) fn check(&self) -> Result<(), String> {
        let rest = self.url.strip_prefix("https://").or_else(|| self.url.strip_prefix("http://"));
        match rest {
            Some(rest) if !rest.starts_with(['/', '?', '#']) && !rest.is_empty() => {}
            _ => return Err(format!("{:?} is not an absolute http or https URL", self.url)),
        }
        match self.url.chars().find(|c| c.is_whitespace() || c.is_control()) {
            Some(_) => Err(format!("{:?} holds white space; percent-encode it", self.url)),
            None => Ok(()),
        }
    }

    pub(super) fn digest(&self) -> Digest {
        Digest::of("url", &[self.message.as_bytes(), self.url.as_bytes()])
    }

    pub(super) fn request(&self) -> String {
        let params = json!({ "mode": "url", "message": self.message, "url": self.url });
        json!({ "method": "elicitation/create", "params": params }).to_string()
    }
}

impl Question for UrlVisit {
    type Output = ();

    fn prepare(&mut self) -> Result<Prepared, String> {
        self.0.check()?;
        Ok(Prepared {
            kind: Kind::Url,
            digest: self.0.digest(),
            needs: || ClientCapabilities::default().with_url(),
            supported: |client| client.can_elicit_url(),
        })
    }

    fn request(&self, _: &Again) -> String {
        self.0.request()
    }

    fn judge(&self, answer: &RawValue) -> Verdict<()> {
        match ElicitResult::parse(answer) {
            Ok(ElicitResult::Accept(_)) => Verdict::Accepted((), String::new()),
            Ok(ElicitResult::Decline) => Verdict::Declined,
            Ok(ElicitResult::Cancel) => Verdict::Cancelled,
            Err(problems) => Verdict::Invalid { problems, kept: None },
        }
    }

    fn recall(&self, _: &str) -> Result<(), String> {
        Ok(())
    }

    fn visits(&self) -> Option<(&str, &str)> {
        Some((&self.0.message, &self.0.url))
    }
}

impl<T> fmt::Debug for FormOf<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("FormOf").field(&self.message).finish()
    }
}
