//! One connection, start to end: lines become calls, their messages become lines.

use std::io;
use std::pin::pin;
use std::sync::Arc;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::Semaphore;

use super::calls::{Calls, Room, Serial};
use super::lines::{Line, Lines};
use super::outlet::CallOutlet;
use super::serve::{Options, ServeError};
use crate::runtime::{TokioClock, push_line};
use crate::server::{Clock, Dispatch, Incoming};
use crate::wire::{Message, Object, RequestId, RpcError};

/// Serves until the input ends, the output is gone, or `stop` is ready; then lets running calls finish.
///
/// If `stop` becomes ready after the input has ended, what still runs is dropped.
pub(super) async fn run<R, W>(
    dispatch: Arc<Dispatch>,
    options: &Options,
    reader: R,
    writer: W,
    stop: impl Future<Output = ()>,
) -> Result<(), ServeError>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let calls = Arc::new(Calls::new(options.room(), dispatch.server_info()));
    let connection = Connection::new(dispatch, options, Arc::clone(&calls));
    let (mut stop, mut writing) = (pin!(stop), pin!(write(&calls, writer)));
    let mut is_stopped = false;
    let read = tokio::select! {
        // Writing ends by itself only when it is no use any more.
        written = &mut writing => return written,
        read = connection.read(Lines::new(reader, options.max_line)) => read,
        () = &mut stop => {
            is_stopped = true;
            Ok(())
        }
    };
    tracing::debug!(is_stopped, "reading has ended");
    calls.close();
    let written = tokio::select! {
        biased;
        written = &mut writing => written,
        () = &mut stop, if !is_stopped => {
            tracing::warn!("told to stop after the input has ended; dropping what still runs");
            Ok(())
        }
        () = tokio::time::sleep(options.drain_timeout) => {
            tracing::warn!("drain timeout is over; dropping what still runs");
            Ok(())
        }
    };
    read.and(written)
}

/// What turns lines into calls. Dropping it drops the calls.
struct Connection<'a> {
    dispatch: Arc<Dispatch>,
    options: &'a Options,
    clock: Arc<dyn Clock>,
    calls: Arc<Calls>,
    /// As many as calls may be at work.
    slots: Arc<Semaphore>,
}

impl<'a> Connection<'a> {
    fn new(dispatch: Arc<Dispatch>, options: &'a Options, calls: Arc<Calls>) -> Self {
        let slots = Arc::new(Semaphore::new(options.max_running));
        Self { dispatch, options, clock: Arc::new(TokioClock), calls, slots }
    }

    /// Reads to the end of the input, no faster than the client takes its replies.
    async fn read(&self, mut lines: Lines<impl AsyncRead + Unpin>) -> Result<(), ServeError> {
        loop {
            self.calls.room().await;
            match lines.next().await.map_err(ServeError::Read)? {
                Some(Line::Text(line)) => self.take(line).await,
                Some(Line::TooLong) => {
                    let limit = self.options.max_line;
                    self.refuse(None, &RpcError::invalid_request(format!("a line is longer than {limit} bytes")));
                }
                None => return Ok(()),
            }
        }
    }

    async fn take(&self, line: Bytes) {
        match Message::parse(&line) {
            Ok(Message::Request(request)) => match self.calls.open(&request, line.len()) {
                Some(serial) => self.start(serial, line.clone()),
                None => self.refuse(
                    Some(&request.id),
                    &RpcError::invalid_request("a request with this id is still running; ids are unique among those"),
                ),
            },
            Ok(Message::Notification(method)) if method == "notifications/cancelled" => self.cancel(&line),
            Ok(Message::Notification(_)) => tracing::trace!("a notification is ignored"),
            Err(_) => {
                // What is malformed is answered without waiting for anything.
                let reply = self.dispatch.handle(Incoming::new(&line)).await;
                self.calls.say(reply.body);
            }
        }
    }

