//! One life of the server: its process, and the tasks that read, write and wait for it.
//!
//! Three tasks share a [`Process`]: the writer, the reader of stderr, and the keeper, which also reads stdout, learns of
//! the end, and brings it about when told to. All stop with the process, and the process with the keeper.

use std::io;
use std::process::ExitStatus;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncWriteExt as _, BufReader};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::calls::{Calls, Routed};
use super::lines::{self, Line};
use super::{ChildEvent, OnEvent};
use crate::client::child::{Child, Streams};

/// A server that was started.
#[derive(Debug)]
pub(super) struct Process {
    pub(super) calls: Arc<Calls>,
    outbox: mpsc::Sender<Message>,
    stop: watch::Sender<Stop>,
    ended: watch::Receiver<Option<Arc<str>>>,
    pid: Option<u32>,
}

/// What is to be written.
#[derive(Debug)]
enum Message {
    /// A request, unless nobody waits for it any more by then.
    Request(u64, String),
    Notification(String),
}

/// How the end is to come about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stop {
    Not,
    /// By the book, with so long for each step.
    Gently(Duration),
    Now,
}

impl Process {
    /// Starts a server. Its life is independent of this handle until [`close`](Self::close).
    pub(super) fn start(command: &mut Command, on_event: &OnEvent) -> io::Result<Self> {
        let (child, Streams { stdin, stdout, stderr }) = Child::spawn(command)?;
        let pid = child.id();
        let calls = Arc::<Calls>::default();
        let (outbox, messages) = mpsc::channel(QUEUE);
        let (close_stdin, closing) = oneshot::channel();
        let writer = tokio::spawn(write(stdin, messages, closing, Arc::clone(&calls)));
        let last_words = Arc::<Mutex<String>>::default();
        let errors = tokio::spawn(read_errors(stderr, on_event.clone(), Arc::clone(&last_words)));
        let (stop, stopping) = watch::channel(Stop::Not);
        let (end, ended) = watch::channel(None);
        let keeper = Keeper { child, writer, errors, close_stdin: Some(close_stdin), stop: stopping };
        let (of_calls, on_event) = (Arc::clone(&calls), on_event.clone());
        tokio::spawn(async move {
            let status = keeper.keep(stdout, &of_calls, &on_event).await;
            let words = last_words.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let words = if words.is_empty() { words } else { format!("; the last it said on stderr: {words}") };
            end.send_replace(Some(format!("{status}{words}").into()));
            of_calls.end();
        });
        Ok(Self { calls, outbox, stop, ended, pid })
    }

    /// The process id.
    pub(super) fn pid(&self) -> Option<u32> {
        self.pid
    }

    /// Has a request written, once there is room. Where nothing can be written any more the server is ended, and the
    /// request is told that.
    pub(super) async fn send(&self, number: u64, request: String) {
        let _ = self.outbox.send(Message::Request(number, request)).await;
    }

    /// Has a notification written, unless the server has stopped reading.
    pub(super) fn notify(&self, notification: String) {
        let _ = self.outbox.try_send(Message::Notification(notification));
    }

    /// How it ended, if it has.
    pub(super) fn ended(&self) -> Option<Arc<str>> {
        self.ended.borrow().clone()
    }

    /// Waits for the end.
    pub(super) async fn wait(&self) {
        // The sender goes away only with the runtime, and the child with it.
        let _ = self.ended.clone().wait_for(Option::is_some).await;
    }

    /// Has it ended by the book: stdin closes, then SIGTERM, then SIGKILL, each after so long.
    pub(super) fn close(&self, grace: Duration) {
        self.stop.send_if_modified(|stop| {
            let is_new = *stop == Stop::Not;
            if is_new {
                *stop = Stop::Gently(grace);
            }
            is_new
        });
    }

    /// Has it killed.
    pub(super) fn kill(&self) {
        self.stop.send_replace(Stop::Now);
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.close(DROPPED_GRACE);
    }
}

/// Owns the child; dropped with the runtime, it kills the child.
struct Keeper {
    child: Child,
    writer: JoinHandle<()>,
    errors: JoinHandle<()>,
    close_stdin: Option<oneshot::Sender<()>>,
    stop: watch::Receiver<Stop>,
}

impl Keeper {
    /// Keeps the child to its end, and says how that came.
    async fn keep(mut self, stdout: ChildStdout, calls: &Arc<Calls>, on_event: &OnEvent) -> String {
        let mut reader = tokio::spawn(read(stdout, Arc::clone(calls), on_event.clone()));
        let mut stop = self.stop.clone();
        let status = tokio::select! {
            status = self.child.wait() => status,
            // Spec: basic/transports/stdio#shutdown. A server says that it is done by closing its stdout.
            _ = &mut reader => self.end_unless_killed(DROPPED_GRACE).await,
            // It takes no messages any more.
            _ = &mut self.writer => self.end_unless_killed(DROPPED_GRACE).await,
            stop = told(&mut stop) => match stop {
                Stop::Gently(grace) => self.end_unless_killed(grace).await,
                Stop::Not | Stop::Now => self.kill().await,
            },
        };
        // What it wrote before the end still counts. A process it left behind may hold the pipe open, so not for long.
        if !reader.is_finished() && timeout(LAST_WORDS, &mut reader).await.is_err() {
            reader.abort();
        }
        if timeout(LAST_WORDS, &mut self.errors).await.is_err() {
            self.errors.abort();
        }
        self.writer.abort();
        described(status)
    }

