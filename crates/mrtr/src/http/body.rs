//! Bodies in and out: reading a bounded request body, building a response of JSON or of events.

use std::{
    convert::Infallible,
    pin::{Pin, pin},
    task::{Context, Poll},
    time::Duration,
};

use bytes::{Buf, Bytes, BytesMut};
use http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use http_body::{Body, Frame, SizeHint};
use http_body_util::{BodyExt, Full};

use super::{events::Events, idle::Busy, limits::Permit, refusal::Refusal};

/// The body of every response; reading it never fails.
///
/// It is whole and in memory, or the stream of a call that is still at work: dropping that one cancels the call.
#[derive(Debug)]
pub struct ResponseBody {
    content: Content,
    /// The call counts as open while its response is being written; it ends first.
    permit: Option<Permit>,
    /// So does its connection.
    busy: Option<Busy>,
}

#[derive(Debug)]
enum Content {
    Whole(Full<Bytes>),
    Events(Box<Events>),
}

impl ResponseBody {
    /// Keeps a connection busy until this body is dropped.
    pub(super) fn keep_busy(&mut self, busy: Busy) {
        self.busy = Some(busy);
    }

    /// Keeps a call open until this body is dropped.
    pub(super) fn hold(&mut self, permit: Option<Permit>) {
        self.permit = permit;
    }
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match &mut self.content {
            Content::Whole(whole) => Pin::new(whole).poll_frame(task),
            Content::Events(events) => Pin::new(events).poll_frame(task),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.content {
            Content::Whole(whole) => whole.is_end_stream(),
            Content::Events(events) => events.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.content {
            Content::Whole(whole) => whole.size_hint(),
            Content::Events(events) => events.size_hint(),
        }
    }
}

/// How much of an announced length is reserved up front; the rest is reserved as it arrives, so a large
/// `Content-Length` alone costs nothing.
const RESERVE: usize = 64 * 1024;

/// How much of a request body is read, and for how long.
#[derive(Clone, Copy, Debug)]
pub(super) struct BodyLimits {
    pub(super) bytes: usize,
    pub(super) time: Duration,
}

/// Reads the whole body, or says why not.
///
/// A body announced as too large is refused unread; a body that arrives in one piece is not copied.
pub(super) async fn read<B>(body: B, headers: &HeaderMap, limits: BodyLimits) -> Result<Bytes, Refusal>
where
    B: Body<Data: Buf>,
{
    if announced_length(headers).is_some_and(|length| length > limits.bytes as u64) {
        return Err(Refusal::BodyTooLarge { limit: limits.bytes });
    }
    tokio::time::timeout(limits.time, collect(body, limits.bytes))
        .await
        .unwrap_or(Err(Refusal::BodyTooSlow { limit: limits.time }))
}

fn announced_length(headers: &HeaderMap) -> Option<u64> {
    headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.trim().parse().ok()
}

async fn collect<B>(body: B, limit: usize) -> Result<Bytes, Refusal>
where
    B: Body<Data: Buf>,
{
    let mut body = pin!(body);
    let Some(first) = next_chunk(&mut body, 0, limit).await? else {
        return Ok(Bytes::new());
    };
    if body.is_end_stream() {
        return Ok(first);
    }
    let Some(second) = next_chunk(&mut body, first.len(), limit).await? else {
        return Ok(first);
    };

    let still_to_come = usize::try_from(body.size_hint().lower()).unwrap_or(RESERVE).min(RESERVE);
    let mut whole = BytesMut::with_capacity(first.len() + second.len() + still_to_come);
    whole.extend_from_slice(&first);
    whole.extend_from_slice(&second);
    while let Some(chunk) = next_chunk(&mut body, whole.len(), limit).await? {
        whole.extend_from_slice(&chunk);
    }
    Ok(whole.freeze())
}

/// The next data of the body, unless it takes what was `read` so far over the limit; trailers are skipped.
async fn next_chunk<B>(body: &mut B, read: usize, limit: usize) -> Result<Option<Bytes>, Refusal>
where
    B: Body<Data: Buf> + Unpin,
{
    while let Some(frame) = body.frame().await {
        // What broke is the connection's business; the message is gone either way.
        let frame = frame.map_err(|_| Refusal::BodyIncomplete)?;
        let Ok(mut data) = frame.into_data() else {
            continue;
        };
        if data.remaining() > limit.saturating_sub(read) {
            return Err(Refusal::BodyTooLarge { limit });
        }
        return Ok(Some(data.copy_to_bytes(data.remaining())));
    }
    Ok(None)
}

/// A response of this status with a JSON text.
pub(super) fn json_response(status: StatusCode, json: Bytes) -> Response<ResponseBody> {
    let mut response = respond(status, Content::Whole(Full::new(json)));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// A response of this status with a text for people.
pub(super) fn text_response(status: StatusCode, text: Bytes) -> Response<ResponseBody> {
    let mut response = respond(status, Content::Whole(Full::new(text)));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain"));
    response
}

/// A response of this status and nothing else.
pub(super) fn empty_response(status: StatusCode) -> Response<ResponseBody> {
    respond(status, Content::Whole(Full::default()))
}

/// A response that streams. Proxies are told to keep nothing, neither for later nor to send it in one piece.
pub(super) fn event_response(events: Events) -> Response<ResponseBody> {
    let mut response = respond(StatusCode::OK, Content::Events(Box::new(events)));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

fn respond(status: StatusCode, content: Content) -> Response<ResponseBody> {
    let mut response = Response::new(ResponseBody { content, permit: None, busy: None });
    *response.status_mut() = status;
    response
}
