//! Calling servers: a driver that runs an operation to its end.
