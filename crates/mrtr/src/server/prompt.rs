//! A prompt: a name, a few arguments, and one async function that says the messages. Spec: `server/prompts`.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value, json};

use super::completion::{Completers, Completing};
use super::described::{Described, described, set};
use super::once::{Once, done_once};
use super::{Content, Role, ToolError};
use crate::flow::{Context, Handling};
use crate::form::Form;

/// A prompt a server offers.
///
/// Its handler is a tool's in every way: it gets arguments and a [`Context`], and may ask.
///
/// ```
/// use mrtr::{Context, Prompt};
///
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Review {
///     /// The code to review
///     code: String,
///     language: Option<String>,
/// }
///
/// async fn review(review: Review, _: Context) -> String {
///     format!("Please review this code:\n{}", review.code)
/// }
///
/// let prompt = Prompt::new("code_review", review)
///     .description("Asks for a review")
///     .complete("language", |typed| async move { typed.among(["python", "rust"]) });
/// ```
#[derive(Clone)]
pub struct Prompt {
    pub(super) name: String,
    described: Described,
    pub(super) form: Result<Arc<Form>, String>,
    pub(super) handler: Arc<Handler>,
    pub(super) accept_unasked: bool,
    pub(super) once: Once,
    pub(super) completers: Completers,
}

type Handler =
    dyn Fn(Map<String, Value>, Context) -> Result<Handling<Result<PromptResult, String>>, String> + Send + Sync;

impl Prompt {
    /// A prompt of this name, with the fields of `A` as arguments.
    ///
    /// Arguments travel as text, so `A` is what a form can be: texts, numbers, booleans and unit enums, with `Option`
    /// for what may be left out ([`form`](crate::form) has the rules). What does not fit is refused before the handler
    /// runs. An enum's variants are offered as completions.
    pub fn new<A, F, Fut, R>(name: impl Into<String>, handler: F) -> Self
    where
        A: DeserializeOwned + JsonSchema,
        F: Fn(A, Context) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = R> + Send + 'static,
        R: IntoPromptResult,
    {
        let form = Form::of::<A>().map(Arc::new).map_err(|error| error.to_string());
        let decoder = form.clone();
        Self {
            name: name.into(),
            described: Described::default(),
            handler: Arc::new(move |arguments, cx| {
                let form = decoder.as_ref().map_err(String::clone)?;
                let arguments = form.decode(arguments).map_err(|problem| problem.to_string())?;
                let running = handler(arguments, cx);
                Ok(Box::pin(async move { running.await.into_prompt_result().map_err(|error| error.for_the_model()) }))
            }),
            form,
            accept_unasked: false,
            once: Once::Never,
            completers: Completers::default(),
        }
    }

    done_once!(once);
    described!("the prompt");

    /// Completes an argument while the user types it; give the best values first, of which a hundred are sent.
    ///
    /// # Security
    /// Whoever may see the prompt may ask for completions: no secrets among them.
    #[must_use]
    pub fn complete<F, Fut>(mut self, argument: impl Into<String>, complete: F) -> Self
    where
        F: Fn(Completing) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Vec<String>> + Send + 'static,
    {
        self.completers.add(argument.into(), complete);
        self
    }

    /// As [`Tool::accept_unasked`](super::Tool::accept_unasked).
    #[must_use]
    pub fn accept_unasked(mut self) -> Self {
        self.accept_unasked = true;
        self
    }

    /// The prompt's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The prompt as `prompts/list` shows it.
    pub(super) fn definition(&self, form: &Form) -> Value {
        let mut definition = json!({ "name": self.name });
        self.described.write_head(&mut definition);
        let arguments: Vec<Value> = form
            .fields()
            .iter()
            .map(|field| {
                let mut argument = json!({ "name": field.name });
                set(&mut argument, "title", &field.title);
                set(&mut argument, "description", &field.description);
                argument["required"] = field.required.into();
                argument
            })
            .collect();
        set(&mut definition, "arguments", &(!arguments.is_empty()).then_some(arguments));
        self.described.write_tail(&mut definition);
        definition
    }
}

/// Reads arguments that travel as text, by the form that describes them. Those it does not have are left out.
///
/// # Errors
/// What is wrong with them, in one sentence.
pub(super) fn read<'v>(
    form: &Form,
    texts: impl IntoIterator<Item = (&'v str, &'v str)>,
) -> Result<Map<String, Value>, String> {
    let mut values = Map::new();
    for (name, text) in texts {
        if form.field(name).is_some() {
            values.insert(name.to_owned(), form.parse_text(name, text).map_err(|problem| problem.to_string())?);
        }
    }
    form.validate(&values).map_err(|problems| {
        let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
        problems.join("; ")
    })
}

/// One message of a prompt.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PromptMessage {
    role: Role,
    content: Content,
}

impl PromptMessage {
    /// Said by the user.
    pub fn user(content: impl Into<Content>) -> Self {
        Self { role: Role::User, content: content.into() }
    }

    /// Said by the model.
    pub fn assistant(content: impl Into<Content>) -> Self {
        Self { role: Role::Assistant, content: content.into() }
    }
}

/// What a prompt becomes.
///
/// ```
/// use mrtr::server::{PromptMessage, PromptResult};
///
/// let review = PromptResult::new([PromptMessage::user("Please review this.")]).description("A review");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct PromptResult {
    /// What it is, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The messages, in order.
    pub messages: Vec<PromptMessage>,
}

impl PromptResult {
    /// A result of these messages.
    pub fn new(messages: impl IntoIterator<Item = PromptMessage>) -> Self {
        Self { description: None, messages: messages.into_iter().collect() }
    }

    /// What it is, for people.
    #[must_use]
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }
}

/// What may be returned from a prompt's handler: a text is one message of the user.
pub trait IntoPromptResult {
    /// The result that goes on the wire.
    ///
    /// # Errors
    /// What becomes a JSON-RPC error; its text is sent.
    fn into_prompt_result(self) -> Result<PromptResult, ToolError>;
}

impl IntoPromptResult for PromptResult {
    fn into_prompt_result(self) -> Result<PromptResult, ToolError> {
        Ok(self)
    }
}

impl IntoPromptResult for Vec<PromptMessage> {
    fn into_prompt_result(self) -> Result<PromptResult, ToolError> {
        Ok(PromptResult::new(self))
    }
}

impl<const N: usize> IntoPromptResult for [PromptMessage; N] {
    fn into_prompt_result(self) -> Result<PromptResult, ToolError> {
        Ok(PromptResult::new(self))
    }
}

impl IntoPromptResult for PromptMessage {
    fn into_prompt_result(self) -> Result<PromptResult, ToolError> {
        Ok(PromptResult::new([self]))
    }
}

impl IntoPromptResult for String {
    fn into_prompt_result(self) -> Result<PromptResult, ToolError> {
        PromptMessage::user(self).into_prompt_result()
    }
}

impl IntoPromptResult for &'static str {
    fn into_prompt_result(self) -> Result<PromptResult, ToolError> {
        PromptMessage::user(self).into_prompt_result()
    }
}

impl<T: IntoPromptResult, E: Into<ToolError>> IntoPromptResult for Result<T, E> {
    fn into_prompt_result(self) -> Result<PromptResult, ToolError> {
        self.map_err(Into::into)?.into_prompt_result()
    }
}

impl fmt::Debug for Prompt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Prompt").field("name", &self.name).finish_non_exhaustive()
    }
}
