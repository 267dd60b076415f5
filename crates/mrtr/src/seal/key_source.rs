//! Where keys come from, and what is said when it brings none.

use std::fmt;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use tracing::warn;
use zeroize::Zeroizing;

use super::KeyringError;
use super::ring::Ring;

/// What a keyring reads again when it is asked to.
pub(super) enum Source {
    /// Given once: there is nothing to read again.
    Fixed,
    /// Text as [`Ring::parse`] takes it.
    File(PathBuf),
    /// The author's code, which asks a key service.
    Function(Load),
}

pub(super) type Load = Box<dyn Fn() -> Result<Ring, KeyringError> + Send + Sync>;

impl Source {
    /// A function of secrets as a function of rings.
    pub(super) fn function<S, E>(load: impl Fn() -> Result<Vec<S>, E> + Send + Sync + 'static) -> Self
    where
        S: AsRef<[u8]>,
        E: fmt::Display,
    {
        Self::Function(Box::new(move || {
            let secrets = load().map_err(|error| KeyringError::Source(error.to_string()))?;
            Ring::derive(secrets)
        }))
    }

    /// The keys as they are there now; `None` where nothing can have changed.
    pub(super) fn load(&self) -> Result<Option<Ring>, KeyringError> {
        match self {
            Self::Fixed => Ok(None),
            Self::File(path) => read(path).map(Some),
            Self::Function(load) => load().map(Some),
        }
    }

    /// Says what is wrong with a source that works all the same.
    pub(super) fn warn(&self) {
        #[cfg(unix)]
        if let Self::File(path) = self {
            use std::os::unix::fs::PermissionsExt as _;

            let mode = std::fs::metadata(path).map_or(0, |file| file.permissions().mode());
            if mode & OTHERS != 0 {
                warn!(path = %path.display(), mode = %format_args!("{:03o}", mode & 0o777), "{OPEN_TO_OTHERS}");
            }
        }
    }
}

fn read(path: &Path) -> Result<Ring, KeyringError> {
    let refused = |reason: String| KeyringError::Unreadable { path: path.to_owned(), reason };
    let text = contents(path).map_err(|error| refused(error.to_string()))?;
    if text.len() > MAX_FILE {
        return Err(refused(format!("it is longer than {MAX_FILE} bytes and cannot be a list of keys")));
    }
    let text = std::str::from_utf8(&text).map_err(|_| refused("it is not text; keys are base64url".to_owned()))?;
    Ring::parse(text).map_err(|cause| KeyringError::InFile { path: path.to_owned(), cause: Box::new(cause) })
}

/// One byte more than there may be, at most. The buffer never grows: growing would leave copies behind, unwiped.
fn contents(path: &Path) -> io::Result<Zeroizing<Vec<u8>>> {
    let most = MAX_FILE + 1;
    let mut text = Zeroizing::new(Vec::with_capacity(most + 64));
    File::open(path)?.take(most as u64).read_to_end(&mut text)?;
    Ok(text)
}

/// The longest file that is read: more than a thousand keys.
const MAX_FILE: usize = 64 * 1024;
/// Reading or writing by anybody. The group is left alone: that is how containers hand a file to an unprivileged user.
#[cfg(unix)]
const OTHERS: u32 = 0o006;
#[cfg(unix)]
const OPEN_TO_OTHERS: &str =
    "every user of this machine can read or write the keys file, and so make states; chmod 600 it";

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed => f.write_str("Fixed"),
            Self::File(path) => f.debug_tuple("File").field(path).finish(),
            Self::Function(_) => f.write_str("Function(..)"),
        }
    }
}
