//! What is said before a question: who asks, for what, how far along, and the message, a page at a time if it is long.

use anstyle::{AnsiColor, Style};
use mrtr::client::Ask;

use super::console::{Console, Left, pick};
use super::escape;
use super::keyboard::dim;
use super::layout::{cut, screen, wrap};

/// Prints who asks, for what, and the message.
pub(super) fn introduce(console: &mut dyn Console, ask: &Ask) -> Result<(), Left> {
    let (columns, rows) = screen();
    let called = ask.server_name.as_deref().map(|name| cut(name, LONGEST_NAME));
    let called = called.map(|name| format!(" (it calls itself {name:?})")).unwrap_or_default();
    anstream::eprintln!();
    for line in header(&ask.server, &format!(" asks for {}{called}", ask.target), columns) {
        anstream::eprintln!("{line}");
    }
    dimmed(&progress(ask));
    let lines = wrap(&escape::message(ask.message().trim_end()), columns.saturating_sub(3));
    read_through(console, &lines, rows.saturating_sub(8))?;
    dimmed(&format!("({})", console.help()));
    Ok(())
}

fn progress(ask: &Ask) -> String {
    let again = match ask.asked_before {
        0 => "",
        _ if ask.consented => "",
        _ => "; the server asks again",
    };
    format!("question {} of {}, round {}{again}", ask.number, ask.count, ask.round)
}

/// The server and what is said about it, in lines that fit; the server in bold, if it has room in the first.
fn header(server: &str, about: &str, columns: usize) -> Vec<String> {
    let server = escape::line(server);
    let mut lines = wrap(&format!("{server}{}", escape::line(about)), columns);
    let bold = Style::new().bold();
    if let Some(first) = lines.first_mut()
        && let Some(rest) = first.strip_prefix(&server)
    {
        *first = format!("{bold}{server}{bold:#}{rest}");
    }
    lines
}

/// Prints lines; after each page, the person decides whether to see more.
pub(super) fn read_through(console: &mut dyn Console, lines: &[String], page: usize) -> Result<(), Left> {
    for (index, chunk) in lines.chunks(page.max(1)).enumerate() {
        let left = lines.len() - index * page;
        if index > 0 {
            let question = format!("{left} more lines");
            let choices = [
                ("Read on", Page::On),
                ("Go to the question", Page::Skip),
                ("Decline: say no to the server", Page::Decline),
                ("Cancel: leave it undecided", Page::Cancel),
            ];
            match pick(console, &question, &choices, Some(0))? {
                Page::On => {}
                Page::Skip => return Ok(()),
                Page::Decline => return Err(Left::Declined),
                Page::Cancel => return Err(Left::Cancelled),
            }
        }
        chunk.iter().for_each(|line| anstream::eprintln!("  {line}"));
    }
    Ok(())
}

#[derive(Clone, Copy)]
enum Page {
    On,
    Skip,
    Decline,
    Cancel,
}

/// Prints a paragraph of a server's that is no more than a remark: its first lines.
pub(super) fn remark(text: &str) {
    let lines = wrap(&escape::message(text.trim()), screen().0.saturating_sub(3));
    let more = lines.len().saturating_sub(MOST_LINES);
    lines.iter().take(MOST_LINES).for_each(|line| anstream::eprintln!("  {line}"));
    if more > 0 {
        dimmed(&format!("({more} more lines)"));
    }
}

/// Prints something that says how, not what. It is harmless already.
pub(super) fn dimmed(text: &str) {
    let lines = wrap(text, screen().0.saturating_sub(3));
    lines.iter().take(MOST_LINES).for_each(|line| anstream::eprintln!("  {}", dim(line)));
}

/// Prints something to beware of. It is harmless already.
pub(super) fn careful(text: &str) {
    let style = AnsiColor::Yellow.on_default();
    let lines = wrap(&format!("Careful: {text}."), screen().0.saturating_sub(3));
    lines.iter().take(MOST_LINES).for_each(|line| anstream::eprintln!("  {style}{line}{style:#}"));
}

/// Most columns of the name a server gives itself.
const LONGEST_NAME: usize = 80;

/// Most lines of one remark.
const MOST_LINES: usize = 12;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_breaks_where_the_screen_ends() {
        let server = "http://127.0.0.1:38123/mcp";
        let lines = header(server, " asks for provision (it calls itself \"mrtr-demo\") and more to say", 80);
        let plain = |line: &String| anstream::adapter::strip_str(line).to_string();
        assert_eq!(
            lines.iter().map(plain).collect::<Vec<_>>(),
            ["http://127.0.0.1:38123/mcp asks for provision (it calls itself \"mrtr-demo\") and", "more to say"]
        );
        assert!(lines[0].starts_with("\u{1b}[1mhttp://127.0.0.1:38123/mcp\u{1b}[0m asks"), "{lines:?}");
        assert!(header(&"x".repeat(100), " asks", 80).iter().all(|line| line.len() <= 80));
    }
}
