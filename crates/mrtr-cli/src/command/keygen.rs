//! `mrtr keygen`: a key for a fleet.

use mrtr::Keyring;

use crate::exit::{Exit, Failure};
use crate::term;

/// Runs the command.
pub(crate) fn run() -> Result<Exit, Failure> {
    term::print_text(&Keyring::generate())?;
    Ok(Exit::Completed)
}
