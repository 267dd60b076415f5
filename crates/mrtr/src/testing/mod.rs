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
//! # Ledgers
//!
//! [`ledger_contract`] puts a [`Ledger`](crate::ledger::Ledger) of your own through all it has to keep to.
//!
//! # Runtimes
//!
//! Plain `#[test]` functions will do, for nothing here needs a runtime. A handler that needs tokio (its timers, its
//! sockets) is tested in a plain function as well, inside a runtime with threads of its own:
//!
//! ```
//! # use mrtr::{Context, NoArguments, Tool, testing::Flow};
//! # use std::time::Duration;
//! # use serde_json::json;
//! # fn main() -> Result<(), std::io::Error> {
//! async fn slow(_: NoArguments, _: Context) -> String {
//!     tokio::time::sleep(Duration::from_millis(1)).await;
//!     "Done.".into()
//! }
//!
//! let runtime = tokio::runtime::Runtime::new()?;
//! let _inside = runtime.enter();
//! Flow::new(Tool::new("slow", slow)).call(json!({})).finishes("Done.");
//! # Ok(()) }
//! ```
//!
//! Not in `#[tokio::test]`: there all of a test is one task, and tokio makes a task that never pauses wait for its timers
//! for ever.

mod clock;
mod effects;
mod faults;
mod fleet;
mod flow;
mod question;
mod reply;
mod report;
mod run;
mod script;
mod stage;
mod trial;
mod vary;

pub use crate::ledger::contract::ledger_contract;
pub use clock::HandClock;
pub use effects::Effects;
pub use flow::{Flow, Scene};
pub use question::{Question, form, roots, sampling, url};
pub use report::{Fault, Finding, Problem, Report};
pub use script::Script;
pub use trial::torture;
