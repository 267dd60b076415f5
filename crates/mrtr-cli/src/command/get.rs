//! `mrtr get`: one prompt, its questions, its messages.

use mrtr::client::{CallError, Client, Output, Prompt};
use serde_json::{Map, Value};

use super::answers::Flags;
use super::call::{Operation, finish, stoppable};
use super::did_you_mean;
use super::reach;
use crate::args::GetArgs;
use crate::exit::Failure;
use crate::report;
use crate::term::{self, escape};

/// Runs the command.
pub(crate) async fn run(args: GetArgs) -> Result<crate::exit::Exit, Failure> {
    let flags = Flags::read(&args.answers)?;
    let (client, words) = args.reach.client(&args.words, args.show)?;
    let (name, words) = reach::subject(words, "prompt")?;
    let prompt = stoppable(find(&client, name)).await?;
    let arguments = arguments(words, prompt.as_ref())?;
    finish(client, Operation::Get { prompt: name, arguments }, flags, &args.lend, args.show).await
}

/// Finds the prompt's definition; `None` if the server lists none.
async fn find(client: &Client, name: &str) -> Result<Option<Prompt>, Failure> {
    let list = match client.list_prompts().await {
        Ok(list) => list,
        Err(CallError::Rpc { code: -32601, .. }) => return Ok(None),
        Err(error) => return Err(report::failure(error)),
    };
    if let Some(prompt) = list.entries.iter().find(|prompt| prompt.name == name) {
        return Ok(Some(prompt.clone()));
    }
    let names: Vec<_> = list.entries.iter().map(|prompt| prompt.name.as_str()).collect();
    let prompts = if names.is_empty() { "no prompts".to_owned() } else { escape::line(&names.join(", ")) };
    let hint = did_you_mean(name, &names);
    Err(Failure::usage(format!("the server has no prompt {name:?}{hint}; it has {prompts}")))
}

/// Makes the arguments, or says which one is wrong. They are all text.
fn arguments(words: &[String], prompt: Option<&Prompt>) -> Result<Map<String, Value>, Failure> {
    let mut arguments = Map::new();
    let known = prompt.map(|prompt| &*prompt.arguments).unwrap_or_default();
    let names: Vec<_> = known.iter().map(|argument| argument.name.as_str()).collect();
    for word in words {
        let (name, text) = word
            .split_once('=')
            .ok_or_else(|| Failure::usage(format!("{word:?} is no argument, expected name=value")))?;
        if prompt.is_some() && !names.contains(&name) {
            let hint = did_you_mean(name, &names);
            let takes = if names.is_empty() { "none".to_owned() } else { escape::line(&names.join(", ")) };
            return Err(Failure::usage(format!("the prompt has no argument {name:?}{hint}; it takes {takes}")));
        }
        if arguments.insert(name.to_owned(), text.into()).is_some() {
            return Err(Failure::usage(format!("argument {name:?} is given twice")));
        }
    }
    let is_missing = |name: &str| !arguments.contains_key(name);
    let missing = known.iter().filter(|argument| argument.required && is_missing(&argument.name));
    let missing: Vec<_> = missing.map(|argument| format!("{}=...", escape::line(&argument.name))).collect();
    if missing.is_empty() {
        return Ok(arguments);
    }
    Err(Failure::usage(format!("the prompt also needs {}", missing.join(" "))))
}

/// Prints the messages, each under who says it.
pub(super) fn print(output: &Output) -> Result<(), Failure> {
    let value = output.value();
    let mut parts = Vec::new();
    for message in value["messages"].as_array().into_iter().flatten() {
        let role = message["role"].as_str().unwrap_or("unknown");
        let content = &message["content"];
        let text = match content["type"].as_str() {
            Some("text") => content["text"].as_str().unwrap_or_default().to_owned(),
            Some("resource") if content["resource"]["text"].is_string() => {
                content["resource"]["text"].as_str().unwrap_or_default().to_owned()
            }
            kind => format!("(content of type {} is not shown; --json has it)", kind.unwrap_or("unknown")),
        };
        parts.push(format!("{role}:\n{text}"));
    }
    if parts.is_empty() {
        term::note("the prompt has no messages");
        return Ok(());
    }
    term::print_text(&parts.join("\n\n"))
}
