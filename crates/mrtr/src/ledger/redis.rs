//! The ledger of a fleet: Redis (or Valkey, or whatever speaks its protocol and runs its scripts).
//!
//! An entry is one hash, and each step one script on that one key: atomic, and at home in a cluster. Time is the
//! server's own. Nothing in an entry is readable but that there was an operation.

use std::fmt;
use std::sync::LazyLock;
use std::time::Duration;

use redis::aio::{ConnectionLike, ConnectionManager, ConnectionManagerConfig};
use redis::{Client, ConnectionAddr, ErrorKind, FromRedisValue, RedisError, Script, Value};
use tracing::debug;

use super::{Claim, EntryKey, Holder, Ledger, LedgerError, LedgerFuture, Settlement, Standing};

/// What keys begin with unless told otherwise.
const PREFIX: &str = "mrtr:";

/// A ledger in Redis 6 or later, shared by all instances that are given the same one.
///
/// ```no_run
/// use mrtr::{Server, ledger::RedisLedger};
/// let server = Server::new("refunds", "1.0.0").ledger(RedisLedger::new("rediss://:password@redis.example:6380")?);
/// # Ok::<(), mrtr::ledger::LedgerError>(())
/// ```
///
/// The connection is made when it is first needed, inside a tokio runtime, shared by everything the instance does, and
/// made again after it broke. `rediss://` is TLS with the platform's certificates, and with ring where the program has not
/// installed a crypto provider for rustls. For a cluster, a pool or anything
/// else that is a connection there is [`over`](Self::over).
///
/// # Security
/// What is promised holds as long as Redis remembers. For that: `appendonly yes` with `appendfsync always` (the default,
/// `everysec`, may forget the last second), `maxmemory-policy noeviction`, and no failover to a replica that is behind.
/// Without them a lost entry is a state that can be redeemed again. Entries go by themselves when their states have
/// expired.
#[derive(Clone)]
pub struct RedisLedger<C = ConnectionManager> {
    connection: C,
    prefix: String,
    /// Where it is, for errors.
    at: String,
}

impl RedisLedger {
    /// A ledger at this address, `redis://host:port/db` or `rediss://..`.
    ///
    /// # Errors
    /// The address is none. Whether anybody is there is found out with the first step; [`Ledger::check`] does one.
    pub fn new(url: &str) -> Result<Self, LedgerError> {
        // The address has a password in it, and the library's text may quote it.
        let shown = if url.contains('@') { String::new() } else { format!("{url:?} ") };
        let no_address = |_| LedgerError::Address(format!("{shown}is not redis://host:port/db or rediss://.."));
        let client = Client::open(url).map_err(no_address)?;
        let at = client.get_connection_info().addr().to_string();
        if matches!(client.get_connection_info().addr(), ConnectionAddr::TcpTls { .. }) {
            choose_crypto();
        }
        let config = ConnectionManagerConfig::new()
            .set_connection_timeout(Some(Duration::from_secs(2)))
            .set_response_timeout(Some(Duration::from_secs(5)))
            // Whoever asks next tries again; who asks now is told soon, and why.
            .set_number_of_retries(1)
            .set_min_delay(Duration::from_millis(20))
            .set_max_delay(Duration::from_millis(100));
        let connection = ConnectionManager::new_lazy_with_config(client, config);
        let connection = connection.map_err(|error| failure(&at, &error))?;
        Ok(Self { connection, prefix: PREFIX.to_owned(), at })
    }
}

impl<C> RedisLedger<C> {
    /// A ledger over a connection of your own: a cluster's, say. It must be cheap to clone and mend itself.
    pub fn over(connection: C) -> Self {
        Self { connection, prefix: PREFIX.to_owned(), at: "Redis".to_owned() }
    }

