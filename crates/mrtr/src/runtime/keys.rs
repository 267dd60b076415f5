//! Keys that change while a server runs: files are looked at, SIGHUP reads whatever can be read again.
//!
//! Keys are read on a thread for what blocks: a file on a network disk, a key service. [`Keyring`] says in the log what
//! became of it.

use std::io;

use tokio::task::{AbortHandle, spawn_blocking};

use crate::seal::Keyring;

/// Goes on until it is dropped.
#[derive(Debug)]
#[must_use = "it ends when it is dropped"]
pub(crate) struct KeyWatch(Option<AbortHandle>);

impl KeyWatch {
    /// Looks every few seconds at the file the keys are from, if they are from one. Several who do so for the same keys
    /// read the file no more often than one.
    pub(crate) fn file(keys: &Keyring) -> Self {
        let Some(every) = keys.looks() else { return Self(None) };
        let keys = keys.clone();
        Self::of(async move {
            loop {
                tokio::time::sleep(every).await;
                let keys = keys.clone();
                survive(spawn_blocking(move || keys.look())).await;
            }
        })
    }

    /// Reads the keys again on each SIGHUP from now on. The signal is left alone where there is nothing to read again, and
    /// ends the process as ever.
    ///
    /// # Errors
    /// When the signal cannot be watched.
    #[cfg(unix)]
    pub(crate) fn hangup(keys: &Keyring) -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};

        if !keys.is_reloadable() {
            return Ok(Self(None));
        }
        let (mut hangup, keys) = (signal(SignalKind::hangup())?, keys.clone());
        Ok(Self::of(async move {
            while hangup.recv().await.is_some() {
                tracing::info!("SIGHUP: the keys are read again");
                let keys = keys.clone();
                // It has said in the log what it did, or why not.
                survive(spawn_blocking(move || drop(keys.reload()))).await;
            }
        }))
    }

    #[cfg(not(unix))]
    pub(crate) fn hangup(_: &Keyring) -> io::Result<Self> {
        Ok(Self(None))
    }

    fn of(watch: impl Future<Output = ()> + Send + 'static) -> Self {
        Self(Some(tokio::spawn(watch).abort_handle()))
    }
}

impl Drop for KeyWatch {
    fn drop(&mut self) {
        if let Some(task) = &self.0 {
            task.abort();
        }
    }
}

