//! One message in, one reply out.

use std::collections::HashMap;
use std::sync::Arc;

use serde::Serialize;
use serde_json::{Value, json};
use tracing::debug;

use super::arguments::InputSchema;
use super::builder::Limits;
use super::headers::{self, HeaderSource};
use super::{BuildError, Server, Tool};
use crate::flow::{Clock, LogLevel, Outlet};
use crate::seal::{Digest, Keyring, Principal, audience};
use crate::wire::{
    Malformed, Message, Method, PROTOCOL_VERSION, Request, RequestId, RpcError, SUPPORTED_VERSIONS, meta_key,
};

/// How long clients may keep lists and discovery: they change only with a new process.
const LIST_TTL_MS: u32 = 300_000;

/// One message as a transport received it.
#[must_use = "a message is answered by Dispatch::handle"]
pub struct Incoming<'a> {
    pub(crate) body: &'a [u8],
    pub(crate) headers: Option<&'a dyn HeaderSource>,
    pub(crate) principal: Option<Principal>,
    pub(crate) clock: Option<Arc<dyn Clock>>,
    pub(crate) outlet: Option<Arc<dyn Outlet>>,
}

impl<'a> Incoming<'a> {
    /// A message of this JSON text.
    pub fn new(body: &'a [u8]) -> Self {
        Self { body, headers: None, principal: None, clock: None, outlet: None }
    }

    /// Adds the request's headers, which are then held against the body. Default: a transport without headers.
    pub fn headers(mut self, headers: &'a dyn HeaderSource) -> Self {
        self.headers = Some(headers);
        self
    }

    /// Names the authenticated caller, where the transport knows one; states are bound to it. Default: none, and every
    /// caller is the same anonymous one.
    pub fn principal(mut self, principal: impl Into<Option<Principal>>) -> Self {
        self.principal = principal.into();
        self
    }

    /// Brings the transport's clock, for its timers; a server that was given [its own](Server::clock) keeps to that one.
    /// Default: the machine's time of day, without timers.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = Some(clock);
        self
    }

    /// Gives what belongs to this call and precedes its reply a way to the client: progress, log messages,
    /// subscriptions. Default: none, and nothing of the kind is sent.
    pub fn outlet(mut self, outlet: Arc<dyn Outlet>) -> Self {
        self.outlet = Some(outlet);
        self
    }
}

/// What goes back.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reply {
    /// The HTTP status; other transports ignore it. 202 means that nothing is to be sent.
    pub status: u16,
    /// The JSON text; empty for an accepted notification.
    pub body: Vec<u8>,
}

/// A built server: answers any message from nothing but that message. Shared by all connections.
#[derive(Debug)]
pub struct Dispatch {
    pub(super) tools: HashMap<String, Registered>,
    pub(super) keys: Keyring,
    pub(super) audience: Digest,
    /// What the server was told to go by, whatever transports bring.
    pub(super) clock: Option<Arc<dyn Clock>>,
    pub(super) limits: Limits,
    /// `,"_meta":{...}` with the server's name and version: the end of every result.
    pub(super) result_end: String,
    discovery: String,
    tool_list: String,
}

#[derive(Debug)]
pub(super) struct Registered {
    pub(super) tool: Tool,
    pub(super) input: InputSchema,
}

impl Dispatch {
    pub(super) fn new(server: Server, keys: Keyring) -> Result<Self, BuildError> {
        let mut info = json!({ "name": server.name, "version": server.version });
        if let Some(title) = &server.title {
            info["title"] = json!(title);
        }
        let mut discovery = json!({
            "supportedVersions": SUPPORTED_VERSIONS,
            "capabilities": { "tools": {} },
            "ttlMs": LIST_TTL_MS,
            "cacheScope": "public",
        });
        if let Some(instructions) = &server.instructions {
            discovery["instructions"] = json!(instructions);
        }
        let mut definitions = Vec::with_capacity(server.tools.len());
        let mut tools = HashMap::with_capacity(server.tools.len());
        for tool in server.tools {
            let (name, registered) = register(tool, &mut definitions)?;
            if tools.insert(name.clone(), registered).is_some() {
                return Err(BuildError::DuplicateTool(name));
            }
        }
        let text = |list: &Value| members(list).expect("a JSON value can be written");
        let tool_list = json!({ "tools": definitions, "ttlMs": LIST_TTL_MS, "cacheScope": "public" });
        Ok(Self {
            tools,
            keys,
            audience: audience(&server.audience.unwrap_or(server.name)),
            clock: server.clock,
            limits: server.limits,
            result_end: format!(",\"_meta\":{}", json!({ meta_key::SERVER_INFO: info })),
            discovery: text(&discovery),
            tool_list: text(&tool_list),
        })
    }

