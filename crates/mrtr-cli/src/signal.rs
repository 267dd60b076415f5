//! The signals that mean: stop, and leave things as they were.

use std::io;

/// SIGTERM or Ctrl-C, watched from this call on.
#[cfg(unix)]
pub(crate) fn stop() -> io::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};

    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}

/// Ctrl-C.
#[cfg(not(unix))]
pub(crate) fn stop() -> io::Result<impl Future<Output = ()>> {
    Ok(async {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    })
}

/// SIGTERM or Ctrl-C for the first time, and for the second, watched from this call on.
pub(crate) fn stop_twice() -> io::Result<(impl Future<Output = ()>, impl Future<Output = ()>)> {
    let (first, seen) = (stop()?, stop()?);
    let second = async {
        seen.await;
        match stop() {
            Ok(again) => again.await,
            Err(_) => std::future::pending().await,
        }
    };
    Ok((first, second))
}