    /// Answers a call in a task of its own, as soon as one of the slots is free.
    fn start(&self, serial: Serial, line: Bytes) {
        let (dispatch, slots) = (Arc::clone(&self.dispatch), Arc::clone(&self.slots));
        let (clock, principal) = (Arc::clone(&self.clock), self.options.principal.clone());
        let answering = Answering { calls: Arc::clone(&self.calls), serial };
        let task = tokio::spawn(async move {
            let slot = slots.acquire_owned().await.expect("never closed");
            let outlet = Arc::new(CallOutlet { calls: Arc::clone(&answering.calls), serial });
            let incoming = Incoming::new(&line).principal(principal).clock(clock).outlet(outlet);
            let reply = dispatch.handle(incoming).await;
            answering.calls.reply(serial, reply.body, slot);
        });
        self.calls.runs(serial, task.abort_handle());
    }

    fn cancel(&self, line: &[u8]) {
        let Some((id, reason)) = cancelled(line) else {
            return tracing::debug!("a malformed cancellation is ignored");
        };
        let was_open = self.calls.cancel(&id);
        tracing::debug!(was_open, reason, "a request is cancelled");
    }

    fn refuse(&self, id: Option<&RequestId>, error: &RpcError) {
        tracing::debug!(code = error.code(), "a line is refused: {}", error.message());
        self.calls.say(error.to_response(id));
    }
}

impl Drop for Connection<'_> {
    fn drop(&mut self) {
        self.calls.abandon();
    }
}

/// A call at work. If its task ends without a reply, by a panic, it is answered all the same.
struct Answering {
    calls: Arc<Calls>,
    serial: Serial,
}

impl Drop for Answering {
    fn drop(&mut self) {
        if std::thread::panicking() {
            tracing::error!("a call's task panicked");
        }
        self.calls.fail(self.serial);
    }
}

/// Which request is cancelled and what the client says why. Spec: `basic/patterns/cancellation`.
fn cancelled(line: &[u8]) -> Option<(RequestId, String)> {
    #[derive(Deserialize)]
    struct Notification<'a> {
        #[serde(borrow)]
        params: Object<Cancelled<'a>>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Cancelled<'a> {
        #[serde(borrow)]
        request_id: &'a RawValue,
        #[serde(borrow, default)]
        reason: Option<&'a RawValue>,
    }
    let Notification { params: Object(Cancelled { request_id, reason }) } = serde_json::from_slice(line).ok()?;
    let reason: Option<String> = reason.and_then(|reason| serde_json::from_str(reason.get()).ok());
    let reason = reason.map(|reason| crate::form::harmless(&reason, 200)).unwrap_or_default();
    Some((RequestId::parse(request_id).ok()?, reason))
}

/// Writes what the calls have to say, until they have nothing left or the client is gone.
async fn write(calls: &Calls, mut writer: impl AsyncWrite + Unpin) -> Result<(), ServeError> {
    let mut batch = Vec::new();
    while let Some(message) = calls.next().await {
        push_message(&mut batch, &message);
        while batch.len() < BATCH
            && let Some(message) = calls.try_next()
        {
            push_message(&mut batch, &message);
        }
        let written = async {
            writer.write_all(&batch).await?;
            writer.flush().await
        };
        match written.await {
            Ok(()) => batch.clear(),
            Err(error) if is_gone(&error) => {
                tracing::info!("the client is gone");
                return Ok(());
            }
            Err(error) => return Err(ServeError::Write(error)),
        }
        // One large reply is no reason to keep its memory.
        batch.shrink_to(BATCH);
    }
    Ok(())
}

/// Adds a message and the end of its line.
fn push_message(batch: &mut Vec<u8>, message: &[u8]) {
    push_line(batch, message);
    batch.push(b'\n');
}

fn is_gone(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, NotConnected};
    matches!(error.kind(), BrokenPipe | ConnectionAborted | ConnectionReset | NotConnected)
}

impl Options {
    fn room(&self) -> Room {
        Room { calls: self.max_running.saturating_add(AHEAD), bytes: self.max_line.saturating_mul(LINES_HELD) }
    }
}

/// How many requests are read beyond those at work, so that a cancellation behind them is heard.
const AHEAD: usize = 1024;
/// How many lines of the greatest length open calls may hold.
const LINES_HELD: usize = 16;
/// How much is written at a time, if that much is there.
const BATCH: usize = 32 * 1024;
