//! Building a server: its name, what it offers, keys, limits.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use thiserror::Error;
use tracing::warn;

use super::once::Once;
use super::subscriptions::Hub;
use super::{Dispatch, Icon, Prompt, Resource, ResourceTemplate, Tool};
use crate::flow::Clock;
use crate::ledger::{Ledger, MemoryLedger};
use crate::seal::Keyring;

/// A server in the making.
///
/// ```
/// use mrtr::{Context, Keyring, NoArguments, Server, Tool};
///
/// async fn ping(_: NoArguments, _: Context) -> &'static str { "pong" }
///
/// let server = Server::new("pinger", "1.0.0").keys(Keyring::random()).tool(Tool::new("ping", ping)).build()?;
/// # Ok::<(), mrtr::server::BuildError>(())
/// ```
#[derive(Debug)]
#[must_use = "a server does nothing until it is built or served"]
pub struct Server {
    pub(super) name: String,
    /// The server as it introduces itself. Spec: `schema#implementation`.
    pub(super) info: Value,
    pub(super) instructions: Option<String>,
    pub(super) tools: Vec<Tool>,
    pub(super) prompts: Vec<Prompt>,
    pub(super) resources: Vec<Resource>,
    pub(super) templates: Vec<ResourceTemplate>,
    pub(super) page_size: usize,
    pub(super) lists_fresh_for: Duration,
    pub(super) lists_are_public: bool,
    pub(super) logs: bool,
    pub(super) keys: Option<Keyring>,
    pub(super) audience: Option<String>,
    pub(super) clock: Option<Arc<dyn Clock>>,
    pub(super) limits: Limits,
    pub(super) ledger: Option<Arc<dyn Ledger>>,
    /// Once somebody can say that something changed.
    pub(super) subscriptions: Option<Arc<Hub>>,
}

/// What bounds an operation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) state_lifetime: Duration,
    pub(super) reask_expired: Duration,
    pub(super) state_bytes: usize,
    pub(super) rounds: u32,
    pub(super) waits: u32,
    pub(super) handler_time: Duration,
    pub(super) subscriptions: usize,
    /// Zero where nothing is spilled.
    pub(super) spilled_bytes: usize,
    pub(super) lease: Duration,
    pub(super) ledger_time: Duration,
}

/// Why a server cannot be built.
#[derive(Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum BuildError {
    /// A name clients may not be able to use.
    #[error("tool name {0:?} is not 1 to 128 characters of A-Z a-z 0-9 _ - .")]
    ToolName(String),
    /// Two tools of one name.
    #[error("two tools are named {0:?}; names are unique within a server")]
    DuplicateTool(String),
    /// Two prompts of one name.
    #[error("two prompts are named {0:?}; names are unique within a server")]
    DuplicatePrompt(String),
    /// Two resources at one URI, or two templates that are the same.
    #[error("two resources are at {0:?}; URIs are unique within a server")]
    DuplicateResource(String),
    /// A prompt that cannot be offered.
    #[error("prompt {prompt:?}: {problem}")]
    #[non_exhaustive]
    Prompt {
        /// The prompt.
        prompt: String,
        /// What is wrong.
        problem: String,
    },
    /// A resource or a template that cannot be offered.
    #[error("resource {uri:?}: {problem}")]
    #[non_exhaustive]
    Resource {
        /// Its URI or template.
        uri: String,
        /// What is wrong.
        problem: String,
    },
    /// Arguments that make no input schema, or an output schema that is none.
    #[error("tool {tool:?}: {problem}")]
    #[non_exhaustive]
    Tool {
        /// The tool.
        tool: String,
        /// What is wrong.
        problem: String,
    },
}

