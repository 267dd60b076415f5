//! Scenarios: whole operations between a client and instances of a server, without ports and without waiting.

#![allow(missing_docs, missing_debug_implementations, unreachable_pub, reason = "tests")]
#![allow(clippy::needless_pass_by_value, reason = "json!(..) reads better without a borrow")]

mod attacks;
mod authors;
mod cases;
mod clients;
mod completion;
mod drift;
mod flows;
#[cfg(feature = "client")]
mod form_cases;
mod fuzz;
mod headers;
mod laws;
mod ledgers;
mod limits;
mod lists;
mod offers;
mod once;
mod prompts;
mod properties;
#[cfg(feature = "client")]
mod properties_client;
mod protocol;
mod questions;
#[cfg(feature = "redis")]
mod redis;
mod regression;
mod replay;
mod resources;
mod results;
mod rotation;
mod spilled;
#[cfg(all(feature = "stdio", unix))]
mod stdio;
mod subscriptions;
mod threads;
mod tools;
mod torture;
mod waits;
mod world;
