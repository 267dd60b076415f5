//! The client of this round, as it describes itself.

use std::ops::Deref;

use crate::wire::ClientCapabilities;

/// Who calls and what it can be asked, taken from the request of this round. Derefs to its [`ClientCapabilities`].
///
/// Name and version are self-reported: for display and logs, never for decisions.
#[derive(Clone, Debug, Default)]
pub struct ClientInfo {
    pub(crate) implementation: Option<(String, String)>,
    pub(crate) capabilities: ClientCapabilities,
}

impl ClientInfo {
    /// The client's name, where it gave one.
    pub fn name(&self) -> Option<&str> {
        self.implementation.as_ref().map(|(name, _)| &**name)
    }

    /// The client's version, where it gave one.
    pub fn version(&self) -> Option<&str> {
        self.implementation.as_ref().map(|(_, version)| &**version)
    }

    /// What the client declared for this request.
    pub fn capabilities(&self) -> &ClientCapabilities {
        &self.capabilities
    }
}

impl Deref for ClientInfo {
    type Target = ClientCapabilities;

    fn deref(&self) -> &ClientCapabilities {
        &self.capabilities
    }
}
