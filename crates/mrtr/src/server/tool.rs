//! A tool: a name, a description, and one async function.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};

use super::arguments::{self, InputSchema, OutputSchema};
use super::described::{Described, described, set};
use super::offers::ToolRules;
use super::once::{Once, Resolution, done_once};
use super::{IntoToolResult, ToolError, ToolResult};
use crate::flow::{Context, Handling};

/// A tool a server offers.
///
/// ```
/// use mrtr::{Context, Tool};
///
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Greet { name: String }
///
/// async fn greet(greet: Greet, _: Context) -> String {
///     format!("Hello, {}!", greet.name)
/// }
///
/// let tool = Tool::new("greet", greet).description("Says hello");
/// ```
#[derive(Clone)]
pub struct Tool {
    pub(super) name: String,
    described: Described,
    annotations: Option<Value>,
    input: Result<InputSchema, String>,
    output: Option<Result<OutputSchema, String>>,
    may_ask: bool,
    pub(super) handler: Arc<Handler>,
    pub(super) resolver: Option<Arc<Resolver>>,
    pub(super) accept_unasked: bool,
    pub(super) once: Once,
}

/// Decodes the arguments and starts the handler; a sentence if they do not decode.
type Handler = dyn Fn(Value, Context) -> Result<Handling<ToolResult>, String> + Send + Sync;

/// Finds out what became of a run of the handler that was torn off.
type Resolver = dyn Fn(Value, Context) -> Result<Handling<Resolution<ToolResult>>, String> + Send + Sync;

/// The arguments of a tool that takes none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
pub struct NoArguments {}

/// What the description of a tool that may ask ends with.
const MAY_ASK: &str = "May ask the user before it finishes.";
/// The member of such a tool's `_meta`, for clients that look for it.
const MAY_ASK_KEY: &str = "mrtr/mayAsk";

impl Tool {
    /// A tool of this name. Arguments are validated against the schema of `A` before the handler runs.
    ///
    /// A field with `#[schemars(extend("x-mcp-header" = "Region"))]` is repeated in the header `Mcp-Param-Region`, for
    /// whoever routes requests (spec: `server/tools#x-mcp-header`). It must be a string, an integer or a boolean, not an
    /// `Option`; with `#[serde(default)]` it may still be left out. Headers pass through others: no secrets in them.
    ///
    /// Names are 1 to 128 characters of `A-Z a-z 0-9 _ - .` (spec: `server/tools#tool-names`); what breaks that, or an
    /// `A` that is no struct or names an impossible header, is an error of [`Server::build`](super::Server::build).
    pub fn new<A, F, Fut, R>(name: impl Into<String>, handler: F) -> Self
    where
        A: DeserializeOwned + JsonSchema,
        F: Fn(A, Context) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = R> + Send + 'static,
        R: IntoToolResult,
    {
        Self {
            name: name.into(),
            described: Described::default(),
            annotations: None,
            input: InputSchema::of::<A>(),
            output: None,
            may_ask: false,
            handler: Arc::new(move |arguments, cx| {
                let running = handler(arguments::decode(arguments)?, cx);
                Ok(Box::pin(async move { running.await.into_tool_result() }))
            }),
            resolver: None,
            accept_unasked: false,
            once: Once::Never,
        }
    }

    done_once!(once);
    described!("the tool");

    /// Says to the model and to clients that the tool may ask the user: a sentence at the end of the description and
    /// `"mrtr/mayAsk": true` in the definition's `_meta`.
    ///
    /// A model that knows can tell the user what to expect; a client that cannot be asked can leave the tool alone.
    #[must_use]
    pub fn may_ask(mut self) -> Self {
        self.may_ask = true;
        self
    }

    /// Hints on how the tool behaves (`readOnlyHint`, `destructiveHint`, ...). Spec: `schema#toolannotations`.
    #[must_use]
    pub fn annotations(mut self, annotations: impl Into<Value>) -> Self {
        self.annotations = Some(annotations.into());
        self
    }

    /// Sends and applies this schema for the arguments, instead of the one of their type: for what a type cannot say.
    ///
    /// It is a JSON Schema 2020-12 of an object. What passes must still decode as the handler's type.
    #[must_use]
    pub fn input_schema(mut self, schema: impl Into<Value>) -> Self {
        self.input = InputSchema::new(schema.into());
        self
    }

    /// Promises structured content of this type (see [`Json`](super::Json)).
    ///
    /// What the handler returns is held against the schema; content that breaks it is an error of the server and never
    /// reaches the client. A failure (`isError`) needs no structured content.
    #[must_use]
    pub fn output<T: JsonSchema>(mut self) -> Self {
        self.output = Some(OutputSchema::of::<T>());
        self
    }

