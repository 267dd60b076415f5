//! The transport as its peers see it: requests without a network, then real sockets.

mod auth;
mod cancel;
mod detached;
#[cfg(feature = "jwt")]
mod issuer;
#[cfg(feature = "jwt")]
mod jwks;
#[cfg(feature = "jwt")]
mod jwt;
mod limits;
mod mount;
mod probes;
mod refusals;
mod shutdown;
mod sockets;
mod stream_sockets;
mod streams;
mod subscriptions;
mod timers;
mod world;
