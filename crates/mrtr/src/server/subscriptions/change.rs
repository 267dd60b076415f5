//! What there is to tell, and how it gets to other instances.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Something clients may have subscribed to has changed.
///
/// It can be written with any `serde` format, to be sent to other instances: as JSON it is `"tools_changed"` or
/// `{"resource_updated":{"uri":"file:///config.json"}}`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Change {
    /// There are other tools, or a tool is defined differently.
    ToolsChanged,
    /// There are other prompts, or a prompt is defined differently.
    PromptsChanged,
    /// There are other resources, or a resource is described differently.
    ResourcesChanged,
    /// A resource has other contents.
    ResourceUpdated {
        /// Which, as clients name it.
        uri: String,
    },
}

/// Carries changes to the other instances of a fleet, over whatever connects them.
///
/// A change said to a [`ServerHandle`](super::ServerHandle) is told to the clients of its own server in any case, and
/// then handed to the notifier. What arrives from other instances goes to their clients with
/// [`ServerHandle::deliver`](super::ServerHandle::deliver), which does not come back here. A channel that also brings an
/// instance its own changes, as a Redis one does, makes clients hear them twice: a needless look, and no harm.
///
/// Any `Fn(&Change)` is one. Here two servers in one process stand for two instances:
///
/// ```
/// use std::sync::{Arc, OnceLock};
/// use mrtr::server::{Change, Server, ServerHandle};
///
/// /// The way to the other instance, which has to be built first; over Redis this would be a channel's name.
/// type Other = Arc<OnceLock<ServerHandle>>;
///
/// fn instance(other: Other) -> (Server, ServerHandle) {
///     let mut server = Server::new("releases", "1.0.0").notifier(move |change: &Change| {
///         let sent = serde_json::to_string(change).expect("a change can be written");
///         let received: Change = serde_json::from_str(&sent).expect("and read");
///         other.get().expect("built").deliver(&received);
///     });
///     let handle = server.handle();
///     (server, handle)
/// }
///
/// let (to_first, to_second) = (Other::default(), Other::default());
/// let (first, first_handle) = instance(to_second.clone());
/// let (second, second_handle) = instance(to_first.clone());
/// to_first.set(first_handle.clone()).expect("once");
/// to_second.set(second_handle).expect("once");
/// let (first, second) = (first.build()?, second.build()?);
///
/// // Clients of both servers that listen hear of it.
/// first_handle.tools_changed();
/// # Ok::<(), mrtr::server::BuildError>(())
/// ```
pub trait Notifier: Send + Sync + 'static {
    /// Sends a change to the other instances, without waiting: it is called where the change is said.
    ///
    /// What goes wrong is the notifier's to log. A change that is lost leaves clients with what they have until their
    /// copies expire.
    fn publish(&self, change: &Change);
}

impl<F: Fn(&Change) + Send + Sync + 'static> Notifier for F {
    fn publish(&self, change: &Change) {
        self(change);
    }
}

impl fmt::Debug for dyn Notifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Notifier")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_written_as_it_was_and_will_be() {
        for (change, text) in [
            (Change::ToolsChanged, r#""tools_changed""#),
            (Change::PromptsChanged, r#""prompts_changed""#),
            (Change::ResourcesChanged, r#""resources_changed""#),
            (Change::ResourceUpdated { uri: "a:b".to_owned() }, r#"{"resource_updated":{"uri":"a:b"}}"#),
        ] {
            assert_eq!(serde_json::to_string(&change).expect("JSON"), text);
            assert_eq!(serde_json::from_str::<Change>(text).expect(text), change);
        }
    }
}
