//! `mrtr completions`: scripts by which shells complete a command line.

use clap::CommandFactory as _;

use crate::args::{Cli, CompletionsArgs};
use crate::exit::{Exit, Failure};
use crate::term;

/// Runs the command.
pub(crate) fn run(args: &CompletionsArgs) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "mrtr", &mut script);
    term::print_bytes(&script)?;
    Ok(Exit::Completed)
}