    /// What the keys begin with; default `mrtr:`. Services with different audiences may share one prefix: entries of one are
    /// never taken for another's. Two of one audience with different keys need prefixes of their own: the same idempotency
    /// key would be one entry, which the other one cannot read.
    #[must_use]
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = prefix.into();
        self
    }

    fn entry(&self, key: EntryKey) -> String {
        format!("{}e:{key}", self.prefix)
    }

    fn value(&self, key: EntryKey) -> String {
        format!("{}v:{key}", self.prefix)
    }

    fn read<T: FromRedisValue>(&self, reply: Result<T, RedisError>) -> Result<T, LedgerError> {
        reply.map_err(|error| failure(&self.at, &error))
    }
}

/// What every script begins with: the time, in milliseconds, and who holds the entry.
macro_rules! script {
    ($text:literal) => {
        LazyLock::new(|| {
            Script::new(concat!(
                "local time = redis.call('TIME') ",
                "local now = time[1] * 1000 + math.floor(time[2] / 1000) ",
                "local function at(later) return string.format('%.0f', now + later) end ",
                $text
            ))
        })
    };
}

static CLAIM: LazyLock<Script> = script!(
    "local content, holder, operation, lease, lifetime, takes_over = unpack(ARGV)
     local entry = redis.call('HMGET', KEYS[1], 'content', 'state', 'holder', 'until', 'operation')
     if not entry[1] then
         redis.call('HSET', KEYS[1], 'content', content, 'state', 'held', 'holder', holder, 'until', at(lease),
                    'operation', operation)
         redis.call('PEXPIRE', KEYS[1], lifetime)
         return {'claimed'}
     end
     if entry[1] ~= content then return {'forked'} end
     if entry[2] == 'finished' then return {'finished', redis.call('HGET', KEYS[1], 'response')} end
     local is_held = entry[2] == 'held'
     local is_own = is_held and entry[3] == holder
     if is_held and not is_own and now < tonumber(entry[4]) then return {'held', at(0), entry[4]} end
     if not is_own and takes_over ~= '1' then return {'gone', entry[5]} end
     redis.call('HSET', KEYS[1], 'state', 'held', 'holder', holder, 'until', at(lease))
     return {'claimed'}"
);

static RENEW: LazyLock<Script> = script!(
    "local entry = redis.call('HMGET', KEYS[1], 'state', 'holder')
     if entry[1] ~= 'held' or entry[2] ~= ARGV[1] then return 0 end
     redis.call('HSET', KEYS[1], 'until', at(ARGV[2]))
     return 1"
);

static SETTLE: LazyLock<Script> = script!(
    "local holder, state, response = unpack(ARGV)
     local entry = redis.call('HMGET', KEYS[1], 'state', 'holder')
     if entry[1] ~= 'held' or entry[2] ~= holder then return 0 end
     if state == 'released' then redis.call('DEL', KEYS[1])
     elseif state == 'finished' then redis.call('HSET', KEYS[1], 'state', state, 'response', response)
     else redis.call('HSET', KEYS[1], 'state', state) end
     return 1"
);

