//! The program with a person at the terminal, played through a pseudo terminal; here `mrtr call`.

use std::io::Read as _;
use std::process::Command;
use std::time::Duration;

use expectrl::process::unix::{UnixProcess, WaitStatus};
use expectrl::session::OsSession;
use expectrl::{Expect, Regex, Session};

use crate::server;

/// A run of the program, and what is typed and seen.
pub(crate) struct Person {
    session: OsSession,
}

const ESC: &str = "\u{1b}";
pub(crate) const ENTER: &str = "\r";
pub(crate) const DOWN: &str = "\u{1b}[B";
pub(crate) const CTRL_C: &str = "\u{3}";

impl Person {
    fn calls(tool: &[&str]) -> Self {
        Self::runs(&[&["call", &server::start()], tool].concat())
    }

    pub(crate) fn runs(args: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mrtr"));
        command.args(args).env("NO_COLOR", "1");
        let mut session = Session::spawn(command).expect("a pseudo terminal");
        session.set_expect_timeout(Some(Duration::from_secs(20)));
        session.get_process_mut().set_window_size(100, 40).expect("a size");
        Self { session }
    }

    #[track_caller]
    pub(crate) fn sees(mut self, text: &str) -> Self {
        if let Err(error) = self.session.expect(text) {
            let mut seen = vec![0; 4000];
            let length = self.session.try_read(&mut seen).unwrap_or_default();
            panic!("{text:?}: {error}; seen: {:?}", String::from_utf8_lossy(&seen[..length]));
        }
        self
    }

    /// Sees a pattern, and takes note of its first group.
    #[track_caller]
    pub(crate) fn reads(&mut self, pattern: &str) -> String {
        let found = self.session.expect(Regex(pattern)).unwrap_or_else(|error| panic!("{pattern:?}: {error}"));
        String::from_utf8(found.get(1).expect("a group").to_owned()).expect("UTF-8")
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

#[test]
fn a_yes_completes_the_call() {
    Person::calls(&["deploy", "service=api"])
        .sees("asks for deploy (it calls itself \"test\")")
        .sees("Deploy to production?")
        .sees("Confirm production deploy")
        .types(ENTER)
        .sees("type yes or no")
        .types("y")
        .types(ENTER)
        .sees("Deployed \"api\".")
        .exits(0);
}

#[test]
fn escape_offers_to_decline() {
    Person::calls(&["deploy", "service=api"])
        .sees("Confirm production deploy")
        .types(ESC)
        .sees("Leave the question?")
        .types(DOWN)
        .types(ENTER)
        .sees("Nothing was deployed.")
        .sees("answered \"confirm\" with decline")
        .exits(4);
}

#[test]
fn ctrl_c_stops_the_call() {
    Person::calls(&["deploy", "service=api"])
        .sees("Confirm production deploy")
        .types(CTRL_C)
        .sees("stopped; nothing more was sent")
        .exits(4);
}

#[test]
fn ctrl_c_leaves_nothing_of_the_prompt_below() {
    Person::calls(&["hostile"]).sees("to move, enter to select").types(CTRL_C).sees("\u{1b}[Jmrtr: stopped").exits(4);
}

#[test]
fn every_kind_of_field_is_asked_checked_and_reviewed() {
    Person::calls(&["book", "--answer", "trip.note=quiet room"])
        .sees("city")
        .types(" Nord")
        .types(ENTER)
        .sees("nights")
        .types("many")
        .types(ENTER)
        .sees("must be a whole number")
        .types(&"\u{7f}".repeat(4))
        .types("0")
        .types(ENTER)
        .sees("must be at least 1")
        .types("\u{7f}2")
        .types(ENTER)
        .sees("class")
        .sees("First")
        .types(DOWN)
        .types(ENTER)
        .sees("extras (optional)")
        .types(" ")
        .types(ENTER)
        .sees("Your answer:")
        .sees("city: Oslo Nord")
        .sees("Send it?")
        .types(ENTER)
        .sees(r#""content":{"city":"Oslo Nord","nights":2,"class":"f","extras":["wifi"],"note":"quiet room"}"#)
        .exits(0);
}

#[test]
fn a_form_without_fields_is_one_question_and_enter_alone_agrees_to_nothing() {
    Person::calls(&["approve"]).sees("Go ahead?").types(ENTER).sees(r#"{"action":"decline"}"#).exits(4);
    Person::calls(&["approve"])
        .sees("Go ahead?")
        .types("yes")
        .types(ENTER)
        .sees(r#"{"action":"accept","content":{}}"#)
        .exits(0);
}

#[test]
fn a_page_is_shown_in_full_and_opened_by_nobody() {
    Person::calls(&["pay"])
        .sees("Pay 7 EUR")
        .sees("URL:  https://pay.example/7?x=y")
        .sees("Host: pay.example")
        .sees("Open this page?")
        .types("yes")
        .types(ENTER)
        .sees("Open it in your browser:")
        .sees(r#"{"action":"accept"}"#)
        .exits(0);
}

#[test]
fn what_a_server_says_cannot_touch_the_terminal() {
    Person::calls(&["hostile"])
        .sees(r"\u{1b}[2J\u{1b}]8;;http://evil\u{7}click\u{d}\u{202e}txt")
        .sees(r"Pick\u{1b}[31m\u{200b}")
        .sees(r"one\u{1b}[0m")
        .types(ENTER)
        .sees(r#""content":{"c":"a"}"#)
        .exits(0);
}
