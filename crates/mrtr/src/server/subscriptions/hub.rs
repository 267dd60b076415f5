//! All open subscriptions of a server, and the way to those of other instances.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::task::Waker;

use super::filter::Filter;
use super::listener::Listener;
use super::{Change, Notifier};
use crate::wire::RpcError;

/// Where changes are said and listened for.
///
/// Telling a change looks at every listener in turn, in the order in which they came.
#[derive(Debug, Default)]
pub(in crate::server) struct Hub {
    open: Mutex<Open>,
    notifier: RwLock<Option<Arc<dyn Notifier>>>,
}

#[derive(Debug, Default)]
struct Open {
    listeners: BTreeMap<u64, Arc<Listener>>,
    next: u64,
}

/// A listener in the hub, for as long as this lives.
#[derive(Debug)]
pub(super) struct Listening {
    hub: Arc<Hub>,
    number: u64,
    listener: Arc<Listener>,
}

impl Hub {
    /// Opens a subscription, unless there are `limit` already.
    pub(super) fn open(self: &Arc<Self>, filter: Filter, limit: usize) -> Result<Listening, RpcError> {
        let mut open = self.listeners();
        if open.listeners.len() >= limit {
            return Err(RpcError::busy("too many subscriptions are open on this server; try again later"));
        }
        let (number, listener) = (open.next, Arc::new(Listener::new(filter)));
        open.next += 1;
        open.listeners.insert(number, Arc::clone(&listener));
        Ok(Listening { hub: Arc::clone(self), number, listener })
    }

    /// Tells a change to the clients of this server, and hands it to the notifier.
    pub(super) fn publish(&self, change: &Change) {
        self.deliver(change);
        let notifier = self.notifier.read().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(notifier) = notifier {
            notifier.publish(change);
        }
    }

    /// Tells a change to the clients of this server.
    pub(super) fn deliver(&self, change: &Change) {
        self.wake(|listener| listener.note(change));
    }

    /// Ends the subscriptions that are open.
    pub(super) fn close(&self) {
        self.wake(Listener::close);
    }

    pub(super) fn set_notifier(&self, notifier: Arc<dyn Notifier>) {
        *self.notifier.write().unwrap_or_else(PoisonError::into_inner) = Some(notifier);
    }

    /// Does something with every listener, and then wakes whom that is to wake: who is woken may come right back.
    fn wake(&self, mut work: impl FnMut(&Listener) -> Option<Waker>) {
        let wakers: Vec<Waker> = self.listeners().listeners.values().filter_map(|listener| work(listener)).collect();
        wakers.into_iter().for_each(Waker::wake);
    }

    fn listeners(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Deref for Listening {
    type Target = Listener;

    fn deref(&self) -> &Listener {
        &self.listener
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.hub.listeners().listeners.remove(&self.number);
    }
}
