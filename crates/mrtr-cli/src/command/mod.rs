//! The subcommands, a file each, and what they share.

mod answers;
mod arguments;
pub(crate) mod call;
pub(crate) mod demo;
pub(crate) mod demo_server;
pub(crate) mod health;
pub(crate) mod keygen;
mod script;
pub(crate) mod state;
pub(crate) mod tools;
pub(crate) mod trace;

pub(crate) use self::arguments::did_you_mean;
