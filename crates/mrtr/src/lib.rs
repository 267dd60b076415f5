//! MCP Multi Round-Trip Requests: tools that ask the user in the middle of a call.

pub mod form;
pub mod seal;
pub mod server;
pub mod wire;

pub use seal::{Keyring, KeyringError, Principal};

#[cfg(feature = "client")]
pub mod client;
#[cfg(feature = "http")]
pub mod http;
