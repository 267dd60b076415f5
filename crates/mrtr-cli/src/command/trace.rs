//! `--trace`, `--trace-file`, `--har`: what went over the wire, on the screen and in files; and the word that the
//! server is being waited for.
//!
//! Values of headers that the user gave are in none of them, wherever they turn up.

mod har;
mod lines;
mod live;
mod pretty;
mod secrets;
#[cfg(test)]
mod tests;

use std::fs::File;
use std::io;
use std::path::Path;

use mrtr::client::{Client, Event, Observer};

use self::har::Har;
use self::lines::Lines;
use self::live::Live;
use self::pretty::States;
use crate::args::{Detail, Tracing};
use crate::exit::Failure;
use crate::term;

/// Has a client watched as the flags say, until it is dropped. Files are there, or refused, before anything is sent.
pub(crate) fn watch(mut client: Client, tracing: &Tracing) -> Result<Client, Failure> {
    if let Some(detail) = tracing.trace {
        let states = match detail {
            Detail::Short => States::Short,
            Detail::Full => States::Full,
        };
        let live = Live::new(states, client.server(), term::trace);
        client = client.observer(WhenDone(live, |live| {
            live.finish();
            Ok(())
        }));
    }
    if let Some(path) = &tracing.trace_file {
        let lines = Lines::new(private_file("--trace-file", path)?, client.server());
        let path = path.clone();
        client = client.observer(WhenDone(lines, move |lines| {
            lines.finish().map_err(|error| cannot("--trace-file", &path, &error))
        }));
    }
    if let Some(path) = &tracing.har {
        let har = Har::new(private_file("--har", path)?, client.server());
        let path = path.clone();
        client =
            client.observer(WhenDone(har, move |har| har.finish().map_err(|error| cannot("--har", &path, &error))));
    }
    Ok(client)
}

/// An observer that has something left to do when its client is gone, however that came about.
struct WhenDone<O, F: Fn(&O) -> Result<(), Failure>>(O, F);

impl<O: Observer, F: Fn(&O) -> Result<(), Failure> + Send + Sync> Observer for WhenDone<O, F> {
    fn observe(&self, event: &Event<'_>) {
        self.0.observe(event);
    }
}

impl<O, F: Fn(&O) -> Result<(), Failure>> Drop for WhenDone<O, F> {
    fn drop(&mut self) {
        if let Err(failure) = (self.1)(&self.0) {
            term::warn(&failure.message);
        }
    }
}

/// Creates a file that only its owner reads: it will have states and answers in it. One that was there is emptied.
pub(super) fn private_file(flag: &str, path: &Path) -> Result<File, Failure> {
    open_private(File::options().create(true).truncate(true), flag, path)
}

/// As [`private_file`], where none may be: a name anybody could have guessed leads nowhere else.
pub(super) fn new_private_file(flag: &str, path: &Path) -> Result<File, Failure> {
    open_private(File::options().create_new(true), flag, path)
}

fn open_private(options: &mut std::fs::OpenOptions, flag: &str, path: &Path) -> Result<File, Failure> {
    options.write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    let file = options.open(path).map_err(|error| cannot(flag, path, &error))?;
    keep_private(&file).map_err(|error| cannot(flag, path, &error))?;
    Ok(file)
}

/// The mode given when opening counts only for files that were not there. A device or pipe is left as it is.
#[cfg(unix)]
fn keep_private(file: &File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    let metadata = file.metadata()?;
    if metadata.is_file() && metadata.permissions().mode() & 0o077 != 0 {
        file.set_permissions(std::fs::Permissions::from_mode(0o600))?;
    }
    Ok(())
}

#[cfg(not(unix))]
fn keep_private(_: &File) -> io::Result<()> {
    Ok(())
}

/// Names the flag and the file that cannot be written.
pub(super) fn cannot(flag: &str, path: &Path, error: &io::Error) -> Failure {
    Failure::usage(format!("{flag} {}: cannot write it: {error}", path.display()))
}

/// Says once that the server wants to be called again, so that a long wait does not look like a hang.
pub(super) fn patience() -> impl Observer {
    let said = std::sync::Once::new();
    move |event: &Event<'_>| {
        if matches!(event, Event::Pause { round, .. } if *round > 1) {
            said.call_once(|| term::note("the server cannot go on yet; calling again for a while (Ctrl-C stops)"));
        }
    }
}
