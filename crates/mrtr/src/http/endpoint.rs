//! One request until its message is there: may it come in, who asks, is it a JSON POST, read the body, hand it on.

use std::{sync::Arc, time::Duration};

use bytes::Buf;
use http::{HeaderMap, Request, Response, request::Parts};
use http_body::Body;

use super::{
    admission::Admission,
    auth::Auth,
    body::{self, BodyLimits, ResponseBody},
    detached::Detached,
    exchange::{self, Asked},
    limits::{Limiter, Permit},
    negotiate,
    refusal::Refusal,
};
use crate::runtime::TokioClock;
use crate::seal::Principal;
use crate::server::{Clock, Dispatch, Incoming, Reply};

/// What answers messages: [`Dispatch`], or a stand-in where the transport itself is under test.
pub(super) trait Handle: Send + Sync + 'static {
    fn handle(&self, incoming: Incoming<'_>) -> impl Future<Output = Reply> + Send;

    /// Whether a call with these headers goes on when its client hangs up.
    fn outlives_client(&self, headers: &HeaderMap) -> bool {
        let _ = headers;
        false
    }

    /// Ends the calls that would go on for ever; the server is told to stop.
    fn end_lasting_calls(&self) {}
}

impl Handle for Dispatch {
    fn handle(&self, incoming: Incoming<'_>) -> impl Future<Output = Reply> + Send {
        Self::handle(self, incoming)
    }

    fn outlives_client(&self, headers: &HeaderMap) -> bool {
        self.is_done_once(headers)
    }

    fn end_lasting_calls(&self) {
        self.close_subscriptions();
    }
}

/// The transport's part of an MCP endpoint; cheap to clone.
#[derive(Debug)]
pub(super) struct Endpoint<H> {
    handle: Arc<H>,
    /// The transport runs on tokio, so it has timers to offer.
    clock: Arc<dyn Clock>,
    detached: Detached,
    rules: Arc<Rules>,
}

/// What a request must keep to, and what goes with every response.
#[derive(Clone, Debug)]
pub(super) struct Rules {
    pub(super) admission: Admission,
    pub(super) auth: Auth,
    pub(super) limits: Option<Arc<Limiter>>,
    pub(super) body: BodyLimits,
    pub(super) response_headers: HeaderMap,
    /// After how much silence a stream says that it is still there; zero for never.
    pub(super) keep_alive: Duration,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            admission: Admission::default(),
            auth: Auth::default(),
            limits: None,
            body: BodyLimits { bytes: 4 * 1024 * 1024, time: Duration::from_secs(30) },
            response_headers: HeaderMap::new(),
            keep_alive: Duration::from_secs(15),
        }
    }
}

impl<H> Clone for Endpoint<H> {
    fn clone(&self) -> Self {
        Self {
            handle: Arc::clone(&self.handle),
            clock: Arc::clone(&self.clock),
            detached: self.detached.clone(),
            rules: Arc::clone(&self.rules),
        }
    }
}

impl<H> Endpoint<H> {
    pub(super) fn new(handle: Arc<H>) -> Self {
        Self { handle, clock: Arc::new(TokioClock), detached: Detached::default(), rules: Arc::default() }
    }

    pub(super) fn rules_mut(&mut self) -> &mut Rules {
        Arc::make_mut(&mut self.rules)
    }

    pub(super) fn handler(&self) -> &Arc<H> {
        &self.handle
    }
}

impl<H: Handle> Endpoint<H> {
    /// Ends the calls that would go on for ever, so that a server can stop.
    pub(super) fn end_lasting_calls(&self) {
        self.handle.end_lasting_calls();
    }

    /// Resolves when the calls are done whose clients may be gone.
    pub(super) async fn detached_calls_ended(&self) {
        self.detached.all_ended().await;
    }

    /// Answers one request. Dropping the future cancels the call behind it; so does dropping a body that streams.
    pub(super) async fn respond<B>(&self, request: Request<B>) -> Response<ResponseBody>
    where
        B: Body<Data: Buf>,
    {
        let response = self.answer(request).await.unwrap_or_else(|refusal| {
            tracing::debug!(%refusal, "refused a request");
            refusal.into_response()
        });
        self.finish(response)
    }

    async fn answer<B>(&self, request: Request<B>) -> Result<Response<ResponseBody>, Refusal>
    where
        B: Body<Data: Buf>,
    {
        let (mut parts, body) = request.into_parts();
        self.rules.admission.check(&parts)?;
        let (caller, permit) = self.admit(&mut parts).await?;
        negotiate::check(&parts)?;
        let body = body::read(body, &parts.headers, self.rules.body).await?;
        let header = |name| parts.headers.get(name);
        tracing::debug!(method = ?header("mcp-method"), name = ?header("mcp-name"), bytes = body.len(), "received a message");
        let permit = permit.map(Arc::new);
        let (clock, open) = (Arc::clone(&self.clock), permit.clone());
        let asked = Asked { body, principal: caller, headers: parts.headers, clock, open };
        let mut response =
            exchange::respond(Arc::clone(&self.handle), asked, &self.detached, self.rules.keep_alive).await;
        response.body_mut().hold(permit);
        Ok(response)
    }

    /// Names the caller and opens the call; it stays open for as long as the permit is held.
    async fn admit(&self, parts: &mut Parts) -> Result<(Option<Principal>, Option<Permit>), Refusal> {
        let caller = self.rules.auth.caller(parts).await?;
        let permit = self.rules.limits.as_ref().map(|limits| limits.admit(caller.as_ref())).transpose()?;
        Ok((caller, permit))
    }

    /// The metadata document, where one is configured and this is a path of it.
    pub(super) fn metadata<B>(&self, endpoint: &str, request: &Request<B>) -> Option<Response<ResponseBody>> {
        let metadata = self.rules.auth.metadata.as_ref()?;
        let is_asked = metadata.is_at(request.uri().path(), endpoint);
        is_asked.then(|| self.finish(metadata.service().respond(request.method())))
    }

    /// Adds the operator's headers; ours cannot be replaced.
    pub(super) fn finish(&self, mut response: Response<ResponseBody>) -> Response<ResponseBody> {
        for (name, value) in &self.rules.response_headers {
            response.headers_mut().entry(name).or_insert_with(|| value.clone());
        }
        response
    }
}
