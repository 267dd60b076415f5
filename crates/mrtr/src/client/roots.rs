//! The directories a client works in, told to servers that ask.

use std::io;
use std::path::Path;

use serde_json::{Value, json};
use thiserror::Error;
use url::Url;

use super::{Answer, Ask, BoxFuture, NotAnswered, Responder};

/// Answers `roots/list` with these directories.
///
/// ```
/// use mrtr::client::{Responders, Roots};
///
/// # fn build() -> Result<Responders, Box<dyn std::error::Error>> {
/// let responders = Responders::new().roots(Roots::new().directory(".")?);
/// # Ok(responders)
/// # }
/// # build().unwrap();
/// ```
///
/// # Security
///
/// A server learns the paths, and with them perhaps the user's name. They give it no rights.
#[derive(Clone, Debug, Default)]
pub struct Roots {
    roots: Vec<(String, String)>,
}

/// Why something cannot be a root.
#[derive(Debug, Error)]
#[error("{path} cannot be a root: {cause}")]
pub struct InvalidRoot {
    path: String,
    cause: io::Error,
}

impl Roots {
    /// No directories: a client that works in none says so with it.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a directory, under its own name. A relative path counts from the current directory.
    ///
    /// # Errors
    ///
    /// When it does not exist, or is no directory.
    pub fn directory(mut self, path: impl AsRef<Path>) -> Result<Self, InvalidRoot> {
        let path = path.as_ref();
        let invalid = |cause| InvalidRoot { path: path.display().to_string(), cause };
        let full = path.canonicalize().map_err(invalid)?;
        if !full.is_dir() {
            return Err(invalid(io::ErrorKind::NotADirectory.into()));
        }
        let url = Url::from_file_path(&full).map_err(|()| invalid(io::ErrorKind::InvalidInput.into()))?;
        let name = full.file_name().unwrap_or(full.as_os_str()).to_string_lossy().into_owned();
        self.roots.push((url.into(), name));
        Ok(self)
    }

    /// Returns the result for `roots/list`.
    pub fn result(&self) -> Value {
        let roots: Vec<_> = self.roots.iter().map(|(uri, name)| json!({ "uri": uri, "name": name })).collect();
        json!({ "roots": roots })
    }
}

impl Responder for Roots {
    fn respond<'a>(&'a self, _: &'a Ask) -> BoxFuture<'a, Result<Answer, NotAnswered>> {
        Box::pin(std::future::ready(Ok(Answer::result(self.result()))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_become_file_uris_with_their_name() {
        let directory = std::env::temp_dir().join(format!("mrtr roots é {}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let result = Roots::new().directory(&directory).unwrap().result();
        std::fs::remove_dir(&directory).unwrap();
        let root = &result["roots"][0];
        assert!(root["uri"].as_str().unwrap().starts_with("file:///"), "{root}");
        assert!(root["uri"].as_str().unwrap().contains("mrtr%20roots%20%C3%A9%20"), "{root}");
        assert_eq!(root["name"], format!("mrtr roots é {}", std::process::id()));
    }

    #[test]
    fn what_is_not_there_or_no_directory_is_refused() {
        let refused = |path: &Path| Roots::new().directory(path).unwrap_err().to_string();
        assert!(refused(Path::new("/no/such")).starts_with("/no/such cannot be a root: "));
        assert!(refused(&std::env::current_exe().unwrap()).ends_with("not a directory"));
    }
}
