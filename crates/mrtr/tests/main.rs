//! Scenarios: whole operations between a client and instances of a server, without ports and without waiting.

#![allow(missing_docs, missing_debug_implementations, unreachable_pub, reason = "tests")]

mod attacks;
mod cases;
mod clients;
mod drift;
mod flows;
mod headers;
mod limits;
mod offers;
mod protocol;
mod questions;
mod replay;
mod tools;
mod waits;
mod world;
