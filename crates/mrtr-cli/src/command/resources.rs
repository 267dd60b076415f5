//! `mrtr resources`: what a server has to read, and by which patterns there is more.

use comfy_table::Table;
use mrtr::client::{CallError, Client, Listed, Resource, ResourceTemplate};

use super::call::stoppable;
use super::prompts::{complain, new_table};
use super::tools::cell;
use crate::args::Listing;
use crate::exit::{Exit, Failure};
use crate::{report, term};

/// Runs the command.
pub(crate) async fn run(args: Listing) -> Result<Exit, Failure> {
    let client = args.endpoint.client(args.show)?;
    let (resources, templates) = stoppable(async { list(&client).await.map_err(report::failure) }).await?;
    complain(&resources);
    let templates = templates.map_or_else(Vec::new, |list| {
        complain(&list);
        list.entries
    });
    if args.show.json {
        term::print_json(&json(&resources.entries, &templates))?;
    } else if resources.entries.is_empty() && templates.is_empty() {
        term::note("the server has no resources");
    } else {
        term::print_text(&table(&resources.entries, &templates).trim_fmt())?;
    }
    Ok(Exit::Completed)
}

type Lists = (Listed<Resource>, Option<Listed<ResourceTemplate>>);

/// Reads both lists. Servers without templates may not know the second one.
async fn list(client: &Client) -> Result<Lists, CallError> {
    let resources = client.list_resources().await?;
    match client.list_resource_templates().await {
        Ok(templates) => Ok((resources, Some(templates))),
        Err(CallError::Rpc { code: -32601, .. }) => Ok((resources, None)),
        Err(error) => Err(error),
    }
}

fn json(resources: &[Resource], templates: &[ResourceTemplate]) -> String {
    let resources: Vec<_> = resources.iter().map(|resource| resource.raw.get()).collect();
    let templates: Vec<_> = templates.iter().map(|template| template.raw.get()).collect();
    format!(r#"{{"resources":[{}],"resourceTemplates":[{}]}}"#, resources.join(","), templates.join(","))
}

fn table(resources: &[Resource], templates: &[ResourceTemplate]) -> Table {
    let mut table = new_table();
    table.set_header(["URI", "TYPE", "DESCRIPTION"]);
    let mut add = |uri: &str, kind: Option<&str>, about: [&Option<String>; 3]| {
        let about = about.into_iter().flatten().next().map_or("", String::as_str);
        table.add_row([cell(uri), cell(kind.unwrap_or_default()), cell(about)]);
    };
    for Resource { uri, mime_type, description, title, name, .. } in resources {
        add(uri, mime_type.as_deref(), [description, title, name]);
    }
    for ResourceTemplate { uri_template, mime_type, description, title, name, .. } in templates {
        add(uri_template, mime_type.as_deref(), [description, title, name]);
    }
    table
}