impl<C> Ledger for RedisLedger<C>
where
    C: ConnectionLike + Clone + Send + Sync + 'static,
{
    fn claim(&self, claim: Claim) -> LedgerFuture<'_, Standing> {
        Box::pin(async move {
            let mut script = CLAIM.key(self.entry(claim.key));
            script.arg(&claim.content[..]).arg(&claim.holder.0[..]).arg(&claim.operation[..]);
            script.arg(millis(claim.lease)).arg(millis(claim.lifetime).max(1)).arg(u8::from(claim.takes_over));
            let reply: Vec<Value> = self.read(script.invoke_async(&mut self.connection.clone()).await)?;
            standing(&reply)
                .ok_or_else(|| LedgerError::Corrupt("an entry that does not stand as entries do".to_owned()))
        })
    }

    fn renew(&self, key: EntryKey, holder: Holder, lease: Duration) -> LedgerFuture<'_, bool> {
        Box::pin(async move {
            let mut script = RENEW.key(self.entry(key));
            script.arg(&holder.0[..]).arg(millis(lease));
            self.read(script.invoke_async(&mut self.connection.clone()).await)
        })
    }

    fn settle<'a>(&'a self, key: EntryKey, holder: Holder, settlement: Settlement<'a>) -> LedgerFuture<'a, bool> {
        Box::pin(async move {
            let (state, response) = match settlement {
                Settlement::Finished(response) => ("finished", response),
                Settlement::Abandoned => ("abandoned", &b""[..]),
                Settlement::Released => ("released", &b""[..]),
            };
            let mut script = SETTLE.key(self.entry(key));
            script.arg(&holder.0[..]).arg(state).arg(response);
            self.read(script.invoke_async(&mut self.connection.clone()).await)
        })
    }

    fn keep<'a>(&'a self, key: EntryKey, value: &'a [u8], lifetime: Duration) -> LedgerFuture<'a, ()> {
        Box::pin(async move {
            let mut set = redis::cmd("SET");
            set.arg(self.value(key)).arg(value).arg("PX").arg(millis(lifetime).max(1));
            self.read(set.query_async(&mut self.connection.clone()).await)
        })
    }

    fn kept(&self, key: EntryKey) -> LedgerFuture<'_, Option<Vec<u8>>> {
        Box::pin(async move {
            let mut get = redis::cmd("GET");
            self.read(get.arg(self.value(key)).query_async(&mut self.connection.clone()).await)
        })
    }

    fn check(&self) -> LedgerFuture<'_, ()> {
        Box::pin(async move {
            let pong: String = self.read(redis::cmd("PING").query_async(&mut self.connection.clone()).await)?;
            if pong == "PONG" { Ok(()) } else { Err(LedgerError::Corrupt("no answer to PING".to_owned())) }
        })
    }

    /// Abandons the entry in the background; without a runtime the lease does.
    fn let_go(&self, key: EntryKey, holder: Holder) {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let ledger = self.clone();
        runtime.spawn(async move {
            if let Err(error) = ledger.settle(key, holder, Settlement::Abandoned).await {
                debug!("a claim that was torn off is left to its lease: {error}");
            }
        });
    }
}

/// The redis crate takes the process's TLS provider. rustls chooses one by itself at the first connection, and panics where
/// a program has two of them built in: so what is chosen is ring, unless the program chose before.
fn choose_crypto() {
    if rustls::crypto::CryptoProvider::get_default().is_none() {
        // Who fails here was overtaken by somebody else's choice.
        let _ = rustls::crypto::ring::default_provider().install_default();
    }
}

/// How an entry stands, from what the script returns; `None` for what it never returns.
fn standing(reply: &[Value]) -> Option<Standing> {
    let text = |at: usize| match reply.get(at) {
        Some(Value::BulkString(bytes)) => Some(bytes.as_slice()),
        _ => None,
    };
    let number = |at| std::str::from_utf8(text(at)?).ok()?.parse::<u64>().ok();
    Some(match text(0)? {
        b"claimed" => Standing::Claimed,
        b"forked" => Standing::Forked,
        b"held" => Standing::Held(Duration::from_millis(number(2)?.saturating_sub(number(1)?))),
        b"finished" => Standing::Finished(text(1)?.to_vec()),
        b"gone" => Standing::Gone { operation: text(1)?.try_into().ok()? },
        _ => return None,
    })
}

/// What an error means. Its text is for the log: the library puts no values into it.
fn failure(at: &str, error: &RedisError) -> LedgerError {
    let text = format!("{at}: {error}");
    if error.code() == Some("OOM") || text.contains("OOM command not allowed") {
        return LedgerError::Full(text);
    }
    let is_other_data = error.code() == Some("WRONGTYPE") || text.contains("WRONGTYPE");
    if is_other_data || matches!(error.kind(), ErrorKind::Parse | ErrorKind::UnexpectedReturnType) {
        return LedgerError::Corrupt(text);
    }
    LedgerError::Unavailable(text)
}

fn millis(time: Duration) -> u64 {
    // A century is as good as for ever, and every clock can count that far.
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX).min(100 * 366 * 24 * 3600 * 1000)
}

impl<C> fmt::Debug for RedisLedger<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisLedger").field("prefix", &self.prefix).finish_non_exhaustive()
    }
}
