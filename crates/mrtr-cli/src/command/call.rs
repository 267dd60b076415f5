//! `mrtr call`: one operation, its questions, its result.

use std::sync::{Arc, Once};
use std::time::Duration;

use mrtr::client::{CallError, Client, Output, Responder, Responders, Tool};
use serde_json::{Map, Value};

use super::answers::Flags;
use super::arguments;
use super::trace::patience;
use super::{get, reach, read};
use crate::args::{CallArgs, Lend, Show};
use crate::exit::{Exit, Failure};
use crate::term::{self, Terminal, escape};
use crate::{child, report, signal};

/// Runs the command.
pub(crate) async fn run(args: CallArgs) -> Result<Exit, Failure> {
    let flags = Flags::read(&args.answers)?;
    let (client, words) = args.reach.client(&args.words, &args.show)?;
    let (name, words) = reach::subject(words, "tool")?;
    let tool = stoppable(find(&client, name)).await?;
    let schema = tool.as_ref().map(|tool| &tool.input_schema);
    let arguments = match flags.recorded_arguments("tools/call", name) {
        Some(recorded) if words.is_empty() => recorded,
        _ => arguments::read(words, schema)?,
    };
    let operation = Operation::Call { tool: name, arguments };
    Ok(run_with(client, operation, flags, &args.lend, &args.show).await?.exit)
}

/// What may take several rounds.
pub(crate) enum Operation<'a> {
    Call { tool: &'a str, arguments: Map<String, Value> },
    Get { prompt: &'a str, arguments: Map<String, Value> },
    Read { uri: &'a str },
}

impl Operation<'_> {
    async fn run(self, client: &Client) -> Result<Output, CallError> {
        match self {
            Self::Call { tool, arguments } => client.call_tool(tool, arguments).await,
            Self::Get { prompt, arguments } => client.get_prompt(prompt, arguments).await,
            Self::Read { uri } => client.read_resource(uri).await,
        }
    }

    fn printer(&self) -> fn(&Output) -> Result<(), Failure> {
        match self {
            Self::Call { .. } => print,
            Self::Get { .. } => get::print,
            Self::Read { .. } => read::print,
        }
    }
}

/// A call that came to its end.
pub(crate) struct Finished {
    pub(crate) exit: Exit,
}

/// Runs an operation, has its questions answered by flags and then at the terminal, and prints the result.
///
/// `client` brings the server, and observers of its own if it likes: `trace::watch` has some for the caller to add. Who
/// answers is set here.
pub(crate) async fn run_with(
    client: Client,
    operation: Operation<'_>,
    flags: Flags,
    lend: &Lend,
    show: &Show,
) -> Result<Finished, Failure> {
    let terminal = Terminal::find(show.plain);
    let flags = flags.otherwise(terminal.clone().map(|terminal| Arc::new(terminal) as Arc<dyn Responder>));
    // Declared even when nobody can be asked: that is how the questions come to be known, and named.
    let lent = lend.add_to(Responders::new().elicitation(flags.clone()), terminal.as_ref())?;
    // What the file answers it answers, whoever else could.
    let client = client.responders(flags.with_file(lent));
    let printer = operation.printer();
    let mut client = client.observer(flags.clone()).observer(patience());
    let mut record = flags.record()?;
    if let Some(record) = &record {
        client = client.observer(record.recorder.clone());
    }
    let outcome = stoppable(async { operation.run(&client).await.map_err(|error| flags.failure(error)) }).await;
    // After another failure, questions may have been on their way still.
    let is_unanswered = outcome.as_ref().is_err_and(|failure| failure.exit == Exit::Unanswered);
    if outcome.is_ok() || is_unanswered {
        flags.unused(is_unanswered).iter().for_each(|complaint| term::warn(complaint));
    }
    let output = outcome?;
    if show.json {
        term::print_json(output.result.get())?;
    } else {
        printer(&output)?;
    }
    if let Some(record) = &mut record {
        record.finish(&output)?;
    }
    flags.check(&output)?;
    Ok(Finished { exit: exit(&output) })
}

/// Runs until Ctrl-C or SIGTERM, which abandon the call: the connection closes, nothing more is sent.
pub(super) async fn stoppable<T>(call: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    static LAST_RESORT: Once = Once::new();
    LAST_RESORT.call_once(|| drop(tokio::spawn(last_resort())));
    let stop =
        signal::leave().map_err(|error| Failure::new(Exit::Failed, format!("cannot watch for signals: {error}")))?;
    tokio::select! {
        outcome = call => outcome,
        () = stop => {
            term::restore();
            child::hurry();
            Err(stopped())
        }
    }
}

/// Ends the program after Ctrl-C or SIGTERM if it does not end by itself, as when it reads a huge form and looks at
/// nothing else.
async fn last_resort() {
    let Ok(stop) = signal::leave() else { return };
    stop.await;
    tokio::time::sleep(LONGEST_STOP).await;
    let Failure { exit, message } = stopped();
    term::restore();
    child::kill().await;
    term::complain(&message);
    std::process::exit(exit as i32);
}

fn stopped() -> Failure {
    Failure::new(Exit::Refused, "stopped; nothing more was sent")
}

/// How long after Ctrl-C the program may take to end by itself.
const LONGEST_STOP: Duration = Duration::from_millis(500);

/// Finds the tool's definition; `None` if the server lists none.
async fn find(client: &Client, name: &str) -> Result<Option<Tool>, Failure> {
    let list = match client.list_tools().await {
        Ok(list) => list,
        Err(CallError::Rpc { code: -32601, .. }) => {
            term::warn("the server does not list its tools: arguments are sent as text, name:=json sends other types");
            return Ok(None);
        }
        Err(error) => return Err(report::failure(error)),
    };
    if let Some(tool) = list.tools.iter().find(|tool| tool.name == name) {
        return Ok(Some(tool.clone()));
    }
    if let Some(tool) = list.rejected.iter().find(|tool| tool.name == name) {
        return Err(Failure::new(Exit::Failed, format!("the definition of {name:?} is invalid: {}", tool.reason)));
    }
    let names: Vec<_> = list.tools.iter().map(|tool| tool.name.as_str()).collect();
    let tools = if names.is_empty() { "no tools".to_owned() } else { escape::line(&names.join(", ")) };
    let hint = arguments::did_you_mean(name, &names);
    Err(Failure::usage(format!("the server has no tool {name:?}{hint}; it has {tools}")))
}

fn print(output: &Output) -> Result<(), Failure> {
    let value = output.value();
    let blocks = value["content"].as_array().map(Vec::as_slice).unwrap_or_default();
    // As `Output::text` has it; what is not in there is named.
    let is_text = |block: &&Value| block["type"] == "text" && block["text"].is_string();
    let (texts, others): (Vec<_>, Vec<_>) = blocks.iter().partition(is_text);
    for block in others {
        let kind = escape::line(block["type"].as_str().unwrap_or("unknown"));
        term::note(&format!("(a block of type {kind} is not shown; --json has it)"));
    }
    match value.get("structuredContent") {
        _ if !texts.is_empty() => term::print_text(&output.text()),
        Some(structured) => term::print_json(&structured.to_string()),
        None if value.is_null() => term::print_json(output.result.get()),
        None => Ok(()),
    }
}

fn exit(output: &Output) -> Exit {
    if let Some((key, action)) = output.refusals.first() {
        term::note(&format!("answered {key:?} with {action}"));
        return Exit::Refused;
    }
    if output.is_error() {
        term::note("the tool reported an error");
        return Exit::ToolError;
    }
    Exit::Completed
}
