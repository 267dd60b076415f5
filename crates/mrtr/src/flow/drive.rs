//! Polls a handler until its round ends: it returned, it waits for answers, or something overrides it.

use std::any::Any;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as Task, Poll, Waker};
use std::time::Duration;

use tracing::error;

use super::clock::Sleep;
use super::replay::Suspension;
use super::round::{Fault, Round, Standing};

/// A handler at work.
pub(crate) type Handling<R> = Pin<Box<dyn Future<Output = R> + Send>>;

/// How a round ended.
#[derive(Debug)]
pub(crate) enum RoundEnd<R> {
    /// The handler returned.
    Finished(R),
    /// It waits for answers; this goes out.
    Suspended(Suspension),
    /// Something overrides whatever it would have returned.
    Failed(Fault),
}

/// Runs one round inline: no task is spawned, and dropping it cancels the handler.
pub(crate) struct Drive<R> {
    round: Arc<Round>,
    handler: Option<Handling<R>>,
    limit: Option<Duration>,
    timer: Option<Sleep>,
}

impl<R> Drive<R> {
    /// Runs `handler` for at most `limit`, where the round's clock has timers.
    pub(crate) fn new(round: Arc<Round>, handler: Handling<R>, limit: Option<Duration>) -> Self {
        Self { round, handler: Some(handler), limit, timer: None }
    }

    fn poll_handler(&mut self, task: &mut Task<'_>) -> Standing<RoundEnd<R>> {
        let Some(handler) = &mut self.handler else { return Standing::Waits };
        match guarded(|| handler.as_mut().poll(task)) {
            Ok(Poll::Ready(output)) => Standing::Ended(match self.round.finish() {
                Some(fault) => RoundEnd::Failed(fault),
                None => RoundEnd::Finished(output),
            }),
            Ok(Poll::Pending) => match self.round.try_suspend() {
                Standing::Ended(Ok(suspension)) => Standing::Ended(RoundEnd::Suspended(suspension)),
                Standing::Ended(Err(fault)) => Standing::Ended(RoundEnd::Failed(fault)),
                Standing::GaveWay => Standing::GaveWay,
                Standing::Waits => Standing::Waits,
            },
            Err(panic) => {
                self.round.close();
                Standing::Ended(RoundEnd::Failed(Fault::Panicked(panic)))
            }
        }
    }

    /// Whether the handler's time is over. The timer starts only when a handler has to wait at all.
    fn poll_timer(&mut self, task: &mut Task<'_>) -> bool {
        let Some(limit) = self.limit else { return false };
        if self.timer.is_none() {
            self.timer = self.round.clock.sleep(limit);
        }
        self.timer.as_mut().is_some_and(|timer| timer.as_mut().poll(task).is_ready())
    }

    /// Drops the handler, whose guards are the author's code and may panic.
    fn put_down(&mut self) {
        if let Err(panic) = guarded(|| self.handler = None) {
            error!("the handler panicked when it was dropped: {panic}");
        }
    }
}

impl<R> Future for Drive<R> {
    type Output = RoundEnd<R>;

    fn poll(mut self: Pin<&mut Self>, task: &mut Task<'_>) -> Poll<Self::Output> {
        self.round.start_poll(task.waker());
        let noted = Waker::from(Arc::clone(&self.round));
        let end = match self.poll_handler(&mut Task::from_waker(&noted)) {
            Standing::Ended(end) => end,
            Standing::Waits if self.poll_timer(task) => {
                self.round.close();
                RoundEnd::Failed(Fault::TimedOut)
            }
            Standing::GaveWay | Standing::Waits => return Poll::Pending,
        };
        // What the handler holds is dropped now, so that its guards run. The round has its end all the same: what was
        // done must reach the client, or it would be done again.
        self.put_down();
        Poll::Ready(end)
    }
}

impl<R> Drop for Drive<R> {
    fn drop(&mut self) {
        self.round.close();
        self.put_down();
    }
}

/// Only boxes inside: nothing is pinned in place.
impl<R> Unpin for Drive<R> {}

/// Runs the author's code, which may panic: in its first lines, at work, or when it is dropped.
///
/// # Errors
/// The panic's text, for [`Fault::Panicked`].
pub(crate) fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| panic_text(&*panic))
}

/// As [`guarded`], for work that takes its time.
///
/// # Errors
/// The panic's text.
pub(crate) async fn guarded_work<F: Future + Unpin>(start: impl FnOnce() -> F) -> Result<F::Output, String> {
    let mut work = guarded(start)?;
    poll_fn(|task| match guarded(|| Pin::new(&mut work).poll(task)) {
        Ok(polled) => polled.map(Ok),
        Err(panic) => Poll::Ready(Err(panic)),
    })
    .await
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("no message").to_owned()
}
