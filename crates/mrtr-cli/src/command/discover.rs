//! `mrtr discover`: what a server says about itself.

use serde_json::Value;

use super::call::stoppable;
use crate::args::Listing;
use crate::exit::{Exit, Failure};
use crate::term::escape;
use crate::{report, term};

/// Runs the command.
pub(crate) async fn run(args: Listing) -> Result<Exit, Failure> {
    let client = args.endpoint.client(args.show)?;
    let output = stoppable(async { client.discover().await.map_err(report::failure) }).await?;
    if args.show.json {
        term::print_json(output.result.get())?;
    } else {
        term::print_text(&described(&output.value()))?;
    }
    Ok(Exit::Completed)
}

fn described(result: &Value) -> String {
    let meta = &result["_meta"]["io.modelcontextprotocol/serverInfo"];
    let info = if result["serverInfo"].is_object() { &result["serverInfo"] } else { meta };
    let text = |value: &Value| value.as_str().map(escape::line).unwrap_or_default();
    let list = |value: &Value| {
        let items = value.as_array().into_iter().flatten().map(text);
        items.collect::<Vec<_>>().join(", ")
    };
    let name = [text(&info["title"]), text(&info["name"]), text(&info["version"])];
    let lines = [
        ("Server", name.iter().filter(|part| !part.is_empty()).cloned().collect::<Vec<_>>().join(" ")),
        ("Website", text(&info["websiteUrl"])),
        ("Revisions", list(&result["supportedVersions"])),
        ("Capabilities", capabilities(&result["capabilities"])),
        ("Instructions", result["instructions"].as_str().map(escape::block).unwrap_or_default()),
    ];
    let lines = lines.iter().filter(|(_, text)| !text.is_empty());
    let lines: Vec<_> = lines.map(|(label, text)| term::labelled(label, text)).collect();
    if lines.is_empty() {
        "the server says nothing about itself; --json shows the reply".to_owned()
    } else {
        lines.join("\n")
    }
}

/// Each capability, with what it can do beyond its bare self.
fn capabilities(capabilities: &Value) -> String {
    let entry = |(name, value): (&String, &Value)| {
        let more = value.as_object().into_iter().flatten().filter(|(_, value)| **value != false);
        let more: Vec<_> = more.map(|(name, _)| name.as_str()).collect();
        let name = if more.is_empty() { name.clone() } else { format!("{name} ({})", more.join(", ")) };
        escape::line(&name)
    };
    capabilities.as_object().into_iter().flatten().map(entry).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_a_server_says_fits_the_screen_and_is_harmless() {
        let text = described(&json!({
            "supportedVersions": ["2026-07-28", "2025-11-25"],
            "capabilities": { "tools": { "listChanged": true }, "logging": {}, "prompts": { "listChanged": false } },
            "instructions": "word ".repeat(40) + "\u{1b}[2J",
            "_meta": { "io.modelcontextprotocol/serverInfo": { "name": "demo", "version": "1.2" } },
        }));
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines[0], "Server:       demo 1.2");
        assert_eq!(lines[1], "Revisions:    2026-07-28, 2025-11-25");
        assert_eq!(lines[2], "Capabilities: tools (listChanged), logging, prompts");
        assert!(lines[3..].iter().all(|line| line.len() <= 80), "{text}");
        assert!(text.ends_with(r"\u{1b}[2J"), "{text}");
    }
}
