//! The server: what an author builds, and what answers one message from nothing but that message.
//!
//! - `builder`: [`Server`], its settings, and what can be wrong with them.
//! - `tool`: [`Tool`], a name and an async function.
//! - `result`: what handlers return.
//! - `dispatch`: one message in, one reply out; `headers`: the mirrored headers; `call`: one leg of an operation.
//! - `subscriptions`: calls that last, and tell their clients what has changed.
//!
//! Nothing here knows a transport. [`http`](crate::http) is a thin adapter around [`Dispatch::handle`].

mod arguments;
mod builder;
mod call;
mod dispatch;
#[cfg(test)]
mod golden;
mod headers;
mod result;
mod subscriptions;
mod tool;

pub use builder::{BuildError, Server};
pub use dispatch::{Dispatch, Incoming, Reply};
pub use headers::{Header, HeaderSource};
pub use result::{Content, IntoToolResult, Json, ToolError, ToolResult};
pub use subscriptions::{Change, Notifier, ServerHandle};
pub use tool::{NoArguments, Tool};

pub use crate::flow::{Clock, LogLevel, Outlet, Sleep, SystemClock};
