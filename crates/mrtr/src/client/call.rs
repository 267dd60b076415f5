//! One call about to be made: what it says, and what goes with it.

use std::any::Any;
use std::fmt;
use std::future::IntoFuture;
use std::sync::Arc;

use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Map, Value};

use super::cache::{self, Lookup};
use super::driver::{Checkpoint, Operation, Request};
use super::request::{self, Template};
use super::{BoxFuture, CallError, Client, Event, OperationId, Output, Saved, headers};
use crate::wire::meta_key;

/// A call that has not been sent yet; await it to run the operation to its end.
///
/// Made by [`Client::tool`], [`Client::request`] and [`Client::resume`].
///
/// ```no_run
/// use mrtr::client::{Ask, Answer, Client, NotAnswered, Responders};
/// use serde_json::json;
///
/// /// Where the caller looks.
/// struct Window(u32);
///
/// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
/// let client = Client::new("http://127.0.0.1:8080/mcp")?.responders(Responders::new().form(async |ask: Ask| {
///     let Window(number) = ask.context().ok_or(NotAnswered::Nobody)?;
///     println!("in window {number}: {}", ask.message());
///     Ok(Answer::decline())
/// }));
/// let (left, right) = futures_util::join!(
///     client.tool("book", json!({ "city": "Oslo" })).context(Window(1)).into_future(),
///     client.tool("book", json!({ "city": "Rome" })).context(Window(2)).into_future(),
/// );
/// # let _ = (left, right);
/// # Ok(())
/// # }
/// ```
#[must_use = "a call is sent when it is awaited"]
pub struct Call<'c> {
    client: &'c Client,
    start: Start<'c>,
    context: Option<Arc<dyn Any + Send + Sync>>,
    checkpoint: Option<Checkpoint<'c>>,
    is_fresh: bool,
}

enum Start<'c> {
    Anew(&'c str, Value),
    Saved(Box<Saved>),
}

impl<'c> Call<'c> {
    pub(super) fn new(client: &'c Client, method: &'c str, params: Value) -> Self {
        Self::starting(client, Start::Anew(method, params))
    }

    pub(super) fn resuming(client: &'c Client, saved: Saved) -> Self {
        Self::starting(client, Start::Saved(Box::new(saved)))
    }

    fn starting(client: &'c Client, start: Start<'c>) -> Self {
        Self { client, start, context: None, checkpoint: None, is_fresh: false }
    }

    /// Gives every question and every event of this operation a value of the caller's: whose it is, where its prompts go.
    ///
    /// [`Ask::context`](super::Ask::context) and [`OperationId::context`] have it. Default: none.
    pub fn context<T: Any + Send + Sync>(mut self, context: T) -> Self {
        self.context = Some(Arc::new(context));
        self
    }

    /// Hands out what it takes to resume, whenever a round has come in and after each answer. Default: to nobody.
    ///
    /// It is called from the task that runs the operation, which waits meanwhile: what it has stored when it returns is
    /// safe. Each one replaces the one before. See [`Saved`] for what is in it and who may read that.
    pub fn on_save(mut self, save: impl Fn(Saved) + Send + Sync + 'c) -> Self {
        self.checkpoint = Some(Box::new(save));
        self
    }

    /// Asks the server even if a cached response would do; what it says takes that one's place.
    pub fn fresh(mut self) -> Self {
        self.is_fresh = true;
        self
    }

    async fn run(self) -> Result<Output, CallError> {
        let Self { client, start, context, checkpoint, is_fresh } = self;
        match start {
            Start::Saved(saved) => client.go_on(*saved, context, checkpoint).await,
            Start::Anew(method, params) => {
                let params = check(method, params)?;
                let lookup = Lookup::of(client, method, &params);
                if let (Some(lookup), false) = (&lookup, is_fresh)
                    && let Some(output) = client.recall(lookup, method, context.clone())
                {
                    return Ok(output);
                }
                let outcome = client.begin(method, params, context, checkpoint).await;
                if let (Some(cache), Some(lookup)) = (&client.cache, &lookup) {
                    cache.learn(lookup, &outcome);
                }
                outcome
            }
        }
    }
}

impl<'c> IntoFuture for Call<'c> {
    type Output = Result<Output, CallError>;
    type IntoFuture = BoxFuture<'c, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}

impl fmt::Debug for Call<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let method = match &self.start {
            Start::Anew(method, _) => method,
            Start::Saved(saved) => saved.method.as_str(),
        };
        f.debug_struct("Call").field("method", &method).finish_non_exhaustive()
    }
}

