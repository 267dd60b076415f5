//! What every transport needs of tokio, whichever bytes it carries: timers, and the signals to stop.

mod clock;
mod signal;

pub use self::clock::TokioClock;
pub(crate) use self::signal::StopSignals;
