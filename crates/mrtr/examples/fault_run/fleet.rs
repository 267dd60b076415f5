//! The fleet: instances behind nginx, over one Redis, all of them real processes on free loopback ports.
//!
//! What is done to them is written down with its time, as evidence. They end with this process, however it ends: whoever is
//! dropped here is killed, and an instance that is left alone ends by itself.

use std::error::Error;
use std::fs::File;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use mrtr::Keyring;
use rand::RngExt;
use serde::de::DeserializeOwned;
use tokio::net::TcpStream;
use tokio::process::{Child, ChildStdin, Command};
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep};

use super::client::{Answer, Client, Leg};
use super::nginx;
use super::serve::{KEYS, Setup};

pub type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// How long a process may take to come up, or an instance to drain.
const PATIENCE: Duration = Duration::from_secs(20);

/// What a fleet is to be like.
#[derive(Clone, Copy)]
pub struct Kind {
    pub instances: usize,
    /// Instances die several times a second.
    pub they_die: bool,
    pub without_once: bool,
}

pub struct Fleet {
    directory: PathBuf,
    kind: Kind,
    /// Where nginx listens.
    pub front: SocketAddr,
    redis: SocketAddr,
    bank: SocketAddr,
    instances: Vec<Mutex<Instance>>,
    store: Mutex<Child>,
    _nginx: Child,
    pub events: std::sync::Mutex<Events>,
}

/// A process at one of the addresses.
struct Instance {
    address: SocketAddr,
    process: Child,
    /// It ends by itself when this is closed, which waiting for a process does unless it is kept apart.
    _tie: Option<ChildStdin>,
}

/// What was done to the fleet, in milliseconds since the epoch.
#[derive(Default)]
pub struct Events {
    pub kills: Vec<Kill>,
    /// From the kill of Redis until it answered again.
    pub redis_away: Vec<(u64, u64)>,
    pub rotations: u64,
}

#[derive(Clone, Copy)]
pub struct Kill {
    pub process: u32,
    pub address: SocketAddr,
    pub at: u64,
}

impl Fleet {
    /// Starts everything and waits until it answers.
    pub async fn start(directory: &Path, kind: Kind, bank: SocketAddr, keys: &str) -> Outcome<Self> {
        let ports = free_ports(kind.instances + 2)?;
        let (front, redis, addresses) = (ports[0], ports[1], &ports[2..]);
        write_keys(directory, keys)?;
        let store = start_redis(directory, redis).await?;
        let mut running = Vec::new();
        for address in addresses {
            running.push(Mutex::new(start_instance(directory, kind, *address, redis, bank).await?));
        }
        let mut nginx = nginx::start_in_front(directory, front, addresses, kind.they_die)?;
        is_up(front, &mut nginx, "nginx").await?;
        let directory = directory.to_owned();
        let (instances, store, events) = (running, Mutex::new(store), std::sync::Mutex::default());
        Ok(Self { directory, kind, front, redis, bank, instances, store, _nginx: nginx, events })
    }

    pub fn len(&self) -> usize {
        self.instances.len()
    }

    /// Ends an instance as a power cut does, and starts it again at once.
    pub async fn kill(&self, which: usize) -> Outcome<()> {
        let mut instance = self.instances[which].lock().await;
        let process = instance.process.id().ok_or("an instance ended by itself; its log says why")?;
        let (address, at) = (instance.address, millis());
        self.events().kills.push(Kill { process, address, at });
        instance.process.kill().await?;
        *instance = start_instance(&self.directory, self.kind, address, self.redis, self.bank).await?;
        Ok(())
    }

    /// Ends an instance as a deployment does, waits until it has drained, and starts it again.
    pub async fn restart(&self, which: usize) -> Outcome<()> {
        let mut instance = self.instances[which].lock().await;
        let process = instance.process.id().ok_or("an instance ended by itself; its log says why")?;
        Command::new("kill").args(["-TERM", &process.to_string()]).status().await?;
        let ended = tokio::time::timeout(PATIENCE, instance.process.wait()).await;
        let status = ended.map_err(|_| "an instance did not end when it was told to")??;
        if !status.success() {
            return Err(format!("an instance that was told to stop ended with {status}").into());
        }
        *instance = start_instance(&self.directory, self.kind, instance.address, self.redis, self.bank).await?;
        Ok(())
    }

