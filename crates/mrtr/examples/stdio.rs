//! A server that a client starts as a process: it talks over stdin and stdout, one JSON message per line.
//!
//! ```text
//! $ cargo build -p mrtr --features stdio --example stdio
//! ```
//!
//! Clients want the command that starts it: `target/debug/examples/stdio`. Logs, if any, go to stderr.

use mrtr::{Context, Server, Tool, ToolError, stdio::ServeError};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
struct Delete {
    /// The file to delete
    path: String,
}

#[derive(Deserialize, JsonSchema)]
struct Confirm {
    /// Yes, delete it
    confirm: bool,
}

async fn delete(delete: Delete, cx: Context) -> Result<String, ToolError> {
    let answer: Confirm = cx.elicit("confirm", format!("Delete {}?", delete.path)).await?;
    if !answer.confirm {
        return Ok(format!("{} was left alone.", delete.path));
    }
    // A real tool would delete it here.
    Ok(format!("Deleted {}.", delete.path))
}

#[tokio::main]
async fn main() -> Result<(), ServeError> {
    let delete = Tool::new("delete", delete).description("Delete a file, after the user confirms");
    Server::new("files", "1.0.0").tool(delete).serve_stdio().await
}
