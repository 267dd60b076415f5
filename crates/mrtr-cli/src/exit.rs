//! Exit codes, which scripts rely on.

use std::error::Error;
use std::fmt;
use std::process::ExitCode;

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// The operation completed.
    Completed = 0,
    /// The protocol or the transport failed.
    Failed = 1,
    /// The command line is wrong: bad flags, arguments the tool does not take, answers that do not fit.
    Usage = 2,
    /// The tool reported an error.
    ToolError = 3,
    /// The user declined or cancelled a question, or stopped the call. Goes before [`ToolError`](Self::ToolError).
    Refused = 4,
    /// Input was needed and nobody could be asked.
    Unanswered = 5,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// The table, for the help texts that end with it.
macro_rules! exit_codes {
    () => {
        "\
Exit codes:
  0  completed
  1  protocol or transport error
  2  usage: wrong flags, arguments or answers
  3  the tool reported an error
  4  the user declined, cancelled or stopped (Ctrl-C)
  5  input was needed and nobody could be asked"
    };
}

pub(crate) use exit_codes;

/// A run that ended without a result, and what to say about it.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) exit: Exit,
    /// One line or several; it may hold text of the server, and is made harmless when it is shown.
    pub(crate) message: String,
}

impl Failure {
    pub(crate) fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self { exit, message: message.into() }
    }

    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, message)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// A responder of this program fails with one, and so says how the run ends.
impl Error for Failure {}
