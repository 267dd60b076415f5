//! One request, start to end: who asks, is it a JSON POST, read the body, hand it on, wrap the reply.

use std::{sync::Arc, time::Duration};

use bytes::{Buf, Bytes};
use http::{HeaderMap, Request, Response, StatusCode};
use http_body::Body;

use super::{
    admission::Admission,
    body::{self, BodyLimits, ResponseBody, empty_response, json_response},
    negotiate,
    refusal::Refusal,
};
use crate::runtime::TokioClock;
use crate::seal::Principal;
use crate::server::{Clock, Dispatch, Incoming, Reply};

/// What answers messages: [`Dispatch`], or a stand-in where the transport itself is under test.
pub(super) trait Handle: Send + Sync + 'static {
    fn handle(&self, incoming: Incoming<'_>) -> impl Future<Output = Reply> + Send;
}

impl Handle for Dispatch {
    fn handle(&self, incoming: Incoming<'_>) -> impl Future<Output = Reply> + Send {
        Self::handle(self, incoming)
    }
}

/// The transport's part of an MCP endpoint; cheap to clone.
#[derive(Debug)]
pub(super) struct Endpoint<H> {
    handle: Arc<H>,
    /// The transport runs on tokio, so it has timers to offer.
    clock: Arc<dyn Clock>,
    rules: Arc<Rules>,
}

/// What a request must keep to, and what goes with every response.
#[derive(Clone, Debug)]
pub(super) struct Rules {
    pub(super) admission: Admission,
    pub(super) body: BodyLimits,
    pub(super) response_headers: HeaderMap,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            admission: Admission::default(),
            body: BodyLimits { bytes: 4 * 1024 * 1024, time: Duration::from_secs(30) },
            response_headers: HeaderMap::new(),
        }
    }
}

impl<H> Clone for Endpoint<H> {
    fn clone(&self) -> Self {
        Self { handle: Arc::clone(&self.handle), clock: Arc::clone(&self.clock), rules: Arc::clone(&self.rules) }
    }
}

impl<H> Endpoint<H> {
    pub(super) fn new(handle: Arc<H>) -> Self {
        Self { handle, clock: Arc::new(TokioClock), rules: Arc::default() }
    }

    pub(super) fn rules_mut(&mut self) -> &mut Rules {
        Arc::make_mut(&mut self.rules)
    }
}

impl<H: Handle> Endpoint<H> {
    /// Answers one request. Dropping the future cancels the call behind it.
    pub(super) async fn respond<B>(&self, request: Request<B>) -> Response<ResponseBody>
    where
        B: Body<Data: Buf>,
    {
        let mut response = self.answer(request).await.unwrap_or_else(|refusal| {
            tracing::debug!(%refusal, "refused a request");
            refusal.into_response()
        });
        for (name, value) in &self.rules.response_headers {
            response.headers_mut().entry(name).or_insert_with(|| value.clone());
        }
        response
    }

    async fn answer<B>(&self, request: Request<B>) -> Result<Response<ResponseBody>, Refusal>
    where
        B: Body<Data: Buf>,
    {
        let (mut parts, body) = request.into_parts();
        self.rules.admission.check(&parts)?;
        negotiate::check(&parts)?;
        let body = body::read(body, &parts.headers, self.rules.body).await?;
        let incoming = Incoming::new(&body)
            .headers(&parts.headers)
            .principal(parts.extensions.remove::<Principal>())
            .clock(Arc::clone(&self.clock));
        Ok(response_to(self.handle.handle(incoming).await))
    }
}

fn response_to(reply: Reply) -> Response<ResponseBody> {
    let status = StatusCode::from_u16(reply.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    match status {
        StatusCode::ACCEPTED => empty_response(status),
        _ => json_response(status, Bytes::from(reply.body)),
    }
}
