//! The subcommands, a file each, and what they share.

mod answers;
mod arguments;
pub(crate) mod call;
pub(crate) mod tools;
pub(crate) mod trace;
