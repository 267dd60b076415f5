//! One call and its response: a JSON reply, or a stream as soon as the call says something while it is at work.
//!
//! Spec: `basic/transports/streamable-http#receiving-messages`. The call runs in the task that polls the response: no
//! task is spawned and no channel opened for it. Its future owns all it needs, so it can move from the response that is
//! awaited into the body that streams, and dropping either cancels it. Only what is done once runs in a task of its own.

use std::{
    future::{self, poll_fn},
    pin::Pin,
    sync::Arc,
    task::Poll,
    time::Duration,
};

use bytes::Bytes;
use http::{HeaderMap, Response, StatusCode};

use super::{
    body::{ResponseBody, empty_response, event_response, json_response},
    detached::Detached,
    endpoint::Handle,
    events::Events,
    limits::Permit,
    outbox::{self, Outbox},
};
use crate::{
    seal::Principal,
    server::{Clock, Incoming, Reply},
};

/// A call at work.
pub(super) type Call = Pin<Box<dyn Future<Output = Reply> + Send>>;

/// What a call is about: one message, as it arrived.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) body: Bytes,
    pub(super) headers: HeaderMap,
    pub(super) principal: Option<Principal>,
    pub(super) clock: Arc<dyn Clock>,
    /// What counts the call as open. It is at work for as long as it runs, whoever waits for it.
    pub(super) permit: Option<Arc<Permit>>,
}

/// Answers the message; a stream is kept alive with a comment after so much silence.
pub(super) async fn respond<H: Handle>(
    handle: Arc<H>,
    asked: Asked,
    detached: &Detached,
    keep_alive: Duration,
) -> Response<ResponseBody> {
    let (outbox, said) = outbox::new();
    let outlives_client = handle.outlives_client(&asked.headers);
    let mut call: Call = Box::pin(run(handle, asked, outbox));
    if outlives_client {
        call = detached.run(call);
    }
    let reply = poll_fn(|task| match call.as_mut().poll(task) {
        Poll::Ready(reply) => Poll::Ready(Some(reply)),
        Poll::Pending => said.poll_any(task).map(|()| None),
    });
    match reply.await {
        Some(reply) if said.is_empty() => whole(reply),
        Some(reply) => event_response(Events::new(Box::pin(future::ready(reply)), said, keep_alive)),
        None => event_response(Events::new(call, said, keep_alive)),
    }
}

async fn run<H: Handle>(handle: Arc<H>, asked: Asked, outbox: Arc<Outbox>) -> Reply {
    let _permit = asked.permit;
    let incoming =
        Incoming::new(&asked.body).headers(&asked.headers).principal(asked.principal).clock(asked.clock).outlet(outbox);
    handle.handle(incoming).await
}

fn whole(reply: Reply) -> Response<ResponseBody> {
    let status = StatusCode::from_u16(reply.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    match status {
        StatusCode::ACCEPTED => empty_response(status),
        _ => json_response(status, Bytes::from(reply.body)),
    }
}
