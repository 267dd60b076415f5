//! Flags, exactly as typed. What they mean is decided by the commands.

use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use mrtr::client::Client;

use crate::exit::{self, Failure};

/// Call MCP tools that ask questions in the middle of a call (spec revision 2026-07-28).
#[derive(Debug, Parser)]
#[command(version, after_help = exit::HELP, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Call(CallArgs),
    Tools(ToolsArgs),
}

/// Call a tool and answer its questions, in the terminal or by flags.
#[derive(Debug, Args)]
#[command(after_help = CALL_HELP)]
pub(crate) struct CallArgs {
    #[command(flatten)]
    pub(crate) endpoint: Endpoint,
    /// The tool to call.
    pub(crate) tool: String,
    /// Its arguments: name=value, typed by the tool's schema, or name:=json.
    #[arg(value_name = "NAME=VALUE")]
    pub(crate) arguments: Vec<String>,
    #[command(flatten)]
    pub(crate) answers: Answers,
    #[command(flatten)]
    pub(crate) show: Show,
}

/// List the tools of a server and their arguments.
#[derive(Debug, Args)]
#[command(after_help = TOOLS_HELP)]
pub(crate) struct ToolsArgs {
    #[command(flatten)]
    pub(crate) endpoint: Endpoint,
    #[command(flatten)]
    pub(crate) show: Show,
}

/// The server, and how to reach it.
#[derive(Debug, Args)]
pub(crate) struct Endpoint {
    /// The MCP endpoint, such as http://127.0.0.1:8080/mcp.
    pub(crate) url: String,
    /// Send this HTTP header with every request, such as "Authorization: Bearer ...".
    #[arg(long = "header", value_name = "NAME: VALUE")]
    pub(crate) headers: Vec<String>,
    /// Give the server this many seconds for each request. Time spent on answers does not count.
    #[arg(long, value_name = "SECONDS", default_value_t = 120, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) timeout: u64,
}

impl Endpoint {
    /// Creates a client that nobody answers for yet.
    pub(crate) fn client(&self) -> Result<Client, Failure> {
        let mut client = Client::new(&self.url)
            .map_err(|error| Failure::usage(error.to_string()))?
            .name("mrtr-cli", env!("CARGO_PKG_VERSION"))
            .server_timeout(Duration::from_secs(self.timeout));
        for header in &self.headers {
            let bad = || Failure::usage("--header wants NAME: VALUE, in plain ASCII");
            let (name, value) = header.split_once(':').ok_or_else(bad)?;
            let name = name.trim().parse().map_err(|_| bad())?;
            let value = value.trim().parse().map_err(|_| bad())?;
            client = client.header(name, value);
        }
        Ok(client)
    }
}

/// Answers given on the command line.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Answers {
    /// Answer a field of a form; KEY=accept accepts a URL request or a form without required fields. Repeatable.
    #[arg(long = "answer", value_name = "KEY.FIELD=VALUE")]
    pub(crate) answer: Vec<String>,
    /// Decline this question: say no. Repeatable.
    #[arg(long, value_name = "KEY")]
    pub(crate) decline: Vec<String>,
    /// Cancel this question: leave it undecided. Repeatable.
    #[arg(long, value_name = "KEY")]
    pub(crate) cancel: Vec<String>,
}

/// What to print.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct Show {
    /// Print each request and response to stderr as it went over the wire.
    #[arg(long)]
    pub(crate) trace: bool,
    /// Print the final result to stdout as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

const CALL_HELP: &str = "\
Examples:
  mrtr call http://127.0.0.1:8080/mcp deploy_release service=api version=4.8.1
  mrtr call http://127.0.0.1:8080/mcp deploy_release service=api version=4.8.1 \\
      --answer confirm_prod.confirm=yes
  mrtr call https://mcp.example.com/mcp search query=rust limit:=5 --json | jq .

Questions that no flag answers are asked in the terminal. Without a terminal the call ends with
exit code 5, and says which flags it needs.

Exit codes: 0 completed, 1 protocol or transport error, 2 usage, 3 the tool reported an error,
4 the user declined or cancelled, 5 input was needed and nobody could be asked";

const TOOLS_HELP: &str = "\
Examples:
  mrtr tools http://127.0.0.1:8080/mcp
  mrtr tools http://127.0.0.1:8080/mcp --json | jq '.[].name'";
