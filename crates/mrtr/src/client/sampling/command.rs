//! A model behind a command.

use std::ffi::{OsStr, OsString};
use std::io;
use std::process::ExitStatus;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::Command;
use tokio::time::timeout;

use super::result;
use crate::client::child::{Child, Streams, command_line};
use crate::client::failure::printable;
use crate::client::{Answer, Ask, BoxFuture, NotAnswered, Responder};

/// Answers sampling requests with what a command prints.
///
/// The command reads the request's parameters from its stdin as JSON, and writes to its stdout either the result object
/// the specification names (`role`, `content`, `model`, `stopReason`; what is missing of the first and the third is
/// filled in) or anything else, which is taken as the text of the answer. Another exit code than 0 is a failure.
///
/// ```no_run
/// use mrtr::client::{CommandSampler, Responders};
///
/// let model = CommandSampler::new("llm").args(["--model", "local"]);
/// let responders = Responders::new().sampling(model);
/// # let _ = responders;
/// ```
///
/// # Security
///
/// The command gets what a server wrote. It runs with the rights and the environment of this process.
#[derive(Clone, Debug)]
pub struct CommandSampler {
    program: OsString,
    args: Vec<OsString>,
    timeout: Duration,
    max_bytes: usize,
    hidden: Vec<OsString>,
}

impl CommandSampler {
    /// Answers with what this program prints.
    pub fn new(program: impl Into<OsString>) -> Self {
        Self {
            program: program.into(),
            args: Vec::new(),
            timeout: Duration::from_secs(120),
            max_bytes: 4 * 1024 * 1024,
            hidden: Vec::new(),
        }
    }

    /// Answers with what this line prints, read by the shell: `sh`, or `cmd` on Windows.
    pub fn shell(line: impl Into<OsString>) -> Self {
        let (shell, flag) = if cfg!(windows) { ("cmd", "/C") } else { ("sh", "-c") };
        Self::new(shell).args([OsString::from(flag), line.into()])
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<S: Into<OsString>>(mut self, args: impl IntoIterator<Item = S>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Limits the time of one run; then the command and what it started are killed. Default: 120 s.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Keeps a variable of this process's environment from it: a secret it does not need.
    #[must_use]
    pub fn env_remove(mut self, name: impl Into<OsString>) -> Self {
        self.hidden.push(name.into());
        self
    }

    /// Limits what it may print. Default: 4 MiB.
    #[must_use]
    pub fn max_bytes(mut self, bytes: usize) -> Self {
        self.max_bytes = bytes;
        self
    }

    fn name(&self) -> String {
        command_line(std::iter::once(&self.program).chain(&self.args).map(OsString::as_os_str))
    }

    async fn sample(&self, ask: &Ask) -> Result<Answer, NotAnswered> {
        let failed = |what: String| NotAnswered::failed(format!("{}: {what}", self.name()));
        let mut command = Command::new(&self.program);
        for name in &self.hidden {
            command.env_remove(name);
        }
        let (mut child, streams) =
            Child::spawn(command.args(&self.args)).map_err(|error| failed(format!("cannot start: {error}")))?;
        let run = run(&mut child, streams, ask.params.get(), self.max_bytes);
        // On every way out the child is dropped, and so killed.
        let run = timeout(self.timeout, run).await;
        let run = run.map_err(|_| failed(format!("not done within {} s", self.timeout.as_secs_f32())))?;
        let Run { status, output, errors } = run.map_err(|error| failed(error.to_string()))?;
        if !status.success() {
            let said = printable(&String::from_utf8_lossy(&errors));
            let said = if said.is_empty() { said } else { format!(": {said}") };
            return Err(failed(format!("{status}{said}")));
        }
        let text = String::from_utf8(output).map_err(|_| failed("what it printed is not UTF-8".to_owned()))?;
        Ok(Answer::result(read(text.trim_end_matches(['\n', '\r']), &self.program)))
    }
}

struct Run {
    status: ExitStatus,
    output: Vec<u8>,
    errors: Vec<u8>,
}

async fn run(child: &mut Child, streams: Streams, input: &str, limit: usize) -> io::Result<Run> {
    let Streams { mut stdin, mut stdout, mut stderr } = streams;
    let feed = async move {
        // A command that does not want to know the request closes its stdin; that is its business.
        let _ = stdin.write_all(input.as_bytes()).await;
        let _ = stdin.write_all(b"\n").await;
    };
    let fed = async {
        feed.await;
        Ok(())
    };
    let too_much = || io::Error::other(format!("it printed more than {limit} bytes"));
    let output = async { bounded(&mut stdout, limit).await?.ok_or_else(too_much) };
    // What is said beyond is not kept, but read on: a command must not wait for somebody to listen.
    let errors = async {
        let kept = bounded(&mut stderr, MOST_ERRORS).await?.unwrap_or_default();
        tokio::io::copy(&mut stderr, &mut tokio::io::sink()).await?;
        Ok(kept)
    };
    let ((), output, errors) = tokio::try_join!(fed, output, errors)?;
    Ok(Run { status: child.wait().await?, output, errors })
}

/// Reads to the end; `None` if that is beyond the limit.
async fn bounded(stream: &mut (impl AsyncRead + Unpin), limit: usize) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    stream.take(u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1)).read_to_end(&mut bytes).await?;
    Ok((bytes.len() <= limit).then_some(bytes))
}

/// Reads what was printed: a result, or text.
fn read(text: &str, program: &OsStr) -> Value {
    let mut value: Value = serde_json::from_str(text).unwrap_or_default();
    if let Some(object) = value.as_object_mut().filter(|object| object.contains_key("content")) {
        if object["content"].is_string() {
            let text = object["content"].take();
            object["content"] = json!({ "type": "text", "text": text });
        }
        object.entry("role").or_insert_with(|| "assistant".into());
        object.entry("model").or_insert_with(|| program.to_string_lossy().into());
        return value;
    }
    result(vec![json!({ "type": "text", "text": text })], &program.to_string_lossy(), "endTurn")
}

impl Responder for CommandSampler {
    fn respond<'a>(&'a self, ask: &'a Ask) -> BoxFuture<'a, Result<Answer, NotAnswered>> {
        Box::pin(self.sample(ask))
    }
}

/// What is kept of its stderr, in bytes; of more, nothing.
const MOST_ERRORS: usize = 64 * 1024;
