//! A response that streams: what the call says, then its reply, each as a server-sent event.

use std::{
    convert::Infallible,
    fmt,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::Bytes;
use http_body::{Body, Frame};
use tokio::time::{Sleep, sleep};

use super::{exchange::Call, outbox::Said};
use crate::runtime::push_line;

/// The running call and what it said. Dropping this drops the call: a client that closes the stream cancels it.
pub(super) struct Events {
    /// Until it has replied.
    call: Option<Call>,
    said: Said,
    silence: Silence,
}

impl Events {
    pub(super) fn new(call: Call, said: Said, keep_alive: Duration) -> Self {
        Self { call: Some(call), said, silence: Silence { limit: keep_alive, timer: None } }
    }

    /// What is next on the wire. What was said goes out before the call is polled again: it may be slow to return.
    fn poll_text(&mut self, task: &mut Context<'_>) -> Poll<Option<Vec<u8>>> {
        let Some(call) = &mut self.call else { return Poll::Ready(None) };
        let mut said = self.said.take();
        if said.is_empty() {
            if let Poll::Ready(reply) = call.as_mut().poll(task) {
                self.call = None;
                let mut last = events(&self.said.close());
                write_event(&mut last, &reply.body);
                return Poll::Ready(Some(last));
            }
            if self.said.poll_any(task).is_pending() {
                return self.silence.poll_over(task).map(|()| Some(KEEP_ALIVE.to_vec()));
            }
            said = self.said.take();
        }
        self.silence.start_again();
        Poll::Ready(Some(events(&said)))
    }
}

impl Body for Events {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let text = ready!(self.poll_text(task));
        Poll::Ready(text.map(|text| Ok(Frame::data(text.into()))))
    }

    fn is_end_stream(&self) -> bool {
        self.call.is_none()
    }
}

impl fmt::Debug for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Events").field("replied", &self.call.is_none()).finish_non_exhaustive()
    }
}

/// Comments are ignored by clients and keep the stream open in whatever lies in between.
const KEEP_ALIVE: &[u8] = b": keep-alive\n\n";

/// For how long nothing was sent. Zero as the limit is none.
struct Silence {
    limit: Duration,
    timer: Option<Pin<Box<Sleep>>>,
}

impl Silence {
    /// Ready when the silence has lasted for its limit; then it starts again.
    fn poll_over(&mut self, task: &mut Context<'_>) -> Poll<()> {
        if self.limit.is_zero() {
            return Poll::Pending;
        }
        let limit = self.limit;
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep(limit)));
        ready!(timer.as_mut().poll(task));
        self.start_again();
        Poll::Ready(())
    }

    fn start_again(&mut self) {
        if let Some(timer) = &mut self.timer {
            timer.set(sleep(self.limit));
        }
    }
}

fn events(messages: &[String]) -> Vec<u8> {
    let length = messages.iter().map(|message| message.len() + FRAMING).sum();
    let mut out = Vec::with_capacity(length);
    for message in messages {
        write_event(&mut out, message.as_bytes());
    }
    out
}

/// What an event's framing takes.
const FRAMING: usize = "data: \n\n".len();

/// An event's data is one line.
fn write_event(out: &mut Vec<u8>, json: &[u8]) {
    out.reserve(json.len() + FRAMING);
    out.extend_from_slice(b"data: ");
    push_line(out, json);
    out.extend_from_slice(b"\n\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_one_line_whatever_the_layout_of_its_json() {
        let mut out = Vec::new();
        write_event(&mut out, b"{\r\n  \"a\": \"\\n\"\n}");
        assert_eq!(String::from_utf8(out).unwrap(), "data: {    \"a\": \"\\n\" }\n\n");
    }
}
