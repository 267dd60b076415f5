//! Scenarios: whole operations between a client and instances of a server, without ports and without waiting.

#![allow(missing_docs, missing_debug_implementations, unreachable_pub, reason = "tests")]

mod attacks;
mod clients;
mod drift;
mod flows;
mod fuzz;
mod laws;
mod limits;
mod properties;
#[cfg(feature = "client")]
mod properties_client;
mod regression;
mod replay;
mod tools;
mod waits;
mod world;
