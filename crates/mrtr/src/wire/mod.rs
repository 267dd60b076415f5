//! The wire: JSON-RPC messages of MCP revision 2026-07-28, raw JSON first.
//!
//! Routing needs a handful of fields; those are parsed and checked once, here. Everything else stays the bytes it came
//! in, so unknown fields and number spellings survive. No module in here does I/O.
//!
//! Public are the names the protocol gives things, and what headers carry; how messages are read is an internal matter.

mod error;
mod header;
mod id;
pub(crate) mod json;
mod message;
mod meta;
mod method;
pub(crate) mod object;
mod param_header;

pub use error::OUTCOME_UNKNOWN;
pub(crate) use error::RpcError;
pub use header::{decode_value, encode_value};
pub(crate) use id::RequestId;
pub(crate) use message::{Malformed, Message, Request, Text};
pub(crate) use meta::Meta;
pub use meta::{ClientCapabilities, Declared, ElicitationCapability, SamplingCapability};
pub(crate) use method::Method;
pub(crate) use object::Object;
pub(crate) use param_header::{ParamHeader, param_headers};

/// The protocol revision this crate speaks.
pub const PROTOCOL_VERSION: &str = "2026-07-28";

/// Every revision a server of this crate answers, newest first.
pub const SUPPORTED_VERSIONS: [&str; 1] = [PROTOCOL_VERSION];

/// Names of `_meta` keys: those the protocol reserves, and this crate's own. Spec: `basic/index#meta`.
pub mod meta_key {
    /// The revision a request speaks.
    pub const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
    /// Who the client says it is.
    pub const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
    /// What the client can be asked.
    pub const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
    /// From which level on a request wants log messages.
    pub const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
    /// The client's own name for the operation it starts: an extension of this crate, see `docs/guarantees.md`.
    pub const IDEMPOTENCY_KEY: &str = "mrtr/idempotencyKey";
    /// Which subscription a message belongs to.
    pub const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";
    /// Who the server says it is.
    pub const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
}

/// Values of `resultType`. Spec: `basic/index#resulttype`.
pub mod result_type {
    /// The result is final.
    pub const COMPLETE: &str = "complete";
    /// The result asks for input; retry with the answers.
    pub const INPUT_REQUIRED: &str = "input_required";
}
