//! MCP Multi Round-Trip Requests: tools that ask the user in the middle of a call.

pub mod flow;
pub mod form;
pub mod seal;
pub mod server;
pub mod wire;

pub use flow::{Context, ContextError, Outcome};
pub use seal::{Keyring, KeyringError, Principal};
pub use server::{IntoToolResult, Json, NoArguments, Server, Tool, ToolError, ToolResult};

#[cfg(feature = "client")]
pub mod client;
#[cfg(feature = "http")]
pub mod http;
