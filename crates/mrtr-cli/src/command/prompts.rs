//! `mrtr prompts`: what a server can be asked to phrase.

use comfy_table::{ContentArrangement, Table, presets};
use mrtr::client::{Listed, Prompt};

use super::call::stoppable;
use super::tools::cell;
use crate::args::Listing;
use crate::exit::{Exit, Failure};
use crate::{report, term};

/// Runs the command.
pub(crate) async fn run(args: Listing) -> Result<Exit, Failure> {
    let client = args.endpoint.client(args.show)?;
    let list = stoppable(async { client.list_prompts().await.map_err(report::failure) }).await?;
    complain(&list);
    if args.show.json {
        let prompts: Vec<_> = list.entries.iter().map(|prompt| prompt.raw.get()).collect();
        term::print_json(&format!("[{}]", prompts.join(",")))?;
    } else if list.entries.is_empty() {
        term::note("the server has no prompts");
    } else {
        term::print_text(&table(&list.entries).trim_fmt())?;
    }
    Ok(Exit::Completed)
}

/// Names the entries that were left out.
pub(super) fn complain<T>(list: &Listed<T>) {
    for (name, reason) in &list.rejected {
        term::warn(&format!("left out {name:?}, whose definition is invalid: {reason}"));
    }
}

fn table(prompts: &[Prompt]) -> Table {
    let mut table = new_table();
    table.set_header(["PROMPT", "ARGUMENT", "REQUIRED", "DESCRIPTION"]);
    for prompt in prompts {
        let about = prompt.description.as_deref().or(prompt.title.as_deref()).unwrap_or_default();
        table.add_row([cell(&prompt.name), cell(""), cell(""), cell(about)]);
        for argument in &prompt.arguments {
            let about = argument.description.as_deref().or(argument.title.as_deref()).unwrap_or_default();
            let required = if argument.required { "yes" } else { "no" };
            table.add_row([cell(""), cell(&argument.name), cell(required), cell(about)]);
        }
    }
    table
}

/// A table as wide as the screen, or as 80 columns where there is none.
pub(super) fn new_table() -> Table {
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(term::columns(80));
    table
}
