//! The ledger in Redis, against a real one: what it keeps to, and how it fails.

use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use mrtr::ledger::{Claim, EntryKey, Holder, Ledger, LedgerError, RedisLedger, Settlement, Standing};
use mrtr::server::{Clock, Dispatch, Incoming, Sleep};
use mrtr::testing::ledger_contract;
use mrtr::{Context, NoArguments, Server, Tool, ToolError};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::world::{Effects, everything, keys, request};

/// A Redis of this test's own, on a free port and in a directory of its own.
struct Redis {
    process: Child,
    port: u16,
    directory: PathBuf,
    options: Vec<String>,
}

impl Redis {
    /// Starts one; `None`, and says so, where the program is not installed.
    async fn start(options: &[&str]) -> Option<Self> {
        let port = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address").port();
        let directory = std::env::temp_dir().join(format!("mrtr-redis-{}-{port}", std::process::id()));
        std::fs::create_dir_all(&directory).expect("a directory");
        let options: Vec<String> = options.iter().map(|option| (*option).to_owned()).collect();
        let Ok(process) = run(port, &directory, &options) else {
            assert!(std::env::var_os("CI").is_none(), "redis-server must be installed where everything is checked");
            eprintln!("skipped: redis-server is not installed");
            return None;
        };
        let redis = Self { process, port, directory, options };
        redis.is_up().await;
        Some(redis)
    }

