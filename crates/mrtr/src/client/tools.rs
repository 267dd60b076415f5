//! The tools of a server, all pages of them.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::{CallError, Client, headers};
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
        self.pages("tools/list", "tools").await.map(|pages| self.learn(pages))
    }

    /// Lists the tools as they are now, whatever is cached.
    pub(super) async fn list_tools_anew(&self) -> Result<ToolList, CallError> {
        self.collect("tools/list", "tools", true).await.map(|pages| self.learn(pages))
    }

    fn learn(&self, pages: Vec<Box<RawValue>>) -> ToolList {
        let mut list = ToolList::default();
        for raw in pages {
            self.add(raw, &mut list);
        }
        list
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
