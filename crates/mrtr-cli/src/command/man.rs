//! `mrtr man`: the manual, a page for the program and one for each command.

use clap::{Command, CommandFactory as _};

use super::did_you_mean;
use crate::args::{Cli, ManArgs};
use crate::exit::{Exit, Failure};
use crate::term;

/// Runs the command.
pub(crate) fn run(args: &ManArgs) -> Result<Exit, Failure> {
    let mut program = Cli::command();
    program.build();
    let command = match &args.command {
        None => program.clone(),
        Some(name) => page_of(&program, name)?,
    };
    let mut page = Vec::new();
    clap_mangen::Man::new(command)
        .render(&mut page)
        .map_err(|error| Failure::new(Exit::Failed, format!("cannot write the page: {error}")))?;
    term::print_bytes(&page)?;
    Ok(Exit::Completed)
}

fn page_of(program: &Command, name: &str) -> Result<Command, Failure> {
    let names: Vec<_> = program.get_subcommands().map(Command::get_name).collect();
    let command = program.find_subcommand(name).ok_or_else(|| {
        let hint = did_you_mean(name, &names);
        Failure::usage(format!("there is no command {name:?}{hint}; there are {}", names.join(", ")))
    })?;
    Ok(command.clone().version(env!("CARGO_PKG_VERSION")))
}
