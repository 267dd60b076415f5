//! What every transport needs, whichever bytes it carries: tokio's timers, the signals to stop, keys that change, JSON on
//! one line.

mod clock;
mod keys;
mod line;
mod signal;

pub use self::clock::TokioClock;
pub(crate) use self::keys::KeyWatch;
pub(crate) use self::line::push_line;
pub(crate) use self::signal::StopSignals;
