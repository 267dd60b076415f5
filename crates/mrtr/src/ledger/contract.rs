//! What every ledger must keep to, as checks that any implementation can be put through.

use std::time::Duration;

use super::{Claim, EntryKey, Holder, Ledger, LedgerFuture, Settlement, Standing};

const LEASE: Duration = Duration::from_millis(300);
const LONG: Duration = Duration::from_secs(60);

/// Puts a ledger through everything [`Ledger`] asks of it. `wait` lets the ledger's time pass: it sleeps, or moves the
/// clock the ledger goes by.
///
/// Entries have random keys, so a store that is in use can be checked as well. It takes some seconds of `wait`'s time.
///
/// ```
/// use mrtr::ledger::MemoryLedger;
///
/// # async fn check() {
/// let ledger = MemoryLedger::new();
/// mrtr::testing::ledger_contract(&ledger, async |time| tokio::time::sleep(time).await).await;
/// # }
/// ```
///
/// # Panics
/// At the first rule that is broken; the message is that rule.
pub async fn ledger_contract(ledger: &dyn Ledger, wait: impl AsyncFn(Duration)) {
    done(ledger.check()).await;
    an_entry_is_one_holders(ledger).await;
    what_was_finished_is_given_again(ledger).await;
    another_content_is_a_fork_however_the_entry_stands(ledger).await;
    a_lease_that_is_over_leaves_the_entry_gone(ledger, &wait).await;
    a_renewed_lease_goes_on(ledger, &wait).await;
    whoever_was_late_may_settle_until_somebody_took_over(ledger, &wait).await;
    only_one_takes_over(ledger).await;
    what_was_released_was_never_claimed(ledger).await;
    what_was_let_go_is_gone(ledger, &wait).await;
    an_entry_ends_with_its_lifetime(ledger, &wait).await;
    what_is_kept_comes_back_for_its_lifetime(ledger, &wait).await;
}

/// A claim of a new entry.
fn claim() -> Claim {
    Claim {
        key: EntryKey(rand::random()),
        holder: Holder(rand::random()),
        content: [1; 16],
        operation: rand::random(),
        lease: LONG,
        lifetime: LONG,
        takes_over: false,
    }
}

/// The same by another request.
fn again(claim: &Claim) -> Claim {
    Claim { holder: Holder(rand::random()), ..claim.clone() }
}

fn taking_over(claim: &Claim) -> Claim {
    Claim { takes_over: true, ..again(claim) }
}

async fn done<T>(step: LedgerFuture<'_, T>) -> T {
    step.await.unwrap_or_else(|error| panic!("a ledger in order does its steps: {error}"))
}

async fn an_entry_is_one_holders(ledger: &dyn Ledger) {
    let first = claim();
    assert_eq!(done(ledger.claim(first.clone())).await, Standing::Claimed, "the first claim gets the entry");
    match done(ledger.claim(again(&first))).await {
        Standing::Held(left) => {
            assert!(left <= LONG && left > LONG / 2, "it says how long the lease has left: {left:?}")
        }
        other => panic!("a second claim finds the entry held: {other:?}"),
    }
    assert_eq!(done(ledger.claim(first.clone())).await, Standing::Claimed, "its holder may claim it again");
    let stranger = again(&first).holder;
    assert!(!done(ledger.renew(first.key, stranger, LONG)).await, "a stranger renews nothing");
    assert!(!done(ledger.settle(first.key, stranger, Settlement::Finished(b"x"))).await, "a stranger settles nothing");
    assert!(!done(ledger.settle(first.key, stranger, Settlement::Released)).await, "a stranger releases nothing");
    assert!(done(ledger.renew(first.key, first.holder, LONG)).await, "the holder renews");
}

