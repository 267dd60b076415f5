//! `mrtr tools`: what a server can do.

use comfy_table::{Cell, Table};
use mrtr::client::{Tool, ToolList};
use mrtr::form::{Field, Form};

use super::call::stoppable;
use super::prompts::new_table;
use crate::args::ToolsArgs;
use crate::exit::{Exit, Failure};
use crate::report;
use crate::term::{self, escape};

/// Runs the command.
pub(crate) async fn run(args: ToolsArgs) -> Result<Exit, Failure> {
    let client = args.endpoint.client(&args.show)?;
    let list = stoppable(async { client.list_tools().await.map_err(report::failure) }).await?;
    for tool in &list.rejected {
        term::warn(&format!("left out {:?}, whose definition is invalid: {}", tool.name, tool.reason));
    }
    if args.show.json {
        term::print_json(&json(&list))?;
    } else if list.tools.is_empty() {
        term::note("the server has no tools");
    } else {
        term::print_text(&table(&list.tools).trim_fmt())?;
    }
    Ok(Exit::Completed)
}

/// The definitions as the server wrote them.
fn json(list: &ToolList) -> String {
    let tools: Vec<_> = list.tools.iter().map(|tool| tool.raw.get()).collect();
    format!("[{}]", tools.join(","))
}

fn table(tools: &[Tool]) -> Table {
    let mut table = new_table();
    table.set_header(["TOOL", "ARGUMENT", "TYPE", "REQUIRED", "DESCRIPTION"]);
    for tool in tools {
        let about = tool.description.as_deref().or(tool.title.as_deref()).unwrap_or_default();
        table.add_row([cell(&tool.name), cell(""), cell(""), cell(""), cell(about)]);
        for field in Form::lenient(&tool.input_schema).fields() {
            let about = field.description.as_deref().or(field.title.as_deref()).unwrap_or_default();
            let required = if field.required { "yes" } else { "no" };
            table.add_row([cell(""), cell(&field.name), cell(&kind(field)), cell(required), cell(about)]);
        }
    }
    table
}

/// A cell of a table, which breaks its lines itself: those of a description would be shown as codes.
pub(super) fn cell(text: &str) -> Cell {
    Cell::new(escape::line(&text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")))
}

fn kind(field: &Field) -> String {
    report::kind(field)
}
