//! What a person at a terminal sees: questions, and lines about what is going on.
//!
//! Results go to stdout, everything else to stderr. All of a server's text passes [`escape`] on its way to a screen.
//! [`form`] and [`page`] say what to ask and what an answer means. What they need of a terminal is a [`console`], of
//! which there are two: [`keyboard`], where a cursor moves, and [`plain`], where lines follow each other.

mod address;
mod canvas;
mod console;
mod editor;
pub(crate) mod escape;
mod field;
mod form;
mod keyboard;
mod keys;
mod layout;
mod list;
mod opener;
pub(crate) mod page;
mod plain;
mod prompt;
mod sampling;

use std::io::{self, IsTerminal, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use anstyle::{AnsiColor, Style};
use crossterm::cursor::MoveToColumn;
use crossterm::style::Print;
use crossterm::terminal::{Clear, ClearType};
use mrtr::client::{Answer, Ask, BoxFuture, Kind, NotAnswered, Responder};

use self::console::{Console, Left};
pub(crate) use self::keyboard::restore;
use crate::exit::{Exit, Failure};

/// The person at the terminal, as a responder for forms and URLs.
#[derive(Clone, Debug)]
pub(crate) struct Terminal {
    /// One question at a time, whichever operation it belongs to.
    turn: Arc<Mutex<()>>,
    is_plain: bool,
}

impl Terminal {
    /// Finds the terminal; `None` if nobody is there to type or to read.
    ///
    /// Who says `--plain` is there, even at the other end of a pipe. Lines are also what `MRTR_PLAIN` stands for, and
    /// all that a terminal of the kind `dumb` can do.
    pub(crate) fn find(plain: bool) -> Option<Self> {
        let is_there = io::stdin().is_terminal() && io::stderr().is_terminal();
        let is_plain =
            plain || says_plain(std::env::var("MRTR_PLAIN").as_deref().ok(), std::env::var("TERM").as_deref().ok());
        (is_there || plain).then(|| Self { turn: Arc::default(), is_plain })
    }

    fn ask(&self, ask: &Ask, gone: Arc<AtomicBool>) -> Result<Answer, NotAnswered> {
        let answer = self.converse(gone, |console| match ask.kind {
            Kind::Form => Ok(form::ask(console, ask)),
            Kind::Url => Ok(page::ask(console, ask)),
            _ => Err(NotAnswered::Nobody),
        })?;
        answer?.or_else(Left::settle)
    }

    /// Runs prompts in their turn, unless nobody waits for them any more.
    fn converse<T>(
        &self,
        gone: Arc<AtomicBool>,
        prompts: impl FnOnce(&mut dyn Console) -> T,
    ) -> Result<T, NotAnswered> {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        if gone.load(Ordering::Acquire) {
            return Err(NotAnswered::Abandoned);
        }
        let mut console: Box<dyn Console> =
            if self.is_plain { Box::new(plain::Plain) } else { Box::new(keyboard::Cursor::new(gone)) };
        Ok(prompts(console.as_mut()))
    }

    /// Runs prompts beside the runtime. Leaving them ends the call.
    async fn run<T: Send + 'static>(
        &self,
        prompts: impl FnOnce(&mut dyn Console) -> Result<T, Left> + Send + 'static,
    ) -> Result<T, NotAnswered> {
        let (terminal, waiting) = (self.clone(), Waiting::default());
        let gone = Arc::clone(&waiting.gone);
        let said = tokio::task::spawn_blocking(move || terminal.converse(gone, prompts));
        match said.await.unwrap_or_else(|error| Err(NotAnswered::failed(error)))? {
            Ok(value) => Ok(value),
            Err(Left::Broken(error)) => Err(NotAnswered::failed(error)),
            Err(_) => Err(NotAnswered::Abandoned),
        }
    }
}

fn says_plain(variable: Option<&str>, term: Option<&str>) -> bool {
    variable.is_some_and(|value| !matches!(value, "" | "0")) || term == Some("dumb")
}

impl Responder for Terminal {
    fn respond<'a>(&'a self, ask: &'a Ask) -> BoxFuture<'a, Result<Answer, NotAnswered>> {
        // Prompts block, so they run beside the runtime: Ctrl-C and timers stay alive.
        let (terminal, ask) = (self.clone(), ask.clone());
        Box::pin(async move {
            let waiting = Waiting::default();
            let gone = Arc::clone(&waiting.gone);
            let asked = tokio::task::spawn_blocking(move || terminal.ask(&ask, gone));
            asked.await.unwrap_or_else(|error| Err(NotAnswered::failed(error)))
        })
    }
}