impl Client {
    async fn begin(
        &self,
        method: &str,
        mut params: Map<String, Value>,
        context: Option<Arc<dyn Any + Send + Sync>>,
        checkpoint: Option<Checkpoint<'_>>,
    ) -> Result<Output, CallError> {
        let target = target(method, &params);
        let mut mirrored = HeaderMap::new();
        if let ("tools/call", Some(name), Some(arguments)) = (method, &target, params.get("arguments")) {
            headers::mirror(&self.param_headers_of(name), arguments, &mut mirrored);
        }
        if target.is_some() {
            add_idempotency_key(&mut params);
        }
        let text = if checkpoint.is_some() { Value::Object(params.clone()).to_string() } else { String::new() };
        let id = identify(OperationId::random(), context);
        let request = self.shared(id, method, target, params, mirrored, text);
        Operation::new(self, request, checkpoint).run().await
    }

    async fn go_on(
        &self,
        saved: Saved,
        context: Option<Arc<dyn Any + Send + Sync>>,
        checkpoint: Option<Checkpoint<'_>>,
    ) -> Result<Output, CallError> {
        let (params, progress, required) = saved.open(self)?;
        // Spec: basic/patterns/mrtr#client-requirements-basic-workflow, item 3. The ids of this process start anew.
        self.skip_ids(saved.last_id);
        let mut mirrored = HeaderMap::new();
        for (name, value) in &saved.param_headers {
            let header = (name.parse::<HeaderName>(), value.parse::<HeaderValue>());
            let (Ok(name), Ok(value)) = header else { continue };
            mirrored.insert(name, value);
        }
        let target = target(&saved.method, &params);
        let text = Value::Object(params.clone()).to_string();
        let id = identify(OperationId::named(&saved.operation), context);
        let request = self.shared(id, &saved.method, target, params, mirrored, text);
        Operation::new(self, request, checkpoint).resume(progress, required).await
    }

    fn shared<'c>(
        &self,
        id: OperationId,
        method: &'c str,
        target: Option<String>,
        params: Map<String, Value>,
        mirrored: HeaderMap,
        text: String,
    ) -> Request<'c> {
        let mut headers = self.headers.clone();
        headers.extend(headers::standard(method, target.as_deref()));
        headers.extend(mirrored);
        let mut meta = request::meta(&self.name, &self.version, self.responders.capabilities());
        if self.progress && params.get("_meta").is_none_or(|meta| meta.get("progressToken").is_none()) {
            meta.insert("progressToken".to_owned(), format!("p{}", self.next_progress()).into());
        }
        let template = Template::new(method, params, meta);
        Request { id, method, target: target.unwrap_or_default(), template, headers, params: text }
    }

    fn recall(&self, lookup: &Lookup, method: &str, context: Option<Arc<dyn Any + Send + Sync>>) -> Option<Output> {
        let cache::Hit { result, age } = self.cache.as_ref()?.get(lookup)?;
        let operation = identify(OperationId::random(), context);
        self.observe(&Event::Cached { operation: &operation, method, age });
        Some(Output { operation, result, refusals: Vec::new(), rounds: Vec::new() })
    }
}

fn identify(mut id: OperationId, context: Option<Arc<dyn Any + Send + Sync>>) -> OperationId {
    if let Some(context) = context {
        id.attach(context);
    }
    id
}

fn check(method: &str, params: Value) -> Result<Map<String, Value>, CallError> {
    let params = match params {
        Value::Object(params) => params,
        Value::Null => Map::new(),
        _ => return Err(CallError::Invalid(format!("the parameters of {method} are not an object"))),
    };
    let retry_field = ["inputResponses", "requestState"].into_iter().find(|name| params.contains_key(*name));
    match retry_field {
        Some(field) => Err(CallError::Invalid(format!("{field} is for retries, which the client sends itself"))),
        None => Ok(params),
    }
}

/// The tool, prompt or resource that a request is about.
fn target(method: &str, params: &Map<String, Value>) -> Option<String> {
    let target = match method {
        "tools/call" | "prompts/get" => params.get("name"),
        "resources/read" => params.get("uri"),
        _ => None,
    };
    target.and_then(Value::as_str).map(str::to_owned)
}

/// Adds the key that is the same in all requests of an operation, unless the caller has one.
fn add_idempotency_key(params: &mut Map<String, Value>) {
    let meta = params.entry("_meta").or_insert_with(|| Value::Object(Map::new()));
    if !meta.is_object() {
        *meta = Value::Object(Map::new());
    }
    if let Value::Object(meta) = meta
        && !meta.contains_key(meta_key::IDEMPOTENCY_KEY)
    {
        meta.extend([request::idempotency_key()]);
    }
}
