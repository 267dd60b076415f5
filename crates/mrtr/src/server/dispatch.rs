//! One message in, one reply out.

use std::sync::Arc;

use serde_json::{Value, json};
use tracing::debug;

use super::answer::{Answer, Completed, members};
use super::builder::Limits;
use super::counters::{Counters, Tally};
use super::headers::{self, HeaderSource};
use super::list::Caching;
use super::offers::Offers;
use super::subscriptions::Subscriptions;
use super::{BuildError, Server};
use crate::flow::{Clock, LogLevel, Outlet};
use crate::ledger::{Ledger, LedgerError};
use crate::seal::{Cursors, Digest, Keyring, Principal, audience};
use crate::wire::{
    Malformed, Message, Meta, Method, PROTOCOL_VERSION, Request, RequestId, RpcError, SUPPORTED_VERSIONS, json as text,
    meta_key,
};

/// One message as a transport received it.
#[must_use = "a message is answered by Dispatch::handle"]
pub struct Incoming<'a> {
    pub(crate) body: &'a [u8],
    pub(crate) headers: Option<&'a dyn HeaderSource>,
    pub(crate) principal: Option<Principal>,
    pub(crate) clock: Option<Arc<dyn Clock>>,
    pub(crate) outlet: Option<Arc<dyn Outlet>>,
    #[cfg(feature = "testing")]
    pub(crate) watch: Option<Arc<dyn crate::flow::Watch>>,
}

