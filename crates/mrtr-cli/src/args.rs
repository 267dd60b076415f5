//! Flags, exactly as typed. What they mean is decided by the commands.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::exit::exit_codes;

/// Call MCP tools that ask questions in the middle of a call (spec revision 2026-07-28).
#[derive(Debug, Parser)]
#[command(name = "mrtr", version, after_help = exit_codes!(), max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Demo(DemoArgs),
    Call(CallArgs),
    Get(GetArgs),
    Read(ReadArgs),
    Tools(ToolsArgs),
    Prompts(PromptsArgs),
    Resources(ResourcesArgs),
    Discover(DiscoverArgs),
    DemoServer(DemoServerArgs),
    Keygen(KeygenArgs),
    State(StateArgs),
    Health(HealthArgs),
    Completions(CompletionsArgs),
    Man(ManArgs),
}

/// Call a tool and answer its questions, in the terminal or by flags.
#[derive(Debug, Args)]
#[command(after_help = CALL_HELP, override_usage = "\
mrtr call [OPTIONS] URL TOOL [NAME=VALUE]...
       mrtr call [OPTIONS] TOOL [NAME=VALUE]... -- COMMAND [ARG]...")]
pub(crate) struct CallArgs {
    /// The MCP endpoint, such as http://127.0.0.1:8080/mcp, unless a command follows; the tool to call; its arguments:
    /// name=value, typed by the tool's schema, or name:=json.
    #[arg(value_name = "WORD")]
    pub(crate) words: Vec<String>,
    #[command(flatten)]
    pub(crate) reach: Reach,
    #[command(flatten)]
    pub(crate) answers: Answers,
    #[command(flatten)]
    pub(crate) lend: Lend,
    #[command(flatten)]
    pub(crate) show: Show,
}

/// Get a prompt and answer its questions, in the terminal or by flags.
#[derive(Debug, Args)]
#[command(after_help = GET_HELP, override_usage = "\
mrtr get [OPTIONS] URL PROMPT [NAME=VALUE]...
       mrtr get [OPTIONS] PROMPT [NAME=VALUE]... -- COMMAND [ARG]...")]
pub(crate) struct GetArgs {
    /// The MCP endpoint, unless a command follows; the prompt to get; its arguments: name=value.
    #[arg(value_name = "WORD")]
    pub(crate) words: Vec<String>,
    #[command(flatten)]
    pub(crate) reach: Reach,
    #[command(flatten)]
    pub(crate) answers: Answers,
    #[command(flatten)]
    pub(crate) lend: Lend,
    #[command(flatten)]
    pub(crate) show: Show,
}

/// Read a resource and answer its questions, in the terminal or by flags.
#[derive(Debug, Args)]
#[command(after_help = READ_HELP, override_usage = "\
mrtr read [OPTIONS] URL URI
       mrtr read [OPTIONS] URI -- COMMAND [ARG]...")]
