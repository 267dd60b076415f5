//! The instances: processes of this very program that share a key and nothing else, and do not outlive their parent.
//!
//! Two things see to that. Dropping an [`Instance`] kills and reaps it, on every way out that unwinds or returns. And
//! each instance holds the reading end of a pipe whose writing end only the parent has: when the parent is gone in any
//! other way, the pipe closes and the instance stops by itself.

use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mrtr::Keyring;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::ChildStdout;

use crate::exit::{Exit, Failure};

/// Server processes that take turns.
pub(crate) struct Fleet(Mutex<State>);

struct State {
    instances: Vec<Instance>,
    turn: usize,
}

/// One server process.
pub(crate) struct Instance {
    pub(crate) name: &'static str,
    pub(crate) address: SocketAddr,
    pub(crate) pid: u32,
    process: Process,
}

impl Fleet {
    /// Starts an instance of each name, and returns when all of them listen.
    pub(crate) async fn start(names: [&'static str; 2]) -> Result<Self, Failure> {
        let key = Keyring::generate();
        let (first, second) = tokio::join!(Instance::start(names[0], &key), Instance::start(names[1], &key));
        Ok(Self(Mutex::new(State { instances: vec![first?, second?], turn: 0 })))
    }

    /// How many instances were started.
    pub(crate) fn size(&self) -> usize {
        self.state().instances.len()
    }

    /// The address of the instance whose turn it is; `None` if none is left. The dead have no turn.
    pub(crate) fn next(&self) -> Option<SocketAddr> {
        let mut state = self.state();
        let State { instances, turn } = &mut *state;
        for _ in 0..instances.len() {
            let index = *turn % instances.len();
            *turn += 1;
            if instances[index].process.is_alive() {
                return Some(instances[index].address);
            }
        }
        None
    }

    /// Kills an instance, without a chance to say goodbye. When this returns, the process is gone.
    pub(crate) fn kill(&self, name: &str) -> Option<u32> {
        let mut state = self.state();
        let instance = state.instances.iter_mut().find(|instance| instance.name == name)?;
        instance.process.end();
        Some(instance.pid)
    }

    /// Ends all instances.
    pub(crate) fn stop(&self) {
        self.state().instances.iter_mut().for_each(|instance| instance.process.end());
    }

    /// Tells of each instance.
    pub(crate) fn each(&self, tell: impl FnMut(&Instance)) {
        self.state().instances.iter().for_each(tell);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Instance {
    async fn start(name: &'static str, key: &str) -> Result<Self, Failure> {
        let failed = |why: String| Failure::new(Exit::Failed, format!("cannot start the server {name}: {why}"));
        let (process, stdout) = Process::spawn(name, key).map_err(|error| failed(error.to_string()))?;
        let address = tokio::time::timeout(PATIENCE, address(stdout))
            .await
            .map_err(|_| failed(format!("it says nothing for {} seconds", PATIENCE.as_secs())))?
            .ok_or_else(|| failed("it ended at once, or said something unexpected".to_owned()))?;
        Ok(Self { name, address, pid: process.0.id(), process })
    }
}

/// Reads the line in which an instance says where it listens.
async fn address(stdout: ChildStdout) -> Option<SocketAddr> {
    let line = BufReader::new(stdout).lines().next_line().await.ok()??;
    line.strip_prefix("listening on http://")?.strip_suffix("/mcp")?.parse().ok()
}

/// A child process that is killed and reaped when this is dropped.
struct Process(Child);

impl Process {
    fn spawn(name: &str, key: &str) -> std::io::Result<(Self, ChildStdout)> {
        let mut child = Command::new(std::env::current_exe()?)
            .args(["demo-server", "--listen", "127.0.0.1:0", "--name", name, "--until-stdin-closes"])
            .env("MRTR_KEYS", key)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let stdout = child.stdout.take().map(ChildStdout::from_std);
        let process = Self(child);
        let stdout = stdout.expect("stdout is piped above")?;
        Ok((process, stdout))
    }

    fn is_alive(&mut self) -> bool {
        matches!(self.0.try_wait(), Ok(None))
    }

    /// Kills and reaps. Blocks for as long as the system takes to end a killed process, a millisecond or so.
    fn end(&mut self) {
        // Neither can fail for a child that was not reaped elsewhere; a process that has ended already is fine.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end();
    }
}

/// How long an instance may take to listen, on a machine that is busy with other things.
const PATIENCE: Duration = Duration::from_secs(30);
