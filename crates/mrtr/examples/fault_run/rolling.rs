//! The rolling restart: ten thousand operations are open while every instance is drained, stopped and started again, one
//! after the other. Then the same while the keys are rotated.
//!
//! Here nothing is retried by the clients: whatever one sees that is not a result is a failure. What could not be
//! sent to an instance nginx sends to the next.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use mrtr::Keyring;
use tokio::time::sleep;

use super::bank::Bank;
use super::fleet::{Fleet, Kind, Outcome};
use super::load::{Load, Score};
use super::nginx::{self, LEFT_ALONE};
use super::serve::{PLAIN, REFUND};

const INSTANCES: usize = 3;
const PAYMENT: Duration = Duration::from_millis(4);

/// Both tools through a rolling restart, then a rotation. Whether nothing failed.
pub async fn run(operations: u64, directory: &Path) -> Outcome<bool> {
    let (old, new) = (Keyring::generate(), Keyring::generate());
    let kind = Kind { instances: INSTANCES, they_die: false, without_once: false };
    let (bank, address) = Bank::open(PAYMENT, |_| false).await?;
    let fleet = Fleet::start(directory, kind, address, &format!("{old},{new}")).await?;
    println!("Rolling restart of {INSTANCES} instances behind nginx; clients do not retry\n");
    Score::head();
    let mut is_clean = true;
    for (name, tool, first) in [("without once", PLAIN, 0), ("with once", REFUND, 1_000_000)] {
        let load = Load::of(fleet.front, tool, first);
        load.open(operations).await?;
        let restarts = async {
            for which in 0..fleet.len() {
                load.has_finished(operations * (which as u64 * 3 + 1) / 10).await;
                fleet.restart(which).await?;
                // The next one goes when nginx knows that this one is back, as a supervisor's readiness probe would have it.
                sleep(LEFT_ALONE).await;
                eprintln!("{name}: instance {} of {} restarted", which + 1, fleet.len());
            }
            Ok(())
        };
        is_clean &= load.work(restarts).await?.print(name);
        is_clean &= is_paid_once(&bank, first, &load).await;
    }
    is_clean &= rotation(&fleet, operations / 4, &old, &new).await?;
    println!("requests that nginx sent on to the next instance      {}", nginx::sent_on(directory)?);
    Ok(is_clean)
}

/// `[old, new]`, `[new, old]`, `[new]` under load. States that the old key sealed come back before the last step, where all
/// of them count, and after it, where none does.
async fn rotation(fleet: &Fleet, operations: u64, old: &str, new: &str) -> Outcome<bool> {
    let load = Load::of(fleet.front, REFUND, 2_000_000);
    load.open(operations).await?;
    let late = load.take_open(operations / 4);
    let old_key = late.first().map_or("", |open| open.key()).to_owned();
    let mut is_clean = load.work(fleet.rotate(&format!("{new},{old}"))).await?.print("[new,old]");

    let load = Load::of(fleet.front, REFUND, 3_000_000);
    load.open(operations).await?;
    let sealed_by_old = load.count_open(|open| open.key() == old_key);
    is_clean &= load.work(fleet.rotate(new)).await?.print("[new]");
    let (refused, count) = (Load::refused(fleet.front, &late).await, late.len());
    println!("\nstates sealed with the old key after the first step   {sealed_by_old}");
    println!("states of the old key refused after the last step     {refused} of {count}");
    Ok(is_clean && sealed_by_old == 0 && refused == count && count > 0)
}

/// Whether the bank has one payment for every order of this load, and says so if not.
async fn is_paid_once(bank: &Bank, first: u64, load: &Arc<Load>) -> bool {
    bank.is_quiet().await;
    let payments = bank.by_order();
    let paid = |order: &u64| payments.get(order).map_or(0, Vec::len);
    let wrong: Vec<_> = (first..load.next_order()).filter(|order| paid(order) != 1).collect();
    for order in wrong.iter().take(20) {
        println!("  order {order} was paid {} times", paid(order));
    }
    wrong.is_empty()
}
