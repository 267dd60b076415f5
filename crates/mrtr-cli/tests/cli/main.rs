//! The program from outside: what it prints where, and the code it exits with.

mod call;
// Looks for processes in /proc.
#[cfg(target_os = "linux")]
mod demo;
mod form_cases;
mod health;
mod keygen;
mod pages;
mod person;
mod plain;
mod server;
mod state;
#[cfg(unix)]
mod stdio;
mod terminal;
mod tools;

use std::process::{Command, Stdio};

/// What a run left behind.
#[derive(Debug)]
struct Ran {
    stdout: String,
    stderr: String,
    code: i32,
}

/// Runs the program without a terminal.
fn mrtr<'a>(args: impl IntoIterator<Item = &'a str>) -> Ran {
    let output =
        Command::new(env!("CARGO_BIN_EXE_mrtr")).args(args).stdin(Stdio::null()).output().expect("the program starts");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    Ran { stdout: text(output.stdout), stderr: text(output.stderr), code: output.status.code().unwrap_or(-1) }
}

impl Ran {
    /// Asserts code, stdout and stderr, to the letter.
    #[track_caller]
    fn is(&self, code: i32, stdout: &str, stderr: &str) {
        assert_eq!((self.code, self.stdout.as_str(), self.stderr.as_str()), (code, stdout, stderr));
    }
}
