//! Prompts that a person can always leave: Esc offers decline and cancel, Ctrl-C stops the call.

use std::fmt;
use std::io;

use anstyle::Style;
use crossterm::terminal::{Clear, ClearType};
use inquire::{InquireError, Select};
use mrtr::client::{Answer, Ask, NotAnswered};

use super::escape;
use super::layout::{screen, wrap};

/// How a person left a question instead of answering it.
#[derive(Debug)]
pub(super) enum Left {
    /// By saying no.
    Declined,
    /// Without a decision.
    Cancelled,
    /// And the whole call with it.
    Stopped,
    /// Not at all: the terminal failed.
    Broken(InquireError),
}

impl Left {
    /// Says it in terms of the protocol.
    pub(super) fn settle(self) -> Result<Answer, NotAnswered> {
        match self {
            Self::Declined => Ok(Answer::decline()),
            Self::Cancelled => Ok(Answer::cancel()),
            Self::Stopped => Err(NotAnswered::Abandoned),
            Self::Broken(error) => Err(NotAnswered::failed(error)),
        }
    }
}

/// Runs a prompt until it has a value, or until the person leaves.
pub(super) fn insist<T>(prompt: impl Fn() -> Result<T, InquireError>) -> Result<T, Left> {
    loop {
        match prompt() {
            Ok(value) => return Ok(value),
            Err(InquireError::OperationCanceled) => leave()?,
            Err(InquireError::OperationInterrupted) => return Err(stopped()),
            Err(error) => return Err(Left::Broken(error)),
        }
    }
}

/// Asks what Esc was meant to do; `Ok` goes back to the question.
fn leave() -> Result<(), Left> {
    let ways = vec![Way::Back, Way::Decline, Way::Cancel, Way::Stop];
    match Select::new("Leave the question?", ways).prompt() {
        Ok(Way::Back) | Err(InquireError::OperationCanceled) => Ok(()),
        Ok(Way::Decline) => Err(Left::Declined),
        Ok(Way::Cancel) => Err(Left::Cancelled),
        Ok(Way::Stop) => Err(Left::Stopped),
        Err(InquireError::OperationInterrupted) => Err(stopped()),
        Err(error) => Err(Left::Broken(error)),
    }
}

/// An interrupted prompt leaves the cursor above its last line of help, which would stick out of what is said next.
fn stopped() -> Left {
    // Nothing but looks depends on it.
    let _ = crossterm::execute!(io::stderr(), Clear(ClearType::FromCursorDown));
    Left::Stopped
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Back,
    Decline,
    Cancel,
    Stop,
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Back => "Back to the question",
            Self::Decline => "Decline: say no",
            Self::Cancel => "Cancel: leave it undecided",
            Self::Stop => "Stop the whole call",
        })
    }
}

/// One choice that stands for a value.
#[derive(Clone, Debug)]
pub(super) struct Pick<T> {
    pub(super) label: String,
    pub(super) value: T,
}

impl<T> Pick<T> {
    pub(super) fn new(label: impl Into<String>, value: T) -> Self {
        Self { label: label.into(), value }
    }
}

impl<T> fmt::Display for Pick<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.label)
    }
}

/// Has one of some choices picked, starting at the given one.
pub(super) fn pick<T: Copy>(question: &str, choices: &[(&str, T)], start: usize) -> Result<T, Left> {
    insist(|| {
        let picks = choices.iter().map(|&(label, value)| Pick::new(label, value)).collect();
        Select::new(question, picks).with_starting_cursor(start).prompt().map(|pick| pick.value)
    })
}

/// How many choices of a list are shown at once.
pub(super) fn page_size(choices: usize) -> usize {
    choices.min(screen().1.saturating_sub(6)).clamp(1, 20)
}

/// Prints who asks, for what, and the message, a page at a time if it is long.
pub(super) fn introduce(ask: &Ask) -> Result<(), Left> {
    let (columns, rows) = screen();
    let called = ask.server_name.as_deref().map(|name| format!(" (it calls itself {name:?})")).unwrap_or_default();
    let of = if ask.count > 1 { format!(" [question {} of {}]", ask.number, ask.count) } else { String::new() };
    anstream::eprintln!();
    for line in header(&ask.server, &format!(" asks for {}{called}{of}", ask.target), columns) {
        anstream::eprintln!("{line}");
    }
    let lines = wrap(&escape::block(ask.message().trim_end()), columns.saturating_sub(2));
    read_through(&lines, rows.saturating_sub(8))?;
    anstream::eprintln!("{}", dim("  (Esc: decline or cancel, Ctrl-C: stop the call)"));
    Ok(())
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
pub(super) fn read_through(lines: &[String], page: usize) -> Result<(), Left> {
    for (index, chunk) in lines.chunks(page).enumerate() {
        let left = lines.len() - index * page;
        if index > 0 {
            let question = format!("{left} more lines");
            if !pick(&question, &[("Read on", true), ("Go to the question", false)], 0)? {
                return Ok(());
            }
        }
        chunk.iter().for_each(|line| anstream::eprintln!("  {line}"));
    }
    Ok(())
}

/// Makes text that says how, not what.
pub(super) fn dim(text: &str) -> String {
    let dimmed = Style::new().dimmed();
    format!("{dimmed}{text}{dimmed:#}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_breaks_where_the_screen_ends() {
        let server = "http://127.0.0.1:38123/mcp";
        let lines = header(server, " asks for provision (it calls itself \"mrtr-demo\") [question 1 of 2]", 80);
        let plain = |line: &String| anstream::adapter::strip_str(line).to_string();
        assert_eq!(
            lines.iter().map(plain).collect::<Vec<_>>(),
            ["http://127.0.0.1:38123/mcp asks for provision (it calls itself \"mrtr-demo\")", "[question 1 of 2]"]
        );
        assert!(lines[0].starts_with("\u{1b}[1mhttp://127.0.0.1:38123/mcp\u{1b}[0m asks"), "{lines:?}");
        assert!(header(&"x".repeat(100), " asks", 80).iter().all(|line| line.len() <= 80));
    }
}
