//! What a scenario leaves behind: effects, and lines in the log.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use tracing_subscriber::fmt::MakeWriter;

/// Counts effects by name.
#[derive(Clone, Debug, Default)]
pub struct Effects(Arc<Mutex<BTreeMap<String, u32>>>);

impl Effects {
    pub fn happen(&self, name: &str) {
        *self.0.lock().expect("effects").entry(name.to_owned()).or_default() += 1;
    }

    /// As [`happen`](Self::happen), and gives what the effect brings.
    pub fn done(&self, name: &str, result: &str) -> String {
        self.happen(name);
        result.to_owned()
    }

    pub fn count(&self, name: &str) -> u32 {
        self.0.lock().expect("effects").get(name).copied().unwrap_or(0)
    }
}

/// What `scenario` writes to the log at `info` and above.
pub fn logged(scenario: impl FnOnce()) -> String {
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt().with_writer(log.clone()).with_ansi(false).finish();
    tracing::subscriber::with_default(subscriber, scenario);
    let bytes = log.0.lock().expect("log").clone();
    String::from_utf8(bytes).expect("a log of text")
}

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("log").write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}
