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

use std::io::{self, IsTerminal, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use anstyle::{AnsiColor, Style};
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
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        if gone.load(Ordering::Acquire) {
            return Err(NotAnswered::Abandoned);
        }
        let mut console: Box<dyn Console> =
            if self.is_plain { Box::new(plain::Plain) } else { Box::new(keyboard::Cursor::new(gone)) };
        let answer = match ask.kind {
            Kind::Form => form::ask(console.as_mut(), ask),
            Kind::Url => page::ask(console.as_mut(), ask),
            _ => return Err(NotAnswered::Nobody),
        };
        answer.or_else(Left::settle)
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
    anstream::eprintln!("{}", escape::block(message));
}

fn say(style: Style, label: &str, message: &str) {
    anstream::eprintln!("{style}{label}{style:#} {}", escape::block(message));
}

/// Prints a message of the wire to stderr, byte for byte unless that is a terminal.
pub(crate) fn wire(json: &str) {
    let text = if io::stderr().is_terminal() { escape::json(json) } else { json.to_owned() };
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

fn print(text: &str) -> Result<(), Failure> {
    match writeln!(io::stdout(), "{text}") {
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
