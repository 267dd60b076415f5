//! The program from outside: what it prints where, and the code it exits with.

mod call;
#[cfg(unix)]
mod command;
// Looks for processes in /proc.
#[cfg(target_os = "linux")]
mod demo;
mod diagnoses;
mod form_cases;
mod health;
mod keygen;
mod lend;
mod lists;
mod pages;
mod person;
mod plain;
mod reach;
mod script;
mod server;
mod shell;
mod state;
#[cfg(unix)]
mod stdio;
mod terminal;
mod tools;
mod trace;

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
    mrtr_with(args, [])
}

/// Runs the program without a terminal, with these variables set.
fn mrtr_with<'a>(
    args: impl IntoIterator<Item = &'a str>,
    envs: impl IntoIterator<Item = (&'static str, &'a str)>,
) -> Ran {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mrtr"));
    for name in SECRETS {
        command.env_remove(name);
    }
    let output = command.args(args).envs(envs).stdin(Stdio::null()).output().expect("the program starts");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    Ran { stdout: text(output.stdout), stderr: text(output.stderr), code: output.status.code().unwrap_or(-1) }
}

/// A file that is gone when the test is.
struct Scratch(std::path::PathBuf);

impl Scratch {
    /// A place for a file, without one.
    fn new(name: &str) -> Self {
        static COUNT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let count = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        Self(std::env::temp_dir().join(format!("mrtr-{}-{count}-{name}", std::process::id())))
    }

    fn holding(name: &str, text: &str) -> Self {
        let scratch = Self::new(name);
        std::fs::write(&scratch.0, text).expect("a file");
        scratch
    }

    fn path(&self) -> &str {
        self.0.to_str().expect("UTF-8")
    }

    fn text(&self) -> String {
        std::fs::read_to_string(&self.0).expect("a file")
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

const SECRETS: [&str; 2] = ["MRTR_TOKEN", "MRTR_SAMPLE_KEY"];

impl Ran {
    /// Asserts code, stdout and stderr, to the letter.
    #[track_caller]
    fn is(&self, code: i32, stdout: &str, stderr: &str) {
        assert_eq!((self.code, self.stdout.as_str(), self.stderr.as_str()), (code, stdout, stderr));
    }
}
