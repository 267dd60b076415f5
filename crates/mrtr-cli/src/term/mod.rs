//! What a person at a terminal sees: questions, and lines about what is going on.
//!
//! Results go to stdout, everything else to stderr. All of a server's text passes [`escape`] on its way to a screen.
//! [`form`] and [`page`] ask, [`prompt`] is the layer over the prompt library, [`layout`] breaks lines.

pub(crate) mod escape;
mod field;
mod form;
mod layout;
pub(crate) mod page;
mod prompt;

use std::io::{self, IsTerminal, Write as _};
use std::sync::{Arc, Mutex, PoisonError};

use anstyle::{AnsiColor, Style};
use crossterm::cursor::Show;
use crossterm::style::Print;
use crossterm::terminal::{Clear, ClearType};
use mrtr::client::{Answer, Ask, BoxFuture, Kind, NotAnswered, Responder};

use self::prompt::Left;
use crate::exit::{Exit, Failure};

/// The person at the terminal, as a responder for forms and URLs.
#[derive(Clone, Debug)]
pub(crate) struct Terminal {
    /// One question at a time, whichever operation it belongs to.
    turn: Arc<Mutex<()>>,
}

impl Terminal {
    /// Finds the terminal; `None` if nobody is there to type or to read.
    pub(crate) fn find() -> Option<Self> {
        let is_there = io::stdin().is_terminal() && io::stderr().is_terminal();
        is_there.then(|| Self { turn: Arc::default() })
    }

    fn ask(&self, ask: &Ask) -> Result<Answer, NotAnswered> {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let answer = match ask.kind {
            Kind::Form => form::ask(ask),
            Kind::Url => page::ask(ask),
            _ => return Err(NotAnswered::Nobody),
        };
        answer.or_else(Left::settle)
    }
}

impl Responder for Terminal {
    fn respond<'a>(&'a self, ask: &'a Ask) -> BoxFuture<'a, Result<Answer, NotAnswered>> {
        // Prompts block, so they run beside the runtime: Ctrl-C and timers stay alive.
        let (terminal, ask) = (self.clone(), ask.clone());
        Box::pin(async move {
            let asked = tokio::task::spawn_blocking(move || terminal.ask(&ask));
            asked.await.unwrap_or_else(|error| Err(NotAnswered::failed(error)))
        })
    }
}

/// Puts the terminal back as a shell wants it, if a prompt has it in its hands.
pub(crate) fn restore() {
    if crossterm::terminal::is_raw_mode_enabled().unwrap_or(false) {
        // Nothing could be done about a failure, and the program is on its way out.
        let _ = crossterm::terminal::disable_raw_mode();
        let _ = crossterm::execute!(io::stderr(), Print("\n"), Clear(ClearType::FromCursorDown), Show);
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

fn print(text: &str) -> Result<(), Failure> {
    match writeln!(io::stdout(), "{text}") {
        // The reader has seen enough, as in `mrtr tools URL | head`.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        printed => printed.map_err(|error| Failure::new(Exit::Failed, format!("cannot write the result: {error}"))),
    }
}
