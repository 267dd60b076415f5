//! The transport as its peers see it: requests without a network, then real sockets.

mod cancel;
mod mount;
mod refusals;
mod shutdown;
mod sockets;
mod stream_sockets;
mod streams;
mod subscriptions;
mod timers;
mod world;