pub(crate) struct ReadArgs {
    /// The MCP endpoint, unless a command follows; the URI to read.
    #[arg(value_name = "WORD")]
    pub(crate) words: Vec<String>,
    #[command(flatten)]
    pub(crate) reach: Reach,
    #[command(flatten)]
    pub(crate) answers: Answers,
    #[command(flatten)]
    pub(crate) lend: Lend,
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

/// List the prompts of a server and their arguments.
#[derive(Debug, Args)]
#[command(after_help = PROMPTS_HELP)]
pub(crate) struct PromptsArgs {
    #[command(flatten)]
    pub(crate) list: Listing,
}

/// List the resources of a server, and the templates of those that are not listed.
#[derive(Debug, Args)]
#[command(after_help = RESOURCES_HELP)]
pub(crate) struct ResourcesArgs {
    #[command(flatten)]
    pub(crate) list: Listing,
}

/// Show what a server says about itself.
#[derive(Debug, Args)]
#[command(after_help = DISCOVER_HELP)]
pub(crate) struct DiscoverArgs {
    #[command(flatten)]
    pub(crate) list: Listing,
}

/// Which server, and how to print what it has.
#[derive(Debug, Args)]
pub(crate) struct Listing {
    #[command(flatten)]
    pub(crate) endpoint: Endpoint,
    #[command(flatten)]
    pub(crate) show: Show,
}

/// Print what a shell needs to complete commands and flags.
#[derive(Debug, Args)]
#[command(after_help = COMPLETIONS_HELP)]
pub(crate) struct CompletionsArgs {
    /// The shell.
    pub(crate) shell: clap_complete::Shell,
}

/// Print the manual page of the program, or of one command.
#[derive(Debug, Args)]
#[command(after_help = MAN_HELP)]
pub(crate) struct ManArgs {
    /// The command, such as call.
    pub(crate) command: Option<String>,
}

/// Watch a call survive the death of the server that asked: two servers, one killed, the call completes.
#[derive(Debug, Args)]
#[command(after_help = DEMO_HELP)]
pub(crate) struct DemoArgs {
    /// The tool: deploy_release (default), cancel_subscription, file_shipping_claim or provision.
    pub(crate) tool: Option<String>,
    /// Its arguments, in place of those the demo has ready.
    #[arg(value_name = "NAME=VALUE")]
    pub(crate) arguments: Vec<String>,
    #[command(flatten)]
    pub(crate) answers: Answers,
    #[command(flatten)]
    pub(crate) tracing: Tracing,
    /// Ask line by line, for screen readers and pipes, as MRTR_PLAIN=1 does.
    #[arg(long)]
    pub(crate) plain: bool,
}

/// Serve the demo's tools at /mcp, or over stdin and stdout, until SIGTERM or Ctrl-C.
#[derive(Debug, Args)]
#[command(after_help = DEMO_SERVER_HELP)]
pub(crate) struct DemoServerArgs {
    /// The address to listen on; port 0 takes a free one.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8080", value_parser = listen_address)]
    pub(crate) listen: String,
    /// What the instance calls itself, in the header x-mrtr-instance of every response.
    #[arg(long, value_name = "NAME", default_value = "demo", value_parser = instance_name)]
    pub(crate) name: String,
    /// Answer to this host too, as clients spell it in their URL: HOST or HOST:PORT. Repeatable.
    #[arg(long, value_name = "HOST")]
    pub(crate) allow_host: Vec<String>,
    /// Read the keys from this file, in place of MRTR_KEYS.
    #[arg(long, value_name = "FILE")]
    pub(crate) keys: Option<PathBuf>,
    /// Serve on for so long after the signal to stop, saying "not ready", while load balancers find out.
    #[arg(long, value_name = "SECONDS", default_value_t = 0)]
    pub(crate) drain_delay: u64,
    /// Serve over stdin and stdout, one message per line, until stdin ends.
    #[arg(long, conflicts_with_all = ["listen", "name", "allow_host", "drain_delay", "until_stdin_closes"])]
    pub(crate) stdio: bool,
    /// Stop when standard input ends too, as it does when the process that started this one is gone.
    #[arg(long, hide = true)]
    pub(crate) until_stdin_closes: bool,
}

fn listen_address(text: &str) -> Result<String, &'static str> {
    let parts = text.rsplit_once(':');
    let is_address = parts.is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok());
    is_address.then(|| text.to_owned()).ok_or("expected HOST:PORT, such as 127.0.0.1:8080")
}

fn instance_name(text: &str) -> Result<String, &'static str> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let is_name = (1..=64).contains(&text.len()) && text.chars().all(is_plain);
    is_name.then(|| text.to_owned()).ok_or("expected 1 to 64 of A-Z a-z 0-9 - _ .")
}

/// Ask a server's probe: exit code 0 when it says yes, 1 when it says no or nothing.
#[derive(Debug, Args)]
#[command(after_help = HEALTH_HELP)]
pub(crate) struct HealthArgs {
    /// The probe; /livez says whether the process serves, /readyz whether it should be sent requests.
    #[arg(default_value = "http://127.0.0.1:8080/livez")]
    pub(crate) url: String,
    /// Give the server so many seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=600))]
    pub(crate) timeout: u64,
}

/// Print a new random key for MRTR_KEYS.
#[derive(Debug, Args)]
#[command(after_help = KEYGEN_HELP)]
pub(crate) struct KeygenArgs {}

