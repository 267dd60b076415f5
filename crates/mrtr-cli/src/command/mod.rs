//! The subcommands, a file each, and what they share.

mod answers;
mod arguments;
pub(crate) mod call;
pub(crate) mod completions;
pub(crate) mod demo;
pub(crate) mod demo_server;
pub(crate) mod discover;
pub(crate) mod get;
pub(crate) mod health;
pub(crate) mod keygen;
mod lend;
pub(crate) mod man;
mod progress;
pub(crate) mod prompts;
mod reach;
pub(crate) mod read;
pub(crate) mod resources;
pub(crate) mod state;
pub(crate) mod tools;
pub(crate) mod trace;

pub(crate) use self::arguments::did_you_mean;
pub(crate) use self::lend::SAMPLE_KEY;
pub(crate) use self::reach::TOKEN;
