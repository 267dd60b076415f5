//! The fault run: refunds from many clients, while everything that can die does.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mrtr::Keyring;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep};

use super::bank::Bank;
use super::figures;
use super::fleet::{Fleet, Kind, Outcome, millis};
use super::operation::Operation;
use super::proxy::Proxy;
use super::serve::{LOOKED_UP, REFUND};
use super::verdict::Verdict;

const INSTANCES: usize = 3;
const CLIENTS: usize = 32;
/// An instance is killed this often.
const KILLS: Duration = Duration::from_millis(300);
/// How long Redis is dead: longer than an instance waits for it.
const REDIS_AWAY: Duration = Duration::from_millis(1_500);
/// How long the bank takes for a payment.
const PAYMENT: Duration = Duration::from_millis(30);

/// One order of so many takes the bank longer than a lease.
const SLOW: u64 = 51;

/// What the clients share.
struct Run {
    to: std::net::SocketAddr,
    total: u64,
    next: AtomicU64,
    /// Since when each client has been at its operation.
    since: Vec<AtomicU64>,
    ended: Mutex<Vec<Operation>>,
}

/// Runs it all and prints what came of it. Whether everything was as promised.
pub async fn run(operations: u64, seed: u64, without_once: bool, directory: &Path) -> Outcome<bool> {
    let (old, new) = (Keyring::generate(), Keyring::generate());
    let kind = Kind { instances: INSTANCES, they_die: true, without_once };
    let (bank, address) = Bank::open(PAYMENT, |order| order % SLOW == 7).await?;
    let fleet = Fleet::start(directory, kind, address, &format!("{old},{new}")).await?;
    let (proxy, to) = Proxy::open(fleet.front, seed).await?;
    let since = (0..CLIENTS).map(|_| AtomicU64::new(u64::MAX)).collect();
    let run = Arc::new(Run { to, total: operations, next: AtomicU64::new(0), since, ended: Mutex::default() });

    let began = Instant::now();
    let clients: Vec<_> = (0..CLIENTS).map(|number| tokio::spawn(client(Arc::clone(&run), number, seed))).collect();
    let calls = async {
        for client in clients {
            client.await?;
        }
        Ok::<_, Box<dyn std::error::Error + Send + Sync>>(())
    };
    let disturbances = async {
        let (rotations, redis) = tokio::join!(rotate(&run, &fleet, &old, &new), restart_redis(&run, &fleet));
        rotations.and(redis)
    };
    let all = async { tokio::try_join!(calls, disturbances) };
    tokio::select! {
        done = all => drop(done?),
        failed = kill(&fleet, seed) => return failed,
        () = report(&run, &fleet) => {}
    }
    let time = began.elapsed();
    bank.is_quiet().await;

    let ended = std::mem::take(&mut *run.ended());
    let verdict = Verdict::over(&ended, &bank, &fleet.events(), directory)?;
    println!("Fault run, seed {seed}: {INSTANCES} instances behind nginx, {CLIENTS} clients");
    figures::print(&ended, &verdict, &proxy.faults, &fleet.events(), time);
    Ok(verdict.is_clean(operations))
}

/// One client: refund after refund, every other one by the tool that looks up what it does not know.
async fn client(run: Arc<Run>, number: usize, seed: u64) {
    let mut random = StdRng::seed_from_u64(seed ^ (number as u64 + 1) << 32);
    loop {
        // Said before the next one is taken: a rotation waits for operations that began before it.
        run.since[number].store(millis(), Ordering::SeqCst);
        let order = run.next.fetch_add(1, Ordering::SeqCst);
        if order >= run.total {
            break;
        }
        let tool = if order.is_multiple_of(2) { REFUND } else { LOOKED_UP };
        let operation = Operation::run(run.to, tool, order, &mut random).await;
        run.ended().push(operation);
    }
    run.since[number].store(u64::MAX, Ordering::SeqCst);
}

/// Kills instances, for as long as it is not dropped.
async fn kill(fleet: &Fleet, seed: u64) -> Outcome<bool> {
    let mut random = StdRng::seed_from_u64(seed);
    let mut ticks = interval(KILLS);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    loop {
        ticks.tick().await;
        fleet.kill(random.random_range(0..fleet.len())).await?;
    }
}

/// `[old, new]`, `[new, old]`, `[new]`: the last one once nothing is under way that an old key sealed.
async fn rotate(run: &Run, fleet: &Fleet, old: &str, new: &str) -> Outcome<()> {
    run.has_come_to(25).await;
    fleet.rotate(&format!("{new},{old}")).await?;
    let rolled_out = millis();
    run.has_come_to(75).await;
    while run.since.iter().any(|since| since.load(Ordering::SeqCst) <= rolled_out) {
        sleep(Duration::from_millis(10)).await;
    }
    fleet.rotate(new).await
}

async fn restart_redis(run: &Run, fleet: &Fleet) -> Outcome<()> {
    run.has_come_to(50).await;
    fleet.restart_redis(REDIS_AWAY).await
}

/// Says how far it is, for as long as it is not dropped.
async fn report(run: &Run, fleet: &Fleet) {
    loop {
        sleep(Duration::from_secs(1)).await;
        let (ended, events) = (run.ended().len(), fleet.events());
        let (kills, rotations, restarts) = (events.kills.len(), events.rotations, events.redis_away.len());
        eprintln!("{ended} of {} ended; {kills} kills, {rotations} rotations, {restarts} Redis restarts", run.total);
    }
}

impl Run {
    fn ended(&self) -> std::sync::MutexGuard<'_, Vec<Operation>> {
        self.ended.lock().expect("no panic meanwhile")
    }

    /// Resolves when so many in a hundred operations have ended.
    async fn has_come_to(&self, percent: u64) {
        while self.ended().len() as u64 * 100 < self.total * percent {
            sleep(Duration::from_millis(5)).await;
        }
    }
}