/// Look into the states servers send.
#[derive(Debug, Args)]
pub(crate) struct StateArgs {
    #[command(subcommand)]
    pub(crate) command: StateCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum StateCommand {
    Inspect(InspectArgs),
}

/// Show what is inside a request state or a list's cursor, with the key that sealed it.
#[derive(Debug, Args)]
#[command(after_help = INSPECT_HELP)]
pub(crate) struct InspectArgs {
    /// The token: the text of requestState or nextCursor; - reads it from stdin.
    pub(crate) token: String,
    /// Read the keys from this file; - is stdin.
    #[arg(long, value_name = "FILE")]
    pub(crate) keys: Option<PathBuf>,
    /// Read the keys from this environment variable.
    #[arg(long, value_name = "NAME", default_value = "MRTR_KEYS", conflicts_with = "keys")]
    pub(crate) keys_env: String,
    /// Show values too: what users entered and steps returned.
    #[arg(long)]
    pub(crate) reveal: bool,
    /// Print it to stdout as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// The server, and how to reach it.
#[derive(Debug, Args)]
pub(crate) struct Endpoint {
    /// The MCP endpoint, such as http://127.0.0.1:8080/mcp, unless a command follows after --.
    pub(crate) url: Option<String>,
    #[command(flatten)]
    pub(crate) reach: Reach,
}

/// How to reach a server; over HTTP, or as a process of its own.
#[derive(Debug, Args)]
pub(crate) struct Reach {
    /// Send this HTTP header with every request. Repeatable.
    #[arg(long = "header", value_name = "NAME: VALUE")]
    pub(crate) headers: Vec<String>,
    /// Send this bearer token. MRTR_TOKEN in the environment does the same, and no list of processes shows it.
    #[arg(long, value_name = "TOKEN")]
    pub(crate) token: Option<String>,
    /// Go through this HTTP proxy, in place of the one that HTTPS_PROXY, HTTP_PROXY or ALL_PROXY names. NO_PROXY names
    /// hosts that are reached without.
    #[arg(long, value_name = "URL")]
    pub(crate) proxy: Option<String>,
    /// Give the server this many seconds for each request. Time spent on answers does not count.
    #[arg(long, value_name = "SECONDS", default_value_t = 120, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) timeout: u64,
    /// Give the connection this many seconds to come about.
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) connect_timeout: Option<u64>,
    /// The server as a command that speaks over stdin and stdout, such as: -- npx -y some-server
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

/// What servers may ask for besides answers: directories, and a model.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Lend {
    /// Name this directory to servers that ask in which ones you work. Repeatable.
    #[arg(long = "root", value_name = "DIR")]
    pub(crate) roots: Vec<PathBuf>,
    /// Have this shell command answer sampling requests: the request is its stdin, as JSON; what it prints is the answer.
    #[arg(long, value_name = "CMD")]
    pub(crate) sample_with: Option<String>,
    /// Have the model behind this URL answer sampling requests, with the key in MRTR_SAMPLE_KEY.
    #[arg(long, value_name = "URL", conflicts_with = "sample_with")]
    pub(crate) sample_url: Option<String>,
    /// How to talk to it: openai (chat completions) or anthropic (messages). Default: by the end of the URL.
    #[arg(long, value_name = "API", requires = "sample_url", value_parser = ["openai", "anthropic"])]
    pub(crate) sample_api: Option<String>,
    /// The model to use. Default: the first that the server hints at.
    #[arg(long, value_name = "MODEL", requires = "sample_url")]
    pub(crate) sample_model: Option<String>,
    /// Send sampling requests and answers on without showing them to anybody.
    #[arg(long)]
    pub(crate) sample_unattended: bool,
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
    /// Answer from this file, YAML or JSON, what no flag answers; nothing is asked in the terminal. See docs/answers.md.
    #[arg(long, value_name = "FILE")]
    pub(crate) answers: Option<PathBuf>,
    /// Write the run to this file, for --answers to play again and compare.
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
}

/// What to print.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Show {
    #[command(flatten)]
    pub(crate) tracing: Tracing,
    /// Print the final result to stdout as JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Ask line by line, for screen readers and pipes: nothing moves, options have numbers. As MRTR_PLAIN=1 does.
    #[arg(long)]
    pub(crate) plain: bool,
}

