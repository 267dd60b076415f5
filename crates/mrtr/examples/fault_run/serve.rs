//! One instance: the tools, over the shared keys and the shared ledger.
//!
//! What it was about to do and what it had done it writes into a file of its own, which outlives it: the evidence of
//! what a killed instance was at.

use std::error::Error;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use mrtr::http::{HttpServer, McpService};
use mrtr::ledger::RedisLedger;
use mrtr::{Context, Keyring, NoArguments, Server, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::time::sleep;

use super::bank;
use super::fleet::{millis, parse};

/// Done once; a run that was torn off is reported as `outcome unknown`.
pub const REFUND: &str = "refund";
/// Done once; a run that was torn off is looked up at the bank.
pub const LOOKED_UP: &str = "refund_looked_up";
/// Not done once: what the others are compared with.
pub const PLAIN: &str = "refund_plain";

/// Tells the keys an instance has.
pub const KEYS: &str = "keys";

/// How long an instance may be silent before it counts as dead.
pub const LEASE: Duration = Duration::from_secs(2);

/// What a handler does before it pays takes so long.
const BEFORE_PAYING: Duration = Duration::from_millis(10);

/// How often an instance looks at its file of keys.
const LOOK: Duration = Duration::from_millis(200);

/// What an instance is told on its command line, as JSON.
#[derive(Serialize, Deserialize)]
pub struct Setup {
    pub address: SocketAddr,
    pub keys: PathBuf,
    pub redis: SocketAddr,
    pub bank: SocketAddr,
    pub legs: PathBuf,
    pub drain: Duration,
    /// Leaves `once` out, to see what happens without it.
    pub without_once: bool,
}

#[derive(Deserialize, JsonSchema)]
struct Refund {
    order: u64,
}

#[derive(Deserialize, JsonSchema)]
struct Confirm {
    confirm: bool,
}

struct Instance {
    bank: SocketAddr,
    legs: File,
}

impl Instance {
    async fn refund(&self, refund: Refund, cx: Context) -> Result<String, ToolError> {
        self.note("begin", refund.order, cx.round());
        let ended = self.pay(&refund, &cx).await;
        self.note("end", refund.order, cx.round());
        ended
    }

    async fn pay(&self, refund: &Refund, cx: &Context) -> Result<String, ToolError> {
        let question = format!("Refund order {}?", refund.order);
        let answer: Confirm = cx.elicit("confirm", question).await?;
        if !answer.confirm {
            return Ok("not refunded".to_owned());
        }
        // As long as something else takes that comes first: who dies here has not paid.
        sleep(BEFORE_PAYING).await;
        let payment = bank::ask(self.bank, &format!("pay {} {}", cx.operation_id(), refund.order)).await;
        payment.map(|number| paid(refund.order, &number)).map_err(|error| ToolError::new(format!("the bank: {error}")))
    }

    async fn find(&self, refund: Refund, cx: Context) -> Result<Option<String>, ToolError> {
        let found = bank::ask(self.bank, &format!("find {}", cx.operation_id())).await;
        let found = found.map_err(|error| ToolError::new(format!("the bank: {error}")))?;
        Ok((found != "none").then(|| paid(refund.order, &found)))
    }

    /// One write, so that lines of different moments do not mix and a killed process leaves whole ones.
    fn note(&self, what: &str, order: u64, round: u32) {
        let line = format!("{} {what} {} {order} {round}\n", millis(), std::process::id());
        let _ = (&self.legs).write_all(line.as_bytes());
    }
}

fn paid(order: u64, number: &str) -> String {
    format!("refund of order {order} is payment {number}")
}

/// Serves until it is told to stop, or whoever started it is gone.
pub async fn run(setup: &str) -> Result<(), Box<dyn Error>> {
    let setup: Setup = parse(setup)?;
    std::thread::spawn(|| {
        // Nobody writes: this ends with the process at the other end.
        let _ = std::io::stdin().read(&mut [0]);
        std::process::exit(1);
    });
    tracing_subscriber::fmt().with_ansi(false).with_writer(std::io::stderr).init();
    let legs = OpenOptions::new().create(true).append(true).open(&setup.legs)?;
    let instance = Arc::new(Instance { bank: setup.bank, legs });
    let refund = |name| {
        let instance = Arc::clone(&instance);
        Tool::new(name, move |refund, cx| {
            let instance = Arc::clone(&instance);
            async move { instance.refund(refund, cx).await }
        })
    };
    let asks = Arc::clone(&instance);
    let lookup = move |refund, cx| {
        let instance = Arc::clone(&asks);
        async move { instance.find(refund, cx).await }
    };
    let keys = Keyring::from_file(&setup.keys)?.look_every(LOOK);
    let known = keys.clone();
    let fingerprints = move |_: NoArguments, _: Context| std::future::ready(known.fingerprints().join(" "));
    let once = |tool: Tool| if setup.without_once { tool } else { tool.idempotency_keys() };
    let looked_up = |tool: Tool| if setup.without_once { tool } else { tool.idempotency_keys().on_unknown(lookup) };
    let server = Server::new("refunds", "1.0.0")
        .keys(keys)
        .ledger(RedisLedger::new(&format!("redis://{}", setup.redis))?)
        .lease(LEASE)
        .tool(once(refund(REFUND)))
        .tool(looked_up(refund(LOOKED_UP)))
        .tool(refund(PLAIN))
        .tool(Tool::new(KEYS, fingerprints));
    let http = HttpServer::new(McpService::new(server.build()?)).drain_timeout(setup.drain);
    Ok(http.listen(setup.address).await?)
}
