//! The program with a person at the terminal, played through a pseudo terminal; here `mrtr call`.

use std::io::Read as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::person::{CTRL_C, CTRL_U, DOWN, ENTER, ESC, Person, SHIFT_TAB};
use crate::server;

#[test]
fn a_yes_completes_the_call() {
    Person::calls(&["deploy", "service=api"])
        .sees("asks for deploy (it calls itself \"test\")")
        .sees("question 1 of 1, round 1")
        .sees("Deploy to production?")
        .sees("Confirm production deploy")
        .types(ENTER)
        .sees("! pick one with the arrows")
        .types("y")
        .types(ENTER)
        .sees("Deployed \"api\".")
        .exits(0);
}

#[test]
fn escape_offers_to_decline() {
    Person::calls(&["deploy", "service=api"])
        .sees("Confirm production deploy")
        .sees("Esc: more")
        .types(ESC)
        .sees("Leave the question?")
        .types(DOWN)
        .types(ENTER)
        .sees("Nothing was deployed.")
        .sees("answered \"confirm\" with decline")
        .exits(4);
}

#[test]
fn escape_offers_to_cancel() {
    Person::calls(&["approve"])
        .sees("Esc: more")
        .types(ESC)
        .sees("Leave the question?")
        .types("canc")
        .types(ENTER)
        .sees(r#"{"action":"cancel"}"#)
        .exits(4);
}

#[test]
fn ctrl_c_stops_the_call() {
    Person::calls(&["deploy", "service=api"])
        .sees("Esc: more")
        .types(CTRL_C)
        .sees("stopped; nothing more was sent")
        .exits(4);
}

#[test]
fn ctrl_c_in_the_middle_of_a_form_stops_the_call_and_leaves_nothing_of_the_prompt_below() {
    let mut person =
        Person::calls(&["book"]).sees("city").types(ENTER).sees("nights").sees("Esc: more").types("3").types(CTRL_C);
    let screen = person.screen("stopped; nothing more was sent");
    assert!(!screen.contains("Esc: more"), "{screen}");
    person.exits(4);
}

#[test]
fn chords_with_ctrl_or_alt_type_nothing() {
    Person::is_asked(r#"{"properties":{"a":{"type":"string"}},"required":["a"]}"#)
        .sees("Esc: more")
        .types("x\u{18}\u{b}\u{11}\u{1b}x\u{1b}qy")
        .types(ENTER)
        .sees(r#""content":{"a":"xy"}"#)
        .exits(0);
}

#[test]
fn every_kind_of_field_is_asked_checked_and_reviewed() {
    Person::calls(&["book", "--answer", "trip.note=quiet room"])
        .sees("city (1 of 4)")
        .sees("at least 2 characters")
        .sees("> Oslo")
        .types(" Nord")
        .types(ENTER)
        .sees("nights (2 of 4)")
        .sees("a whole number, at least 1")
        .types("many")
        .types(ENTER)
        .sees("! must be a whole number")
        .types(CTRL_U)
        .types("0")
        .types(ENTER)
        .sees("! must be at least 1")
        .shows("Esc: more", "wrong_input")
        .types("\u{7f}2")
        .types(ENTER)
        .sees("class (3 of 4)")
        .sees("First")
        .types(DOWN)
        .types(DOWN)
        .types(ENTER)
        .sees("extras (optional) (4 of 4)")
        .sees("Space: tick")
        .types(" ")
        .sees("[x] wifi")
        .types(ENTER)
        .sees("Your answer")
        .sees("1. city: Oslo Nord")
        .sees("Send it?")
        .shows("Esc: more", "review")
        .types(ENTER)
        .sees(r#""content":{"city":"Oslo Nord","nights":2,"class":"f","extras":["wifi"],"note":"quiet room"}"#)
        .exits(0);
}

#[test]
fn shift_tab_goes_back_and_answers_are_still_there() {
    Person::calls(&["book"])
        .sees("city (1 of 5)")
        .sees("Esc: more")
        .types(CTRL_U)
        .types("Bergen")
        .types(ENTER)
        .sees("nights (2 of 5)")
        .sees("Shift-Tab: back")
        .types(SHIFT_TAB)
        .sees("city (1 of 5)")
        .sees("> Bergen")
        .shows("Esc: more", "back")
        .types(CTRL_C)
        .sees("stopped")
        .exits(4);
}

#[test]
fn any_answer_is_edited_by_its_number_before_it_is_sent() {
    Person::calls(&["book"])
        .sees("city (1")
        .types(ENTER)
        .sees("nights (2")
        .types("2")
        .types(ENTER)
        .sees("class (3")
        .types("Eco")
        .types(ENTER)
        .sees("extras (optional) (4")
        .types(ENTER)
        .sees("Nothing is picked.")
        .types(ENTER)
        .sees("note (optional) (5")
        .types(ENTER)
        .sees("4. extras: (left out)")
        .sees("Send it?")
        .types("2")
        .sees("typed: 2")
        .types(ENTER)
        .sees("nights")
        .sees("> 2")
        .types("1")
        .types(ENTER)
        .sees("2. nights: 21")
        .sees("Send it?")
        .types(SHIFT_TAB)
        .sees("note (optional) (5 of 5)")
        .types("\"\"")
        .types(ENTER)
        .sees("5. note: \"\"")
        .sees("Send it?")
        .types(ENTER)
        .sees(r#""content":{"city":"Oslo","nights":21,"class":"e","note":""}"#)
        .exits(0);
}

#[test]
fn a_review_can_end_in_a_refusal() {
    for (typed, action) in [("decl", "decline"), ("canc", "cancel")] {
        Person::is_asked(r#"{"properties":{"a":{"type":"string"},"b":{"type":"string"}},"required":["a","b"]}"#)
            .sees("a (1 of 2)")
            .types("one")
            .types(ENTER)
            .sees("b (2 of 2)")
            .types("two")
            .types(ENTER)
            .sees("Send it?")
            .types(typed)
            .types(ENTER)
            .sees(&format!(r#"{{"action":"{action}"}}"#))
            .exits(4);
    }
}

#[test]
fn a_narrow_window_has_room_for_a_form() {
    let url = server::start();
    let columns = 40;
    Person::runs_at(&["call", &url, "book"], columns, &[])
        .sees("city (1 of 5)")
        .shows("Esc: more", "forty_columns_text")
        .types(ENTER)
        .sees("nights (2")
        .types("7")
        .types(ENTER)
        .sees("class (3")
        .shows("Esc: more", "forty_columns_list")
        .types(CTRL_C)
        .sees("stopped")
        .exits(4);
}

#[test]
fn no_color_means_none() {
    let url = server::start();
    let styled = |variables: &[(&str, &str)]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mrtr"));
        command.args(["call", &url, "book"]).env("TERM", "xterm-256color").env_remove("CI").env_remove("NO_COLOR");
        command.env_remove("MRTR_PLAIN").envs(variables.iter().copied());
        let mut person = Person::spawns(command, 80);
        let seen = person.reads("(?s)(.*Enter: go on)");
        person.types(CTRL_C).exits(4);
        // Colours and weights; what moves the cursor ends in other letters.
        seen.split("\u{1b}[")
            .skip(1)
            .any(|rest| rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';').starts_with('m'))
    };
    assert!(styled(&[]));
    assert!(!styled(&[("NO_COLOR", "1")]));
}

#[test]
fn a_form_without_fields_is_one_question_and_enter_alone_decides_nothing() {
    Person::calls(&["approve"])
        .sees("Go ahead?")
        .sees("Esc: more")
        .types(ENTER)
        .sees("! pick one with the arrows")
        .shows("Esc: more", "nothing_to_fill_in")
        .types("yes")
        .types(ENTER)
        .sees(r#"{"action":"accept","content":{}}"#)
        .exits(0);
    Person::calls(&["approve"]).sees("Go ahead?").types("no").types(ENTER).sees(r#"{"action":"decline"}"#).exits(4);
}

#[test]
fn what_a_server_says_cannot_touch_the_terminal() {
    Person::calls(&["hostile"])
        .sees(r"\u{1b}[2J\u{1b}]8;;http://evil\u{7}click\u{d}\u{202e}txt")
        .sees(r"Pick\u{1b}[31m\u{200b}")
        .sees(r"one\u{1b}[0m")
        .types("one")
        .types(ENTER)
        .sees(r#""content":{"c":"a"}"#)
        .exits(0);
}

#[test]
fn two_questions_of_one_round_are_two_answers() {
    Person::calls(&["pair"])
        .sees("question 1 of 2, round 1")
        .sees("Enter: pick")
        .types("yes")
        .types(ENTER)
        .sees("question 2 of 2, round 1")
        .sees("Enter: pick")
        .types(ESC)
        .sees("Leave the question?")
        .types("decl")
        .types(ENTER)
        .sees(r#"{"first":{"action":"accept","content":{"ok":true}},"second":{"action":"decline"}}"#)
        .exits(4);
}

/// A terminal that closes kills its programs, unless they are told to live on; those must notice by themselves.
#[test]
#[cfg(target_os = "linux")]
fn a_closed_terminal_ends_the_call_even_where_the_signal_is_ignored() {
    let note = std::path::PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("hung-up-{}", std::process::id()));
    let inner = format!(
        "echo $$ >{}; trap '' HUP; exec {} call {} book",
        note.display(),
        env!("CARGO_BIN_EXE_mrtr"),
        server::start()
    );
    // It owns the terminal, and takes it away when it is killed.
    let mut owner = Command::new("script");
    owner.args(["-qec", &inner, "/dev/null"]).env("TERM", "xterm").env("SHELL", "/bin/sh").env_remove("MRTR_PLAIN");
    let mut owner = owner.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("script");
    let mut seen = Vec::new();
    let mut byte = [0];
    let mut screen = owner.stdout.take().expect("a pipe");
    while !String::from_utf8_lossy(&seen).contains("Enter: go on") {
        screen.read_exact(&mut byte).expect("a prompt");
        seen.push(byte[0]);
    }
    let pid = std::fs::read_to_string(&note).expect("a process id").trim().to_owned();
    owner.kill().expect("killed");
    owner.wait().expect("reaped");
    let start = Instant::now();
    let lives = || std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "));
    while lives() {
        assert!(start.elapsed() < Duration::from_secs(60), "it goes on without a terminal");
        std::thread::sleep(Duration::from_millis(50));
    }
    let _ = std::fs::remove_file(note);
}