/// Somebody waits for an answer; dropped, the prompt ends by itself.
#[derive(Debug, Default)]
struct Waiting {
    gone: Arc<AtomicBool>,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.gone.store(true, Ordering::Release);
    }
}

/// How wide a table may be: as the screen, but no wider than this.
pub(crate) fn columns(most: u16) -> u16 {
    if !io::stdout().is_terminal() {
        return most;
    }
    most.min(layout::screen().0.try_into().unwrap_or(most))
}

/// A line of a description: its label, and text beside it in lines of its own.
pub(crate) fn labelled(label: &str, text: &str) -> String {
    const INDENT: usize = 14;
    let lines = layout::wrap(text.trim_end(), usize::from(columns(80)).saturating_sub(INDENT).max(20));
    let start = format!("{label}:");
    let lines = lines.iter().enumerate().map(|(index, line)| {
        let start = if index == 0 { start.as_str() } else { "" };
        format!("{start:<INDENT$}{line}").trim_end().to_owned()
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Says why the program ends without a result.
pub(crate) fn complain(message: &str) {
    say(AnsiColor::Red.on_default().bold(), "mrtr:", message);
}

/// Says that something is not as the user may think.
pub(crate) fn warn(message: &str) {
    say(AnsiColor::Yellow.on_default().bold(), "warning:", message);
}

/// Says what is going on.
pub(crate) fn note(message: &str) {
    status("");
    anstream::eprintln!("{}", escape::block(message));
}

/// Says what a server's process says on the side, dimmed.
pub(crate) fn aside(line: &str) {
    status("");
    anstream::eprintln!("{}", keyboard::dim(&escape::line(line)));
}

/// Whether somebody watches stderr.
pub(crate) fn is_watched() -> bool {
    io::stderr().is_terminal()
}

/// Whether a prompt has the terminal in its hands.
pub(crate) fn is_prompting() -> bool {
    crossterm::terminal::is_raw_mode_enabled().unwrap_or(false)
}

/// Puts this in the place of the status line before; empty, the line is gone. The text is harmless already.
pub(crate) fn status(text: &str) {
    if is_prompting() || !is_watched() {
        return;
    }
    let text = layout::cut(text, layout::screen().0.saturating_sub(1));
    let was_there = HAS_STATUS.swap(!text.is_empty(), Ordering::Relaxed);
    if was_there || !text.is_empty() {
        // Only looks depend on it.
        let _ = crossterm::execute!(io::stderr(), MoveToColumn(0), Print(text), Clear(ClearType::UntilNewLine));
    }
}

/// Whether there is a status line, which has to go before anything else is said.
static HAS_STATUS: AtomicBool = AtomicBool::new(false);

fn say(style: Style, label: &str, message: &str) {
    status("");
    anstream::eprintln!("{style}{label}{style:#} {}", escape::block(message));
}

/// Prints a part of a trace, which is harmless already.
pub(crate) fn trace(text: &str) {
    // A closed stderr is no reason to fail the call.
    let _ = writeln!(io::stderr(), "{text}");
}

/// Prints a tool's text to stdout, byte for byte unless that is a terminal.
pub(crate) fn print_text(text: &str) -> Result<(), Failure> {
    let text = if io::stdout().is_terminal() { escape::block(text) } else { text.to_owned() };
    print(&text)
}

/// Prints JSON to stdout, byte for byte unless that is a terminal.
pub(crate) fn print_json(json: &str) -> Result<(), Failure> {
    let text = if io::stdout().is_terminal() { escape::json(json) } else { json.to_owned() };
    print(&text)
}

/// Prints these bytes to stdout as they are.
pub(crate) fn print_bytes(bytes: &[u8]) -> Result<(), Failure> {
    written(io::stdout().write_all(bytes).and_then(|()| io::stdout().flush()))
}

fn print(text: &str) -> Result<(), Failure> {
    written(writeln!(io::stdout(), "{text}"))
}

fn written(outcome: io::Result<()>) -> Result<(), Failure> {
    match outcome {
        // The reader has seen enough, as in `mrtr tools URL | head`.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        printed => printed.map_err(|error| Failure::new(Exit::Failed, format!("cannot write the result: {error}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_lines_are_a_choice_or_all_there_is() {
        assert!(says_plain(Some("1"), Some("xterm")) && says_plain(None, Some("dumb")));
        assert!(!says_plain(Some("0"), Some("xterm")) && !says_plain(Some(""), None) && !says_plain(None, None));
    }
}
