//! `subscriptions/listen`: a call that lasts, and tells its client what has changed.
//!
//! - `change`: [`Change`], what there is to tell, and [`Notifier`], which tells it to other instances;
//! - `handle`: [`ServerHandle`], with which an author says that something changed;
//! - `filter`: what a client wants to hear; `listener`: what of it is due; `hub`: all listeners of a server.
//!
//! Spec: `basic/patterns/subscriptions`. A subscription lives in the future of its call and nowhere else: dropping that
//! ends it. It has no time limit, and holds its request, an entry in the hub and one mark for each thing it listens to,
//! however much is published.
//!
//! On stdio a server that ends a subscription also sends `notifications/cancelled` for its id, which is the transport's
//! to do: it knows that the listen call's future has ended, and the client did not cancel it.

mod change;
mod filter;
mod handle;
mod hub;
mod listener;

use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context as Task, Poll};

use serde_json::{Map, Value, json};
use tracing::debug;

pub use change::{Change, Notifier};
use filter::Filter;
pub use handle::ServerHandle;
pub(super) use hub::Hub;
use listener::{Listener, Topic};

use super::answer::{Answer, Completed};
use super::{Dispatch, Incoming};
use crate::flow::Outlet;
use crate::wire::{Request, RequestId, RpcError, json, meta_key};

/// The largest request that opens a subscription, which keeps it for as long as it lasts.
const MAX_REQUEST: usize = 256 * 1024;

/// What a server that has subscriptions needs to answer `subscriptions/listen`.
#[derive(Debug)]
pub(super) struct Subscriptions {
    hub: Arc<Hub>,
    features: Features,
    limit: usize,
}

/// Of which features changes are told: those the server has.
#[derive(Clone, Copy, Debug)]
struct Features {
    tools: bool,
    prompts: bool,
    resources: bool,
}

impl Subscriptions {
    /// Declares in these capabilities, for each feature that stands there, that its changes are told.
    pub(super) fn declare(hub: Arc<Hub>, limit: usize, capabilities: &mut Map<String, Value>) -> Self {
        let mut declare = |feature: &str, flags: &[&str]| {
            let Some(Value::Object(declared)) = capabilities.get_mut(feature) else { return false };
            declared.extend(flags.iter().map(|flag| ((*flag).to_owned(), json!(true))));
            true
        };
        let features = Features {
            tools: declare("tools", &["listChanged"]),
            prompts: declare("prompts", &["listChanged"]),
            resources: declare("resources", &["listChanged", "subscribe"]),
        };
        Self { hub, features, limit }
    }

    /// Ends all subscriptions that are open.
    pub(super) fn close(&self) {
        self.hub.close();
    }
}

impl Dispatch {
    /// Tells the client what changes, until the server ends it; the result is the graceful end
    /// (spec: `basic/patterns/subscriptions#graceful-closure`).
    ///
    /// A server without subscriptions does not know the method, as for any other feature it lacks: acknowledging nothing
    /// would hold a connection open for nothing.
    pub(super) async fn listen(&self, request: &Request<'_>, incoming: &Incoming<'_>) -> Answer {
        let subscriptions = self.subscriptions.as_ref().ok_or_else(|| RpcError::method_not_found(&request.method))?;
        let Some(outlet) = &incoming.outlet else {
            return Err(RpcError::internal("this transport cannot carry notifications, and a subscription needs them"));
        };
        if incoming.body.len() > MAX_REQUEST {
            let message = format!("a subscription's request must not be larger than {MAX_REQUEST} bytes");
            return Err(RpcError::invalid_params(message));
        }
        let filter = Filter::parse(request.params.notifications)?.restricted(subscriptions.features);
        let acknowledged = acknowledged(&request.id, &filter);
        // Open before it is acknowledged: no change falls between the two.
        let listening = subscriptions.hub.open(filter, subscriptions.limit)?;
        poll_fn(|task| outlet.poll_room(task)).await;
        if outlet.send(acknowledged) {
            poll_fn(|task| poll_told(&listening, &**outlet, &request.id, task)).await;
        }
        Ok(Completed { meta: subscription_id(&request.id), ..Completed::final_with("") })
    }
}

/// Sends what is due while there is room; ready when the subscription is over.
///
/// What has no room stays with the listener, where many changes of one thing are one.
fn poll_told(listener: &Listener, outlet: &dyn Outlet, id: &RequestId, task: &mut Task<'_>) -> Poll<()> {
    loop {
        let has_room = outlet.poll_room(task).is_ready();
        let Poll::Ready(due) = listener.poll_due(task, has_room) else { return Poll::Pending };
        let Some(topic) = due else { return Poll::Ready(()) };
        if !outlet.send(notification(id, topic)) {
            debug!("a change could not be sent, so the subscription ends: its client would not know what it missed");
            return Poll::Ready(());
        }
    }
}

fn acknowledged(id: &RequestId, filter: &Filter) -> String {
    let filter = serde_json::to_string(filter).expect("flags and strings can be written");
    message("notifications/subscriptions/acknowledged", id, &format!(",\"notifications\":{filter}"))
}

fn notification(id: &RequestId, topic: Topic<'_>) -> String {
    match topic {
        Topic::Tools => message("notifications/tools/list_changed", id, ""),
        Topic::Prompts => message("notifications/prompts/list_changed", id, ""),
        Topic::Resources => message("notifications/resources/list_changed", id, ""),
        Topic::Resource(uri) => {
            message("notifications/resources/updated", id, &format!(",\"uri\":{}", json::string(uri)))
        }
    }
}

/// A notification of the subscription of this id. What is added to its parameters begins with a comma.
fn message(method: &str, id: &RequestId, more: &str) -> String {
    let id = subscription_id(id);
    format!("{{\"jsonrpc\":\"2.0\",\"method\":\"{method}\",\"params\":{{\"_meta\":{{{id}}}{more}}}}}")
}

/// The member of `_meta` that every message of a subscription has.
fn subscription_id(id: &RequestId) -> String {
    format!("\"{}\":{}", meta_key::SUBSCRIPTION_ID, id.as_json())
}