async fn what_was_finished_is_given_again(ledger: &dyn Ledger) {
    let large: Vec<u8> = (0..100_000_u32).map(|n| (n % 251) as u8).collect();
    for response in [&b""[..], b"\r\n\0\xff$-1", &large] {
        let first = claim();
        done(ledger.claim(first.clone())).await;
        assert!(done(ledger.settle(first.key, first.holder, Settlement::Finished(response))).await, "it is settled");
        for repetition in [again(&first), first.clone(), taking_over(&first)] {
            let standing = done(ledger.claim(repetition)).await;
            assert!(
                standing == Standing::Finished(response.to_vec()),
                "what was finished is given again, byte for byte"
            );
        }
        let settled = ledger.settle(first.key, first.holder, Settlement::Finished(b"other"));
        assert!(!done(settled).await, "what is settled is settled");
        assert!(!done(ledger.renew(first.key, first.holder, LONG)).await, "what is settled has no lease");
    }
}

async fn another_content_is_a_fork_however_the_entry_stands(ledger: &dyn Ledger) {
    let first = claim();
    let fork = Claim { content: [2; 16], ..taking_over(&first) };
    done(ledger.claim(first.clone())).await;
    assert_eq!(done(ledger.claim(fork.clone())).await, Standing::Forked, "a fork of what is held");
    done(ledger.settle(first.key, first.holder, Settlement::Finished(b"x"))).await;
    assert_eq!(done(ledger.claim(fork)).await, Standing::Forked, "a fork of what is finished");
    let first = claim();
    done(ledger.claim(first.clone())).await;
    done(ledger.settle(first.key, first.holder, Settlement::Abandoned)).await;
    let fork = Claim { content: [2; 16], ..taking_over(&first) };
    assert_eq!(done(ledger.claim(fork)).await, Standing::Forked, "a fork of what was abandoned");
}

async fn a_lease_that_is_over_leaves_the_entry_gone(ledger: &dyn Ledger, wait: &impl AsyncFn(Duration)) {
    let first = Claim { lease: LEASE, ..claim() };
    let gone = Standing::Gone { operation: first.operation };
    done(ledger.claim(first.clone())).await;
    wait(LEASE * 2).await;
    let second = Claim { operation: rand::random(), ..again(&first) };
    assert_eq!(
        done(ledger.claim(second.clone())).await,
        gone,
        "after its lease an entry is gone, and tells its operation"
    );
    assert_eq!(done(ledger.claim(second)).await, gone, "and stays so");
    let abandoned = claim();
    done(ledger.claim(abandoned.clone())).await;
    assert!(done(ledger.settle(abandoned.key, abandoned.holder, Settlement::Abandoned)).await, "it is abandoned");
    let gone = Standing::Gone { operation: abandoned.operation };
    assert_eq!(done(ledger.claim(again(&abandoned))).await, gone, "what was abandoned is gone at once");
    assert_eq!(done(ledger.claim(abandoned)).await, gone, "for its holder too");
}

async fn a_renewed_lease_goes_on(ledger: &dyn Ledger, wait: &impl AsyncFn(Duration)) {
    let first = Claim { lease: LEASE, ..claim() };
    done(ledger.claim(first.clone())).await;
    assert!(done(ledger.renew(first.key, first.holder, LEASE * 20)).await, "the holder renews");
    wait(LEASE * 2).await;
    let standing = done(ledger.claim(again(&first))).await;
    assert!(matches!(standing, Standing::Held(_)), "a renewed lease goes on: {standing:?}");
}