    async fn end_unless_killed(&mut self, grace: Duration) -> io::Result<ExitStatus> {
        let mut stop = self.stop.clone();
        let is_ended = tokio::select! {
            status = self.end(grace) => Some(status),
            () = killed(&mut stop) => None,
        };
        match is_ended {
            Some(status) => status,
            None => self.kill().await,
        }
    }

    /// Spec: basic/transports/stdio#shutdown.
    async fn end(&mut self, grace: Duration) -> io::Result<ExitStatus> {
        drop(self.close_stdin.take());
        if let Ok(status) = timeout(grace, self.child.wait()).await {
            return status;
        }
        // A writer that is stuck holds stdin open.
        self.writer.abort();
        self.child.terminate();
        if cfg!(unix)
            && let Ok(status) = timeout(grace, self.child.wait()).await
        {
            return status;
        }
        self.kill().await
    }

    async fn kill(&mut self) -> io::Result<ExitStatus> {
        self.child.kill();
        self.child.wait().await
    }
}

/// Resolves when the child is to be killed. Whoever could say so may be gone: that is no word.
async fn killed(stop: &mut watch::Receiver<Stop>) {
    if stop.wait_for(|stop| *stop == Stop::Now).await.is_err() {
        std::future::pending().await
    }
}

/// Waits until the end is to come about, and says how.
async fn told(stop: &mut watch::Receiver<Stop>) -> Stop {
    stop.wait_for(|stop| *stop != Stop::Not).await.map_or(Stop::Now, |stop| *stop)
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.writer.abort();
        self.errors.abort();
    }
}

/// Writes messages until told to stop; then those that are left, and closes stdin.
async fn write(
    mut stdin: ChildStdin,
    mut messages: mpsc::Receiver<Message>,
    mut closing: oneshot::Receiver<()>,
    calls: Arc<Calls>,
) {
    loop {
        let message = tokio::select! {
            biased;
            message = messages.recv() => message,
            _ = &mut closing => None,
        };
        let text = match message {
            None => return,
            Some(Message::Request(number, _)) if !calls.note_written(number) => continue,
            Some(Message::Request(_, text) | Message::Notification(text)) => text,
        };
        let line = text + "\n";
        if stdin.write_all(line.as_bytes()).await.is_err() || stdin.flush().await.is_err() {
            return;
        }
    }
}

/// Reads messages up to the end of stdout.
async fn read(stdout: ChildStdout, calls: Arc<Calls>, on_event: OnEvent) {
    let mut reader = BufReader::new(stdout);
    while let Ok(Some(line)) = lines::next(&mut reader, || calls.longest()).await {
        match line {
            Line::Cut(_) => calls.too_long(),
            Line::Whole(line) if line.iter().all(u8::is_ascii_whitespace) => {}
            Line::Whole(line) => {
                let line = String::from_utf8_lossy(&line).into_owned();
                if calls.route(line.clone()) == Routed::Stray {
                    on_event.tell(&ChildEvent::Stray(&line));
                }
            }
        }
    }
}

/// Passes on what is said on stderr, and keeps the end of it for a post-mortem.
async fn read_errors(stderr: ChildStderr, on_event: OnEvent, last_words: Arc<Mutex<String>>) {
    let mut reader = BufReader::new(stderr);
    while let Ok(Some(Line::Whole(line) | Line::Cut(line))) = lines::next(&mut reader, || LONGEST_ERROR).await {
        let line = String::from_utf8_lossy(&line);
        on_event.tell(&ChildEvent::Stderr(&line));
        if !line.trim().is_empty() {
            let line = line.trim().chars().take(LONGEST_WORDS).collect();
            *last_words.lock().unwrap_or_else(PoisonError::into_inner) = line;
        }
    }
}

fn described(status: io::Result<ExitStatus>) -> String {
    match status {
        // `exit status: 3`, or `signal: 9 (SIGKILL)`.
        Ok(status) => format!("the server exited ({status})"),
        Err(error) => format!("the server was lost ({error})"),
    }
}

/// Messages that may wait to be written.
const QUEUE: usize = 64;
/// How long each step to the end may take when nobody says.
const DROPPED_GRACE: Duration = Duration::from_secs(2);
/// How long after its end a process is still read from.
const LAST_WORDS: Duration = Duration::from_millis(500);
/// Longest line of stderr that is passed on, in bytes; of a longer one the beginning.
const LONGEST_ERROR: usize = 8 * 1024;
/// Longest quotation of stderr in an error, in characters.
const LONGEST_WORDS: usize = 200;
