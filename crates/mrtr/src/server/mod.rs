//! The server: what an author builds, and what answers one message from nothing but that message.
//!
//! - `builder`: [`Server`], its settings, and what can be wrong with them.
//! - `tool`, `prompt`, `resource`: [`Tool`], [`Prompt`], [`Resource`] and [`ResourceTemplate`], each a name and an async
//!   function; `described`: what their definitions have in common; `uri_template`: templates, matched.
//! - `result`, `reading`, `content`: what handlers return; `completion`: what half-typed arguments may become.
//! - `offers`: all of it, checked and looked up; `list`: pages of it.
//! - `dispatch`: one message in, one reply out; `headers`: the mirrored headers; `methods`: the requests one by one;
//!   `call`: one leg of an operation; `state`: what crosses from leg to leg; `once`, `claim`: legs that are done once,
//!   and their claims in the ledger; `lines`: who waits for one; `caller`: work that cannot ask; `answer`: a result before it is a reply;
//!   `counters`: what was counted meanwhile.
//! - `subscriptions`: calls that last, and tell their clients what has changed.
//!
//! Nothing here knows a transport. [`http`](crate::http) is a thin adapter around [`Dispatch::handle`].

mod answer;
mod arguments;
mod builder;
mod call;
mod caller;
mod claim;
mod completion;
mod content;
mod counters;
mod described;
mod dispatch;
#[cfg(test)]
mod golden;
mod headers;
mod lines;
mod list;
mod methods;
mod offers;
mod once;
mod prompt;
mod reading;
mod resource;
mod result;
mod state;
mod subscriptions;
mod tool;
mod uri_template;

pub use builder::{BuildError, Server};
pub use caller::Caller;
pub use completion::Completing;
pub use content::{Content, ResourceContents};
pub use counters::{Counters, RejectedStates};
pub use described::{Annotations, Icon, Role};
pub use dispatch::{Dispatch, Incoming, Reply};
pub use headers::{Header, HeaderSource};
pub use prompt::{IntoPromptResult, Prompt, PromptMessage, PromptResult};
pub use reading::IntoResource;
pub use resource::{Resource, ResourceInfo, ResourceTemplate};
pub use result::{IntoToolResult, Json, ToolError, ToolResult};
pub use subscriptions::{Change, Notifier, ServerHandle};
pub use tool::{NoArguments, Tool};

pub use crate::flow::{Clock, LogLevel, Outlet, Sleep, SystemClock};
