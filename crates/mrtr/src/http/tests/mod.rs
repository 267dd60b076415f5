//! The transport as its peers see it: requests without a network, then real sockets.

mod auth;
mod cancel;
mod limits;
mod mount;
mod refusals;
mod shutdown;
mod sockets;
mod timers;
mod world;
