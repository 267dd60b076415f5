//! All pages of a list, within bounds.

use std::collections::HashMap;

use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::response::member;
use super::{CallError, Client, Diagnosis};
use crate::wire::Object;

impl Client {
    /// Reads a list to its end and returns its entries as the server wrote them. `name` is the member they are in.
    pub(super) async fn pages(&self, method: &str, name: &str) -> Result<Vec<Box<RawValue>>, CallError> {
        match self.collect(method, name, false).await {
            // Spec: server/utilities/caching#interaction-with-pagination. The pages that were kept no longer fit together.
            Err(CallError::Rpc { code: -32602, .. }) if self.cache.is_some() => self.collect(method, name, true).await,
            outcome => outcome,
        }
    }

    /// As [`pages`](Self::pages); `is_fresh` if cached pages will not do.
    pub(super) async fn collect(
        &self,
        method: &str,
        name: &str,
        is_fresh: bool,
    ) -> Result<Vec<Box<RawValue>>, CallError> {
        let mut entries: Vec<Box<RawValue>> = Vec::new();
        let mut cursors: Vec<String> = Vec::new();
        let mut bytes = 0;
        loop {
            let params = cursors.last().map_or_else(|| json!({}), |cursor| json!({ "cursor": cursor }));
            let call = self.request(method, params);
            let output = if is_fresh { call.fresh().await? } else { call.await? };
            bytes += output.result.get().len();
            if bytes > MAX_BYTES {
                return Err(broken(format!("{method} is longer than {} MiB", MAX_BYTES >> 20)));
            }
            let page = page(&output.result, name)
                .map_err(|what| broken(format!("the result of {method} is malformed: {what}")))?;
            if entries.len() + page.entries.len() > MAX_ENTRIES {
                return Err(broken(format!("{method} has more than {MAX_ENTRIES} {}", words(name))));
            }
            entries.extend(page.entries);
            match page.next_cursor {
                None => return Ok(entries),
                Some(cursor) if cursors.contains(&cursor) => {
                    return Err(broken(format!("{method} repeats a nextCursor")));
                }
                Some(cursor) => cursors.push(cursor),
            }
            if cursors.len() >= MAX_PAGES {
                return Err(broken(format!("{method} has more than {MAX_PAGES} pages")));
            }
        }
    }
}

struct Page {
    entries: Vec<Box<RawValue>>,
    next_cursor: Option<String>,
}

fn page(result: &RawValue, name: &str) -> Result<Page, String> {
    let Object(members) =
        serde_json::from_str::<Object<HashMap<String, &RawValue>>>(result.get()).map_err(|error| error.to_string())?;
    let entries = members.get(name).ok_or_else(|| format!("missing field `{name}`"))?;
    let entries = serde_json::from_str(entries.get()).map_err(|error| format!("{name}: {error}"))?;
    let next_cursor = match members.get("nextCursor") {
        Some(cursor) => serde_json::from_str(cursor.get()).map_err(|error| format!("nextCursor: {error}"))?,
        None => None,
    };
    Ok(Page { entries, next_cursor })
}

/// `resourceTemplates`, as people write it.
fn words(name: &str) -> &str {
    if name == "resourceTemplates" { "resource templates" } else { name }
}

/// A member for display, which may have any type: only text counts.
pub(super) fn text(entry: &RawValue, name: &str) -> Option<String> {
    member(entry, name)
}

/// A string that an entry cannot do without.
pub(super) fn required(entry: &RawValue, name: &str) -> Result<String, String> {
    match member::<Value>(entry, name) {
        Some(Value::String(text)) => Ok(text),
        Some(_) => Err(format!("its {name} is not a string")),
        None => Err(format!("it has no {name}")),
    }
}

fn broken(what: String) -> CallError {
    CallError::Protocol { round: 1, diagnosis: Diagnosis::ListMalformed, what }
}

const MAX_PAGES: usize = 100;
/// Of all pages together.
const MAX_ENTRIES: usize = 10_000;
/// Of all pages together.
const MAX_BYTES: usize = 64 * 1024 * 1024;