    async fn is_up(&self) {
        for _ in 0..500 {
            if let Ok(mut stream) = tokio::net::TcpStream::connect(("127.0.0.1", self.port)).await {
                let mut answer = [0; 5];
                if stream.write_all(b"PING\r\n").await.is_ok()
                    && stream.read_exact(&mut answer).await.is_ok()
                    && &answer == b"+PONG"
                {
                    return;
                }
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("Redis does not come up");
    }

    fn kill(&mut self) {
        self.process.kill().expect("it runs");
        self.process.wait().expect("it ends");
    }

    async fn restart(&mut self) {
        self.process = run(self.port, &self.directory, &self.options).expect("it ran before");
        self.is_up().await;
    }

    fn ledger(&self) -> RedisLedger {
        RedisLedger::new(&format!("redis://127.0.0.1:{}", self.port)).expect("an address")
    }

    /// Sends a command as an operator would.
    async fn command(&self, words: &[&str]) -> redis::Value {
        let client = redis::Client::open(("127.0.0.1", self.port)).expect("an address");
        let mut connection = client.get_multiplexed_async_connection().await.expect("a connection");
        let mut command = redis::cmd(words[0]);
        command.arg(&words[1..]);
        command.query_async(&mut connection).await.expect("a command Redis knows")
    }
}

fn run(port: u16, directory: &PathBuf, options: &[String]) -> std::io::Result<Child> {
    Command::new("redis-server")
        .args(["--bind", "127.0.0.1", "--port", &port.to_string(), "--dir"])
        .arg(directory)
        .args(["--save", ""])
        .args(options)
        .stdout(Stdio::null())
        .spawn()
}

impl Drop for Redis {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

fn claim() -> Claim {
    Claim {
        key: EntryKey(rand()),
        holder: Holder(rand()),
        content: [1; 16],
        operation: [2; 16],
        lease: Duration::from_secs(5),
        lifetime: Duration::from_secs(60),
        takes_over: false,
    }
}

/// Different in every call, which is all it has to be.
fn rand() -> [u8; 16] {
    use std::hash::{BuildHasher, RandomState};
    let half = || RandomState::new().hash_one(0).to_le_bytes();
    let mut whole = [0; 16];
    whole[..8].copy_from_slice(&half());
    whole[8..].copy_from_slice(&half());
    whole
}

#[tokio::test]
async fn redis_keeps_the_contract() {
    let Some(redis) = Redis::start(&[]).await else { return };
    ledger_contract(&redis.ledger(), async |time| tokio::time::sleep(time).await).await;
    ledger_contract(&redis.ledger().prefix("{other}:"), async |time| tokio::time::sleep(time).await).await;
    let keys = redis.command(&["KEYS", "*"]).await;
    let redis::Value::Array(keys) = keys else { panic!("{keys:?}") };
    assert!(!keys.is_empty());
    for key in keys {
        let redis::Value::BulkString(key) = key else { panic!("{key:?}") };
        let key = String::from_utf8(key).expect("a readable key");
        assert!(key.starts_with("mrtr:") || key.starts_with("{other}:"), "{key}");
        let left = redis.command(&["PTTL", &key]).await;
        assert!(matches!(left, redis::Value::Int(1..=60_000)), "every key ends by itself: {key} {left:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_claims_at_once_one_gets_the_entry() {
    let Some(redis) = Redis::start(&[]).await else { return };
    let ledgers = [redis.ledger(), redis.ledger(), redis.ledger()];
    for _ in 0..20 {
        let first = claim();
        let claims = (0..30).map(|n| {
            let (ledger, claim) = (ledgers[n % 3].clone(), Claim { holder: Holder(rand()), ..first.clone() });
            tokio::spawn(async move { ledger.claim(claim).await.expect("Redis is up") })
        });
        let mut claimed = 0;
        for standing in futures_util::future::join_all(claims).await {
            match standing.expect("no panic") {
                Standing::Claimed => claimed += 1,
                Standing::Held(_) => {}
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(claimed, 1);
    }
}

#[tokio::test]
async fn what_was_settled_survives_a_restart_and_the_connection_mends_itself() {
    let Some(mut redis) = Redis::start(&["--appendonly", "yes", "--appendfsync", "always"]).await else { return };
    let ledger = redis.ledger();
    let first = claim();
    assert_eq!(ledger.claim(first.clone()).await.expect("up"), Standing::Claimed);
    assert!(ledger.settle(first.key, first.holder, Settlement::Finished(b"paid")).await.expect("up"));
    redis.kill();
    let failure = ledger.claim(first.clone()).await.expect_err("down");
    assert!(matches!(failure, LedgerError::Unavailable(_)), "{failure:?}");
    redis.restart().await;
    let mut standing = ledger.claim(first.clone()).await;
    for _ in 0..50 {
        if standing.is_ok() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
        standing = ledger.claim(first.clone()).await;
    }
    assert_eq!(standing.expect("mended"), Standing::Finished(b"paid".to_vec()));
}

#[tokio::test]
async fn a_script_that_redis_has_forgotten_is_sent_again() {
    let Some(redis) = Redis::start(&[]).await else { return };
    let ledger = redis.ledger();
    assert_eq!(ledger.claim(claim()).await.expect("up"), Standing::Claimed);
    redis.command(&["SCRIPT", "FLUSH"]).await;
    assert_eq!(ledger.claim(claim()).await.expect("up"), Standing::Claimed);
}

#[tokio::test]
async fn a_redis_without_room_is_full_and_forgets_nothing() {
    let Some(redis) = Redis::start(&["--maxmemory-policy", "noeviction"]).await else { return };
    let ledger = redis.ledger();
    let first = claim();
    assert_eq!(ledger.claim(first.clone()).await.expect("room"), Standing::Claimed);
    redis.command(&["CONFIG", "SET", "maxmemory", "1"]).await;
    let failure = ledger.claim(claim()).await.expect_err("no room");
    assert!(matches!(failure, LedgerError::Full(_)), "{failure:?}");
    let failure = ledger.keep(EntryKey(rand()), b"value", Duration::from_secs(60)).await.expect_err("no room");
    assert!(matches!(failure, LedgerError::Full(_)), "{failure:?}");
    redis.command(&["CONFIG", "SET", "maxmemory", "0"]).await;
    let standing = ledger.claim(Claim { holder: Holder(rand()), ..first }).await.expect("room again");
    assert!(matches!(standing, Standing::Held(_)), "{standing:?}");
}

#[tokio::test]
async fn another_programs_data_at_an_entrys_place_is_corrupt() {
    let Some(redis) = Redis::start(&[]).await else { return };
    let ledger = redis.ledger();
    let first = claim();
    redis.command(&["SET", &format!("mrtr:e:{}", first.key), "something"]).await;
    let failure = ledger.claim(first).await.expect_err("no entry");
    assert!(matches!(failure, LedgerError::Corrupt(_)), "{failure:?}");
    let second = claim();
    redis.command(&["HSET", &format!("mrtr:e:{}", second.key), "content", "x", "state", "sold"]).await;
    let fork = ledger.claim(second).await.expect("an entry of other content");
    assert_eq!(fork, Standing::Forked);
}

#[tokio::test]
async fn somebody_else_on_the_port_is_an_error_and_no_hang() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let babbling = tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await;
        }
    });
    let ledger = RedisLedger::new(&format!("redis://127.0.0.1:{port}")).expect("an address");
    let failure = tokio::time::timeout(Duration::from_secs(30), ledger.check()).await.expect("no hang");
    failure.expect_err("that is no Redis");
    babbling.abort();
}

#[tokio::test]
async fn an_address_that_is_none_is_said_without_its_password() {
    let failure = RedisLedger::new("http://user:hunter2@example.com").expect_err("no address").to_string();
    assert!(failure.contains("rediss://") && !failure.contains("hunter2"), "{failure}");
}

/// Makes a certificate for 127.0.0.1; `None` where the program is not installed.
fn certificate(directory: &std::path::Path) -> Option<(String, String)> {
    let (key, certificate) = (directory.join("key.pem"), directory.join("cert.pem"));
    let made = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1"])
        .args(["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"])
        .args(["-addext", "basicConstraints=critical,CA:FALSE"])
        .arg("-keyout")
        .arg(&key)
        .arg("-out")
        .arg(&certificate)
        .stderr(Stdio::null())
        .status();
    let text = |path: PathBuf| path.to_str().expect("a readable path").to_owned();
    made.ok().filter(std::process::ExitStatus::success).map(|_| (text(key), text(certificate)))
}

#[tokio::test]
async fn a_redis_behind_tls_keeps_the_contract() {
    let directory = std::env::temp_dir().join(format!("mrtr-redis-tls-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("a directory");
    let Some((key, certificate)) = certificate(&directory) else {
        eprintln!("skipped: openssl is not installed");
        return;
    };
    let tls = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address").port().to_string();
    let options = [
        "--tls-port",
        &tls,
        "--tls-cert-file",
        &certificate,
        "--tls-key-file",
        &key,
        "--tls-ca-cert-file",
        &certificate,
        "--tls-auth-clients",
        "no",
    ];
    let Some(_redis) = Redis::start(&options).await else { return };
    let trusted =
        redis::TlsCertificates { client_tls: None, root_cert: Some(std::fs::read(&certificate).expect("it")) };
    let client = redis::Client::build_with_tls(format!("rediss://127.0.0.1:{tls}"), trusted).expect("an address");
    let connection = redis::aio::ConnectionManager::new(client).await.expect("a connection over TLS");
    let ledger = RedisLedger::over(connection);
    ledger_contract(&ledger, async |time| tokio::time::sleep(time).await).await;
    let untrusted = RedisLedger::new(&format!("rediss://127.0.0.1:{tls}")).expect("an address");
    untrusted.check().await.expect_err("a certificate nobody vouches for");
    std::fs::remove_dir_all(&directory).expect("it was there");
}

/// Real time, for what waits for a real Redis.
struct RealClock;

impl Clock for RealClock {
    fn now(&self) -> SystemTime {
        SystemTime::now()
    }

    fn sleep(&self, duration: Duration) -> Option<Sleep> {
        Some(Box::pin(tokio::time::sleep(duration)))
    }
}

async fn send(server: &Dispatch, params: Value) -> Value {
    let body = request(1, "tools/call", &everything(), params);
    let reply = server.handle(Incoming::new(body.as_bytes())).await;
    serde_json::from_slice(&reply.body).expect("JSON")
}

#[tokio::test]
async fn a_redis_that_is_slow_fails_closed_and_no_claim_of_a_handler_that_did_not_run_stays_behind() {
    let Some(redis) = Redis::start(&[]).await else { return };
    let effects = Effects::default();
    let tool = {
        let effects = effects.clone();
        Tool::new("refund", move |_: NoArguments, cx: Context| {
            let effects = effects.clone();
            async move {
                cx.elicit::<NoArguments>("confirm", "Refund 5?").await?;
                effects.happen("paid");
                Ok::<_, ToolError>("paid".to_owned())
            }
        })
    };
    let server = Server::new("refunds", "1").keys(keys()).clock(Arc::new(RealClock)).ledger(redis.ledger());
    let server = server.tool(tool.once()).build().expect("a valid server");
    let asked = send(&server, json!({ "name": "refund" })).await;
    let answers = json!({ "confirm": { "action": "accept", "content": {} } });
    let retry = json!({ "name": "refund", "requestState": asked["result"]["requestState"], "inputResponses": answers });

    // The connection is there already: what is slow is Redis.
    redis.ledger().check().await.expect("up");
    server.check_ledger().await.expect("up");
    redis.command(&["CLIENT", "PAUSE", "3000", "ALL"]).await;
    let refused = send(&server, retry.clone()).await;
    assert_eq!(refused["error"]["data"]["reason"], "ledger_unavailable", "{refused}");
    assert_eq!(effects.count("paid"), 0);

    for _ in 0..40 {
        if server.check_ledger().await.is_ok() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let done = send(&server, retry).await;
    assert_eq!(done["result"]["content"][0]["text"], "paid", "{done}");
    assert_eq!(effects.count("paid"), 1);
}
