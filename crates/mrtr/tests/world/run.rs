//! The smallest executor: polls as long as somebody asked for it, and takes a forgotten waker for what it is.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

#[derive(Default)]
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Runs a future that waits for nothing outside itself.
#[track_caller]
pub fn to_the_end<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    let woken = Arc::new(Woken::default());
    let waker = Waker::from(Arc::clone(&woken));
    for _ in 0..10_000 {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(value) => return value,
            Poll::Pending => {
                assert!(woken.0.swap(false, Ordering::SeqCst), "it hangs: pending, and nobody will wake it")
            }
        }
    }
    panic!("it spins: still pending after 10,000 polls");
}
