//! `completion/complete`: what a half-typed argument of a prompt or a resource template may become.
//!
//! Spec: `server/utilities/completion`.

use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{json, value::RawValue};

use super::answer::{Answer, Completed};
use super::caller::{Caller, Work};
use crate::form::{FieldKind, Form};
use crate::wire::RpcError;

/// How many values a reply may hold.
const MAX_VALUES: usize = 100;

/// An argument being typed.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Completing {
    /// What is there of it.
    pub value: String,
    /// The other arguments, as far as they are known.
    pub arguments: HashMap<String, String>,
    /// Who types.
    pub caller: Caller,
}

impl Completing {
    /// Those of `values` that begin with what is typed, in any letter case; what most arguments want.
    ///
    /// ```
    /// # use mrtr::server::Completing;
    /// # let mut typed = Completing::default();
    /// typed.value = "py".into();
    /// assert_eq!(typed.among(["python", "PyTorch", "rust"]), ["python", "PyTorch"]);
    /// ```
    pub fn among(&self, values: impl IntoIterator<Item = impl Into<String>>) -> Vec<String> {
        let typed = self.value.to_lowercase();
        values.into_iter().map(Into::into).filter(|value| value.to_lowercase().starts_with(&typed)).collect()
    }
}

/// The author's completions for the arguments of one prompt or template.
#[derive(Clone, Default)]
pub(super) struct Completers(HashMap<String, Arc<Completer>>);

type Completer = dyn Fn(Completing) -> Work<Vec<String>> + Send + Sync;

impl Completers {
    pub(super) fn add<F, Fut>(&mut self, argument: String, complete: F)
    where
        F: Fn(Completing) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Vec<String>> + Send + 'static,
    {
        let complete = Arc::new(complete);
        // In the block, so that a completer that panics before its first await panics when it is polled.
        let complete = move |typed| -> Work<Vec<String>> {
            let complete = Arc::clone(&complete);
            Box::pin(async move { complete(typed).await })
        };
        self.0.insert(argument, Arc::new(complete));
    }

    /// The first argument of these that is none of the form's.
    pub(super) fn stray(&self, form: &Form) -> Option<&str> {
        self.0.keys().map(String::as_str).filter(|name| form.field(name).is_none()).min()
    }

    /// Whether there is anything to complete.
    pub(super) fn can_complete(&self, form: &Form) -> bool {
        !self.0.is_empty() || form.fields().iter().any(|field| matches!(field.kind, FieldKind::Choice { .. }))
    }

    /// What may become of the argument: the author's word, or else the choices its type has. None of the author's code
    /// runs before the work is started.
    pub(super) fn complete(
        &self,
        argument: &str,
        form: &Form,
        typed: Completing,
    ) -> Result<impl FnOnce() -> Work<Vec<String>> + use<>, RpcError> {
        let Some(field) = form.field(argument) else {
            let shown = crate::form::harmless(argument, 80);
            let known: Vec<&str> = form.fields().iter().map(|field| field.name.as_str()).collect();
            let message = format!("there is no argument {shown:?} to complete; there are: {}", known.join(", "));
            return Err(RpcError::invalid_params(message));
        };
        let completer = self.0.get(argument).cloned();
        let choices = match &field.kind {
            FieldKind::Choice { options } if completer.is_none() => {
                typed.among(options.iter().map(|choice| choice.value.as_str()))
            }
            _ => Vec::new(),
        };
        Ok(move || match completer {
            Some(complete) => complete(typed),
            None => Box::pin(std::future::ready(choices)),
        })
    }
}

/// The parameters of the request.
#[derive(Debug, Deserialize)]
pub(super) struct Asked {
    #[serde(rename = "ref")]
    pub(super) target: Target,
    pub(super) argument: Argument,
    #[serde(default)]
    pub(super) context: Option<Known>,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type")]
pub(super) enum Target {
    #[serde(rename = "ref/prompt")]
    Prompt { name: String },
    #[serde(rename = "ref/resource")]
    Template { uri: String },
}

#[derive(Debug, Deserialize)]
pub(super) struct Argument {
    pub(super) name: String,
    pub(super) value: String,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Known {
    #[serde(default)]
    pub(super) arguments: HashMap<String, String>,
}

impl Asked {
    /// Reads the parameters.
    ///
    /// # Errors
    /// `-32602` with HTTP 400 naming the member that is missing or wrong.
    pub(super) fn parse(
        target: Option<&RawValue>,
        argument: Option<&RawValue>,
        context: Option<&RawValue>,
    ) -> Result<Self, RpcError> {
        fn read<'a, T: Deserialize<'a>>(name: &str, raw: Option<&'a RawValue>, shape: &str) -> Result<T, RpcError> {
            let malformed = || RpcError::malformed_params(format!("params.{name} must be {shape}"));
            serde_json::from_str(raw.ok_or_else(malformed)?.get()).map_err(|_| malformed())
        }
        Ok(Self {
            target: read(
                "ref",
                target,
                "{\"type\": \"ref/prompt\", \"name\"} or {\"type\": \"ref/resource\", \"uri\"}",
            )?,
            argument: read("argument", argument, "an object with the texts \"name\" and \"value\"")?,
            context: match context {
                None => None,
                some => read("context", some, "an object whose \"arguments\" are texts")?,
            },
        })
    }
}

/// The result: the first hundred values, and how many there are.
pub(super) fn answer(mut values: Vec<String>) -> Answer {
    let total = values.len();
    values.truncate(MAX_VALUES);
    let completion = json!({ "values": values, "total": total, "hasMore": total > values.len() });
    Completed::of(&json!({ "completion": completion }))
}

impl fmt::Debug for Completers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}