    /// Gives the fleet other keys, by the file its instances follow, and waits until each of them has them.
    pub async fn rotate(&self, keys: &str) -> Outcome<()> {
        write_keys(&self.directory, keys)?;
        let expected = Answer::Done(Keyring::parse(keys)?.fingerprints().join(" "));
        for instance in &self.instances {
            let until = Instant::now() + PATIENCE;
            let instance = instance.lock().await;
            while !Client::of(instance.address).send(&Leg::first(KEYS, 0)).await.is_ok_and(|keys| keys == expected) {
                if Instant::now() > until {
                    return Err("an instance does not follow its file of keys".into());
                }
                sleep(Duration::from_millis(20)).await;
            }
        }
        self.events().rotations += 1;
        Ok(())
    }

    /// Kills Redis, leaves it dead for a while, and starts it again on what it had written down.
    pub async fn restart_redis(&self, dead: Duration) -> Outcome<()> {
        let mut store = self.store.lock().await;
        let from = millis();
        self.events().redis_away.push((from, u64::MAX));
        store.kill().await?;
        sleep(dead).await;
        *store = start_redis(&self.directory, self.redis).await?;
        if let Some(last) = self.events().redis_away.last_mut() {
            *last = (from, millis());
        }
        Ok(())
    }

    pub fn events(&self) -> std::sync::MutexGuard<'_, Events> {
        self.events.lock().expect("no panic meanwhile")
    }
}

/// Written beside it and renamed: nobody reads half a file.
fn write_keys(directory: &Path, keys: &str) -> Outcome<()> {
    std::fs::write(directory.join("keys.new"), keys)?;
    Ok(std::fs::rename(directory.join("keys.new"), directory.join("keys"))?)
}

async fn start_instance(
    directory: &Path,
    kind: Kind,
    address: SocketAddr,
    redis: SocketAddr,
    bank: SocketAddr,
) -> Outcome<Instance> {
    let setup = Setup {
        address,
        keys: directory.join("keys"),
        redis,
        bank,
        legs: directory.join("legs.log"),
        drain: PATIENCE / 2,
        without_once: kind.without_once,
    };
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("serve").arg(serde_json::to_string(&setup)?).stdin(Stdio::piped());
    let log = format!("instance-{}.log", address.port());
    let mut process = start(&mut command, directory, &log)?;
    is_up(address, &mut process, "an instance").await?;
    Ok(Instance { address, _tie: process.stdin.take(), process })
}

async fn start_redis(directory: &Path, address: SocketAddr) -> Outcome<Child> {
    let mut command = Command::new("redis-server");
    command.args(["--bind", "127.0.0.1", "--port", &address.port().to_string()]);
    // What the ledger's documentation asks for.
    command.args(["--appendonly", "yes", "--appendfsync", "always", "--maxmemory-policy", "noeviction"]);
    command.args(["--save", ""]).arg("--dir").arg(directory);
    let mut process = start(&mut command, directory, "redis.log")?;
    is_up(address, &mut process, "redis-server").await?;
    Ok(process)
}

/// Starts a process that ends when it is dropped, and writes into a log.
pub fn start(command: &mut Command, directory: &Path, log: &str) -> Outcome<Child> {
    let log = File::options().create(true).append(true).open(directory.join(log))?;
    command.stdout(log.try_clone()?).stderr(log).kill_on_drop(true);
    let program = command.as_std().get_program().to_string_lossy().into_owned();
    command.spawn().map_err(|error| format!("cannot start {program}: {error}").into())
}

async fn is_up(address: SocketAddr, process: &mut Child, name: &str) -> Outcome<()> {
    let until = Instant::now() + PATIENCE;
    while TcpStream::connect(address).await.is_err() {
        if let Some(status) = process.try_wait()? {
            return Err(format!("{name} ended with {status} before it listened; its log says why").into());
        }
        if Instant::now() > until {
            return Err(format!("{name} does not listen").into());
        }
        sleep(Duration::from_millis(5)).await;
    }
    Ok(())
}

/// Ports that are free, below those the system gives to whoever connects: an instance that is started again needs its own.
fn free_ports(count: usize) -> Outcome<Vec<SocketAddr>> {
    let mut held = Vec::new();
    for _ in 0..1000 {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, rand::rng().random_range(20_000..32_000)));
        held.extend(TcpListener::bind(address));
        if held.len() == count {
            return Ok(held.iter().map(TcpListener::local_addr).collect::<Result<_, _>>()?);
        }
    }
    Err("there are no free ports".into())
}

/// The time, as all processes of a run tell it.
pub fn millis() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

pub fn parse<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    serde_json::from_str(text).map_err(|error| format!("{text:?}: {error}"))
}
