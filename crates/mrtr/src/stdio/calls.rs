//! The calls of one connection, and what is waiting to be written for them.
//!
//! A call is open from its line on until its reply is taken to be written. One lock covers the calls and the queue, so
//! that a cancelled call is gone from both at once, and nothing is ever written for it again.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context as Task, Poll, Waker};

use serde::Deserialize as _;
use tokio::sync::{Notify, OwnedSemaphorePermit};
use tokio::task::AbortHandle;

use crate::wire::{Method, Request, RequestId, RpcError, meta_key};

/// How much of a client's requests may be open at a time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    /// Calls, at work or waiting for their turn.
    pub(super) calls: usize,
    /// Bytes of the lines they came in.
    pub(super) bytes: usize,
}

/// Shared by the task that reads, the task that writes, and the calls.
pub(super) struct Calls {
    room: Room,
    /// The member of a result's `_meta` that names the server.
    server_info: String,
    state: Mutex<State>,
    /// There is something to write, or never will be.
    to_write: Notify,
    /// There may be room for another line.
    has_room: Notify,
}

/// Which call: ids come back, serials do not.
pub(super) type Serial = u64;

#[derive(Default)]
struct State {
    open: HashMap<Serial, Call>,
    serials: HashMap<Id, Serial>,
    last: Serial,
    queue: VecDeque<Waiting>,
    /// Bytes of the open calls' lines.
    bytes: usize,
    /// Messages in the queue that belong to no open call.
    strays: usize,
    is_closed: bool,
}

struct Call {
    id: RequestId,
    line_bytes: usize,
    is_subscription: bool,
    task: Option<AbortHandle>,
    /// Whether the reply is in the queue; nothing may follow it.
    is_replied: bool,
    /// Whether it ever said something before its reply: a subscription that did is acknowledged.
    has_told: bool,
    /// What is in the queue besides the reply.
    told: Told,
    /// Tasks that wait until more can be told.
    wakers: Vec<Waker>,
}

#[derive(Default)]
struct Told {
    messages: usize,
    bytes: usize,
}

/// A message in the queue.
struct Waiting {
    text: Vec<u8>,
    kind: Kind,
}

enum Kind {
    /// Precedes the reply of a call.
    Notice(Serial),
    /// Ends a call; once it is on its way, its slot is free for the next one.
    Reply(Serial, #[expect(dead_code, reason = "held, not read")] Option<OwnedSemaphorePermit>),
    Stray,
}

/// An id as it compares: how a string is escaped makes no other id of it.
#[derive(PartialEq, Eq, Hash)]
struct Id(Box<str>);

impl Id {
    fn of(id: &RequestId) -> Self {
        let text = id.as_json();
        if !text.contains('\\') {
            return Self(text.into());
        }
        let plain = String::deserialize(&mut serde_json::Deserializer::from_str(text)).expect("checked when parsed");
        Self(format!("\"{plain}\"").into())
    }
}

impl Calls {
    pub(super) fn new(room: Room, server_info: &str) -> Self {
        let server_info = server_info.to_owned();
        Self { room, server_info, state: Mutex::default(), to_write: Notify::new(), has_room: Notify::new() }
    }

    /// Waits until another line may be read.
    pub(super) async fn room(&self) {
        while !self.lock().has_room(self.room) {
            self.has_room.notified().await;
        }
    }

    /// Opens a call; `None` if one of this id is open.
    pub(super) fn open(&self, request: &Request<'_>, line_bytes: usize) -> Option<Serial> {
        let mut state = self.lock();
        let id = Id::of(&request.id);
        if state.serials.contains_key(&id) {
            return None;
        }
        state.last += 1;
        let serial = state.last;
        state.bytes += line_bytes;
        state.serials.insert(id, serial);
        let call = Call {
            id: request.id.clone(),
            line_bytes,
            is_subscription: request.method == Method::Listen.name(),
            task: None,
            is_replied: false,
            has_told: false,
            told: Told::default(),
            wakers: Vec::new(),
        };
        state.open.insert(serial, call);
        Some(serial)
    }

