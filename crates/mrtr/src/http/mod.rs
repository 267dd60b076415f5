//! Streamable HTTP: thin adapters around [`server`](crate::server).
