//! Calls that run to their end whether or not their client waits for it.
//!
//! A client that hangs up cancels its call, and mostly that is right. What is done once is different: its client will
//! come again for the answer, so there had better be one.

use std::panic::resume_unwind;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::Notify;

use super::exchange::Call;

/// The calls at work that nobody may wait for, so that a server that stops can.
#[derive(Clone, Debug, Default)]
pub(super) struct Detached(Arc<AtWork>);

#[derive(Debug, Default)]
struct AtWork {
    calls: AtomicUsize,
    none_left: Notify,
}

/// One of them, counted out when it is dropped.
struct Counted(Arc<AtWork>);

impl Detached {
    /// Runs the call in a task of its own; what is returned waits for its reply.
    pub(super) fn run(&self, call: Call) -> Call {
        self.0.calls.fetch_add(1, Ordering::SeqCst);
        let counted = Counted(Arc::clone(&self.0));
        let task = tokio::spawn(async move {
            let _counted = counted;
            call.await
        });
        Box::pin(async move {
            match task.await {
                Ok(reply) => reply,
                Err(error) => match error.try_into_panic() {
                    // As if it had been polled here.
                    Ok(panic) => resume_unwind(panic),
                    // The runtime is shutting down, and this task with it.
                    Err(_) => std::future::pending().await,
                },
            }
        })
    }

    /// Resolves when no such call is at work.
    pub(super) async fn all_ended(&self) {
        loop {
            let mut none_left = pin!(self.0.none_left.notified());
            none_left.as_mut().enable();
            if self.0.calls.load(Ordering::SeqCst) == 0 {
                return;
            }
            none_left.await;
        }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        if self.0.calls.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.0.none_left.notify_waiters();
        }
    }
}