async fn whoever_was_late_may_settle_until_somebody_took_over(ledger: &dyn Ledger, wait: &impl AsyncFn(Duration)) {
    let late = Claim { lease: LEASE, ..claim() };
    done(ledger.claim(late.clone())).await;
    wait(LEASE * 2).await;
    assert!(done(ledger.settle(late.key, late.holder, Settlement::Finished(b"late"))).await, "late, and nobody minds");
    assert_eq!(done(ledger.claim(again(&late))).await, Standing::Finished(b"late".to_vec()), "and it counts");
    let late = Claim { lease: LEASE, ..claim() };
    done(ledger.claim(late.clone())).await;
    wait(LEASE * 2).await;
    let heir = Claim { lease: LONG, ..taking_over(&late) };
    assert_eq!(done(ledger.claim(heir.clone())).await, Standing::Claimed, "what is gone can be taken over");
    assert!(!done(ledger.settle(late.key, late.holder, Settlement::Finished(b"late"))).await, "too late");
    assert!(!done(ledger.renew(late.key, late.holder, LONG)).await, "too late to renew");
    assert!(done(ledger.settle(heir.key, heir.holder, Settlement::Finished(b"heir"))).await, "the heir settles");
}

async fn only_one_takes_over(ledger: &dyn Ledger) {
    let first = claim();
    done(ledger.claim(first.clone())).await;
    done(ledger.settle(first.key, first.holder, Settlement::Abandoned)).await;
    assert_eq!(done(ledger.claim(taking_over(&first))).await, Standing::Claimed, "the first heir");
    let standing = done(ledger.claim(taking_over(&first))).await;
    assert!(matches!(standing, Standing::Held(_)), "a second heir finds it held: {standing:?}");
}

async fn what_was_released_was_never_claimed(ledger: &dyn Ledger) {
    let first = claim();
    done(ledger.claim(first.clone())).await;
    assert!(done(ledger.settle(first.key, first.holder, Settlement::Released)).await, "it is released");
    let other = Claim { content: [2; 16], ..again(&first) };
    assert_eq!(done(ledger.claim(other)).await, Standing::Claimed, "whoever comes next begins anew");
}

async fn what_was_let_go_is_gone(ledger: &dyn Ledger, wait: &impl AsyncFn(Duration)) {
    let first = Claim { lease: LEASE, ..claim() };
    done(ledger.claim(first.clone())).await;
    ledger.let_go(first.key, first.holder);
    if let Some(changed) = ledger.changed(first.key) {
        changed.await.unwrap_or_else(|error| panic!("whoever waits is told: {error}"));
    }
    wait(LEASE * 2).await;
    let gone = Standing::Gone { operation: first.operation };
    assert_eq!(done(ledger.claim(again(&first))).await, gone, "what was let go is gone, with its lease at the latest");
}

async fn an_entry_ends_with_its_lifetime(ledger: &dyn Ledger, wait: &impl AsyncFn(Duration)) {
    let settled = Claim { lifetime: LEASE, ..claim() };
    let held = Claim { lifetime: LEASE, ..claim() };
    done(ledger.claim(settled.clone())).await;
    done(ledger.settle(settled.key, settled.holder, Settlement::Finished(b"x"))).await;
    done(ledger.claim(held.clone())).await;
    done(ledger.renew(held.key, held.holder, LONG)).await;
    wait(LEASE * 2).await;
    for old in [settled, held] {
        let settled = ledger.settle(old.key, old.holder, Settlement::Finished(b"x"));
        assert!(!done(settled).await, "what has ended is not settled");
        assert_eq!(done(ledger.claim(again(&old))).await, Standing::Claimed, "an entry ends with its lifetime");
    }
}

async fn what_is_kept_comes_back_for_its_lifetime(ledger: &dyn Ledger, wait: &impl AsyncFn(Duration)) {
    let (key, value) = (EntryKey(rand::random()), [0, 255, b'\r', b'\n'].repeat(10_000));
    assert_eq!(done(ledger.kept(key)).await, None, "nothing was kept there");
    done(ledger.keep(key, &value, LEASE)).await;
    assert!(done(ledger.kept(key)).await.as_ref() == Some(&value), "what was kept comes back byte for byte");
    let entry = Claim { key, ..claim() };
    assert_eq!(done(ledger.claim(entry)).await, Standing::Claimed, "entries and what is kept are rooms apart");
    wait(LEASE * 2).await;
    assert_eq!(done(ledger.kept(key)).await, None, "it is kept for its lifetime");
}