    /// Answers one message.
    ///
    /// Dropping the future cancels the handler that is running for it. Nothing is kept between two calls: whatever an
    /// unfinished operation needs is in the reply.
    pub async fn handle(&self, incoming: Incoming<'_>) -> Reply {
        match Message::parse(incoming.body) {
            Ok(Message::Notification(_)) => Reply { status: 202, body: Vec::new() },
            Ok(Message::Request(request)) => match self.answer(&request, &incoming).await {
                Ok(result) => self.complete(&request.id, &result),
                Err(error) => refuse(Some(&request.id), &error),
            },
            Err(malformed) => self.malformed(&malformed),
        }
    }

    /// The members of a result, or an error.
    async fn answer(&self, request: &Request<'_>, incoming: &Incoming<'_>) -> Result<String, RpcError> {
        self.admit(request, incoming)?;
        match self.method(&request.method) {
            Some(Method::CallTool) => self.call_tool(request, incoming).await,
            Some(Method::ListTools) => self.list_tools(request),
            Some(Method::Discover) => Ok(format!("\"resultType\":\"complete\",{}", self.discovery)),
            _ => Err(RpcError::method_not_found(&request.method)),
        }
    }

    /// `tools/list`: one page with all of them. Spec: `server/utilities/pagination#error-handling`.
    fn list_tools(&self, request: &Request<'_>) -> Result<String, RpcError> {
        match request.params.cursor {
            None => Ok(format!("\"resultType\":\"complete\",{}", self.tool_list)),
            Some(_) => Err(RpcError::invalid_params("unknown cursor: all tools are on the first page")),
        }
    }

    /// Checks what every request must carry, in the order a client can act on: version, metadata, headers.
    fn admit(&self, request: &Request<'_>, incoming: &Incoming<'_>) -> Result<(), RpcError> {
        if request.method == "initialize" {
            // Older clients have no way forward; this text may be all their user sees.
            let version = request.params.legacy_version.as_ref().map_or("", |text| &*text.0);
            return Err(RpcError::unsupported_version(version));
        }
        let header_version = incoming.headers.map(headers::version).transpose()?;
        let no_meta = Default::default();
        let meta = request.params.meta.as_ref().unwrap_or(&no_meta);
        let version = match (meta.protocol_version(), header_version) {
            (Err(_), Some(other)) if !SUPPORTED_VERSIONS.contains(&other) => {
                return Err(RpcError::unsupported_version(other));
            }
            (version, _) => version?,
        };
        meta.client_capabilities()?;
        if let Some(headers) = incoming.headers {
            headers::check(headers, request, version)?;
        }
        if version != PROTOCOL_VERSION {
            return Err(RpcError::unsupported_version(version));
        }
        if let Some(level) = meta.log_level().filter(|level| LogLevel::parse(level).is_none()) {
            let shown = crate::form::harmless(level, 80);
            return Err(RpcError::malformed_params(format!("params._meta: {shown} is not a log level")));
        }
        meta.progress_token()?;
        Ok(())
    }

    fn malformed(&self, malformed: &Malformed<'_>) -> Reply {
        let unknown =
            malformed.method.as_deref().filter(|method| self.method(method).is_none() && *method != "initialize");
        match unknown {
            Some(method) => refuse(malformed.id.as_ref(), &RpcError::method_not_found(method)),
            None => refuse(malformed.id.as_ref(), &malformed.error),
        }
    }

    /// The method of this name, if this server answers it.
    fn method(&self, name: &str) -> Option<Method> {
        Method::parse(name).filter(|method| matches!(method, Method::CallTool | Method::ListTools | Method::Discover))
    }

    fn complete(&self, id: &RequestId, result: &str) -> Reply {
        let parts = ["{\"jsonrpc\":\"2.0\",\"id\":", id.as_json(), ",\"result\":{", result, &self.result_end, "}}"];
        Reply { status: 200, body: parts.concat().into_bytes() }
    }
}

fn register(tool: Tool, definitions: &mut Vec<Value>) -> Result<(String, Registered), BuildError> {
    let name = tool.name.clone();
    if !tool.has_valid_name() {
        return Err(BuildError::ToolName(name));
    }
    match tool.input.clone() {
        Ok(input) => {
            definitions.push(tool.definition(&input.schema));
            Ok((name, Registered { tool, input }))
        }
        Err(problem) => Err(BuildError::Arguments { tool: name, problem }),
    }
}

fn refuse(id: Option<&RequestId>, error: &RpcError) -> Reply {
    debug!(code = error.code(), "request refused: {}", error.message());
    Reply { status: error.status(), body: error.to_response(id) }
}

/// A value's members without the braces around them, so that a writer can add more. The value is an object.
pub(super) fn members(object: &impl Serialize) -> serde_json::Result<String> {
    let mut text = serde_json::to_string(object)?;
    text.pop();
    text.remove(0);
    Ok(text)
}

impl std::fmt::Debug for Incoming<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Incoming").field("bytes", &self.body.len()).finish_non_exhaustive()
    }
}