/// What to show or keep of the wire. Values given by --header are in none of it.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Tracing {
    /// Print each request and response to stderr, by operation and round, with times. States are shortened, unless it
    /// is --trace=full.
    #[arg(long, value_name = "full", num_args = 0..=1, require_equals = true, default_missing_value = "short")]
    pub(crate) trace: Option<Detail>,
    /// Write each event to this file as it happens, as JSON, one a line.
    #[arg(long, value_name = "FILE")]
    pub(crate) trace_file: Option<PathBuf>,
    /// Write the requests to this file as an HTTP archive, which the developer tools of browsers open.
    #[arg(long, value_name = "FILE")]
    pub(crate) har: Option<PathBuf>,
}

/// How much of a message is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Detail {
    /// All but the better part of request states.
    Short,
    /// All of it.
    Full,
}

const CALL_HELP: &str = concat!(
    "\
Examples:
  mrtr call http://127.0.0.1:8080/mcp deploy_release service=api version=4.8.1
  mrtr call http://127.0.0.1:8080/mcp deploy_release service=api \\
      version=4.8.1 --answer confirm_prod.confirm=yes
  mrtr call http://127.0.0.1:8080/mcp deploy_release service=api \\
      version=4.8.1 --decline confirm_prod
  mrtr call https://mcp.example.com/mcp search query=rust limit:=5 --json
  mrtr call deploy_release service=api version=4.8.1 -- mrtr demo-server --stdio
      (the server is a command, started for the call)
  MRTR_TOKEN=$(cat token) mrtr call https://mcp.example.com/mcp search query=x
  mrtr call https://mcp.example.com/mcp book --answer trip.extras=wifi,meal
      (a list in an answer)
  mrtr call https://mcp.example.com/mcp pay --answer page=accept
      (open a page, or agree to a form without fields)
  mrtr call https://mcp.example.com/mcp book --record booking.yaml
  mrtr call https://mcp.example.com/mcp book --answers booking.yaml
      (the same run again, or what has changed)

Questions that no flag answers are asked in the terminal. Without a terminal the
call ends with exit code 5, and says which flags it needs. A page that a flag
accepts is shown on stderr; only http and https pages are accepted that way.

In the terminal Shift-Tab goes back a question, and Esc lists what else there
is: leaving an answer out, decline, cancel. Several answers are shown before
they are sent, and changed by their number. Ctrl-C, and a terminal that closes,
stop the call: nothing is sent. --plain (or MRTR_PLAIN=1, or TERM=dumb) asks
line by line, for screen readers and pipes: options have numbers, :help lists
commands such as :back, :omit, :decline and :cancel. BROWSER names what opens
pages; nothing is opened before you agree. NO_COLOR turns colours off.

",
    exit_codes!()
);

const TOOLS_HELP: &str = "\
Examples:
  mrtr tools http://127.0.0.1:8080/mcp
  mrtr tools http://127.0.0.1:8080/mcp --json | jq '.[].name'
  mrtr tools -- npx -y some-server";

const PROMPTS_HELP: &str = "\
Examples:
  mrtr prompts http://127.0.0.1:8080/mcp
  mrtr prompts --json -- npx -y some-server";

const RESOURCES_HELP: &str = "\
Examples:
  mrtr resources http://127.0.0.1:8080/mcp
  mrtr resources -- npx -y some-server

