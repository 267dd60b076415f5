//! The client of this round, as it describes itself.

use std::ops::Deref;
use std::sync::OnceLock;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::wire::ClientCapabilities;

/// Who calls and what it can be asked, taken from the request of this round. Derefs to its [`ClientCapabilities`].
///
/// Name and version are self-reported: for display and logs, never for decisions.
#[derive(Clone, Debug, Default)]
pub struct ClientInfo {
    /// As it came: few handlers ask.
    raw: Option<Box<RawValue>>,
    implementation: OnceLock<Option<Implementation>>,
    capabilities: ClientCapabilities,
}

#[derive(Clone, Debug, Deserialize)]
struct Implementation {
    name: String,
    version: String,
}

impl ClientInfo {
    pub(crate) fn new(raw: Option<&RawValue>, capabilities: ClientCapabilities) -> Self {
        Self { raw: raw.map(ToOwned::to_owned), implementation: OnceLock::new(), capabilities }
    }

    /// The client's name, where it gave one.
    pub fn name(&self) -> Option<&str> {
        self.implementation().map(|implementation| &*implementation.name)
    }

    /// The client's version, where it gave one.
    pub fn version(&self) -> Option<&str> {
        self.implementation().map(|implementation| &*implementation.version)
    }

    /// What the client declared for this request.
    pub fn capabilities(&self) -> &ClientCapabilities {
        &self.capabilities
    }

    fn implementation(&self) -> Option<&Implementation> {
        let read = || serde_json::from_str(self.raw.as_ref()?.get()).ok();
        self.implementation.get_or_init(read).as_ref()
    }
}

impl Deref for ClientInfo {
    type Target = ClientCapabilities;

    fn deref(&self) -> &ClientCapabilities {
        &self.capabilities
    }
}
