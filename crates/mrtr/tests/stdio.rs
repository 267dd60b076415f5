//! The example over stdin and stdout as a real process: what only a process shows is how it ends.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::world::{everything, request};

/// The example at work.
struct Process {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Process {
    fn start() -> Self {
        let mut child = Command::new(example())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the example starts");
        let (input, output) = (child.stdin.take().expect("a pipe"), child.stdout.take().expect("a pipe"));
        Self { child, input, output: BufReader::new(output) }
    }

    fn send(&mut self, id: u64, params: Value) {
        writeln!(self.input, "{}", request(id, "tools/call", &everything(), params)).expect("it reads");
    }

    fn read(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("a line");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }

    fn terminate(&self) {
        let kill = Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status();
        assert!(kill.expect("kill runs").success());
    }
}

/// Built along with the tests, next to them.
fn example() -> PathBuf {
    let mut path = std::env::current_exe().expect("this program's path");
    path.pop();
    path.set_file_name("examples");
    path.push("stdio");
    assert!(path.exists(), "{} is missing: cargo build -p mrtr --features stdio --example stdio", path.display());
    path
}

/// Waits for the end, which is near.
#[track_caller]
fn ends(mut child: Child) -> ExitStatus {
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        if let Some(status) = child.try_wait().expect("a child") {
            return status;
        }
        if Instant::now() > deadline {
            child.kill().expect("a child");
            panic!("it runs on");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn delete() -> Value {
    json!({ "name": "delete", "arguments": { "path": "a.txt" } })
}

#[test]
fn a_process_asks_and_is_answered() {
    let mut process = Process::start();
    process.send(1, delete());
    let question = process.read();
    let mut retry = delete();
    retry["requestState"] = question["result"]["requestState"].clone();
    retry["inputResponses"] = json!({ "confirm": { "action": "accept", "content": { "confirm": true } } });
    process.send(2, retry);
    assert_eq!(process.read()["result"]["content"][0]["text"], "Deleted a.txt.");
    drop(process.input);
    assert!(ends(process.child).success());
}

#[test]
fn sigterm_ends_a_process_whose_stdin_stays_open() {
    let mut process = Process::start();
    process.send(1, delete());
    process.read();
    process.terminate();
    assert!(ends(process.child).success());
    drop(process.input);
}

#[test]
fn a_client_that_does_not_read_does_not_keep_the_process() {
    let mut process = Process::start();
    // More than fits into the pipe.
    for id in 0..150 {
        process.send(id, delete());
    }
    drop(process.input);
    // Its last write never returns, and is not waited for longer than the drain timeout.
    assert!(ends(process.child).success());
    drop(process.output);
}
