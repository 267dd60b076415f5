//! The handle a handler gets.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

use super::ask::Ask;
use super::elicit::{FormOf, UrlVisit};
use super::journal::{Kind, State};
use super::model::{ClientRequest, CreateMessage, CreateMessageResult, Root};
use super::replay::Begun;
use super::round::{CallGuard, Round};
use super::wait::Until;
use super::{ClientInfo, ContextError, LogLevel};
use crate::form::{self, Form};
use crate::seal::Principal;

/// What a handler talks to the client with, and what it knows about the call.
///
/// A handler runs from the top in every round. Calls on the context that earlier rounds settled return at once; the
/// first one that is not settled suspends the handler until the client comes back. So:
///
/// - effects and reads that may change go into a [`step`](Self::step);
/// - keys are stable strings, unique within the operation;
/// - several asks polled together (`tokio::join!`) go out in one round; what else waits beside them, a timer say, goes
///   into a step too, or the order of a replay is left to chance and a question may be asked again.
///
/// Cloning is cheap. An ask that outlives its round, in a spawned task, ends with [`ContextError::RoundOver`].
#[derive(Clone)]
pub struct Context {
    round: Arc<Round>,
}

impl Context {
    pub(crate) fn new(round: Arc<Round>) -> Self {
        Self { round }
    }

    /// Asks the user to fill in a form whose fields are those of `T`.
    ///
    /// The answer is checked against the very schema that was sent; what fails is asked again, with a hint that names
    /// the field and the valid values as defaults. [`form::schema_of`] tells in a unit test whether `T` makes a form.
    ///
    /// # Security
    /// Forms are no place for passwords, keys or card numbers (spec: `client/elicitation`); use
    /// [`elicit_url`](Self::elicit_url).
    pub fn elicit<T>(&self, key: impl Into<String>, message: impl Into<String>) -> Ask<FormOf<T>>
    where
        T: DeserializeOwned + JsonSchema + Send + 'static,
    {
        self.ask(key, FormOf::new(message.into(), form::cached::<T>()))
    }

    /// Asks with a form made at run time; the answer is its validated content.
    ///
    /// A [`Form`] holds a compiled validator: build it once where it can be kept.
    pub fn elicit_with_schema(
        &self,
        key: impl Into<String>,
        message: impl Into<String>,
        form: impl Into<Arc<Form>>,
    ) -> Ask<FormOf<Map<String, Value>>> {
        self.ask(key, FormOf::new(message.into(), Ok(form.into())))
    }

    /// Asks the user to visit a page, for what must not pass through the client: credentials, payments, consent.
    ///
    /// Accepting means agreeing to go there, not having been there: follow up with [`until`](Self::until).
    ///
    /// # Security
    /// The page must make sure that its visitor is the user of this call (spec: `client/elicitation`, on phishing).
    pub fn elicit_url(
        &self,
        key: impl Into<String>,
        message: impl Into<String>,
        url: impl Into<String>,
    ) -> Ask<UrlVisit> {
        self.ask(key, UrlVisit::new(message.into(), url.into()))
    }

    /// Asks the client's model for a completion.
    pub fn sample(&self, key: impl Into<String>, message: &CreateMessage) -> Ask<ClientRequest<CreateMessageResult>> {
        self.ask(key, ClientRequest::sample(message))
    }

    /// Asks for the client's roots.
    pub fn list_roots(&self, key: impl Into<String>) -> Ask<ClientRequest<Vec<Root>>> {
        self.ask(key, ClientRequest::roots())
    }

    /// Does something once per operation, however often the handler is replayed.
    ///
    /// The result rides in the sealed state, so the guarantee is as good as that: what a state records is not done again
    /// by whoever comes back with it. A step is done again when the same state is sent twice, and when it was torn off
    /// before it was recorded: the process died, the client hung up, the handler's time was over. Hand
    /// [`operation_id`](Self::operation_id) to whatever can deduplicate.
    ///
    /// A step keeps its result even if an answer it was computed from is asked for again. Where that matters, put the
    /// answer into the key: `format!("reserve {room}")`.
    ///
    /// ```
    /// # async fn reserve() -> u64 { 7 }
    /// # async fn handler(cx: mrtr::Context) -> Result<String, mrtr::ToolError> {
    /// let reservation: u64 = cx.step("reserve", reserve()).await?;
    /// # Ok(reservation.to_string()) }
    /// ```
    ///
    /// # Errors
    /// [`ContextError::Unkeepable`] when the result cannot be written as JSON, [`ContextError::Outdated`] when what an
    /// earlier version of the code recorded does not fit `T`.
    pub async fn step<T, F>(&self, key: impl Into<String>, work: F) -> Result<T, ContextError>
    where
        T: Serialize + DeserializeOwned,
        F: Future<Output = T>,
    {
        let done: Result<T, std::convert::Infallible> = self.try_step(key, async { Ok(work.await) }).await?;
        match done {
            Ok(value) => Ok(value),
            Err(never) => match never {},
        }
    }

