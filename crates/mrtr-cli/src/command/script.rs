//! `--answers FILE` and `--record FILE`: answers from a file, in the words of the command line.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use mrtr::client::script::{Difference, Misplayed, Player, Recorder, Script};
use mrtr::client::{Answer, Ask, BoxFuture, Kind, NotAnswered, Output, Responder};
use serde_json::{Map, Value};

use super::trace::{cannot, new_private_file};
use crate::exit::{Exit, Failure};
use crate::term::page;

/// An answers file that is being played.
#[derive(Clone)]
pub(crate) struct AnswersFile {
    pub(super) player: Player,
}

impl AnswersFile {
    pub(super) fn read(path: &Path) -> Result<Self, Failure> {
        let text = std::fs::read_to_string(path)
            .map_err(|error| Failure::usage(format!("--answers {}: cannot read it: {error}", path.display())))?;
        let script = Script::parse(&path.display().to_string(), &text)
            .map_err(|error| Failure::usage(format!("--answers {error}")))?;
        Ok(Self { player: Player::new(script) })
    }

    /// The file, as the user named it.
    pub(super) fn name(&self) -> &str {
        &self.player.script().file
    }

    /// The arguments the file has for its first call of this name.
    pub(super) fn arguments(&self, method: &str, target: &str) -> Option<Map<String, Value>> {
        let calls = &self.player.script().calls;
        calls.iter().find(|call| call.method == method && call.target == target)?.arguments.clone()
    }

    /// Holds a result to the file, and the file to what was asked.
    pub(super) fn check(&self, output: &Output) -> Result<(), Failure> {
        self.player.check(output).map_err(|difference| {
            let Failure { exit, message } = changed(&difference);
            Failure::new(exit, format!("{message}\n{HINT}"))
        })?;
        let unused = self.player.unused();
        if unused.is_empty() { Ok(()) } else { Err(Failure::usage(unused.join("\n"))) }
    }

    async fn answer(&self, ask: &Ask) -> Result<Answer, NotAnswered> {
        let answer = self.player.respond(ask).await.map_err(|error| match error {
            NotAnswered::Failed(cause) => NotAnswered::Failed(in_words(cause)),
            error => error,
        })?;
        let is_accept = answer.action() == Some(mrtr::client::Action::Accept);
        if ask.kind == Kind::Url && is_accept && !ask.consented {
            let url = ask.url().unwrap_or_default();
            page::announce(self.name(), &url).map_err(|reason| {
                let message = format!("{} does not accept {url}: {reason}", self.name());
                NotAnswered::failed(Failure::new(Exit::Failed, message))
            })?;
        }
        Ok(answer)
    }
}

impl Responder for AnswersFile {
    fn respond<'a>(&'a self, ask: &'a Ask) -> BoxFuture<'a, Result<Answer, NotAnswered>> {
        Box::pin(self.answer(ask))
    }
}

const HINT: &str = "(for a text that differs from run to run, write like: with * for that part, or remove it)";

type Cause = Box<dyn std::error::Error + Send + Sync>;

fn in_words(cause: Cause) -> Cause {
    let cause = match cause.downcast::<Difference>() {
        Ok(difference) => return Box::new(changed(&difference)),
        Err(cause) => cause,
    };
    match cause.downcast::<Misplayed>() {
        Ok(misplayed) => Box::new(Failure::usage(format!("{misplayed}; the question was not answered"))),
        Err(cause) => cause,
    }
}

fn changed(difference: &Difference) -> Failure {
    Failure::new(Exit::Failed, difference.to_string().trim_end())
}

/// A run that is being recorded.
pub(super) struct Record {
    pub(super) recorder: Recorder,
    path: PathBuf,
    /// Where it is written first: a run that comes to nothing leaves the old file as it was.
    draft: PathBuf,
    file: std::fs::File,
}

impl Record {
    /// Makes sure that there will be a file, before anything is sent.
    pub(super) fn begin(path: &Path) -> Result<Self, Failure> {
        // Written to where a link leads, and never in the place of a device, or of what somebody reads from.
        let followed = std::fs::canonicalize(path);
        let path = followed.as_deref().unwrap_or(path);
        if path.exists() && !path.is_file() && !path.is_dir() {
            return Err(Failure::usage(format!("--record {}: it is no file that can be replaced", path.display())));
        }
        let mut draft = path.as_os_str().to_owned();
        draft.push(format!(".{}.part", std::process::id()));
        let draft = PathBuf::from(draft);
        if path.is_dir() {
            return Err(cannot("--record", path, &std::io::ErrorKind::IsADirectory.into()));
        }
        let file = new_private_file("--record", &draft).map_err(|failure| Failure {
            message: failure.message.replace(&draft.display().to_string(), &path.display().to_string()),
            ..failure
        })?;
        Ok(Self { recorder: Recorder::new(), path: path.to_owned(), draft, file })
    }

    /// Writes the file.
    pub(super) fn finish(&mut self, output: &Output) -> Result<(), Failure> {
        self.recorder.finished(output);
        let written = self.file.write_all(self.recorder.to_yaml().as_bytes());
        written
            .and_then(|()| std::fs::rename(&self.draft, &self.path))
            .map_err(|error| Failure { exit: Exit::Failed, ..cannot("--record", &self.path, &error) })
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        // Gone already if the file was written.
        let _ = std::fs::remove_file(&self.draft);
    }
}
