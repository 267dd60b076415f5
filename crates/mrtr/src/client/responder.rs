//! Who answers: the trait and the registry that decides which capabilities are declared.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::{Answer, Ask, Kind, NotAnswered, Or};

/// The future of an object-safe asynchronous method.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Something that can answer questions of one kind: a person at a terminal, a script, a model.
///
/// The time it takes is the user's: no server timeout runs meanwhile, and nothing is held open. When the call is dropped,
/// so is the future returned here, at whatever point it waits: a prompt that must leave the screen then does so in a guard's
/// `drop`. Closures
/// `Fn(Ask) -> impl Future<Output = Result<Answer, NotAnswered>>` are responders.
///
/// ```
/// use mrtr::client::{Answer, Ask, Responders};
///
/// let responders = Responders::new().form(async |ask: Ask| {
///     println!("{} asks: {}", ask.server, ask.message());
///     Ok(Answer::decline())
/// });
/// # let _ = responders;
/// ```
pub trait Responder: Send + Sync {
    /// Answers one question.
    ///
    /// # Errors
    ///
    /// A [`NotAnswered`] ends the operation. A user who says no is an answer, not an error.
    fn respond<'a>(&'a self, ask: &'a Ask) -> BoxFuture<'a, Result<Answer, NotAnswered>>;

    /// Has this responder asked first, and the other one what it does not answer.
    fn or<R: Responder>(self, next: R) -> Or<Self, R>
    where
        Self: Sized,
    {
        Or::new(self, next)
    }
}

impl<F, Fut> Responder for F
where
    F: Fn(Ask) -> Fut + Send + Sync,
    Fut: Future<Output = Result<Answer, NotAnswered>> + Send + 'static,
{
    fn respond<'a>(&'a self, ask: &'a Ask) -> BoxFuture<'a, Result<Answer, NotAnswered>> {
        Box::pin(self(ask.clone()))
    }
}

impl<R: Responder + ?Sized> Responder for Arc<R> {
    fn respond<'a>(&'a self, ask: &'a Ask) -> BoxFuture<'a, Result<Answer, NotAnswered>> {
        (**self).respond(ask)
    }
}

/// One responder per kind of question. A kind without one is not declared, and so must not be asked.
#[derive(Clone, Default)]
pub struct Responders {
    form: Option<Arc<dyn Responder>>,
    url: Option<Arc<dyn Responder>>,
    sampling: Option<Arc<dyn Responder>>,
    sampling_tools: bool,
    roots: Option<Arc<dyn Responder>>,
}

impl Responders {
    /// Answers nothing: declares no capability.
    pub fn new() -> Self {
        Self::default()
    }

    /// Answers forms with this responder.
    #[must_use]
    pub fn form(mut self, responder: impl Responder + 'static) -> Self {
        self.form = Some(Arc::new(responder));
        self
    }

    /// Answers URL requests with this responder.
    ///
    /// # Security
    ///
    /// Accepting is consent to open a page the server chose. Show the whole URL and its host, and ask.
    #[must_use]
    pub fn url(mut self, responder: impl Responder + 'static) -> Self {
        self.url = Some(Arc::new(responder));
        self
    }

    /// Answers both modes of elicitation, forms and URLs, with this responder.
    #[must_use]
    pub fn elicitation(mut self, responder: impl Responder + 'static) -> Self {
        let responder: Arc<dyn Responder> = Arc::new(responder);
        self.form = Some(Arc::clone(&responder));
        self.url = Some(responder);
        self
    }

    /// Answers sampling requests with this responder.
    #[must_use]
    pub fn sampling(mut self, responder: impl Responder + 'static) -> Self {
        self.sampling = Some(Arc::new(responder));
        self.sampling_tools = false;
        self
    }

    /// Answers sampling requests with this responder, which can make use of the tools that come with some.
    #[must_use]
    pub fn sampling_with_tools(mut self, responder: impl Responder + 'static) -> Self {
        self.sampling = Some(Arc::new(responder));
        self.sampling_tools = true;
        self
    }

    /// Answers roots requests with this responder.
    #[must_use]
    pub fn roots(mut self, responder: impl Responder + 'static) -> Self {
        self.roots = Some(Arc::new(responder));
        self
    }

    /// Finds who answers questions of this kind.
    pub(super) fn of(&self, kind: Kind) -> Option<&dyn Responder> {
        let responder = match kind {
            Kind::Form => &self.form,
            Kind::Url => &self.url,
            Kind::Sampling => &self.sampling,
            Kind::Roots => &self.roots,
        };
        responder.as_deref()
    }

    /// Returns the `clientCapabilities` these responders stand for.
    pub(super) fn capabilities(&self) -> Value {
        let mut capabilities = Map::new();
        let mut modes = Map::new();
        // Spec: client/elicitation#capabilities. An empty `elicitation` would mean form mode, so modes are always named.
        if self.form.is_some() {
            modes.insert("form".to_owned(), json!({}));
        }
        if self.url.is_some() {
            modes.insert("url".to_owned(), json!({}));
        }
        if !modes.is_empty() {
            capabilities.insert("elicitation".to_owned(), Value::Object(modes));
        }
        if self.sampling.is_some() {
            let sampling = if self.sampling_tools { json!({ "tools": {} }) } else { json!({}) };
            capabilities.insert("sampling".to_owned(), sampling);
        }
        if self.roots.is_some() {
            capabilities.insert("roots".to_owned(), json!({}));
        }
        Value::Object(capabilities)
    }
}

impl fmt::Debug for Responders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Responders({})", self.capabilities())
    }
}