    /// As [`step`](Self::step), for work that can fail. A failure is not recorded: the next round tries again.
    ///
    /// ```
    /// # async fn charge(id: &str) -> Result<String, std::io::Error> { Ok(id.to_owned()) }
    /// # async fn handler(cx: mrtr::Context) -> Result<String, mrtr::ToolError> {
    /// let receipt: String = cx.try_step("charge", charge(cx.operation_id())).await??;
    /// # Ok(receipt) }
    /// ```
    ///
    /// # Errors
    /// As [`step`](Self::step); what the work itself returns is the inner result.
    pub async fn try_step<T, E, F>(&self, key: impl Into<String>, work: F) -> Result<Result<T, E>, ContextError>
    where
        T: Serialize + DeserializeOwned,
        F: Future<Output = Result<T, E>>,
    {
        let key = key.into();
        let call = match self.round.begin(&key, Kind::Step, None)? {
            Begun::Replayed(State::Done(recorded)) => return ContextError::recorded(&key, &recorded).map(Ok),
            Begun::New(id, _) => CallGuard::new(&self.round, id),
            Begun::Replayed(_) | Begun::Held => return Err(self.round.over(&key).await),
        };
        #[cfg(feature = "testing")]
        let begun = self.round.step_begins().await;
        let value = match work.await {
            Ok(value) => value,
            Err(error) => return Ok(Err(error)),
        };
        #[cfg(feature = "testing")]
        self.round.step_done(begun, &key).await;
        let recorded = ContextError::to_record(&key, &value)?;
        if call.settle(State::Done(recorded)) { Ok(Ok(value)) } else { Err(ContextError::round_over(&key)) }
    }

    /// Waits until `check` finds the result of something that happens elsewhere, usually behind a URL.
    ///
    /// ```
    /// # use mrtr::{Context, ToolError};
    /// # async fn payment(id: &str) -> Option<String> { Some(id.to_owned()) }
    /// # async fn handler(cx: Context) -> Result<String, ToolError> {
    /// let id = cx.operation_id();
    /// cx.elicit_url("pay", "Pay the invoice", format!("https://pay.example/{id}")).await?;
    /// let receipt: String = cx.until("paid", || payment(id)).await?;
    /// # Ok(receipt) }
    /// ```
    ///
    /// See [`Until`] for how long it holds a request and what it does then.
    pub fn until<'a, C>(&self, key: impl Into<String>, check: C) -> Until<'a, C> {
        Until::new(Arc::clone(&self.round), key.into(), check)
    }

    /// Tells a client that asked for it how far the work is: `progress` of `total`, in whatever unit.
    ///
    /// Costs nothing where nobody asked. It must grow from call to call within a round; what does not is not sent, nor is
    /// what a client that does not keep up has no room for. The reply then comes as the end of a stream. A replay tells
    /// it all again, as a new request may want to know.
    ///
    /// ```
    /// # async fn handler(cx: mrtr::Context) {
    /// for page in 1..=12 {
    ///     cx.progress(page.into(), Some(12.0), Some("Reading pages"));
    /// }
    /// # }
    /// ```
    pub fn progress(&self, progress: f64, total: Option<f64>, message: Option<&str>) {
        if let Some(notices) = self.round.notices() {
            notices.progress(progress, total, message);
        }
    }

    /// Sends a log message to a client that asked for messages this grave; costs nothing where nobody did. Only a server
    /// with [`Server::logging`](crate::Server::logging) sends any.
    ///
    /// What cannot be written as JSON is sent as the text of the error. The protocol deprecates these messages in this
    /// revision: for your own log use `tracing`.
    ///
    /// # Security
    /// The message leaves the server: no secrets, nothing about other callers.
    pub fn log(&self, level: LogLevel, data: impl Serialize) {
        self.log_from(None, level, data);
    }

    /// As [`log`](Self::log), with the name of the part of the server that says it.
    pub fn log_from<'a>(&self, logger: impl Into<Option<&'a str>>, level: LogLevel, data: impl Serialize) {
        if let Some(notices) = self.round.notices() {
            notices.log(level, logger.into(), &|| serde_json::to_value(&data).unwrap_or_else(|e| e.to_string().into()));
        }
    }

    /// The operation's id: the same in all its rounds, different in every other operation. An idempotency key.
    pub fn operation_id(&self) -> &str {
        self.round.operation_id()
    }

    /// Which round of the operation this is, counted from 1.
    pub fn round(&self) -> u32 {
        self.round.number
    }

    /// The client of this round and what it can be asked.
    pub fn client(&self) -> &ClientInfo {
        &self.round.client
    }

    /// The caller's place in a trace, where it gave one: W3C Trace Context's `traceparent`, to hand on to what the handler
    /// calls. The round's `tracing` span has it too. Spec: `basic/index#meta`.
    pub fn traceparent(&self) -> Option<&str> {
        self.round.traceparent.as_deref()
    }

    /// The authenticated caller; `None` where the transport knows none.
    pub fn principal(&self) -> Option<&Principal> {
        self.round.principal.as_ref()
    }

    fn ask<Q: super::ask::Question>(&self, key: impl Into<String>, question: Q) -> Ask<Q> {
        Ask::new(Arc::clone(&self.round), key.into(), question)
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context").field("operation", &self.operation_id()).field("round", &self.round()).finish()
    }
}
