//! The server this run has started as a process of its own, if any. However the run ends, the process does too.

use std::ffi::OsString;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use mrtr::client::{ChildEvent, StdioTransport};
use tokio::time::timeout;

use crate::term;

static SERVER: OnceLock<Arc<StdioTransport>> = OnceLock::new();
static IS_STOPPED: AtomicBool = AtomicBool::new(false);

/// Prepares the server. A run has one at most; it is started by the first request.
pub(crate) fn server(program: &OsString, args: &[OsString]) -> Arc<StdioTransport> {
    let held = Held::default();
    let build = || {
        let transport = StdioTransport::new(program).args(args).on_event(move |event| held.tell(event));
        // They are for other servers.
        Arc::new(SECRETS.iter().fold(transport, StdioTransport::env_remove))
    };
    Arc::clone(SERVER.get_or_init(build))
}

/// From now on there is little time: the user wants to be gone.
pub(crate) fn hurry() {
    IS_STOPPED.store(true, Ordering::Relaxed);
}

/// Ends the server by the book, and waits for it.
pub(crate) async fn end() {
    if let Some(server) = SERVER.get() {
        let grace = if IS_STOPPED.load(Ordering::Relaxed) { HURRIED } else { GRACE };
        server.shutdown(grace).await;
    }
}

/// Kills the server.
pub(crate) async fn kill() {
    if let Some(server) = SERVER.get() {
        server.kill();
        // The process ends now, however this one came here.
        let _ = timeout(HURRIED, server.shutdown(Duration::ZERO)).await;
    }
}

/// Lines that wait while a prompt has the terminal.
#[derive(Default)]
struct Held(Mutex<Vec<String>>);

impl Held {
    fn tell(&self, event: &ChildEvent<'_>) {
        let line = match event {
            ChildEvent::Stderr(line) => format!("server: {line}"),
            ChildEvent::Stray(line) => format!("server wrote to stdout: {line}"),
            ChildEvent::Restarting { cause, pause } => {
                return term::warn(&format!("{cause}; starting it again in {} ms", pause.as_millis()));
            }
            _ => return,
        };
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        held.push(line);
        if !term::is_prompting() {
            held.drain(..).for_each(|line| term::aside(&line));
        } else if held.len() > MOST_HELD {
            held.remove(0);
        }
    }
}

/// What only this program is to know.
pub(crate) const SECRETS: [&str; 2] = [crate::command::TOKEN, crate::command::SAMPLE_KEY];
/// For each step of the end.
const GRACE: Duration = Duration::from_secs(2);
const HURRIED: Duration = Duration::from_millis(150);
/// Lines of stderr that a prompt may hold up.
const MOST_HELD: usize = 200;