/// A function of the author's that panics has brought no keys, and may do so the next time.
async fn survive(reading: tokio::task::JoinHandle<()>) {
    if reading.await.is_err_and(|error| error.is_panic()) {
        tracing::error!("the source of the keys panicked; the keys stay as they are");
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    /// Waits until the keyring has this many keys.
    async fn until(keys: &Keyring, count: usize) {
        let there = async {
            while keys.fingerprints().len() != count {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        timeout(Duration::from_secs(10), there).await.expect("other keys");
    }

    fn keys_of(count: u8) -> Vec<[u8; 32]> {
        (1..=count).map(|byte| [byte; 32]).collect()
    }

    #[tokio::test]
    async fn a_file_is_looked_at_until_the_watch_is_dropped() {
        let path = std::env::temp_dir().join(format!("mrtr-watched-{}", std::process::id()));
        let (a, b) = (Keyring::generate(), Keyring::generate());
        std::fs::write(&path, &a).expect("a file");
        let keys = Keyring::from_file(&path).expect("one key").look_every(Duration::from_millis(10));
        let watches = (KeyWatch::file(&keys), KeyWatch::file(&keys));

        std::fs::write(&path, format!("{a},{b}")).expect("a file");
        until(&keys, 2).await;
        std::fs::remove_file(&path).expect("removed");
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert_eq!(keys.fingerprints().len(), 2, "no file, no change");
        std::fs::write(&path, &b).expect("a file");
        until(&keys, 1).await;

        drop(watches);
        tokio::time::sleep(Duration::from_millis(50)).await;
        std::fs::write(&path, format!("{a},{b}")).expect("a file");
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert_eq!(keys.fingerprints().len(), 1);
        std::fs::remove_file(&path).expect("removed");
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn sighup_reads_whatever_can_be_read_again_and_outlives_a_panic() {
        let asked = Arc::new(AtomicU32::new(0));
        let count = Arc::clone(&asked);
        let keys = Keyring::from_fn(move || match count.fetch_add(1, Ordering::SeqCst) {
            0 => Ok::<_, String>(keys_of(1)),
            1 => panic!("as authors' code may"),
            _ => Ok(keys_of(2)),
        })
        .expect("one key");
        let _watch = KeyWatch::hangup(&keys).expect("watched");
        let fixed = Keyring::random();
        assert!(KeyWatch::hangup(&fixed).expect("nothing to watch").0.is_none());

        let hangup = || async {
            let kill = std::process::Command::new("kill").args(["-HUP", &std::process::id().to_string()]).status();
            assert!(kill.expect("kill runs").success());
        };
        hangup().await;
        let panicked = async {
            while asked.load(Ordering::SeqCst) < 2 {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        timeout(Duration::from_secs(10), panicked).await.expect("asked again");
        assert_eq!(keys.fingerprints().len(), 1);
        hangup().await;
        until(&keys, 2).await;
    }

    /// A keyring of one key from a file that is looked at all the time, and the file.
    #[cfg(any(feature = "http", feature = "stdio"))]
    fn watched(name: &str) -> (Keyring, std::path::PathBuf) {
        let path = std::env::temp_dir().join(format!("mrtr-{name}-{}", std::process::id()));
        std::fs::write(&path, Keyring::generate()).expect("a file");
        (Keyring::from_file(&path).expect("one key").look_every(Duration::from_millis(10)), path)
    }

    #[cfg(any(feature = "http", feature = "stdio"))]
    fn server(keys: &Keyring) -> Arc<crate::server::Dispatch> {
        crate::Server::new("keys", "1").keys(keys.clone()).build().expect("a server")
    }

    #[cfg(feature = "http")]
    #[tokio::test]
    async fn an_http_server_follows_the_file_while_it_serves() {
        use crate::http::{HttpServer, McpService};

        let (keys, path) = watched("http");
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let serving = HttpServer::new(McpService::new(server(&keys))).serve(listener, std::future::pending());
        let serving = tokio::spawn(serving);
        std::fs::write(&path, format!("{},{}", Keyring::generate(), Keyring::generate())).expect("a file");
        until(&keys, 2).await;
        serving.abort();
        std::fs::remove_file(path).expect("removed");
    }

    #[cfg(feature = "stdio")]
    #[tokio::test]
    async fn a_server_of_lines_follows_the_file_while_it_serves() {
        let (keys, path) = watched("lines");
        let (ours, theirs) = tokio::io::duplex(64);
        let (reader, writer) = tokio::io::split(theirs);
        let serving = tokio::spawn(crate::stdio::StdioServer::new(server(&keys)).serve(reader, writer));
        std::fs::write(&path, format!("{},{}", Keyring::generate(), Keyring::generate())).expect("a file");
        until(&keys, 2).await;
        drop(ours);
        let _ = serving.await;
        std::fs::remove_file(path).expect("removed");
    }

    #[cfg(all(unix, feature = "http"))]
    #[tokio::test]
    async fn an_http_server_that_owns_the_process_reloads_on_sighup() {
        use crate::http::{HttpServer, McpService};
        use tokio::signal::unix::{SignalKind, signal};

        // Whatever the server does, the signal does not end the tests.
        let _mine = signal(SignalKind::hangup()).expect("watched");
        let asked = Arc::new(AtomicU32::new(0));
        let count = Arc::clone(&asked);
        let load = move || Ok::<_, String>(keys_of(if count.fetch_add(1, Ordering::SeqCst) == 0 { 1 } else { 2 }));
        let keys = Keyring::from_fn(load).expect("one key");
        let serving = tokio::spawn(HttpServer::new(McpService::new(server(&keys))).listen("127.0.0.1:0"));
        let reloaded = async {
            while keys.fingerprints().len() == 1 {
                let kill = std::process::Command::new("kill").args(["-HUP", &std::process::id().to_string()]).status();
                assert!(kill.expect("kill runs").success());
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        timeout(Duration::from_secs(10), reloaded).await.expect("asked again");
        serving.abort();
    }
}
