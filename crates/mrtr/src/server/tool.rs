//! A tool: a name, a description, and one async function.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};

use super::arguments::{self, InputSchema};
use super::{IntoToolResult, ToolResult};
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
    title: Option<String>,
    description: Option<String>,
    annotations: Option<Value>,
    pub(super) input: Result<InputSchema, String>,
    pub(super) handler: Arc<Handler>,
    pub(super) accept_unasked: bool,
}

/// Decodes the arguments and starts the handler; a sentence if they do not decode.
type Handler = dyn Fn(Value, Context) -> Result<Handling<ToolResult>, String> + Send + Sync;

/// The arguments of a tool that takes none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
pub struct NoArguments {}

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
            title: None,
            description: None,
            annotations: None,
            input: InputSchema::of::<A>(),
            handler: Arc::new(move |arguments, cx| {
                let running = handler(arguments::decode(arguments)?, cx);
                Ok(Box::pin(async move { running.await.into_tool_result() }))
            }),
            accept_unasked: false,
        }
    }

    /// What the tool does, for the model.
    #[must_use]
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// A name for people.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// Hints on how the tool behaves (`readOnlyHint`, `destructiveHint`, ...). Spec: `schema#toolannotations`.
    #[must_use]
    pub fn annotations(mut self, annotations: impl Into<Value>) -> Self {
        self.annotations = Some(annotations.into());
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

    /// The tool's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether the name is one the spec recommends.
    pub(super) fn has_valid_name(&self) -> bool {
        (1..=128).contains(&self.name.len())
            && self.name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'))
    }

    /// The tool as `tools/list` shows it.
    pub(super) fn definition(&self, schema: &Value) -> Value {
        let mut definition = json!({ "name": self.name });
        let mut set = |field: &str, value: Option<Value>| {
            if let Some(value) = value {
                definition[field] = value;
            }
        };
        set("title", self.title.clone().map(Value::from));
        set("description", self.description.clone().map(Value::from));
        set("inputSchema", Some(schema.clone()));
        set("annotations", self.annotations.clone());
        definition
    }
}

impl fmt::Debug for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tool").field("name", &self.name).finish_non_exhaustive()
    }
}
