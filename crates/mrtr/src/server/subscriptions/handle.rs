//! Saying that something changed.

use std::sync::Arc;

use super::{Change, Hub, Notifier};
use crate::server::Server;

/// Tells clients that something has changed, from anywhere: a tool that changed it, a task that watches a directory.
///
/// Obtained from [`Server::handle`]; cheap to clone. Nothing is told to clients that did not subscribe to it, and many
/// changes of one thing that a client was not told of yet are told as one.
///
/// ```
/// use mrtr::{Context, NoArguments, Server, Tool};
///
/// let mut server = Server::new("notes", "1.0.0");
/// let handle = server.handle();
/// let save = Tool::new("save", move |_: NoArguments, _: Context| {
///     handle.resource_updated("note:///today");
///     async { "Saved." }
/// });
/// let server = server.tool(save).build()?;
/// # Ok::<(), mrtr::server::BuildError>(())
/// ```
#[derive(Clone, Debug)]
pub struct ServerHandle {
    hub: Arc<Hub>,
}

impl ServerHandle {
    /// Says that there are other tools, or that one is defined differently.
    pub fn tools_changed(&self) {
        self.hub.publish(&Change::ToolsChanged);
    }

    /// Says that there are other prompts, or that one is defined differently.
    pub fn prompts_changed(&self) {
        self.hub.publish(&Change::PromptsChanged);
    }

    /// Says that there are other resources, or that one is described differently.
    pub fn resources_changed(&self) {
        self.hub.publish(&Change::ResourcesChanged);
    }

    /// Says that a resource has other contents. Clients that subscribed to this very URI are told.
    pub fn resource_updated(&self, uri: impl Into<String>) {
        self.hub.publish(&Change::ResourceUpdated { uri: uri.into() });
    }

    /// Tells the clients of this server what changed at another instance; see [`Notifier`].
    pub fn deliver(&self, change: &Change) {
        self.hub.deliver(change);
    }

    /// Ends the subscriptions that are open, gracefully: their clients know that it was meant, and may open new ones.
    ///
    /// `HttpServer` does this itself when it is told to stop. Who serves in another way does it before waiting for
    /// running calls, of which a subscription is one that never ends.
    pub fn close_subscriptions(&self) {
        self.hub.close();
    }
}

impl Server {
    /// Offers subscriptions, and returns what tells their clients of changes.
    ///
    /// The server declares for each of its features that it tells of changes, and answers `subscriptions/listen`.
    /// Without a handle or a [`notifier`](Self::notifier) it does neither.
    pub fn handle(&mut self) -> ServerHandle {
        ServerHandle { hub: Arc::clone(self.subscriptions.get_or_insert_default()) }
    }

    /// Offers subscriptions, and sends changes to other instances too. Default: none, and only the clients of this
    /// process are told.
    pub fn notifier(mut self, notifier: impl Notifier) -> Self {
        self.handle().hub.set_notifier(Arc::new(notifier));
        self
    }

    /// How many subscriptions may be open at a time; default 10,000. More are refused, and asked to try again later.
    ///
    /// Each costs what its request takes (up to 256 KiB, usually less than 1 KiB) and an open connection.
    pub fn max_subscriptions(mut self, limit: usize) -> Self {
        self.limits.subscriptions = limit;
        self
    }
}
