//! The program with a person who reads line by line: `--plain`, `MRTR_PLAIN`, dumb terminals, and pipes.

use std::io::Write as _;
use std::process::{Command, Stdio};

use crate::person::{CTRL_C, ENTER, Person};
use crate::server;

fn plain(words: &[&str]) -> Person {
    Person::runs_at(&[&["call", &server::start()], words, &["--plain"]].concat(), 80, &[])
}

#[test]
fn a_form_is_lines_in_and_lines_out() {
    plain(&["book"])
        .sees("city (1 of 5)")
        .sees("Enter alone answers: Oslo")
        .types(ENTER)
        .sees("nights (2 of 5)")
        .types("0\r")
        .sees("Error: must be at least 1")
        .types(":back\r")
        .sees("city (1 of 5)")
        .sees("Enter alone answers: Oslo")
        .types("Bergen\r")
        .sees("nights (2 of 5)")
        .types("3\r")
        .sees("class (3 of 5)")
        .sees("2. First")
        .types("\r")
        .sees("Error: an answer is needed")
        .types("2\r")
        .sees("extras (optional) (4 of 5)")
        .types("wifi, 2\r")
        .sees("note (optional) (5 of 5)")
        .types("::)\r")
        .sees("5. note: :)")
        .sees("Send it?")
        .shows(">", "plain_review")
        .types("2\r")
        .sees("nights")
        .types("4\r")
        .sees("2. nights: 4")
        .types("send\r")
        .sees(r#""content":{"city":"Bergen","nights":4,"class":"f","extras":["wifi","meal"],"note":":)"}"#)
        .exits(0);
}

#[test]
fn commands_leave_a_question() {
    plain(&["approve"]).sees("> ").types(":decline\r").sees(r#"{"action":"decline"}"#).exits(4);
    plain(&["approve"]).sees("> ").types(":cancel\r").sees(r#"{"action":"cancel"}"#).exits(4);
    plain(&["approve"])
        .sees("> ")
        .types(":help\r")
        .sees(":stop     stop the whole call")
        .types(":stop\r")
        .sees("stopped")
        .exits(4);
    plain(&["approve"])
        .sees("> ")
        .types(":nonsense\r")
        .sees("no such command")
        .types("yes\r")
        .sees(r#""content":{}"#)
        .exits(0);
}

#[test]
fn ctrl_c_and_the_end_of_input_stop_the_call() {
    plain(&["approve"]).sees("> ").types(CTRL_C).sees("stopped; nothing more was sent").exits(4);
    plain(&["approve"]).sees("> ").types("\u{4}").sees("stopped; nothing more was sent").exits(4);
}

#[test]
fn nothing_moves() {
    let url = server::start();
    for variables in [[("TERM", "dumb")], [("MRTR_PLAIN", "1")]] {
        let mut person = Person::runs_at(&["call", &url, "approve"], 80, &variables);
        let seen = person.reads("(?s)(.*)Go ahead");
        assert!(!seen.contains('\u{1b}'), "{seen:?}");
        person.sees("> ").types("1\r").sees(r#""content":{}"#).exits(0);
    }
}

fn piped(tool: &str, lines: &str) -> (i32, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mrtr"));
    command.args(["call", &server::start(), tool, "--plain"]);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    child.stdin.take().expect("a pipe").write_all(lines.as_bytes()).expect("it reads");
    let output = child.wait_with_output().expect("an end");
    let text = [output.stdout, output.stderr].concat();
    (output.status.code().unwrap_or(-1), String::from_utf8(text).expect("UTF-8"))
}

#[test]
fn who_says_plain_may_be_at_the_end_of_a_pipe() {
    let (code, said) = piped("approve", "1\n");
    assert_eq!(code, 0, "{said}");
    assert!(said.contains(r#"{"action":"accept","content":{}}"#), "{said}");
}

#[test]
fn a_pipe_that_ends_is_nobodys_no() {
    let (code, said) = piped("book", "Oslo\n");
    assert_eq!(code, 4, "{said}");
    assert!(said.contains("stopped; nothing more was sent"), "{said}");
}

#[test]
fn a_line_that_is_cut_off_is_no_answer() {
    use std::io::Write as _;
    let mut child = Command::new(env!("CARGO_BIN_EXE_mrtr"))
        .args(["call", "--plain", &server::start(), "approve"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program");
    child.stdin.take().expect("a pipe").write_all(b"yes").expect("it reads");
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(4), "{}", String::from_utf8_lossy(&output.stderr));
}
