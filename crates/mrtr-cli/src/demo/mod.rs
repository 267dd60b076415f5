//! What `mrtr demo` is made of: example tools, two server processes, a plain round-robin front, and the rounds as a table.

pub(crate) mod fleet;
pub(crate) mod front;
pub(crate) mod rounds;
pub(crate) mod tools;

/// The response header in which an instance says its name.
pub(crate) const INSTANCE_HEADER: &str = "x-mrtr-instance";
