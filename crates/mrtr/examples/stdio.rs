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

#[cfg(test)]
mod tests {
    use mrtr::testing::{Script, torture};
    use serde_json::json;

    use super::*;

    /// Whatever goes wrong the call comes to an end, and nothing is deleted that was refused.
    #[test]
    fn it_comes_to_an_end_whatever_happens() {
        let script = Script::new(json!({ "path": "a.txt" })).answer("confirm", json!({ "confirm": true }));
        let script = script.without_effects();
        torture(|_| Tool::new("delete", delete), &script).assert_clean();
    }
}
