//! How much work is open at a time: for each caller, so that one cannot take all of it, and for the whole service.

use std::{
    collections::HashMap,
    fmt,
    num::NonZeroU32,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use governor::{
    Quota, RateLimiter, clock::Clock, middleware::NoOpMiddleware, nanos::Nanos, state::keyed::HashMapStateStore,
};
use tokio::time::Instant;

use super::refusal::Refusal;
use crate::seal::Principal;

/// How many calls are served, per caller and in all. Nothing is limited until a setter says so.
///
/// A caller is a [`Principal`]. All anonymous callers are one caller and share its limits. Requests
/// that authentication turns away count for nobody.
///
/// ```
/// use std::time::Duration;
/// use mrtr::{Server, http::{Limits, McpService}};
///
/// let limits = Limits::new()
///     .rate(120, Duration::from_secs(60)) // two calls a second, up to 120 at once
///     .open_per_caller(8)
///     .open(1000);
/// let service = McpService::new(Server::new("releases", "1.0.0").build()?).limits(limits);
/// # Ok::<(), mrtr::server::BuildError>(())
/// ```
///
/// # Memory
///
/// Kept are callers with open calls and, for the rate, those whose allowance is not whole yet. Others are forgotten now
/// and then, so at most a thousand of them, or as many as there were of the former, stay for a while.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    rate: Option<Quota>,
    open_per_caller: Option<usize>,
    open: Option<usize>,
}

impl Limits {
    /// Limits nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Lets each caller make this many calls per period, all at once or spread; what is over is answered with 429.
    ///
    /// The allowance comes back evenly: after `per / calls` there is one more. Every request counts, each round of an
    /// operation and each notification too. It is kept in this process: a fleet allows as much per instance.
    /// Default: no limit.
    ///
    /// # Panics
    ///
    /// When `calls` or `per` is zero: nobody could ever call.
    #[must_use]
    pub fn rate(mut self, calls: u32, per: Duration) -> Self {
        let calls = NonZeroU32::new(calls).expect("a rate of zero calls serves nobody");
        let between = (per / calls.get()).max(Duration::from_nanos(1));
        assert!(!per.is_zero(), "a rate needs a period");
        self.rate = Quota::with_period(between).map(|quota| quota.allow_burst(calls));
        self
    }

    /// Serves at most this many calls of one caller at a time; what is over is answered with 429. Default: no limit.
    ///
    /// A call is open from the moment its caller is known until the last byte of its response is written.
    #[must_use]
    pub fn open_per_caller(mut self, calls: usize) -> Self {
        self.open_per_caller = Some(calls);
        self
    }

    /// Serves at most this many calls at a time, whoever makes them; what is over is answered with 503. Default: no limit.
    #[must_use]
    pub fn open(mut self, calls: usize) -> Self {
        self.open = Some(calls);
        self
    }
}

/// How long a client should wait for a call to end; nobody knows when one will.
const MOMENT: Duration = Duration::from_secs(1);

/// From how many remembered callers on those who have their whole allowance back are forgotten.
const REMEMBERED: usize = 1024;

/// A caller as the limits know one; `None` is every anonymous caller.
type Caller = Option<Principal>;

type Rate = RateLimiter<Caller, HashMapStateStore<Caller>, TokioTime, NoOpMiddleware<Nanos>>;

/// The [`Limits`] and what is open at the moment; shared by all clones of a service.
pub(super) struct Limiter {
    limits: Limits,
    rate: Option<Rate>,
    forget_at: AtomicUsize,
    open: Mutex<Open>,
}

#[derive(Debug, Default)]
struct Open {
    all: usize,
    by_caller: HashMap<Caller, usize>,
}

impl Limiter {
    pub(super) fn new(limits: Limits) -> Self {
        let rate = limits.rate.map(|quota| RateLimiter::hashmap_with_clock(quota, TokioTime::default()));
        Self { limits, rate, forget_at: AtomicUsize::new(REMEMBERED), open: Mutex::default() }
    }

    /// Opens a call; it stays open until the permit is dropped.
    pub(super) fn admit(self: &Arc<Self>, caller: Option<&Principal>) -> Result<Permit, Refusal> {
        let permit = self.open_call(caller)?;
        self.check_rate(caller)?;
        Ok(permit)
    }

    fn open_call(self: &Arc<Self>, caller: Option<&Principal>) -> Result<Permit, Refusal> {
        let mut open = self.open();
        if self.limits.open.is_some_and(|limit| open.all >= limit) {
            return Err(Refusal::Busy { retry_after: MOMENT });
        }
        let mut counted = None;
        if let Some(limit) = self.limits.open_per_caller {
            let caller = caller.cloned();
            let calls = open.by_caller.get(&caller).copied().unwrap_or(0);
            if calls >= limit {
                return Err(Refusal::TooManyOpen { limit, retry_after: MOMENT });
            }
            open.by_caller.insert(caller.clone(), calls + 1);
            counted = Some(caller);
        }
        open.all += 1;
        Ok(Permit { limiter: Arc::clone(self), caller: counted })
    }