    /// Notes the task a call runs in.
    pub(super) fn runs(&self, serial: Serial, task: AbortHandle) {
        if let Some(call) = self.lock().open.get_mut(&serial) {
            call.task = Some(task);
        }
    }

    /// Puts a message in the queue that precedes the call's reply. `false` if it cannot be told any more, or not now.
    pub(super) fn tell(&self, serial: Serial, text: String) -> bool {
        let mut state = self.lock();
        let Some(call) = state.open.get_mut(&serial).filter(|call| call.can_tell()) else { return false };
        call.has_told = true;
        call.told.messages += 1;
        call.told.bytes += text.len();
        state.queue.push_back(Waiting { text: text.into_bytes(), kind: Kind::Notice(serial) });
        self.to_write.notify_one();
        true
    }

    /// Whether the call can tell more; if not, the task is woken when it can. Nobody waits for a call that has ended.
    pub(super) fn poll_tell(&self, serial: Serial, task: &mut Task<'_>) -> Poll<()> {
        let mut state = self.lock();
        let Some(call) = state.open.get_mut(&serial).filter(|call| !call.is_replied) else { return Poll::Ready(()) };
        if call.can_tell() {
            return Poll::Ready(());
        }
        if !call.wakers.iter().any(|waker| waker.will_wake(task.waker())) {
            call.wakers.push(task.waker().clone());
        }
        Poll::Pending
    }

    /// Puts a call's reply in the queue.
    pub(super) fn reply(&self, serial: Serial, text: Vec<u8>, slot: OwnedSemaphorePermit) {
        self.end(serial, Some(slot), |_| text);
    }

    /// Answers a call that ended without a reply, if it did.
    pub(super) fn fail(&self, serial: Serial) {
        let error = RpcError::internal("the call failed unexpectedly; the server's log says how");
        self.end(serial, None, |id| error.to_response(Some(id)));
    }

    /// Puts a message in the queue that belongs to no open call.
    pub(super) fn say(&self, text: Vec<u8>) {
        self.lock().say(text);
        self.to_write.notify_one();
    }

    /// Drops a call and all that waits to be written for it.
    pub(super) fn cancel(&self, id: &RequestId) -> bool {
        let mut state = self.lock();
        let Some(serial) = state.serials.get(&Id::of(id)).copied() else { return false };
        let call = state.silence(serial);
        drop(state);
        self.has_room.notify_one();
        if let Some(call) = call {
            call.drop_task();
        }
        true
    }

    /// Opens no further call, and ends those that would not end by themselves.
    pub(super) fn close(&self) {
        let mut state = self.lock();
        state.is_closed = true;
        let mut subscriptions: Vec<Serial> = state
            .open
            .iter()
            .filter(|(_, call)| call.is_subscription && !call.is_replied)
            .map(|(serial, _)| *serial)
            .collect();
        subscriptions.sort_unstable();
        let ended: Vec<Call> = subscriptions.into_iter().filter_map(|serial| state.silence(serial)).collect();
        for call in &ended {
            state.say(torn_down(&call.id));
            if call.has_told {
                state.say(graceful_end(&call.id, &self.server_info));
            }
        }
        drop(state);
        self.to_write.notify_one();
        ended.into_iter().for_each(Call::drop_task);
    }

    /// Forgets everything: nobody writes any more.
    pub(super) fn abandon(&self) {
        let state = std::mem::take(&mut *self.lock());
        state.open.into_values().for_each(Call::drop_task);
    }

    /// Takes the next message to be written. `None` once these calls are closed and everything was taken.
    pub(super) async fn next(&self) -> Option<Vec<u8>> {
        loop {
            if let Some(text) = self.try_next() {
                return Some(text);
            }
            if self.is_finished() {
                return None;
            }
            self.to_write.notified().await;
        }
    }

    /// As [`next`](Self::next), if there is one now.
    pub(super) fn try_next(&self) -> Option<Vec<u8>> {
        let mut state = self.lock();
        let Waiting { text, kind } = state.queue.pop_front()?;
        let wakers = match &kind {
            Kind::Notice(serial) => state.open.get_mut(serial).map(|call| call.took(text.len())).unwrap_or_default(),
            Kind::Reply(serial, _) => state.remove(*serial).map(|call| call.wakers).unwrap_or_default(),
            Kind::Stray => {
                state.strays -= 1;
                Vec::new()
            }
        };
        drop(state);
        self.has_room.notify_one();
        wakers.into_iter().for_each(Waker::wake);
        Some(text)
    }

