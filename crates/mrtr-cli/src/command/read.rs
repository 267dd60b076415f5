//! `mrtr read`: one resource, its questions, its content.

use std::io::{self, IsTerminal as _};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use mrtr::client::Output;
use serde_json::Value;

use super::answers::Flags;
use super::call::{Operation, finish};
use super::reach;
use crate::args::ReadArgs;
use crate::exit::{Exit, Failure};
use crate::term::{self, escape};

/// Runs the command.
pub(crate) async fn run(args: ReadArgs) -> Result<Exit, Failure> {
    let flags = Flags::read(&args.answers)?;
    let (client, words) = args.reach.client(&args.words, args.show)?;
    let (uri, rest) = reach::subject(words, "URI")?;
    if let Some(word) = rest.first() {
        return Err(Failure::usage(format!("one URI at a time, what is {word:?}?")));
    }
    finish(client, Operation::Read { uri }, flags, &args.lend, args.show).await
}

/// Prints the contents one after the other, under their URIs if there are several.
pub(super) fn print(output: &Output) -> Result<(), Failure> {
    let value = output.value();
    let contents = value["contents"].as_array().map(Vec::as_slice).unwrap_or_default();
    if contents.is_empty() {
        term::note("the resource has no content");
    }
    for content in contents {
        if contents.len() > 1 {
            term::note(&escape::line(&format!("{}:", content["uri"].as_str().unwrap_or("unknown"))));
        }
        print_one(content)?;
    }
    Ok(())
}

fn print_one(content: &Value) -> Result<(), Failure> {
    if let Some(text) = content["text"].as_str() {
        return term::print_text(text);
    }
    let kind = escape::line(content["mimeType"].as_str().unwrap_or("no type"));
    match content["blob"].as_str().map(|blob| STANDARD.decode(blob)) {
        Some(Ok(bytes)) if io::stdout().is_terminal() => {
            term::note(&format!("({} bytes of {kind} are not shown; > FILE keeps them)", bytes.len()));
            Ok(())
        }
        Some(Ok(bytes)) => term::print_bytes(&bytes),
        Some(Err(error)) => Err(Failure::new(Exit::Failed, format!("the content is no Base64: {error}"))),
        None => {
            term::note(&format!("(content of {kind} has neither text nor blob; --json has it)"));
            Ok(())
        }
    }
}
