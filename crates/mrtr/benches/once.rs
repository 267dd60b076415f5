//! What `once` costs: the second leg of a refund, plain and with a ledger, and how that grows with the ledger's entries.
//!
//! `cargo bench -p mrtr --bench once`. Redis is measured where `redis-server` is installed, over loopback, with and
//! without an append-only file that is synced at every write.

#![allow(missing_docs, reason = "a benchmark")]

use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use criterion::{BatchSize, BenchmarkId, Criterion, criterion_group, criterion_main};
use mrtr::ledger::{Claim, EntryKey, Holder, Ledger, MemoryLedger, RedisLedger};
use mrtr::server::{Dispatch, Incoming};
use mrtr::{Context, Keyring, NoArguments, Server, Tool, ToolError};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

async fn refund(_: NoArguments, cx: Context) -> Result<&'static str, ToolError> {
    cx.elicit::<NoArguments>("confirm", "Refund 5?").await?;
    Ok("paid")
}

fn server(ledger: Option<Arc<dyn Ledger>>) -> Arc<Dispatch> {
    let server = Server::new("refunds", "1.0.0").keys(Keyring::new([[7; 32]]).expect("one key"));
    let tool = Tool::new("refund", refund);
    let server = match ledger {
        Some(ledger) => server.ledger(ledger).tool(tool.once()),
        None => server.tool(tool),
    };
    server.build().expect("a valid server")
}

fn body(more: &Value) -> Vec<u8> {
    let mut params = json!({ "name": "refund", "arguments": {}, "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": { "elicitation": { "form": {} } },
    } });
    for (name, value) in more.as_object().into_iter().flatten() {
        params[name.as_str()] = value.clone();
    }
    json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }).to_string().into_bytes()
}

/// A second leg nobody has sent yet.
fn retry(runtime: &Runtime, server: &Dispatch) -> Vec<u8> {
    let reply = runtime.block_on(server.handle(Incoming::new(&body(&json!({})))));
    let reply: Value = serde_json::from_slice(&reply.body).expect("JSON");
    let answers = json!({ "confirm": { "action": "accept", "content": {} } });
    body(&json!({ "requestState": reply["result"]["requestState"], "inputResponses": answers }))
}

fn measure(c: &mut Criterion, name: BenchmarkId, runtime: &Runtime, server: &Dispatch) {
    let mut group = c.benchmark_group("once");
    group.measurement_time(Duration::from_secs(3)).warm_up_time(Duration::from_secs(1)).sample_size(30);
    group.bench_function(name, |bencher| {
        bencher.iter_batched(
            || retry(runtime, server),
            |body| {
                let reply = runtime.block_on(server.handle(Incoming::new(&body)));
                assert!(reply.body.windows(4).any(|text| text == b"paid"));
            },
            BatchSize::SmallInput,
        );
    });
    group.finish();
}

fn legs(c: &mut Criterion) {
    let runtime = Runtime::new().expect("a runtime");
    let _inside = runtime.enter();
    measure(c, BenchmarkId::from_parameter("plain"), &runtime, &server(None));
    for entries in [0, 1_000, 100_000, 1_000_000] {
        let ledger = Arc::new(MemoryLedger::new().capacity(4 * 1024 * 1024 * 1024));
        runtime.block_on(fill(&*ledger, entries));
        measure(c, BenchmarkId::new("memory", entries), &runtime, &server(Some(ledger)));
    }
    for (name, options) in [("redis", &[][..]), ("redis, synced", &["--appendonly", "yes", "--appendfsync", "always"])]
    {
        let Some(redis) = Redis::start(options) else { return };
        let mut there = 0;
        for entries in if options.is_empty() { &[0, 1_000, 100_000, 1_000_000][..] } else { &[0] } {
            redis.fill(there, *entries);
            there = *entries;
            let ledger = RedisLedger::new(&format!("redis://127.0.0.1:{}", redis.port)).expect("an address");
            measure(c, BenchmarkId::new(name, entries), &runtime, &server(Some(Arc::new(ledger))));
        }
    }
}

/// Makes this many entries of other operations.
async fn fill(ledger: &dyn Ledger, entries: u64) {
    for number in 0..entries {
        let mut key = [1; 16];
        key[..8].copy_from_slice(&number.to_le_bytes());
        let lifetime = Duration::from_secs(3600);
        let claim = Claim {
            key: EntryKey(key),
            holder: Holder([0; 16]),
            content: [0; 16],
            operation: [0; 16],
            lease: lifetime,
            lifetime,
            takes_over: false,
        };
        ledger.claim(claim).await.expect("room");
    }
}

/// A Redis of the benchmark's own.
struct Redis {
    process: Child,
    port: u16,
    directory: PathBuf,
}

impl Redis {
    fn start(options: &[&str]) -> Option<Self> {
        let port = TcpListener::bind("127.0.0.1:0").ok()?.local_addr().ok()?.port();
        let directory = std::env::temp_dir().join(format!("mrtr-bench-redis-{port}"));
        std::fs::create_dir_all(&directory).ok()?;
        let process = Command::new("redis-server")
            .args(["--bind", "127.0.0.1", "--save", "", "--port", &port.to_string(), "--dir"])
            .arg(&directory)
            .args(options)
            .stdout(Stdio::null())
            .spawn();
        let Ok(process) = process else {
            eprintln!("redis-server is not installed: Redis is not measured");
            return None;
        };
        let redis = Self { process, port, directory };
        while redis.connection().is_none() {
            std::thread::sleep(Duration::from_millis(20));
        }
        Some(redis)
    }

    fn connection(&self) -> Option<redis::Connection> {
        redis::Client::open(("127.0.0.1", self.port)).ok()?.get_connection().ok()
    }

    /// Makes entries up to this many, as the ledger writes them.
    fn fill(&self, from: u64, to: u64) {
        let mut connection = self.connection().expect("it is up");
        let script = redis::Script::new(
            "for n = ARGV[1], ARGV[2] do local key = 'mrtr:e:' .. string.format('%032x', n)
             redis.call('HSET', key, 'content', string.rep('c', 16), 'state', 'finished', 'holder', string.rep('h', 16),
                        'until', '1800000000000', 'operation', string.rep('o', 16), 'response', string.rep('r', 200))
             redis.call('PEXPIRE', key, 3600000) end",
        );
        for start in (from..to).step_by(10_000) {
            let _: () = script.arg(start).arg((start + 10_000).min(to) - 1).invoke(&mut connection).expect("room");
        }
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

criterion_group!(benches, legs);
criterion_main!(benches);
