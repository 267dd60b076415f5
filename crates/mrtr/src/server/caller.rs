//! Who asks, for code that has nobody to ask back: lists and completions.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use tracing::error;

use crate::flow::{ClientInfo, Clock, Sleep, guarded};
use crate::seal::Principal;
use crate::wire::RpcError;

/// The caller of a request that cannot become a conversation.
#[derive(Clone, Debug, Default)]
pub struct Caller {
    pub(super) client: ClientInfo,
    pub(super) principal: Option<Principal>,
}

impl Caller {
    /// The client, as it describes itself.
    pub fn client(&self) -> &ClientInfo {
        &self.client
    }

    /// The authenticated caller; `None` where the transport knows none.
    pub fn principal(&self) -> Option<&Principal> {
        self.principal.as_ref()
    }
}

/// The author's work, type-erased.
pub(super) type Work<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Does the author's work within a limit of time, where the clock has timers; a panic ends it and nothing else.
///
/// # Errors
/// `-32603`; the log says what happened.
pub(super) async fn bounded<T>(
    start: impl FnOnce() -> Work<T>,
    clock: &Arc<dyn Clock>,
    limit: Duration,
) -> Result<T, RpcError> {
    let failed = |what: &dyn fmt::Display| {
        error!("the server's own code failed: {what}");
        RpcError::internal("the server failed; its log says how")
    };
    let mut work = Guarded(Some(guarded(start).map_err(|panic| failed(&panic))?));
    let mut timer = None;
    std::future::poll_fn(|task| {
        let Some(running) = &mut work.0 else { return Poll::Pending };
        match guarded(|| running.as_mut().poll(task)) {
            Ok(Poll::Ready(value)) => return Poll::Ready(Ok(value)),
            Err(panic) => return Poll::Ready(Err(failed(&panic))),
            Ok(Poll::Pending) => {}
        }
        if timer.is_none() {
            timer = clock.sleep(limit);
        }
        match timer.as_mut().map(|timer: &mut Sleep| timer.as_mut().poll(task)) {
            Some(Poll::Ready(())) => Poll::Ready(Err(failed(&"it took too long"))),
            _ => Poll::Pending,
        }
    })
    .await
}

/// Work whose guards are the author's code too, and may panic when it is dropped.
struct Guarded<T>(Option<Work<T>>);

impl<T> Drop for Guarded<T> {
    fn drop(&mut self) {
        if let Err(panic) = guarded(|| self.0 = None) {
            error!("the server's own code panicked when it was dropped: {panic}");
        }
    }
}
