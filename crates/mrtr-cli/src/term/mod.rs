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
mod sampling;

use std::io::{self, IsTerminal, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use anstyle::{AnsiColor, Style};
use crossterm::cursor::{MoveToColumn, Show};
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

    /// Runs prompts beside the runtime, in their turn. Leaving them ends the call.
    async fn run<T: Send + 'static>(
        &self,
        prompts: impl FnOnce() -> Result<T, Left> + Send + 'static,
    ) -> Result<T, NotAnswered> {
        let turn = Arc::clone(&self.turn);
        let run = tokio::task::spawn_blocking(move || {
            let _turn = turn.lock().unwrap_or_else(PoisonError::into_inner);
            prompts()
        });
        match run.await {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(Left::Broken(error))) => Err(NotAnswered::failed(error)),
            Ok(Err(_)) => Err(NotAnswered::Abandoned),
            Err(error) => Err(NotAnswered::failed(error)),
        }
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
    anstream::eprintln!("{}", prompt::dim(&escape::line(line)));
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
