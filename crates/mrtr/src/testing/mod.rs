//! For authors' own tests: scenarios that read aloud, and a kit of faults.
//!
//! Both run a tool on real instances of a server, in the process, without ports and without waiting: time is a
//! [`HandClock`]'s. Put it into `[dev-dependencies]`: `mrtr = { .., features = ["testing"] }`.
//!
//! # Scenarios
//!
//! ```
//! use mrtr::testing::{Flow, form};
//! use mrtr::{Context, Tool, ToolError};
//! use serde_json::json;
//!
//! #[derive(serde::Deserialize, schemars::JsonSchema)]
//! struct Refund { order: u32 }
//!
//! #[derive(serde::Deserialize, schemars::JsonSchema)]
//! struct Confirm { sure: bool }
//!
//! async fn refund(refund: Refund, cx: Context) -> Result<String, ToolError> {
//!     let confirm: Confirm = cx.elicit("confirm", format!("Refund order {}?", refund.order)).await?;
//!     Ok(if confirm.sure { "Refunded." } else { "Nothing was refunded." }.into())
//! }
//!
//! let scene = || Flow::new(Tool::new("refund", refund)).call(json!({ "order": 7 }));
//! scene().expects(form("confirm").saying("order 7")).answers(json!({ "sure": true })).finishes("Refunded.");
//! scene().expects(form("confirm")).declines().fails_with("declined");
//! scene().answers(json!({ "sure": "perhaps" })).expects(form("confirm").saying("sure"));
//! ```
//!
//! What is not as it says panics with the whole conversation. See [`Flow`] and [`Scene`].
//!
//! # Faults
//!
//! [`torture`] loses replies, repeats requests, forks states, changes questions, lets states expire, rotates keys,
//! refuses, leaves out answers and answers badly, in every round, and reports every effect that happened twice.
//!
//! # Runtimes
//!
//! Plain `#[test]` functions will do. A handler that needs tokio (its timers, its sockets) is tested in a
//! `#[tokio::test(flavor = "multi_thread")]`, with the same calls: they block the test's thread, so the runtime needs
//! another one.

mod clock;
mod effects;
mod fleet;
mod flow;
mod question;
mod reply;
mod report;
mod run;
mod script;
mod stage;
mod torture;
mod vary;

pub use clock::HandClock;
pub use effects::Effects;
pub use flow::{Flow, Scene};
pub use question::{Question, form, roots, sampling, url};
pub use report::{Fault, Finding, Problem, Report};
pub use script::Script;
pub use torture::torture;
