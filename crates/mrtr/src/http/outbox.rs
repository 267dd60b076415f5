//! What a call has said and its client was not sent yet.
//!
//! Two ends of one thing: the [`Outbox`] is what the call speaks into, from whatever thread; [`Said`] is where the
//! response takes it from. The memory between them is bounded, whatever a handler says.

use std::{
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
};

use crate::server::Outlet;

/// How many messages wait at most, and from how many bytes on no more are taken. What goes over it is lost: a client
/// that does not keep up misses some progress, and never the reply, which does not go through here.
const MESSAGES: usize = 256;
const BYTES: usize = 1024 * 1024;

/// The call's end.
#[derive(Debug, Default)]
pub(super) struct Outbox(Mutex<Waiting>);

/// The response's end; without it nothing more is taken.
#[derive(Debug)]
pub(super) struct Said(Arc<Outbox>);

#[derive(Debug, Default)]
struct Waiting {
    messages: Vec<String>,
    bytes: usize,
    /// Nobody will take what is said from now on.
    is_over: bool,
    /// The task that sends, while it waits for something to send.
    sending: Option<Waker>,
    /// The tasks that wait for room.
    blocked: Vec<Waker>,
}

/// Both ends of an empty outbox, which costs one allocation.
pub(super) fn new() -> (Arc<Outbox>, Said) {
    let outbox = Arc::<Outbox>::default();
    (Arc::clone(&outbox), Said(outbox))
}

impl Outbox {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    /// Judged before a message comes and not by its size, so that [`Outlet::poll_room`] holds for any message.
    fn has_room(&self) -> bool {
        self.messages.len() < MESSAGES && self.bytes < BYTES
    }
}

impl Outlet for Outbox {
    fn send(&self, message: String) -> bool {
        let mut waiting = self.waiting();
        if waiting.is_over || !waiting.has_room() {
            return false;
        }
        waiting.bytes += message.len();
        waiting.messages.push(message);
        let sending = waiting.sending.take();
        drop(waiting);
        if let Some(sending) = sending {
            sending.wake();
        }
        true
    }

    /// There is always room once it is over: what waits must not wait for ever.
    fn poll_room(&self, task: &mut Context<'_>) -> Poll<()> {
        let mut waiting = self.waiting();
        if waiting.is_over || waiting.has_room() {
            return Poll::Ready(());
        }
        if !waiting.blocked.iter().any(|waker| waker.will_wake(task.waker())) {
            waiting.blocked.push(task.waker().clone());
        }
        Poll::Pending
    }
}

impl Said {
    /// Whether nothing waits to be sent.
    pub(super) fn is_empty(&self) -> bool {
        self.0.waiting().messages.is_empty()
    }

    /// Takes what waits to be sent.
    pub(super) fn take(&self) -> Vec<String> {
        self.empty(false)
    }

    /// Takes what waits to be sent, and no more from now on.
    pub(super) fn close(&self) -> Vec<String> {
        self.empty(true)
    }

    /// Ready when something waits to be sent; until then the task is woken when it does.
    pub(super) fn poll_any(&self, task: &mut Context<'_>) -> Poll<()> {
        let mut waiting = self.0.waiting();
        if !waiting.messages.is_empty() {
            return Poll::Ready(());
        }
        match &mut waiting.sending {
            Some(sending) => sending.clone_from(task.waker()),
            none => *none = Some(task.waker().clone()),
        }
        Poll::Pending
    }

    /// The task that takes is at work: nobody has to wake it, only those it makes room for.
    fn empty(&self, is_over: bool) -> Vec<String> {
        let mut waiting = self.0.waiting();
        waiting.is_over |= is_over;
        waiting.bytes = 0;
        waiting.sending = None;
        let blocked = mem::take(&mut waiting.blocked);
        let messages = mem::take(&mut waiting.messages);
        drop(waiting);
        blocked.into_iter().for_each(Waker::wake);
        messages
    }
}

impl Drop for Said {
    fn drop(&mut self) {
        self.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn has_room(outbox: &Outbox) -> bool {
        outbox.poll_room(&mut Context::from_waker(Waker::noop())).is_ready()
    }

    #[test]
    fn messages_are_taken_in_order_until_there_are_too_many() {
        let (outbox, said) = new();
        let taken = (0..1_000).filter(|number: &usize| outbox.send(number.to_string())).count();
        assert_eq!(taken, MESSAGES);
        assert!(!has_room(&outbox));
        let expected: Vec<String> = (0..MESSAGES).map(|number| number.to_string()).collect();
        assert_eq!(said.take(), expected);
        assert!(has_room(&outbox) && said.is_empty());
    }

    #[test]
    fn where_there_is_room_there_is_room_for_any_message() {
        let (outbox, said) = new();
        assert!(outbox.send("short".to_owned()) && has_room(&outbox));
        assert!(outbox.send("x".repeat(2 * BYTES)) && !has_room(&outbox));
        assert!(!outbox.send("short".to_owned()));
        assert_eq!(said.take().len(), 2);
    }

    #[test]
    fn nothing_is_taken_and_nobody_waits_once_the_response_is_gone() {
        let (outbox, said) = new();
        while outbox.send(String::new()) {}
        assert!(!has_room(&outbox));
        drop(said);
        assert!(has_room(&outbox) && !outbox.send(String::new()));
    }
}
