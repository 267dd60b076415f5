//! A person at a terminal: types keys, and sees what a terminal would show.

use std::io::{ErrorKind, Read as _};
use std::num::NonZero;
use std::process::Command;
use std::time::{Duration, Instant};

use expectrl::process::unix::{UnixProcess, WaitStatus};
use expectrl::session::OsSession;
use expectrl::{Captures, Expect, Regex, Session};
use vt100::Parser;

use crate::server;

pub(crate) const ESC: &str = "\u{1b}";
pub(crate) const ENTER: &str = "\r";
pub(crate) const DOWN: &str = "\u{1b}[B";
pub(crate) const SHIFT_TAB: &str = "\u{1b}[Z";
pub(crate) const CTRL_C: &str = "\u{3}";
pub(crate) const CTRL_U: &str = "\u{15}";

/// A run of the program, and what is typed and seen.
pub(crate) struct Person {
    session: OsSession,
    terminal: Parser,
}

impl Person {
    /// Calls a tool of the test server.
    pub(crate) fn calls(words: &[&str]) -> Self {
        Self::runs(&[&["call", &server::start()], words].concat())
    }

    /// Is asked the form with this schema.
    pub(crate) fn is_asked(schema: &str) -> Self {
        Self::calls(&["ask", &format!("schema:={schema}")])
    }

    pub(crate) fn runs(args: &[&str]) -> Self {
        Self::runs_at(args, 100, &[])
    }

    /// Runs the program in a window of so many columns, with these variables.
    pub(crate) fn runs_at(args: &[&str], columns: u16, variables: &[(&str, &str)]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mrtr"));
        command.args(args).env("NO_COLOR", "1").env("TERM", "xterm").env_remove("MRTR_PLAIN").env_remove("BROWSER");
        command.envs(variables.iter().copied());
        Self::spawns(command, columns)
    }

    pub(crate) fn spawns(command: Command, columns: u16) -> Self {
        let mut session = Session::spawn(command).expect("a pseudo terminal");
        session.set_expect_timeout(Some(MOMENT));
        session.get_process_mut().set_window_size(columns, ROWS).expect("a size");
        Self { session, terminal: Parser::new(size(ROWS), size(columns), 0) }
    }

    #[track_caller]
    pub(crate) fn sees(mut self, text: &str) -> Self {
        match self.expect(|session| session.expect(text)) {
            Ok(found) => self.terminal.process(up_to(&found)),
            Err(error) => {
                self.drain();
                panic!("{text:?}: {error}; seen:\n{}", self.terminal.screen().contents());
            }
        }
        self
    }

    /// Looks for something again and again. On a machine that is busy enough a key may wait for the next one to be read, so
    /// a person who sees nothing happen presses one that means nothing.
    fn expect(
        &mut self,
        look: impl Fn(&mut OsSession) -> Result<Captures, expectrl::Error>,
    ) -> Result<Captures, expectrl::Error> {
        let start = Instant::now();
        loop {
            match look(&mut self.session) {
                Err(expectrl::Error::ExpectTimeout) if start.elapsed() < PATIENCE => {
                    let _ = self.session.send("\u{7}");
                }
                found => return found,
            }
        }
    }

    /// Sees a pattern, and takes note of its first group.
    #[track_caller]
    pub(crate) fn reads(&mut self, pattern: &str) -> String {
        let found = self
            .expect(|session| session.expect(Regex(pattern)))
            .unwrap_or_else(|error| panic!("{pattern:?}: {error}"));
        self.terminal.process(up_to(&found));
        String::from_utf8(found.get(1).expect("a group").to_owned()).expect("UTF-8")
    }

    /// The screen as it is once its last line holds this text.
    #[track_caller]
    pub(crate) fn screen(&mut self, last: &str) -> String {
        let start = Instant::now();
        let mut was_quiet = false;
        loop {
            let is_quiet = self.drain() == 0 && std::mem::replace(&mut was_quiet, true);
            was_quiet &= self.drain() == 0;
            let screen = self.terminal.screen().contents();
            let is_there = screen.trim_end().lines().last().is_some_and(|line| line.contains(last));
            if is_there && is_quiet {
                return with_fixed_port(&screen);
            }
            assert!(start.elapsed() < PATIENCE, "{last:?} is not the last line of:\n{screen}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Compares the screen, once its last line holds this text, with what it was.
    #[track_caller]
    pub(crate) fn shows(mut self, last: &str, snapshot: &str) -> Self {
        let screen = self.screen(last);
        insta::assert_snapshot!(snapshot, screen);
        self
    }

    /// Takes in what there is, and says how much it was.
    fn drain(&mut self) -> usize {
        let mut total = 0;
        let mut bytes = [0; 4096];
        loop {
            match self.session.try_read(&mut bytes) {
                Ok(0) => return total,
                Ok(length) => {
                    self.terminal.process(&bytes[..length]);
                    total += length;
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return total,
                // A terminal whose program is gone reads as an error on some systems.
                Err(_) => return total,
            }
        }
    }

    /// The process id of the program.
    pub(crate) fn pid(&self) -> String {
        self.session.get_process().pid().to_string()
    }

    pub(crate) fn types(mut self, keys: &str) -> Self {
        self.session.send(keys).expect("keys go in");
        self
    }

    #[track_caller]
    pub(crate) fn exits(mut self, code: i32) {
        let mut rest = Vec::new();
        // A terminal whose program is gone reads as an error on some systems.
        let _ = self.session.read_to_end(&mut rest);
        let process: &UnixProcess = self.session.get_process();
        match process.wait().expect("an exit") {
            WaitStatus::Exited(_, exit) => assert_eq!(exit, code),
            other => panic!("{other:?}"),
        }
    }
}

fn size(length: u16) -> NonZero<u16> {
    NonZero::new(length).expect("a window")
}

/// What was read until the end of a match.
fn up_to(found: &Captures) -> &[u8] {
    found.as_bytes()
}

/// Servers listen on a port of five digits, which one is chance.
fn with_fixed_port(screen: &str) -> String {
    let mut fixed = String::new();
    for (index, part) in screen.split("127.0.0.1:").enumerate() {
        let port = part.chars().take_while(char::is_ascii_digit).count();
        match index {
            0 => fixed.push_str(part),
            _ => fixed.push_str(&format!("127.0.0.1:40000{}", &part[port..])),
        }
    }
    fixed
}

const ROWS: u16 = 40;

/// How long a person looks before they press something.
const MOMENT: Duration = Duration::from_secs(6);

/// Far longer than anything takes on a machine that has other things to do.
const PATIENCE: Duration = Duration::from_secs(60);
