//! A client at the other end of two pipes, on tokio's paused time.

mod calls;
mod end;
mod framing;
mod pressure;
mod world;