    /// As [`output`](Self::output), with a schema written by hand: JSON Schema 2020-12 of any JSON value.
    #[must_use]
    pub fn output_schema(mut self, schema: impl Into<Value>) -> Self {
        self.output = Some(OutputSchema::new(schema.into()));
        self
    }

    /// Lets a first call bring answers to questions it has not been asked yet.
    ///
    /// Off by default: consent nobody was asked for is not consent. For tools where an answer does no harm.
    #[must_use]
    pub fn accept_unasked(mut self) -> Self {
        self.accept_unasked = true;
        self
    }

    /// Finds out what became of a run that was torn off, instead of reporting `outcome unknown`; implies
    /// [`once`](Self::once).
    ///
    /// It is called with the arguments and a context of the round in question, when that round was begun by a server that
    /// died: look up by [`operation_id`](Context::operation_id), which the handler had handed on. `Some` is the result,
    /// and is given from now on; `None` says that nothing was done, and the handler runs; an error leaves it unknown.
    /// The context's answers and recorded steps are those of the round; a question that was not answered yet has nobody
    /// to ask, and leaves it unknown as well.
    ///
    /// ```
    /// use mrtr::{Context, Tool, ToolError};
    ///
    /// #[derive(serde::Deserialize, schemars::JsonSchema)]
    /// struct Refund { order: String }
    ///
    /// # async fn pay(id: &str) -> Result<String, ToolError> { Ok(id.to_owned()) }
    /// # async fn find_payment(id: &str) -> Result<Option<String>, ToolError> { Ok(Some(id.to_owned())) }
    /// async fn refund(refund: Refund, cx: Context) -> Result<String, ToolError> {
    ///     cx.elicit::<mrtr::NoArguments>("confirm", format!("Refund {}?", refund.order)).await?;
    ///     pay(cx.operation_id()).await
    /// }
    ///
    /// let tool = Tool::new("refund", refund)
    ///     .on_unknown(async |_: Refund, cx: Context| find_payment(cx.operation_id()).await);
    /// ```
    ///
    /// # Security
    /// `None` must be certain. A payment that is still on its way is an error, not `None`.
    #[must_use]
    pub fn on_unknown<A, F, Fut, R>(mut self, check: F) -> Self
    where
        A: DeserializeOwned,
        F: Fn(A, Context) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Option<R>, ToolError>> + Send + 'static,
        R: IntoToolResult,
    {
        self.resolver = Some(Arc::new(move |arguments, cx| {
            let checking = check(arguments::decode(arguments)?, cx);
            Ok(Box::pin(async move {
                let found = checking.await.map_err(|error| error.for_the_model())?;
                Ok(found.map(IntoToolResult::into_tool_result))
            }))
        }));
        self.once()
    }

    /// Whether its retries are done once, and whether its first calls are.
    #[cfg(feature = "testing")]
    pub(crate) fn is_done_once(&self) -> (bool, bool) {
        (self.once != Once::Never, self.once == Once::FirstCallsToo)
    }

    /// The tool's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether the name is one the spec recommends.
    pub(super) fn has_valid_name(&self) -> bool {
        (1..=128).contains(&self.name.len())
            && self.name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'))
    }

    /// What its calls are held against, or what is wrong with that.
    pub(super) fn rules(&self) -> Result<ToolRules, String> {
        Ok(ToolRules { input: self.input.clone()?, output: self.output.clone().transpose()? })
    }

    /// The tool as `tools/list` shows it.
    pub(super) fn definition(&self, rules: &ToolRules) -> Value {
        let mut described = self.described.clone();
        if self.may_ask {
            let description = described.description.take().unwrap_or_default();
            let gap = if description.is_empty() || description.ends_with(char::is_whitespace) { "" } else { " " };
            let stop =
                if description.is_empty() || description.trim_end().ends_with(['.', '!', '?']) { "" } else { "." };
            described.description = Some([&description, stop, gap, MAY_ASK].concat());
            described.meta.insert(MAY_ASK_KEY.to_owned(), true.into());
        }
        let mut definition = json!({ "name": self.name });
        described.write_head(&mut definition);
        definition["inputSchema"] = rules.input.schema.clone();
        set(&mut definition, "outputSchema", &rules.output.as_ref().map(|output| &output.schema));
        set(&mut definition, "annotations", &self.annotations);
        described.write_tail(&mut definition);
        definition
    }
}

impl fmt::Debug for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tool").field("name", &self.name).finish_non_exhaustive()
    }
}
