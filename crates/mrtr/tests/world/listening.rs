//! A client that listens, without a transport.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context as Task, Poll, Wake, Waker};

use mrtr::server::{Dispatch, Incoming, Outlet, Reply};
use serde_json::{Value, json};

/// Keeps what is sent, for as long as there is room for it.
#[derive(Debug, Default)]
pub struct Told {
    messages: Mutex<Vec<String>>,
    is_full: Mutex<bool>,
}

impl Told {
    pub fn set_full(&self, is_full: bool) {
        *self.is_full.lock().expect("full") = is_full;
    }

    pub fn len(&self) -> usize {
        self.messages.lock().expect("messages").len()
    }
}

impl Outlet for Told {
    fn send(&self, message: String) -> bool {
        self.messages.lock().expect("messages").push(message);
        true
    }

    fn poll_room(&self, _: &mut Task<'_>) -> Poll<()> {
        if *self.is_full.lock().expect("full") { Poll::Pending } else { Poll::Ready(()) }
    }
}

#[derive(Debug, Default)]
struct Woken(AtomicUsize);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// A client that listens, polled by hand.
pub struct Listening {
    call: Pin<Box<dyn Future<Output = Reply> + Send>>,
    pub told: Arc<Told>,
    woken: Arc<Woken>,
}

impl Listening {
    pub fn open(server: &Arc<Dispatch>, id: &Value, notifications: &Value) -> Self {
        let (server, told) = (Arc::clone(server), Arc::new(Told::default()));
        let (message, outlet) = (listen(id, notifications).to_string(), told.clone());
        let call = async move { server.handle(Incoming::new(message.as_bytes()).outlet(outlet)).await };
        Self { call: Box::pin(call), told, woken: Arc::default() }
    }

    /// What it is told next; and its reply, if it ended.
    pub fn poll(&mut self) -> (Vec<Value>, Option<Value>) {
        let waker = Waker::from(self.woken.clone());
        let reply = match self.call.as_mut().poll(&mut Task::from_waker(&waker)) {
            Poll::Ready(reply) => Some(serde_json::from_slice(&reply.body).expect("JSON")),
            Poll::Pending => None,
        };
        let messages = std::mem::take(&mut *self.told.messages.lock().expect("messages"));
        (messages.iter().map(|message| serde_json::from_str(message).expect("JSON")).collect(), reply)
    }

    /// The methods of what it is told next.
    pub fn hears(&mut self) -> Vec<String> {
        let (messages, reply) = self.poll();
        assert_eq!(reply, None);
        messages.iter().map(|message| message["method"].as_str().expect("a method").to_owned()).collect()
    }

    pub fn times_woken(&self) -> usize {
        self.woken.0.load(Ordering::Relaxed)
    }

    /// The code and the message it is refused with.
    pub fn refusal(&mut self) -> (Value, String) {
        let (messages, reply) = self.poll();
        assert!(messages.is_empty());
        let error = reply.expect("a refusal")["error"].take();
        (error["code"].clone(), error["message"].as_str().expect("a message").to_owned())
    }
}

/// The request that opens a subscription.
pub fn listen(id: &Value, notifications: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": "subscriptions/listen", "params": {
        "notifications": notifications,
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        },
    } })
}
