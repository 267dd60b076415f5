//! What happened, round by round: noted while it happens, and shown as a table at the end.

use std::time::Duration;

use comfy_table::{Cell, CellAlignment, ContentArrangement, Table, presets};
use mrtr::client::Event;
use serde_json::Value;

use super::INSTANCE_HEADER;
use crate::term::escape;

/// One round of an operation.
#[derive(Debug)]
pub(crate) struct Round {
    number: u32,
    /// Who answered.
    pub(crate) instance: String,
    /// The keys of the questions; empty when the operation is over.
    pub(crate) asked: Vec<String>,
    /// What was asked or returned, a line each.
    what: Vec<String>,
    state_bytes: Option<usize>,
    elapsed: Duration,
    /// Whether the instance was killed once it had answered.
    pub(crate) is_last_of_instance: bool,
}

impl Round {
    /// Reads a round off its response; `None` for every other event.
    pub(crate) fn of(event: &Event<'_>) -> Option<Self> {
        let Event::Response { round, headers, body, elapsed, .. } = event else { return None };
        let message: Value = serde_json::from_str(body).unwrap_or_default();
        let result = &message["result"];
        let asked = result["inputRequests"].as_object().map(|asked| asked.keys().cloned().collect());
        Some(Self {
            number: *round,
            instance: headers.get(INSTANCE_HEADER)?.to_str().ok()?.to_owned(),
            asked: asked.unwrap_or_default(),
            what: what(&message),
            state_bytes: result["requestState"].as_str().map(str::len),
            elapsed: *elapsed,
            is_last_of_instance: false,
        })
    }
}

/// Draws the rounds, at most so many columns wide.
pub(crate) fn table(rounds: &[Round], columns: u16, is_plain: bool) -> String {
    let mut table = Table::new();
    table
        .load_style(if is_plain { presets::ASCII_FULL_CONDENSED } else { presets::UTF8_FULL_CONDENSED })
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(columns)
        .set_header(["Round", "Instance", "Asked or returned", "State", "Server time"]);
    for round in rounds {
        let fate = if round.is_last_of_instance { "\nkilled" } else { "" };
        table.add_row([
            Cell::new(round.number).set_alignment(CellAlignment::Right),
            Cell::new(format!("{}{fate}", escape::line(&round.instance))),
            Cell::new(round.what.join("\n")),
            Cell::new(round.state_bytes.map_or_else(|| "-".to_owned(), |bytes| format!("{bytes} B")))
                .set_alignment(CellAlignment::Right),
            Cell::new(milliseconds(round.elapsed)).set_alignment(CellAlignment::Right),
        ]);
    }
    table.trim_fmt()
}

fn what(message: &Value) -> Vec<String> {
    let result = &message["result"];
    if let Some(asked) = result["inputRequests"].as_object() {
        let question = |(key, request): (&String, &Value)| said("asked", key, &request["params"]["message"]);
        return asked.iter().map(question).collect();
    }
    if result.is_object() {
        let kind = if result["isError"] == true { "returned an error" } else { "returned" };
        return vec![said(kind, "", &result["content"][0]["text"])];
    }
    vec![said("failed", "", &message["error"]["message"])]
}

/// One harmless line of a server's text, with what it is in front.
fn said(what: &str, key: &str, text: &Value) -> String {
    let text = text.as_str().unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ");
    let key = if key.is_empty() { String::new() } else { format!(" {key}") };
    escape::line(&format!("{what}{key}: {text}"))
}

fn milliseconds(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1000.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rounds() -> [Round; 2] {
        let asked = Round {
            number: 1,
            instance: "alpha".to_owned(),
            asked: vec!["confirm_prod".to_owned()],
            what: vec!["asked confirm_prod: Deploy api 4.8.1 to production?".to_owned()],
            state_bytes: Some(186),
            elapsed: Duration::from_micros(1_840),
            is_last_of_instance: true,
        };
        let returned = Round {
            number: 2,
            instance: "beta".to_owned(),
            asked: Vec::new(),
            what: vec!["returned: Deployed api 4.8.1 to production (api-1).".to_owned()],
            state_bytes: None,
            elapsed: Duration::from_micros(950),
            is_last_of_instance: false,
        };
        [asked, returned]
    }

    #[test]
    fn the_table_says_who_did_what_and_fits_80_columns() {
        insta::assert_snapshot!(table(&rounds(), 80, true));
    }

    #[test]
    fn long_texts_wrap_and_narrow_screens_are_kept_to() {
        let mut rounds = rounds();
        rounds[0].what.push(format!("asked more: {}", "word ".repeat(40)));
        for columns in [60, 80] {
            let drawn = table(&rounds, columns, false);
            assert!(drawn.lines().all(|line| line.chars().count() <= usize::from(columns)), "{drawn}");
        }
    }

    #[test]
    fn a_servers_text_cannot_draw_on_the_screen() {
        let message = serde_json::json!({ "result": { "content": [{ "type": "text", "text": "a\u{1b}[2J\nb" }] } });
        assert!(!what(&message)[0].contains('\u{1b}'));
    }
}
