//! The question before the first: does this server speak the revision?
//!
//! Spec: basic/transports/stdio#backward-compatibility.

use std::time::Duration;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::calls::{Head, News};
use super::process::Process;
use crate::client::failure::printable;
use crate::wire::Object;

/// What was found instead of a server of this revision.
#[derive(Debug)]
pub(super) enum Finding {
    /// A server of an older revision; why it looks like one.
    Legacy(String),
    /// Something that writes other things than messages.
    Garbage(String),
    /// It ended.
    Gone,
}

/// Asks `server/discover` with the metadata of the request that waits.
pub(super) async fn run(process: &Process, head: &Head, patience: Duration) -> Result<(), Finding> {
    let meta = head.meta.as_ref().map_or("{}", |meta| meta.get());
    let discover = format!(
        r#"{{"jsonrpc":"2.0","id":"{DISCOVER}","method":"server/discover","params":{{"_meta":{}}}}}"#,
        without_token(meta)
    );
    let reply = match timeout(patience, ask(process, DISCOVER, discover)).await {
        Ok(reply) => reply?,
        Err(_) => {
            let what = format!("does not answer server/discover within {} s", patience.as_secs_f32());
            return Err(Finding::Legacy(with_introduction(process, what).await));
        }
    };
    match read(&reply) {
        Reply::Modern => Ok(()),
        Reply::Other(what) => Err(Finding::Legacy(with_introduction(process, what).await)),
    }
}

/// The metadata without its progress token, which is the waiting request's.
fn without_token(meta: &str) -> String {
    let mut meta: Value = serde_json::from_str(meta).unwrap_or_default();
    if let Some(meta) = meta.as_object_mut() {
        meta.shift_remove("progressToken");
    }
    meta.to_string()
}

/// Sends one request of the probe's own.
async fn ask(process: &Process, id: &str, request: String) -> Result<String, Finding> {
    let head = Head { id: Value::from(id).to_string(), progress_token: None, may_repeat: false, meta: None };
    let (number, mut news) = process.calls.open(&head, LONGEST).map_err(|_| Finding::Gone)?;
    let _forget = Forget { process, number };
    process.send(number, request).await;
    loop {
        match news.recv().await {
            Some(News::Notification(_)) => {}
            Some(News::Response(text)) => return Ok(text),
            Some(News::TooLong) => return Err(Finding::Garbage("a line that is too long".to_owned())),
            Some(News::Garbage(line)) => return Err(Finding::Garbage(line)),
            Some(News::Gone) | None => return Err(Finding::Gone),
        }
    }
}

struct Forget<'a> {
    process: &'a Process,
    number: u64,
}

impl Drop for Forget<'_> {
    fn drop(&mut self) {
        // No need to cancel: a legacy server is ended right after.
        self.process.calls.close(self.number);
    }
}

enum Reply {
    Modern,
    Other(String),
}

fn read(reply: &str) -> Reply {
    #[derive(Deserialize)]
    struct Message<'a> {
        #[serde(borrow)]
        result: Option<&'a RawValue>,
        error: Option<Error>,
    }
    #[derive(Deserialize)]
    struct Error {
        code: i64,
        #[serde(default)]
        message: String,
    }
    match serde_json::from_str(reply) {
        Ok(Object(Message { error: Some(Error { code, message }), .. })) => match code {
            // Errors that only this revision has. Its answer to the request itself says it in full.
            -32029..=-32020 => Reply::Modern,
            _ => Reply::Other(format!("answers server/discover with error {code} ({})", printable(&message))),
        },
        // Whatever is in it, and whatever other revisions are: the request itself finds out.
        Ok(Object(Message { result: Some(_), .. })) => Reply::Modern,
        _ => Reply::Other("answers server/discover with neither a result nor an error".to_owned()),
    }
}

/// Says for certain that it is a legacy server, and which, if it takes the handshake of those.
async fn with_introduction(process: &Process, what: String) -> String {
    let request = json!({ "jsonrpc": "2.0", "id": INITIALIZE, "method": "initialize", "params": {
        "protocolVersion": LEGACY_VERSION,
        "capabilities": {},
        "clientInfo": { "name": "mrtr", "version": env!("CARGO_PKG_VERSION") },
    }});
    let reply = timeout(HANDSHAKE, ask(process, INITIALIZE, request.to_string())).await;
    let reply: Value =
        reply.ok().and_then(Result::ok).and_then(|it| serde_json::from_str(&it).ok()).unwrap_or_default();
    let text = |value: &Value| value.as_str().map(printable);
    let Some(version) = text(&reply["result"]["protocolVersion"]) else { return what };
    let info = &reply["result"]["serverInfo"];
    let name = text(&info["name"]).map(|name| format!(" as {name}")).unwrap_or_default();
    format!("{what}, and initialize{name} with revision {version}")
}

const DISCOVER: &str = "mrtr-discover";
const INITIALIZE: &str = "mrtr-initialize";
/// The last revision with the handshake.
const LEGACY_VERSION: &str = "2025-11-25";
/// How long the handshake may take, in which nothing has to be started any more.
const HANDSHAKE: Duration = Duration::from_secs(3);
/// Longest answer to a question of the probe, in bytes.
const LONGEST: usize = 1024 * 1024;
