//! Prompts and resources: what a server has of them, and getting one.

use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::pages::{required, text};
use super::response::member;
use super::{CallError, Client, Output};

/// One prompt, as its server describes it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Prompt {
    /// The name to get it by.
    pub name: String,
    /// The name to show.
    pub title: Option<String>,
    /// What it is for.
    pub description: Option<String>,
    /// What it takes. All values are text.
    pub arguments: Vec<PromptArgument>,
    /// The whole definition as sent.
    pub raw: Box<RawValue>,
}

/// One argument of a [`Prompt`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PromptArgument {
    /// Its name.
    pub name: String,
    /// The name to show.
    pub title: Option<String>,
    /// What it is for.
    pub description: Option<String>,
    /// Whether it has to be given.
    pub required: bool,
}

/// One resource, as its server describes it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Resource {
    /// The URI to read it by.
    pub uri: String,
    /// Its name.
    pub name: Option<String>,
    /// The name to show.
    pub title: Option<String>,
    /// What it is.
    pub description: Option<String>,
    /// The type of its content.
    pub mime_type: Option<String>,
    /// The whole definition as sent.
    pub raw: Box<RawValue>,
}

/// A template of URIs, as its server describes it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ResourceTemplate {
    /// The template (RFC 6570); filled in, it is a URI to read.
    pub uri_template: String,
    /// Its name.
    pub name: Option<String>,
    /// The name to show.
    pub title: Option<String>,
    /// What it is.
    pub description: Option<String>,
    /// The type of the content behind it.
    pub mime_type: Option<String>,
    /// The whole definition as sent.
    pub raw: Box<RawValue>,
}

/// What a list holds.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Listed<T> {
    /// The entries in the server's order.
    pub entries: Vec<T>,
    /// Entries left out because they cannot be asked for: which, and why. One bad entry does not hide the others.
    pub rejected: Vec<(String, String)>,
}

impl Client {
    /// Lists the prompts, following all pages, within the bounds of [`list_tools`](Self::list_tools).
    ///
    /// # Errors
    ///
    /// See [`CallError`].
    pub async fn list_prompts(&self) -> Result<Listed<Prompt>, CallError> {
        self.pages("prompts/list", "prompts").await.map(|entries| listed(entries, "prompt", prompt))
    }

    /// Lists the resources, following all pages, within the bounds of [`list_tools`](Self::list_tools).
    ///
    /// # Errors
    ///
    /// See [`CallError`].
    pub async fn list_resources(&self) -> Result<Listed<Resource>, CallError> {
        self.pages("resources/list", "resources").await.map(|entries| listed(entries, "resource", resource))
    }

    /// Lists the resource templates, following all pages, within the bounds of [`list_tools`](Self::list_tools).
    ///
    /// # Errors
    ///
    /// See [`CallError`].
    pub async fn list_resource_templates(&self) -> Result<Listed<ResourceTemplate>, CallError> {
        let entries = self.pages("resources/templates/list", "resourceTemplates").await?;
        Ok(listed(entries, "resource template", template))
    }

    /// Gets a prompt and runs the operation to its end. `arguments` is an object whose values are strings.
    ///
    /// # Errors
    ///
    /// See [`CallError`].
    pub async fn get_prompt(&self, name: &str, arguments: impl Into<Value>) -> Result<Output, CallError> {
        self.call("prompts/get", json!({ "name": name, "arguments": arguments.into() })).await
    }

    /// Reads a resource and runs the operation to its end.
    ///
    /// # Errors
    ///
    /// See [`CallError`].
    pub async fn read_resource(&self, uri: &str) -> Result<Output, CallError> {
        self.call("resources/read", json!({ "uri": uri })).await
    }
}

fn listed<T>(entries: Vec<Box<RawValue>>, what: &str, read: impl Fn(Box<RawValue>) -> Result<T, String>) -> Listed<T> {
    let mut list = Listed { entries: Vec::new(), rejected: Vec::new() };
    for (index, raw) in entries.into_iter().enumerate() {
        let name = text(&raw, "name").unwrap_or_else(|| format!("{what} {}", index + 1));
        match read(raw) {
            Ok(entry) => list.entries.push(entry),
            Err(reason) => list.rejected.push((name, reason)),
        }
    }
    list
}

fn prompt(raw: Box<RawValue>) -> Result<Prompt, String> {
    let arguments: Vec<&RawValue> = member(&raw, "arguments").unwrap_or_default();
    Ok(Prompt {
        name: required(&raw, "name")?,
        title: text(&raw, "title"),
        description: text(&raw, "description"),
        arguments: arguments.into_iter().map(argument).collect::<Result<_, _>>()?,
        raw,
    })
}

fn argument(raw: &RawValue) -> Result<PromptArgument, String> {
    Ok(PromptArgument {
        name: required(raw, "name").map_err(|what| format!("of an argument, {what}"))?,
        title: text(raw, "title"),
        description: text(raw, "description"),
        required: member(raw, "required").unwrap_or(false),
    })
}

fn resource(raw: Box<RawValue>) -> Result<Resource, String> {
    Ok(Resource {
        uri: required(&raw, "uri")?,
        name: text(&raw, "name"),
        title: text(&raw, "title"),
        description: text(&raw, "description"),
        mime_type: text(&raw, "mimeType"),
        raw,
    })
}

fn template(raw: Box<RawValue>) -> Result<ResourceTemplate, String> {
    Ok(ResourceTemplate {
        uri_template: required(&raw, "uriTemplate")?,
        name: text(&raw, "name"),
        title: text(&raw, "title"),
        description: text(&raw, "description"),
        mime_type: text(&raw, "mimeType"),
        raw,
    })
}
