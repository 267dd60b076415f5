//! A child process that leaves nothing behind.
//!
//! On Unix a child gets a process group of its own, so that what it starts (a shell's command, what `npx` runs) is
//! signalled with it. Dropping a [`Child`] kills the group: on a panic, when a runtime ends, or when whoever waited no
//! longer does. Elsewhere only the child itself is killed.

use std::ffi::OsStr;
use std::io;
use std::process::{ExitStatus, Stdio};

use tokio::process::{self, ChildStderr, ChildStdin, ChildStdout};

/// A running child, killed on drop.
#[derive(Debug)]
pub(super) struct Child {
    child: process::Child,
    group: Group,
}

/// The three ends of a child's streams that are ours.
#[derive(Debug)]
pub(super) struct Streams {
    pub(super) stdin: ChildStdin,
    pub(super) stdout: ChildStdout,
    pub(super) stderr: ChildStderr,
}

impl Child {
    /// Starts a command with all its streams piped.
    pub(super) fn spawn(command: &mut process::Command) -> io::Result<(Self, Streams)> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        #[cfg(unix)]
        command.process_group(0);
        let mut child = command.spawn()?;
        let group = Group { pid: child.id() };
        let missing = || io::Error::other("a stream of the child is missing");
        let streams = Streams {
            stdin: child.stdin.take().ok_or_else(missing)?,
            stdout: child.stdout.take().ok_or_else(missing)?,
            stderr: child.stderr.take().ok_or_else(missing)?,
        };
        Ok((Self { child, group }, streams))
    }

    /// Returns the process id; `None` once it has ended.
    pub(super) fn id(&self) -> Option<u32> {
        self.group.pid
    }

    /// Waits for the end of the process. Safe to drop and to call again.
    ///
    /// A child that ends by itself may have started something that is meant to outlive it, such as a browser: its group
    /// is left alone from here on.
    pub(super) async fn wait(&mut self) -> io::Result<ExitStatus> {
        let status = self.child.wait().await?;
        self.group.pid = None;
        Ok(status)
    }

    /// Asks the child and what it started to end. Elsewhere than on Unix there is no such request.
    pub(super) fn terminate(&self) {
        self.group.terminate();
    }

    /// Ends the child, and on Unix what it started. Its status is still to be waited for.
    pub(super) fn kill(&mut self) {
        self.group.kill();
        // It may be gone already.
        let _ = self.child.start_kill();
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.group.kill();
    }
}

/// The group of a child that has not been waited for, which keeps the number from being given to another.
#[derive(Clone, Copy, Debug)]
struct Group {
    pid: Option<u32>,
}

impl Group {
    #[cfg(unix)]
    fn terminate(self) {
        self.signal(rustix::process::Signal::TERM);
    }

    #[cfg(unix)]
    fn kill(self) {
        self.signal(rustix::process::Signal::KILL);
    }

    #[cfg(unix)]
    fn signal(self, signal: rustix::process::Signal) {
        let pid = self.pid.and_then(|pid| i32::try_from(pid).ok()).and_then(rustix::process::Pid::from_raw);
        if let Some(pid) = pid {
            // A group that is gone needs no signal.
            let _ = rustix::process::kill_process_group(pid, signal);
        }
    }

    #[cfg(not(unix))]
    fn terminate(self) {}

    #[cfg(not(unix))]
    fn kill(self) {}
}

/// A command as a person would type it, to name a process by.
pub(super) fn command_line<'a>(words: impl IntoIterator<Item = &'a OsStr>) -> String {
    let word = |word: &OsStr| {
        let text = word.to_string_lossy();
        let is_plain = |c: char| c.is_alphanumeric() || "-_./:@%+=,\\".contains(c);
        if !text.is_empty() && text.chars().all(is_plain) { text.into_owned() } else { format!("'{text}'") }
    };
    words.into_iter().map(word).collect::<Vec<_>>().join(" ")
}