/// As `Display` has it: what `main` returns is printed this way, and a variant's name tells nobody what to do.
impl fmt::Debug for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Server {
    /// A server of this name and version, as clients show it.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        let name = name.into();
        Self {
            info: json!({ "name": name, "version": version.into() }),
            name,
            instructions: None,
            tools: Vec::new(),
            prompts: Vec::new(),
            resources: Vec::new(),
            templates: Vec::new(),
            page_size: 100,
            lists_fresh_for: Duration::from_secs(300),
            lists_are_public: true,
            logs: false,
            keys: None,
            audience: None,
            clock: None,
            limits: Limits {
                state_lifetime: Duration::from_secs(600),
                reask_expired: Duration::ZERO,
                state_bytes: 8 * 1024,
                rounds: 32,
                waits: 256,
                handler_time: Duration::from_secs(60),
                subscriptions: 10_000,
                spilled_bytes: 0,
                lease: Duration::from_secs(5),
                ledger_time: Duration::from_secs(1),
            },
            ledger: None,
            subscriptions: None,
        }
    }

    /// A name for people.
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.info["title"] = title.into().into();
        self
    }

    /// What the server is for, for people.
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.info["description"] = description.into().into();
        self
    }

    /// Where to read more about it.
    pub fn website(mut self, url: impl Into<String>) -> Self {
        self.info["websiteUrl"] = url.into().into();
        self
    }

    /// Adds a picture of the server for user interfaces. It goes with every result, so keep it a short URL.
    #[expect(clippy::needless_pass_by_value, reason = "made to be handed over")]
    pub fn icon(mut self, icon: Icon) -> Self {
        match &mut self.info["icons"] {
            Value::Array(icons) => icons.push(json!(icon)),
            none => *none = json!([icon]),
        }
        self
    }

    /// How to use this server, for the model.
    pub fn instructions(mut self, instructions: impl Into<String>) -> Self {
        self.instructions = Some(instructions.into());
        self
    }

    /// Adds a tool.
    pub fn tool(mut self, tool: Tool) -> Self {
        self.tools.push(tool);
        self
    }

    /// Adds a prompt.
    pub fn prompt(mut self, prompt: Prompt) -> Self {
        self.prompts.push(prompt);
        self
    }

    /// Adds a resource.
    pub fn resource(mut self, resource: Resource) -> Self {
        self.resources.push(resource);
        self
    }

    /// Adds a resource template. A URI that several of them match is the first one's.
    pub fn resource_template(mut self, template: ResourceTemplate) -> Self {
        self.templates.push(template);
        self
    }

    /// How many entries a page of a list has; default 100, at least 1.
    pub fn page_size(mut self, entries: usize) -> Self {
        self.page_size = entries.max(1);
        self
    }

    /// How long clients may use the lists and the server's introduction without asking again; default 5 minutes.
    ///
    /// They change only with a new version of the server. A list of resources that code makes is never kept.
    pub fn lists_fresh_for(mut self, time: Duration) -> Self {
        self.lists_fresh_for = time;
        self
    }

    /// Lists and introduction are for the caller alone: no cache between may share them. Default: they are public.
    pub fn private_lists(mut self) -> Self {
        self.lists_are_public = false;
        self
    }

    /// Lets handlers' [log messages](crate::Context::log) reach clients that ask for them, and says so to clients.
    ///
    /// Default: they do not. The protocol deprecates the feature in this revision.
    pub fn logging(mut self) -> Self {
        self.logs = true;
        self
    }

    /// The keys that seal request states; all instances of a fleet need the same.
    ///
    /// Without keys a random one is made: fine for a single process, and said in the log. Its states end with it.
    pub fn keys(mut self, keys: Keyring) -> Self {
        self.keys = Some(keys);
        self
    }

    /// The service states are made for. Default: the server's name.
    ///
    /// Services that share keys and not tools need different audiences, or one would open the other's states.
    pub fn audience(mut self, audience: impl Into<String>) -> Self {
        self.audience = Some(audience.into());
        self
    }

    /// Where it is written down what was done, for whatever is done [once](Tool::once); all instances of a fleet need the
    /// same.
    ///
    /// Without one such a server keeps a [`MemoryLedger`]: fine for a single process, and said in the log.
    pub fn ledger(mut self, ledger: impl Ledger) -> Self {
        self.ledger = Some(Arc::new(ledger));
        self
    }

    /// How long an instance that does something once may be silent before it counts as dead; default 5 seconds, at least
    /// 100 ms, renewed while the handler runs.
    ///
    /// So long waits whoever retries after a crash, to read that the outcome is unknown. An instance that is stopped for
    /// longer and goes on is overtaken by a retry that [finds out](Tool::on_unknown); one that does not find out is not.
    pub fn lease(mut self, lease: Duration) -> Self {
        self.limits.lease = lease.max(Duration::from_millis(100));
        self
    }

    /// How long the ledger may take for a step; default 1 second. Then the caller is told to come again, and the handler
    /// does not run.
    pub fn ledger_time(mut self, limit: Duration) -> Self {
        self.limits.ledger_time = limit;
        self
    }

    /// Leaves request states of up to so many bytes in the ledger when they are too large to travel; a handle of some
    /// hundred bytes travels instead. Default: they are an error.
    ///
    /// The ledger then holds what users answered, sealed; if it forgets it the operation has to start again.
    pub fn spill_states(mut self, max_bytes: usize) -> Self {
        self.limits.spilled_bytes = max_bytes;
        self
    }

    /// How long a question may stay unanswered; default 10 minutes, renewed in every round.
    ///
    /// Until then a state can be replayed by whoever has it, so longer is weaker.
    pub fn state_lifetime(mut self, lifetime: Duration) -> Self {
        self.limits.state_lifetime = lifetime;
        self
    }

    /// Asks again, instead of failing, when a state has expired at most this long ago; default zero, which is never.
    ///
    /// The earlier answers are offered as defaults and count only once they are given again. Steps that are done stay
    /// done.
    pub fn reask_expired(mut self, within: Duration) -> Self {
        self.limits.reask_expired = within;
        self
    }

    /// The longest request state, in bytes; default 8 KiB. Longer ones are refused, and making one is an error that
    /// names the keys that fill it.
    pub fn max_state(mut self, bytes: usize) -> Self {
        self.limits.state_bytes = bytes;
        self
    }

    /// How many rounds an operation may take, not counting those that only wait; default 32.
    pub fn max_rounds(mut self, rounds: u32) -> Self {
        self.limits.rounds = rounds;
        self
    }

    /// How many rounds may only wait (see [`Context::until`](crate::Context::until)); default 256.
    pub fn max_waits(mut self, waits: u32) -> Self {
        self.limits.waits = waits;
        self
    }

    /// How long a handler may run in one round; default 60 seconds. Needs a clock with timers, as `http` and
    /// `stdio` bring.
    pub fn handler_time(mut self, limit: Duration) -> Self {
        self.limits.handler_time = limit;
        self
    }

    /// Goes by this clock, whatever the transport brings; tests have one they move by hand.
    ///
    /// Default: the clock of the transport (`http` and `stdio` have tokio's timers), or else the machine's time of day
    /// without timers.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = Some(clock);
        self
    }

    fn needs_ledger(&self) -> bool {
        self.limits.spilled_bytes > 0
            || self.tools.iter().any(|tool| tool.once != Once::Never)
            || self.prompts.iter().any(|prompt| prompt.once != Once::Never)
            || self.resources.iter().any(|resource| resource.reader.once != Once::Never)
            || self.templates.iter().any(|template| template.reader.once != Once::Never)
    }

    /// Checks everything once and freezes it, ready to answer.
    ///
    /// # Errors
    /// What cannot be offered: names or URIs that are invalid or taken, arguments that make no input schema or no form,
    /// an output schema that is none, templates that cannot be matched.
    pub fn build(mut self) -> Result<Arc<Dispatch>, BuildError> {
        let keys = self.keys.take().unwrap_or_else(|| {
            warn!(
                "no keys given: states are sealed with a random key, and only this process can open them; \
                 give some with Server::keys(Keyring::from_env(\"MRTR_KEYS\")?)"
            );
            Keyring::random()
        });
        if self.ledger.is_none() && self.needs_ledger() {
            warn!(
                "no ledger given: what is done once is written down in this process, which other instances do not see and \
                 a restart forgets; give one with Server::ledger(..)"
            );
            let ledger = MemoryLedger::new();
            self.ledger = Some(Arc::new(match &self.clock {
                Some(clock) => ledger.clock(Arc::clone(clock)),
                None => ledger,
            }));
        }
        Dispatch::new(self, keys).map(Arc::new)
    }
}
