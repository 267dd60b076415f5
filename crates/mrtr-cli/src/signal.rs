//! The signals that mean: stop, and leave things as they were; and the one that means: read the keys again.

use std::io;

use mrtr::Keyring;

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

/// As [`stop`], and a terminal that was closed, or Ctrl-\\: whoever was called for is gone, and what was started for them
/// is put away all the same. Without a terminal SIGHUP is left alone, as whoever said `nohup` wants it.
#[cfg(unix)]
pub(crate) fn leave() -> io::Result<impl Future<Output = ()>> {
    use std::io::IsTerminal as _;
    use tokio::signal::unix::{SignalKind, signal};

    let stop = stop()?;
    let mut quit = signal(SignalKind::quit())?;
    let has_terminal = io::stdin().is_terminal() || io::stderr().is_terminal();
    let mut hangup = has_terminal.then(|| signal(SignalKind::hangup())).transpose()?;
    Ok(async move {
        let hung_up = async {
            match &mut hangup {
                Some(hangup) => drop(hangup.recv().await),
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = stop => {}
            _ = quit.recv() => {}
            () = hung_up => {}
        }
    })
}

/// As [`stop`].
#[cfg(not(unix))]
pub(crate) fn leave() -> io::Result<impl Future<Output = ()>> {
    stop()
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

/// Reads the keys again on each SIGHUP from now on, where they can be read again. It goes on until the program ends.
#[cfg(unix)]
pub(crate) fn reload_on_hangup(keys: Keyring) -> io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};

    let mut hangup = signal(SignalKind::hangup())?;
    tokio::spawn(async move {
        while hangup.recv().await.is_some() {
            let keys = keys.clone();
            // It says in the log what it did, or why not.
            let _ = tokio::task::spawn_blocking(move || drop(keys.reload())).await;
        }
    });
    Ok(())
}

/// There is no SIGHUP.
#[cfg(not(unix))]
pub(crate) fn reload_on_hangup(_: Keyring) -> io::Result<()> {
    Ok(())
}
