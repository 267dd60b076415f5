//! The `mrtr` program: call MCP servers, answer their questions in a terminal or from flags, see what went over the wire.
//!
//! This file parses, runs and maps what happened to an exit code. Flags are in [`args`], one file per subcommand in
//! [`command`], everything a person at a terminal sees in [`term`], and the fleet of `mrtr demo` in [`demo`].

mod args;
mod child;
mod command;
mod demo;
mod exit;
mod report;
mod signal;
mod term;

use std::process::ExitCode;

use clap::Parser;

use crate::args::{Cli, Command};
use crate::exit::{Exit, Failure};

fn main() -> ExitCode {
    let cli = Cli::parse();
    let runtime = match tokio::runtime::Runtime::new() {
        Ok(runtime) => runtime,
        Err(error) => {
            return conclude(Err(Failure::new(Exit::Failed, format!("cannot start: {error}"))));
        }
    };
    let outcome = runtime.block_on(async {
        let outcome = run(cli.command).await;
        child::end().await;
        outcome
    });
    // A prompt may still be waiting for a key in a thread of its own; it is not waited for.
    runtime.shutdown_background();
    conclude(outcome)
}

async fn run(command: Command) -> Result<Exit, Failure> {
    match command {
        Command::Demo(args) => command::demo::run(args).await,
        Command::DemoServer(args) => command::demo_server::run(args).await,
        Command::Health(args) => command::health::run(args).await,
        Command::Keygen(_) => command::keygen::run(),
        Command::State(args) => command::state::run(&args),
        Command::Call(args) => command::call::run(args).await,
        Command::Get(args) => command::get::run(args).await,
        Command::Read(args) => command::read::run(args).await,
        Command::Tools(args) => command::tools::run(args).await,
        Command::Prompts(args) => command::prompts::run(args.list).await,
        Command::Resources(args) => command::resources::run(args.list).await,
        Command::Discover(args) => command::discover::run(args.list).await,
        Command::Completions(args) => command::completions::run(&args),
        Command::Man(args) => command::man::run(&args),
    }
}

fn conclude(outcome: Result<Exit, Failure>) -> ExitCode {
    match outcome {
        Ok(exit) => exit.into(),
        Err(failure) => {
            term::complain(&failure.message);
            failure.exit.into()
        }
    }
}
