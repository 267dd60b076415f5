//! The replay engine: a handler is one straight async function, and every round runs it from the top.
//!
//! What earlier rounds settled comes back from the journal at once; the first thing that is not settled ends
//! the round. The module does no I/O and has no clock of its own: it polls the one future it is given.
//!
//! - `journal`: what rounds settled, in call order; the only thing that survives a round.
//! - `replay`: matches the calls of one run against the journal; `round`: what those calls share, and when it ends.
//! - `drive`: polls the handler until the round ends.
//! - `notices`: what goes out while a handler is at work: progress and log messages.
//! - `context`, `ask`, `elicit`, `model`, `wait`: what a handler calls; `answer`: what came back, parsed.

mod answer;
mod ask;
mod client_info;
mod clock;
mod context;
mod drive;
mod elicit;
mod error;
mod journal;
mod model;
mod notices;
mod outcome;
mod replay;
mod round;
mod wait;
#[cfg(feature = "testing")]
mod watch;

pub use ask::{Ask, AskOutcome, Question};
pub use client_info::ClientInfo;
pub(crate) use clock::give_way;
pub use clock::{Clock, Sleep, SystemClock};
pub use context::Context;
pub(crate) use drive::{Drive, Handling, RoundEnd, guarded};
pub use elicit::{FormOf, UrlVisit};
pub use error::ContextError;
pub(crate) use journal::{Answer, Entry, Journal, State};
pub use model::{ClientRequest, CreateMessage, CreateMessageResult, Root};
pub(crate) use notices::Notices;
pub use notices::{LogLevel, Outlet};
pub use outcome::Outcome;
pub(crate) use replay::Suspension;
pub(crate) use round::{Fault, Round};
pub use wait::Until;
#[cfg(feature = "testing")]
pub(crate) use watch::Watch;