impl<'a> Incoming<'a> {
    /// A message of this JSON text.
    pub fn new(body: &'a [u8]) -> Self {
        Self {
            body,
            headers: None,
            principal: None,
            clock: None,
            outlet: None,
            #[cfg(feature = "testing")]
            watch: None,
        }
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

    /// Has the steps of the call watched.
    #[cfg(feature = "testing")]
    pub(crate) fn watched(mut self, watch: Arc<dyn crate::flow::Watch>) -> Self {
        self.watch = Some(watch);
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
    pub(super) offers: Offers,
    pub(super) keys: Keyring,
    pub(super) audience: Digest,
    pub(super) cursors: Cursors,
    /// What the server was told to go by, whatever transports bring.
    pub(super) clock: Option<Arc<dyn Clock>>,
    pub(super) limits: Limits,
    /// Where something is done once, or spilled.
    pub(super) ledger: Option<Arc<dyn Ledger>>,
    pub(super) subscriptions: Option<Subscriptions>,
    pub(super) page_size: usize,
    pub(super) list_caching: Caching,
    pub(super) tally: Tally,
    /// Whether handlers' log messages go to clients that ask for them.
    pub(super) logs: bool,
    /// The member of every result's `_meta` that names the server.
    server_info: String,
    discovery: String,
}

impl Dispatch {
    pub(super) fn new(server: Server, keys: Keyring) -> Result<Self, BuildError> {
        let mut offers = Offers::default();
        server.tools.into_iter().try_for_each(|tool| offers.add_tool(tool))?;
        server.prompts.into_iter().try_for_each(|prompt| offers.add_prompt(prompt))?;
        server.resources.into_iter().try_for_each(|resource| offers.add_resource(resource))?;
        server.templates.into_iter().try_for_each(|template| offers.add_template(template))?;

        let mut capabilities = offers.capabilities();
        if server.logs {
            capabilities.insert("logging".to_owned(), json!({}));
        }
        let subscriptions =
            server.subscriptions.map(|hub| Subscriptions::declare(hub, server.limits.subscriptions, &mut capabilities));
        let mut discovery = json!({ "supportedVersions": SUPPORTED_VERSIONS, "capabilities": capabilities });
        if let Some(instructions) = &server.instructions {
            discovery["instructions"] = json!(instructions);
        }
        let audience = audience(server.audience.as_ref().unwrap_or(&server.name));
        let info = text::string(meta_key::SERVER_INFO) + ":" + &server.info.to_string();
        Ok(Self {
            offers,
            keys,
            audience,
            cursors: Cursors::new(audience),
            clock: server.clock,
            limits: server.limits,
            ledger: server.ledger,
            page_size: server.page_size,
            list_caching: Caching {
                ttl_ms: Caching::ttl_of(server.lists_fresh_for),
                is_public: server.lists_are_public,
            },
            tally: Tally::default(),
            logs: server.logs,
            subscriptions,
            server_info: info,
            discovery: written(&discovery),
        })
    }

    /// What was counted so far.
    pub fn counters(&self) -> Counters {
        self.tally.read()
    }

    /// Whether the [ledger](Server::ledger) answers, where there is one: for readiness probes.
    ///
    /// A fleet shares its ledger: an instance that is not ready without it takes everything else it serves along.
    ///
    /// # Errors
    /// What is wrong with it.
    pub async fn check_ledger(&self) -> Result<(), LedgerError> {
        match &self.ledger {
            Some(ledger) => ledger.check().await,
            None => Ok(()),
        }
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

    /// The keys, which transports keep up to date while they serve.
    #[cfg(any(feature = "http", feature = "stdio"))]
    pub(crate) fn keys(&self) -> &Keyring {
        &self.keys
    }

    /// The member of every result's `_meta` that names the server, for replies a transport writes itself.
    #[cfg(feature = "stdio")]
    pub(crate) fn server_info(&self) -> &str {
        &self.server_info
    }

    /// Ends the subscriptions that are open, which would never end by themselves. Transports do this when they are told to
    /// stop, as [`ServerHandle::close_subscriptions`](super::ServerHandle::close_subscriptions) says.
    pub fn close_subscriptions(&self) {
        if let Some(subscriptions) = &self.subscriptions {
            subscriptions.close();
        }
    }

    async fn answer(&self, request: &Request<'_>, incoming: &Incoming<'_>) -> Answer {
        self.admit(request, incoming)?;
        match self.method(&request.method) {
            Some(Method::CallTool) => self.call_tool(request, incoming).await,
            Some(Method::GetPrompt) => self.get_prompt(request, incoming).await,
            Some(Method::ReadResource) => self.read_resource(request, incoming).await,
            Some(Method::ListTools) => self.page(&self.offers.tool_list, request, self.list_caching),
            Some(Method::ListPrompts) => self.page(&self.offers.prompt_list, request, self.list_caching),
            Some(Method::ListResources) => self.list_resources(request, incoming).await,
            Some(Method::ListResourceTemplates) => self.page(&self.offers.template_list, request, self.list_caching),
            Some(Method::Complete) => self.complete_argument(request, incoming).await,
            Some(Method::Discover) => Ok(self.list_caching.add_to(Completed::final_with(&self.discovery))),
            Some(Method::Listen) => self.listen(request, incoming).await,
            None => Err(RpcError::method_not_found(&request.method)),
        }
    }

    /// Checks what every request must carry, in the order a client can act on: version, metadata, headers.
    fn admit(&self, request: &Request<'_>, incoming: &Incoming<'_>) -> Result<(), RpcError> {
        let none = Meta::default();
        let meta = request.params.meta.as_ref().unwrap_or(&none);
        if request.method == "initialize" && meta.protocol_version().is_err() {
            // Older clients have no way forward; this text may be all their user sees.
            let version = request.params.legacy_version.as_ref().map_or("", |text| &*text.0);
            return Err(RpcError::unsupported_version(version));
        }
        let header_version = incoming.headers.map(headers::version).transpose()?;
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
        meta.progress_token().map(drop)
    }

    fn malformed(&self, malformed: &Malformed<'_>) -> Reply {
        let unknown = malformed.method.as_deref().filter(|method| self.method(method).is_none());
        match unknown {
            Some(method) if method != "initialize" => {
                refuse(malformed.id.as_ref(), &RpcError::method_not_found(method))
            }
            _ => refuse(malformed.id.as_ref(), &malformed.error),
        }
    }

    /// The method of this name, if this server answers it.
    fn method(&self, name: &str) -> Option<Method> {
        Method::parse(name).filter(|method| match method {
            Method::Listen => self.subscriptions.is_some(),
            method => self.offers.answers(*method),
        })
    }

    fn complete(&self, id: &RequestId, result: &Completed) -> Reply {
        let Completed { members, meta, .. } = result;
        let separator = if meta.is_empty() { "" } else { "," };
        let head = ["{\"jsonrpc\":\"2.0\",\"id\":", id.as_json(), ",\"result\":{", members];
        let tail = [",\"_meta\":{", meta, separator, &self.server_info, "}}}"];
        let length = head.iter().chain(&tail).map(|part| part.len()).sum();
        let mut body = Vec::with_capacity(length);
        head.iter().chain(&tail).for_each(|part| body.extend_from_slice(part.as_bytes()));
        Reply { status: 200, body }
    }
}

fn refuse(id: Option<&RequestId>, error: &RpcError) -> Reply {
    debug!(code = error.code(), "request refused: {}", error.message());
    Reply { status: error.status(), body: error.to_response(id) }
}

fn written(object: &Value) -> String {
    members(object).expect("a JSON value can be written")
}

impl std::fmt::Debug for Incoming<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Incoming").field("bytes", &self.body.len()).finish_non_exhaustive()
    }
}
