//! A client at the other end of two pipes, on tokio's paused time.

#![allow(clippy::needless_pass_by_value, reason = "json!(..) reads better without a borrow")]

mod calls;
mod end;
mod framing;
mod pressure;
mod subscriptions;
mod world;
