//! `mrtr keygen`: a key for a fleet, on stdout; on stderr what it is called.

use mrtr::Keyring;

use crate::exit::{Exit, Failure};
use crate::term;

/// Runs the command.
pub(crate) fn run() -> Result<Exit, Failure> {
    let key = Keyring::generate();
    let fingerprint =
        Keyring::parse(&key).map_err(|error| Failure::new(Exit::Failed, error.to_string()))?.fingerprints();
    term::print_text(&key)?;
    term::note(&format!(
        "The key's fingerprint is {}; it is no secret, and what servers and mrtr state inspect call the key.",
        fingerprint.join(", ")
    ));
    Ok(Exit::Completed)
}