    fn is_finished(&self) -> bool {
        let state = self.lock();
        state.is_closed && state.open.is_empty() && state.queue.is_empty()
    }

    fn end(&self, serial: Serial, slot: Option<OwnedSemaphorePermit>, text: impl FnOnce(&RequestId) -> Vec<u8>) {
        let mut state = self.lock();
        let Some(call) = state.open.get_mut(&serial).filter(|call| !call.is_replied) else { return };
        call.is_replied = true;
        let (text, wakers) = (text(&call.id), std::mem::take(&mut call.wakers));
        if call.is_subscription && call.has_told {
            // The server has ended it, whatever for.
            let torn_down = torn_down(&call.id);
            state.say(torn_down);
        }
        state.queue.push_back(Waiting { text, kind: Kind::Reply(serial, slot) });
        drop(state);
        self.to_write.notify_one();
        wakers.into_iter().for_each(Waker::wake);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn has_room(&self, room: Room) -> bool {
        self.open.len() < room.calls && self.bytes < room.bytes && self.strays < MOST_STRAYS
    }

    fn say(&mut self, text: Vec<u8>) {
        self.strays += 1;
        self.queue.push_back(Waiting { text, kind: Kind::Stray });
    }

    /// Ends a call whose reply has left the queue.
    fn remove(&mut self, serial: Serial) -> Option<Call> {
        let call = self.open.remove(&serial)?;
        self.serials.remove(&Id::of(&call.id));
        self.bytes -= call.line_bytes;
        Some(call)
    }

    /// Ends a call and forgets all that waits to be written for it.
    fn silence(&mut self, serial: Serial) -> Option<Call> {
        self.queue.retain(|waiting| waiting.call() != Some(serial));
        self.remove(serial)
    }
}

impl Call {
    fn can_tell(&self) -> bool {
        !self.is_replied && self.told.messages < MOST_TOLD && self.told.bytes < MOST_TOLD_BYTES
    }

    /// A message of this call was taken; these tasks may have waited for that.
    fn took(&mut self, bytes: usize) -> Vec<Waker> {
        self.told.messages -= 1;
        self.told.bytes -= bytes;
        std::mem::take(&mut self.wakers)
    }

    /// Drops what is at work for this call, and lets those go who wait to tell more.
    fn drop_task(self) {
        if let Some(task) = self.task {
            task.abort();
        }
        self.wakers.into_iter().for_each(Waker::wake);
    }
}

impl Waiting {
    fn call(&self) -> Option<Serial> {
        match self.kind {
            Kind::Notice(serial) | Kind::Reply(serial, _) => Some(serial),
            Kind::Stray => None,
        }
    }
}

/// What a client is told when the server ends a subscription. Spec: `basic/patterns/cancellation`.
fn torn_down(id: &RequestId) -> Vec<u8> {
    let (id, method) = (id.as_json(), "notifications/cancelled");
    format!("{{\"jsonrpc\":\"2.0\",\"method\":\"{method}\",\"params\":{{\"requestId\":{id}}}}}").into_bytes()
}

/// The reply to a subscription that the connection ends. Spec: `basic/patterns/subscriptions#graceful-closure`.
fn graceful_end(id: &RequestId, server_info: &str) -> Vec<u8> {
    let (id, key) = (id.as_json(), meta_key::SUBSCRIPTION_ID);
    let result = format!("{{\"resultType\":\"complete\",\"_meta\":{{\"{key}\":{id},{server_info}}}}}");
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{result}}}").into_bytes()
}

/// How much of one call may wait to be written, besides its reply.
const MOST_TOLD: usize = 64;
const MOST_TOLD_BYTES: usize = 64 * 1024;
/// How many messages of no call may wait to be written before reading stops.
const MOST_STRAYS: usize = 64;