--json prints {\"resources\": [...], \"resourceTemplates\": [...]}.";

const DISCOVER_HELP: &str = "\
Examples:
  mrtr discover http://127.0.0.1:8080/mcp
  mrtr discover --json -- npx -y some-server";

const GET_HELP: &str = concat!(
    "\
Examples:
  mrtr get http://127.0.0.1:8080/mcp review language=rust
  mrtr get review language=rust --answer style.tone=kind -- npx -y some-server

Questions are answered as by mrtr call.

",
    exit_codes!()
);

const READ_HELP: &str = concat!(
    "\
Examples:
  mrtr read http://127.0.0.1:8080/mcp file:///notes.txt
  mrtr read img://logo -- npx -y some-server >logo.png

Content that is not text goes to stdout as it is, unless that is a terminal.
Questions are answered as by mrtr call.

",
    exit_codes!()
);

const COMPLETIONS_HELP: &str = "\
Examples:
  mrtr completions bash >~/.local/share/bash-completion/completions/mrtr
  mrtr completions zsh >~/.zfunc/_mrtr        (with ~/.zfunc in fpath)
  mrtr completions fish >~/.config/fish/completions/mrtr.fish";

const MAN_HELP: &str = "\
Examples:
  mrtr man | man -l -
  mrtr man call >~/.local/share/man/man1/mrtr-call.1";

const DEMO_HELP: &str = concat!(
    "\
Examples:
  mrtr demo
  mrtr demo deploy_release service=web version=5.0.0 --trace
  mrtr demo file_shipping_claim
  mrtr demo cancel_subscription --answer confirmed.confirmed=yes
  mrtr demo --decline confirm_prod

It starts two server processes that share a key and nothing else, and calls the
tool through a front that takes turns between them. The one that asks is killed
before the answer goes back; the other one completes the call, from nothing but
what the client sends. A table of the rounds follows. Nothing is really
deployed, cancelled, filed or provisioned.

",
    exit_codes!()
);

const DEMO_SERVER_HELP: &str = r#"Examples:
  mrtr demo-server
  MRTR_KEYS=$(mrtr keygen) mrtr demo-server --listen 127.0.0.1:0 --name alpha
  echo '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{' \
      '"io.modelcontextprotocol/protocolVersion":"2026-07-28",' \
      '"io.modelcontextprotocol/clientCapabilities":{}}}}' |
      mrtr demo-server --stdio

The first line on stdout says where it listens; with --stdio nothing is on
stdout but messages, and a client that starts its servers wants this command:
mrtr demo-server --stdio

MRTR_KEYS, or the file that --keys names, holds the keys that seal request
states; all instances of a fleet need the same. Without them a random key is
made, and only this process can go on with what it asked.

SIGTERM or Ctrl-C stops it in order: from then on /readyz says 503, and after
--drain-delay it refuses connections and gives running calls 5 seconds. A second
signal ends it at once. RUST_LOG says how much is logged to stderr."#;

const HEALTH_HELP: &str = "\
Examples:
  mrtr health
  mrtr health http://127.0.0.1:8080/readyz && echo ready
  HEALTHCHECK CMD [\"/mrtr\", \"health\"]     (in a Dockerfile)";

const KEYGEN_HELP: &str = "\
Examples:
  export MRTR_KEYS=$(mrtr keygen)
  (umask 077 && mrtr keygen >keys)

The key is on stdout, its fingerprint on stderr.

A server seals what it must remember of an unfinished call into the request
state, which the client carries. Give all instances of a server the same keys,
and nobody else: who has a key can write states.

MRTR_KEYS holds one key or several, separated by commas. The first seals, all of
them open. To rotate without failing a call that is under way, roll out one step
after the other everywhere:
  1. MRTR_KEYS=OLD,NEW   every instance can open what NEW will seal
  2. MRTR_KEYS=NEW,OLD   NEW seals
  3. MRTR_KEYS=NEW       once what OLD sealed has expired (10 minutes, unless
                         the server says otherwise)";

const INSPECT_HELP: &str = "\
Examples:
  pbpaste | mrtr state inspect - --keys /etc/releases/keys
  mrtr state inspect \"$STATE\" --json | jq '.journal[].key'
  mrtr state inspect \"$STATE\" --keys-env OLD_KEYS --reveal

It shows the key that sealed the token, the operation, when it expires, digests
of what it is bound to, and the journal: what was asked, answered and done, in
order. It does not need the request, and shows what has expired too. Values are
left out unless --reveal is given.

Others on this machine can see a token on a command line: prefer stdin.

Exit codes:
  0  shown
  1  the token cannot be opened with these keys
  2  usage: no token, or no keys";

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn help_texts_fit_80_columns() {
        let command = Cli::command();
        let texts = command.get_subcommands().chain([&command]).filter_map(|command| command.get_after_help());
        for line in texts.flat_map(|text| text.to_string().lines().map(str::to_owned).collect::<Vec<_>>()) {
            assert!(line.chars().count() <= 80, "{line}");
        }
    }
}
