//! The tools of a server, all pages of them.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::{CallError, Client, Diagnosis, headers};
use crate::wire::Object;

/// One tool, as its server describes it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Tool {
    /// The name to call it by.
    pub name: String,
    /// The name to show.
    pub title: Option<String>,
    /// What it does.
    pub description: Option<String>,
    /// The JSON Schema of its arguments; null if the server gave none.
    pub input_schema: Value,
    /// The whole definition as sent.
    pub raw: Box<RawValue>,
}

/// A tool that cannot be called by this client.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RejectedTool {
    /// Its name, or its place in the list if it has none.
    pub name: String,
    /// What is wrong with its definition.
    pub reason: String,
}

/// What [`Client::list_tools`] found.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ToolList {
    /// The tools in the server's order.
    pub tools: Vec<Tool>,
    /// Tools left out because their definition is invalid. One bad definition does not hide the others.
    pub rejected: Vec<RejectedTool>,
}

impl Client {
    /// Lists the tools, following all pages.
    ///
    /// # Errors
    ///
    /// See [`CallError`]. A list that repeats a page, or has more than 100 pages, 10,000 tools or 64 MiB, breaks the
    /// protocol.
    pub async fn list_tools(&self) -> Result<ToolList, CallError> {
        match self.collect_tools(false).await {
            // Spec: server/utilities/caching#interaction-with-pagination. The pages that were kept no longer fit together.
            Err(CallError::Rpc { code: -32602, .. }) if self.cache.is_some() => self.collect_tools(true).await,
            outcome => outcome,
        }
    }

    /// Reads all pages; `is_fresh` if cached ones will not do.
    pub(super) async fn collect_tools(&self, is_fresh: bool) -> Result<ToolList, CallError> {
        let mut list = ToolList::default();
        let mut cursors: Vec<String> = Vec::new();
        let mut bytes = 0;
        loop {
            let params = cursors.last().map_or_else(|| json!({}), |cursor| json!({ "cursor": cursor }));
            let page = self.request("tools/list", params);
            let output = if is_fresh { page.fresh().await? } else { page.await? };
            bytes += output.result.get().len();
            if bytes > MAX_BYTES {
                return Err(broken(format!("tools/list is longer than {} MiB", MAX_BYTES >> 20)));
            }
            let Object(page): Object<Page> = serde_json::from_str(output.result.get())
                .map_err(|error| broken(format!("the result of tools/list is malformed: {error}")))?;
            if list.tools.len() + list.rejected.len() + page.tools.len() > MAX_TOOLS {
                return Err(broken(format!("tools/list has more than {MAX_TOOLS} tools")));
            }
            for raw in page.tools {
                self.add(raw, &mut list);
            }
            match page.next_cursor {
                None => return Ok(list),
                Some(cursor) if cursors.contains(&cursor) => {
                    return Err(broken("tools/list repeats a nextCursor".to_owned()));
                }
                Some(cursor) => cursors.push(cursor),
            }
            if cursors.len() >= MAX_PAGES {
                return Err(broken(format!("tools/list has more than {MAX_PAGES} pages")));
            }
        }
    }

    fn add(&self, raw: Box<RawValue>, list: &mut ToolList) {
        let head: ToolHead = match serde_json::from_str(raw.get()) {
            Ok(Object(head)) => head,
            Err(error) => {
                let name = format!("tool {}", list.tools.len() + list.rejected.len() + 1);
                return list.rejected.push(RejectedTool { name, reason: error.to_string() });
            }
        };
        match headers::param_headers(&head.input_schema) {
            Ok(params) => self.set_param_headers(&head.name, params),
            Err(reason) => {
                tracing::warn!(tool = head.name, reason, "left out a tool whose definition is invalid");
                return list.rejected.push(RejectedTool { name: head.name, reason });
            }
        }
        list.tools.push(Tool {
            name: head.name,
            title: head.title.as_str().map(str::to_owned),
            description: head.description.as_str().map(str::to_owned),
            input_schema: head.input_schema,
            raw,
        });
    }
}

const MAX_PAGES: usize = 100;
/// Of all pages together.
const MAX_TOOLS: usize = 10_000;
/// Of all pages together.
const MAX_BYTES: usize = 64 * 1024 * 1024;

#[derive(Deserialize)]
struct Page {
    tools: Vec<Box<RawValue>>,
    #[serde(rename = "nextCursor")]
    next_cursor: Option<String>,
}

/// The members a client works with; those for display may have any type.
#[derive(Deserialize)]
struct ToolHead {
    name: String,
    #[serde(default)]
    title: Value,
    #[serde(default)]
    description: Value,
    #[serde(default, rename = "inputSchema")]
    input_schema: Value,
}

fn broken(what: String) -> CallError {
    CallError::Protocol { round: 1, diagnosis: Diagnosis::ListMalformed, what }
}
