//! Clients that finish operations that are open and open others meanwhile, and retry nothing.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use tokio::task::JoinSet;
use tokio::time::sleep;

use super::client::{Answer, Client, Leg};
use super::figures::percentile;
use super::fleet::Outcome;

const CLIENTS: usize = 32;

/// A question that waits for its answer, in the hands of a client.
pub struct Open {
    leg: Leg,
    state: String,
}

/// What the clients share.
pub struct Load {
    to: SocketAddr,
    tool: &'static str,
    next: AtomicU64,
    /// Oldest first.
    open: Mutex<VecDeque<Open>>,
    is_ending: AtomicBool,
    score: Mutex<Score>,
}

/// What came of it.
#[derive(Default)]
pub struct Score {
    open: u64,
    finished: u64,
    opened_meanwhile: u64,
    times: Vec<u64>,
    failures: Vec<String>,
}

impl Open {
    /// The part of a state's text that says which key sealed it.
    pub fn key(&self) -> &str {
        self.state.get(3..8).unwrap_or_default()
    }
}

impl Load {
    /// Calls of this tool, for orders from `first` on.
    pub fn of(to: SocketAddr, tool: &'static str, first: u64) -> Arc<Self> {
        let (next, open, is_ending) = (AtomicU64::new(first), Mutex::default(), AtomicBool::new(false));
        Arc::new(Self { to, tool, next, open, is_ending, score: Mutex::default() })
    }

    /// Opens so many operations: a question was asked, and nobody has answered it yet.
    pub async fn open(self: &Arc<Self>, operations: u64) -> Outcome<()> {
        let last = self.next_order() + operations;
        let mut clients = JoinSet::new();
        for _ in 0..CLIENTS {
            let load = Arc::clone(self);
            clients.spawn(async move {
                let mut client = Client::of(load.to);
                while load.next_order() + (CLIENTS as u64) < last {
                    load.ask(&mut client).await;
                }
            });
        }
        clients.join_all().await;
        let mut client = Client::of(self.to);
        while self.next_order() < last {
            self.ask(&mut client).await;
        }
        self.score().open = self.opened().len() as u64;
        Ok(())
    }

    /// Finishes all that is open, and goes on with others for as long as the disturbance takes.
    pub async fn work(self: &Arc<Self>, disturbance: impl Future<Output = Outcome<()>>) -> Outcome<Score> {
        let mut clients = JoinSet::new();
        for _ in 0..CLIENTS {
            clients.spawn(Arc::clone(self).work_on());
        }
        let disturbed = disturbance.await;
        self.is_ending.store(true, Ordering::SeqCst);
        clients.join_all().await;
        disturbed?;
        Ok(std::mem::take(&mut *self.score()))
    }

    async fn work_on(self: Arc<Self>) {
        let mut client = Client::of(self.to);
        for turn in 1_u64.. {
            if turn.is_multiple_of(4) && !self.is_ending.load(Ordering::SeqCst) {
                self.ask(&mut client).await;
                self.score().opened_meanwhile += 1;
            }
            // Taken in a statement of its own: the lock must not be held while the answer is awaited.
            let open = self.opened().pop_front();
            match open {
                Some(open) => self.confirm(&mut client, &open).await,
                None if self.is_ending.load(Ordering::SeqCst) => return,
                None => {}
            }
        }
    }

    async fn ask(&self, client: &mut Client) {
        let leg = Leg::first(self.tool, self.next.fetch_add(1, Ordering::SeqCst));
        match self.send(client, &leg).await {
            Ok(Answer::Asked(state)) => self.opened().push_back(Open { leg, state }),
            Ok(other) => self.failed(&leg, &other.to_string()),
            Err(error) => self.failed(&leg, &error.to_string()),
        }
    }

    async fn confirm(&self, client: &mut Client, open: &Open) {
        let leg = open.leg.confirmed(&open.state);
        match self.send(client, &leg).await {
            Ok(Answer::Done(_)) => self.score().finished += 1,
            Ok(other) => self.failed(&leg, &other.to_string()),
            Err(error) => self.failed(&leg, &error.to_string()),
        }
    }

    async fn send(&self, client: &mut Client, leg: &Leg) -> Result<Answer, super::client::NoAnswer> {
        let began = Instant::now();
        let answer = client.send(leg).await;
        self.score().times.push(u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX));
        answer
    }

    fn failed(&self, leg: &Leg, what: &str) {
        self.score().failures.push(format!("order {}, round {}: {what}", leg.order, leg.round));
    }

    /// How many of these states are refused as no state at all.
    pub async fn refused(to: SocketAddr, states: &[Open]) -> usize {
        let (mut client, mut refused) = (Client::of(to), 0);
        for open in states {
            match client.send(&open.leg.confirmed(&open.state)).await {
                Ok(Answer::Refused(reply)) if reply.contains("-32602") => refused += 1,
                _ => {}
            }
        }
        refused
    }

    pub async fn has_finished(&self, count: u64) {
        while self.score().finished < count {
            sleep(Duration::from_millis(5)).await;
        }
    }

    /// Takes some of what is open out of the clients' hands.
    pub fn take_open(&self, count: u64) -> Vec<Open> {
        let mut open = self.opened();
        let rest = open.len().saturating_sub(usize::try_from(count).unwrap_or(usize::MAX));
        open.split_off(rest).into()
    }

    pub fn count_open(&self, is_so: impl Fn(&Open) -> bool) -> usize {
        self.opened().iter().filter(|open| is_so(open)).count()
    }

    pub fn next_order(&self) -> u64 {
        self.next.load(Ordering::SeqCst)
    }

    fn opened(&self) -> MutexGuard<'_, VecDeque<Open>> {
        self.open.lock().expect("no panic meanwhile")
    }

    fn score(&self) -> MutexGuard<'_, Score> {
        self.score.lock().expect("no panic meanwhile")
    }
}

impl Score {
    pub fn head() {
        println!(
            "{:<16}{:>10}{:>12}{:>10}{:>10}{:>9}{:>9}",
            "", "open", "meanwhile", "finished", "failures", "p50 ms", "p99 ms"
        );
    }

    /// Prints a line of the table, and what failed. Whether nothing did and everything was finished.
    pub fn print(self, name: &str) -> bool {
        let Self { open, finished, opened_meanwhile, times, failures } = self;
        let (p50, p99, failed) = (percentile(times.clone(), 50), percentile(times, 99), failures.len());
        println!("{name:<16}{open:>10}{opened_meanwhile:>12}{finished:>10}{failed:>10}{p50:>9}{p99:>9}");
        for failure in failures.iter().take(20) {
            println!("  {failure}");
        }
        failures.is_empty()
    }
}
