//! MCP Multi Round-Trip Requests: tools that ask the user in the middle of a call, on a stateless fleet.
//!
//! A tool is one straight async function. Where it needs the user it awaits the answer; the call ends with a question
//! and a sealed state, and whichever instance gets the retry goes on from there. Nothing is kept in between.
//!
//! ```
//! use mrtr::{Context, Keyring, Server, Tool, ToolError};
//!
//! #[derive(serde::Deserialize, schemars::JsonSchema)]
//! struct Deploy { service: String, version: String }
//!
//! #[derive(serde::Deserialize, schemars::JsonSchema)]
//! struct Confirm {
//!     /// Confirm production deploy
//!     confirm: bool,
//! }
//!
//! async fn deploy_release(deploy: Deploy, cx: Context) -> Result<String, ToolError> {
//!     let question = format!("Deploy {} {} to production?", deploy.service, deploy.version);
//!     let answer: Confirm = cx.elicit("confirm_prod", question).await?;
//!     if !answer.confirm { return Ok("Nothing was deployed.".into()); }
//!     Ok(format!("Deployed {} {} to production.", deploy.service, deploy.version))
//! }
//!
//! let server = Server::new("releases", "1.0.0")
//!     .keys(Keyring::random())
//!     .tool(Tool::new("deploy_release", deploy_release).description("Deploy a release, after the user confirms"))
//!     .build()?;
//! # Ok::<(), mrtr::server::BuildError>(())
//! ```
//!
//! # Where to look
//!
//! | for | see |
//! |---|---|
//! | writing tools | [`Context`], [`Tool`], [`ToolError`] |
//! | prompts and resources | [`Prompt`], [`Resource`], [`ResourceTemplate`] |
//! | forms and their rules | [`form`] |
//! | serving | [`Server`], [`http`], [`stdio`] |
//! | telling clients what changed | [`ServerHandle`](server::ServerHandle) |
//! | calling | [`client`] |
//! | keys and what a state promises | [`Keyring`], `docs/state-format.md` |
//! | what is inside a token | [`inspect`] |
//! | who the caller is | [`Principal`] |
//! | what is done once | [`Tool::once`], [`ledger`], `docs/guarantees.md` |
//! | testing tools | [`testing`] |
//! | what goes over the wire | [`wire`] |
//!
//! # Features
//!
//! `http` (default) serves over Streamable HTTP; `jwt` adds to it an authenticator for access tokens that are JSON Web
//! Tokens; `stdio` serves over stdin and stdout; `client` calls servers; `testing` has what authors test their tools
//! with. Without any, the engine is left: it does no I/O and needs no runtime.

#![cfg_attr(
    not(all(feature = "http", feature = "stdio", feature = "client", feature = "jwt", feature = "testing")),
    allow(rustdoc::broken_intra_doc_links)
)]

#[cfg(feature = "__bench")]
#[doc(hidden)]
pub mod bench;
pub mod flow;
pub mod form;
pub mod inspect;
pub mod ledger;
#[cfg(any(feature = "http", feature = "stdio"))]
mod runtime;
mod seal;
pub mod server;
#[doc(hidden)]
pub mod visible;
pub mod wire;

#[cfg(feature = "client")]
pub mod client;
#[cfg(feature = "http")]
pub mod http;
#[cfg(feature = "stdio")]
pub mod stdio;
#[cfg(feature = "testing")]
pub mod testing;
#[cfg(any(feature = "client", feature = "jwt"))]
mod tls;

pub use flow::{Context, ContextError, LogLevel, Outcome};
pub use seal::{Keyring, KeyringError, Principal};
pub use server::{
    IntoPromptResult, IntoResource, IntoToolResult, Json, NoArguments, Prompt, Resource, ResourceTemplate, Server,
    Tool, ToolError, ToolResult,
};

/// The README's code, compiled.
#[cfg(all(doctest, feature = "http", feature = "client"))]
#[doc = include_str!("../../../README.md")]
struct Readme;