    fn check_rate(&self, caller: Option<&Principal>) -> Result<(), Refusal> {
        let Some(rate) = &self.rate else {
            return Ok(());
        };
        if rate.len() >= self.forget_at.load(Ordering::Relaxed) {
            rate.retain_recent();
            rate.shrink_to_fit();
            self.forget_at.store((rate.len() * 2).max(REMEMBERED), Ordering::Relaxed);
        }
        rate.check_key(&caller.cloned()).map_err(|not_until| {
            let retry_after = not_until.wait_time_from(rate.clock().now());
            Refusal::TooManyCalls { retry_after }
        })
    }

    fn close_call(&self, caller: Option<&Caller>) {
        let mut open = self.open();
        open.all -= 1;
        if let Some(caller) = caller
            && let Some(calls) = open.by_caller.get_mut(caller)
        {
            *calls -= 1;
            if *calls == 0 {
                open.by_caller.remove(caller);
            }
        }
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        // The counts are whole after every statement: a panic elsewhere leaves nothing half done.
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Limiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Limiter").field("limits", &self.limits).field("open", &self.open().all).finish_non_exhaustive()
    }
}

/// An open call. It travels with the response's body, which may outlive the call's future.
#[derive(Debug)]
pub(super) struct Permit {
    limiter: Arc<Limiter>,
    /// Where the caller's own calls are counted.
    caller: Option<Caller>,
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.limiter.close_call(self.caller.as_ref());
    }
}

/// The runtime's clock, which tests stop and move.
#[derive(Clone, Debug)]
struct TokioTime(Instant);

impl Default for TokioTime {
    fn default() -> Self {
        Self(Instant::now())
    }
}

impl Clock for TokioTime {
    type Instant = Nanos;

    fn now(&self) -> Nanos {
        self.0.elapsed().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limiter(limits: Limits) -> Arc<Limiter> {
        Arc::new(Limiter::new(limits))
    }

    fn named(subject: &str) -> Principal {
        Principal::new("https://id.example", subject)
    }

    #[tokio::test(start_paused = true)]
    async fn a_rate_is_spent_at_once_and_comes_back_evenly() {
        let limiter = limiter(Limits::new().rate(3, Duration::from_secs(60)));
        let ada = named("ada");
        for _ in 0..3 {
            limiter.admit(Some(&ada)).unwrap();
        }
        let refused = limiter.admit(Some(&ada)).unwrap_err();
        assert_eq!(refused, Refusal::TooManyCalls { retry_after: Duration::from_secs(20) });
        limiter.admit(Some(&named("grace"))).expect("another caller has an allowance of her own");
        limiter.admit(None).expect("so has whoever is anonymous");

        tokio::time::advance(Duration::from_secs(20)).await;
        limiter.admit(Some(&ada)).unwrap();
        limiter.admit(Some(&ada)).unwrap_err();
    }

    #[tokio::test(start_paused = true)]
    async fn callers_with_a_whole_allowance_are_forgotten() {
        let limiter = limiter(Limits::new().rate(1, Duration::from_secs(1)));
        for caller in 0..REMEMBERED {
            limiter.admit(Some(&named(&caller.to_string()))).unwrap();
        }
        tokio::time::advance(Duration::from_secs(10)).await;
        limiter.admit(Some(&named("one more"))).unwrap();
        assert_eq!(limiter.rate.as_ref().unwrap().len(), 1);
    }

    #[test]
    fn a_call_is_open_until_its_permit_is_dropped() {
        let limiter = limiter(Limits::new().open_per_caller(1));
        let ada = named("ada");
        let permit = limiter.admit(Some(&ada)).unwrap();
        let refused = limiter.admit(Some(&ada)).unwrap_err();
        assert_eq!(refused, Refusal::TooManyOpen { limit: 1, retry_after: MOMENT });
        limiter.admit(Some(&named("grace"))).unwrap();

        drop(permit);
        limiter.admit(Some(&ada)).unwrap();
        assert!(limiter.open().by_caller.is_empty(), "nobody is kept who has no open call");
    }

    #[test]
    fn a_cap_is_for_all_callers_together() {
        let limiter = limiter(Limits::new().open(2));
        let permits = [limiter.admit(None).unwrap(), limiter.admit(Some(&named("ada"))).unwrap()];
        assert_eq!(limiter.admit(Some(&named("grace"))).unwrap_err(), Refusal::Busy { retry_after: MOMENT });
        drop(permits);
        assert_eq!(limiter.open().all, 0);
        limiter.admit(None).unwrap();
    }

    #[test]
    fn a_call_over_the_rate_is_not_left_open() {
        let limiter = limiter(Limits::new().rate(1, Duration::from_secs(60)).open(10));
        limiter.admit(None).unwrap();
        limiter.admit(None).unwrap_err();
        assert_eq!(limiter.open().all, 0);
    }

    #[test]
    #[should_panic(expected = "zero calls")]
    fn a_rate_of_nothing_is_a_mistake() {
        let _ = Limits::new().rate(0, Duration::from_secs(1));
    }
}
