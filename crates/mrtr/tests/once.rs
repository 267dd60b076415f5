//! What is done once: repeated, forked and torn-off legs, over a ledger that works and ones that do not.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::time::Duration;

use futures_util::FutureExt;
use mrtr::ledger::{Claim, EntryKey, Holder, Ledger, LedgerError, LedgerFuture, MemoryLedger, Settlement, Standing};
use mrtr::server::{Clock, Incoming};
use mrtr::wire::OUTCOME_UNKNOWN;
use mrtr::{Context, NoArguments, Prompt, Resource, Server, Tool, ToolError};
use serde_json::{Value, json};
use tokio::sync::oneshot;

use crate::world::{Effects, HandClock, Leg, World, everything, request, to_the_end};

/// Pays once it is told to.
fn refund(effects: &Effects) -> Tool {
    let effects = effects.clone();
    let handler = move |_: NoArguments, cx: Context| {
        let effects = effects.clone();
        async move {
            cx.elicit::<NoArguments>("confirm", "Refund 5?").await?;
            effects.happen("paid");
            Ok::<_, ToolError>(format!("paid {}", effects.count("paid")))
        }
    };
    Tool::new("refund", handler)
}

/// Two instances that share a ledger.
pub fn fleet(setup: impl Fn(Server) -> Server) -> World {
    let clock = HandClock::new();
    let ledger = Arc::new(MemoryLedger::new().clock(clock.clone()));
    let mut world = World::of(|server| setup(server.ledger(ledger.clone()).clock(clock.clone() as Arc<dyn Clock>)));
    world.clock = clock;
    world
}

fn once(effects: &Effects) -> World {
    let tool = refund(effects).once();
    fleet(|server| server.tool(tool.clone()))
}

pub fn yes() -> Value {
    json!({ "confirm": { "action": "accept", "content": {} } })
}

#[test]
fn the_same_retry_gets_the_same_answer_under_its_own_id() {
    let effects = Effects::default();
    let world = once(&effects);
    let asked = world.call("refund", json!({})).asks(&["confirm"]);
    let first = asked.respond(yes());
    first.finishes("paid 1");
    for _ in 0..4 {
        let again = asked.respond(yes());
        again.finishes("paid 1");
        assert_eq!(again.reply["id"], 2);
    }
    assert_eq!(effects.count("paid"), 1);
    assert_eq!(world.instances.iter().map(|server| server.counters().answered_again).sum::<u64>(), 4);
}

#[test]
fn a_retry_spelled_otherwise_is_the_same_retry() {
    let effects = Effects::default();
    let world = once(&effects);
    let asked = world.call("refund", json!({})).asks(&["confirm"]);
    asked.respond(json!({ "confirm": { "action": "accept", "content": {} }, "other": 1.0 })).finishes("paid 1");
    asked.respond(json!({ "other": 1, "confirm": { "content": {}, "action": "accept" } })).finishes("paid 1");
}

#[test]
fn without_once_a_state_that_comes_again_pays_again() {
    let effects = Effects::default();
    let world = fleet(|server| server.tool(refund(&effects)));
    let asked = world.call("refund", json!({})).asks(&["confirm"]);
    asked.respond(yes()).finishes("paid 1");
    asked.respond(yes()).finishes("paid 2");
}

#[test]
fn a_fork_is_refused_as_already_used_whatever_its_answers() {
    let effects = Effects::default();
    let world = once(&effects);
    let asked = world.call("refund", json!({})).asks(&["confirm"]);
    asked.decline("confirm").fails("declined");
    for other in [yes(), json!({}), json!({ "confirm": { "action": "cancel" } }), json!({ "confirm": 5 })] {
        let refused = asked.respond(other);
        let error = refused.errors(-32602);
        assert!(error["message"].as_str().is_some_and(|text| text.starts_with("already used")), "{error}");
        assert_eq!(error["data"]["reason"], "already_used");
    }
    asked.decline("confirm").fails("declined");
    assert_eq!(effects.count("paid"), 0);
}

#[test]
fn every_round_is_done_once_and_an_old_state_does_not_branch_off() {
    let effects = Effects::default();
    let world = once(&effects);
    let asked = world.call("refund", json!({})).asks(&["confirm"]);
    let asked_again = asked.respond(json!({ "confirm": { "action": "accept", "content": 5 } })).asks(&["confirm"]);
    asked_again.respond(yes()).finishes("paid 1");
    assert_eq!(asked.respond(yes()).errors(-32602)["data"]["reason"], "already_used");
    let same = asked.respond(json!({ "confirm": { "action": "accept", "content": 5 } })).asks(&["confirm"]);
    assert_eq!(same.state(), asked_again.state(), "the very state that was given before");
    same.respond(yes()).finishes("paid 1");
}

#[test]
fn what_was_redeemed_stays_redeemed_for_as_long_as_its_state_lives() {
    let effects = Effects::default();
    let tool = refund(&effects).once();
    let world = fleet(|server| server.tool(tool.clone()).reask_expired(Duration::from_secs(300)));
    let asked = world.call("refund", json!({})).asks(&["confirm"]);
    asked.respond(yes()).finishes("paid 1");
    for _ in 0..12 {
        world.clock.advance(Duration::from_secs(90));
        let again = asked.respond(yes());
        if again.reply["error"].is_null() {
            again.finishes("paid 1");
        } else {
            again.errors(-32602);
        }
    }
    assert_eq!(effects.count("paid"), 1);
}

/// A tool whose payment takes until it is told that it is done.
fn slow_refund(effects: &Effects, done: oneshot::Receiver<()>) -> Tool {
    let (effects, done) = (effects.clone(), done.shared());
    Tool::new("refund", move |_: NoArguments, cx: Context| {
        let (effects, done) = (effects.clone(), done.clone());
        async move {
            cx.elicit::<NoArguments>("confirm", "Refund 5?").await?;
            effects.happen("paid");
            let _ = done.await;
            Ok::<_, ToolError>("paid".to_owned())
        }
    })
    .once()
}

fn retry(asked: &Leg<'_>) -> String {
    let params = json!({ "name": "refund", "arguments": {}, "inputResponses": yes(), "requestState": asked.state() });
    request(7, "tools/call", &everything(), params)
}

#[test]
fn a_retry_beside_the_first_waits_for_it_and_gets_the_same_answer() {
    let effects = Effects::default();
    let (finish, done) = oneshot::channel();
    let world = World::untimed(slow_refund(&effects, done));
    let asked = world.call("refund", json!({})).asks(&["confirm"]);
    let body = retry(&asked);
    let (first, second) = (Incoming::new(body.as_bytes()), Incoming::new(body.as_bytes()));
    // One instance: this ledger is one process's.
    let server = &world.instances[0];
    let asked_there = to_the_end(async {
        let (first, second, ()) = tokio::join!(server.handle(first), server.handle(second), async {
            tokio::task::yield_now().await;
            finish.send(()).expect("the handler waits for it");
        });
        assert_eq!(first, second);
        first
    });
    assert!(String::from_utf8_lossy(&asked_there.body).contains("paid"));
    assert_eq!(effects.count("paid"), 1);
}

#[test]
fn after_a_crash_in_the_middle_the_outcome_is_unknown_and_nothing_is_done_again() {
    let effects = Effects::default();
    let (_never, done) = oneshot::channel();
    let world = World::untimed(slow_refund(&effects, done));
    let asked = world.call("refund", json!({})).asks(&["confirm"]);
    let body = retry(&asked);
    let mut crashed = Box::pin(world.instances[0].handle(Incoming::new(body.as_bytes())));
    assert!(crashed.as_mut().now_or_never().is_none(), "it is at work");
    drop(crashed);
    for _ in 0..3 {
        let reply = to_the_end(world.instances[0].handle(Incoming::new(body.as_bytes())));
        let reply: Value = serde_json::from_slice(&reply.body).expect("JSON");
        assert_eq!(reply["error"]["code"], OUTCOME_UNKNOWN, "{reply}");
        assert_eq!(reply["error"]["data"]["reason"], "outcome_unknown");
        assert!(reply["error"]["data"]["operationId"].is_string());
    }
    assert_eq!(effects.count("paid"), 1);
    assert_eq!(world.instances[0].counters().unknown_outcomes, 3);
}

#[test]
fn a_handler_that_panicked_is_not_run_again() {
    let world = fleet(|server| {
        server.tool(
            Tool::new("refund", async |_: NoArguments, cx: Context| -> Result<String, ToolError> {
                cx.elicit::<NoArguments>("confirm", "Refund 5?").await?;
                panic!("halfway")
            })
            .once(),
        )
    });
    let asked = world.call("refund", json!({})).asks(&["confirm"]);
    asked.respond(yes()).errors(-32603);
    asked.respond(yes()).errors(OUTCOME_UNKNOWN.into());
}

/// A crashed refund whose author can find out: as `found` says.
fn resolved(found: fn() -> Result<Option<String>, ToolError>) -> (Effects, Value, Value) {
    let effects = Effects::default();
    let handler = {
        let effects = effects.clone();
        move |_: NoArguments, cx: Context| {
            let effects = effects.clone();
            async move {
                cx.elicit::<NoArguments>("confirm", "Refund 5?").await?;
                effects.happen("begun");
                if effects.count("begun") == 1 {
                    panic!("the instance dies");
                }
                Ok::<_, ToolError>(format!("paid {}", cx.operation_id()))
            }
        }
    };
    let tool = Tool::new("refund", handler).on_unknown(move |_: NoArguments, cx: Context| async move {
        let found = found()?;
        Ok(found.map(|what| format!("{what} {}", cx.operation_id())))
    });
    let world = fleet(|server| server.tool(tool.clone()));
    let asked = world.call("refund", json!({})).asks(&["confirm"]);
    asked.respond(yes()).errors(-32603);
    let first = asked.respond(yes()).reply;
    let second = asked.respond(yes()).reply;
    (effects, first, second)
}

#[test]
fn an_author_who_finds_the_outcome_gives_it_as_the_result() {
    let (effects, first, second) = resolved(|| Ok(Some("found".to_owned())));
    let text = first["result"]["content"][0]["text"].as_str().unwrap_or_default();
    assert!(text.starts_with("found ") && text.len() > 20, "{first}");
    assert_eq!(first, second, "and it is given again");
    assert_eq!(effects.count("begun"), 1);
}

#[test]
fn an_author_who_is_sure_that_nothing_was_done_has_it_done() {
    let (effects, first, second) = resolved(|| Ok(None));
    assert!(first["result"]["content"][0]["text"].as_str().is_some_and(|text| text.starts_with("paid ")), "{first}");
    assert_eq!(first, second);
    assert_eq!(effects.count("begun"), 2);
}

#[test]
fn an_author_who_cannot_tell_leaves_it_unknown() {
    let (effects, first, second) = resolved(|| Err(ToolError::new("the bank is closed")));
    assert_eq!(first["error"]["code"], OUTCOME_UNKNOWN, "{first}");
    assert_eq!(second["error"]["code"], OUTCOME_UNKNOWN, "{second}");
    assert_eq!(effects.count("begun"), 1);
}

#[test]
fn prompts_and_resources_are_done_once_as_well() {
    let effects = Effects::default();
    let count = effects.clone();
    let world = fleet(|server| {
        let (prompts, reads) = (count.clone(), count.clone());
        let prompt = Prompt::new("p", move |_: NoArguments, cx: Context| {
            let effects = prompts.clone();
            async move {
                cx.elicit::<NoArguments>("confirm", "Go on?").await?;
                effects.happen("prompt");
                Ok::<_, ToolError>(format!("{}", effects.count("prompt")))
            }
        });
        let resource = Resource::new("x://y", "y", move |_: NoArguments, cx: Context| {
            let effects = reads.clone();
            async move {
                cx.elicit::<NoArguments>("confirm", "Go on?").await?;
                effects.happen("read");
                Ok::<_, ToolError>(format!("{}", effects.count("read")))
            }
        });
        server.prompt(prompt.once()).resource(resource.once())
    });
    for (method, params) in [("prompts/get", json!({ "name": "p" })), ("resources/read", json!({ "uri": "x://y" }))] {
        let asked = world.request(method, params).asks(&["confirm"]);
        let (first, second) = (asked.respond(yes()), asked.respond(yes()));
        assert_eq!(first.result(), second.result());
    }
    assert_eq!((effects.count("prompt"), effects.count("read")), (1, 1));
}

/// A first call with this idempotency key.
fn first_call(world: &World, key: Value, arguments: Value) -> Value {
    let mut body: Value = serde_json::from_str(&request(
        1,
        "tools/call",
        &everything(),
        json!({ "name": "charge", "arguments": arguments }),
    ))
    .expect("JSON");
    body["params"]["_meta"]["mrtr/idempotencyKey"] = key;
    serde_json::from_slice(&world.send(&body.to_string()).body).expect("JSON")
}

/// Charges at once, without a question.
fn charge(effects: &Effects) -> Tool {
    let effects = effects.clone();
    Tool::new("charge", move |_: serde_json::Map<String, Value>, cx: Context| {
        effects.happen("charged");
        let id = cx.operation_id().to_owned();
        async move { id }
    })
    .input_schema(json!({ "type": "object" }))
}

#[test]
fn a_first_call_that_comes_again_with_its_key_finds_its_operation() {
    let effects = Effects::default();
    let world = fleet(|server| server.tool(charge(&effects).idempotency_keys()));
    let first = first_call(&world, json!("order-1"), json!({}));
    assert_eq!(first, first_call(&world, json!("order-1"), json!({})));
    assert_eq!(effects.count("charged"), 1);
    assert_ne!(first, first_call(&world, json!("order-2"), json!({})), "another key is another operation");
    let fork = first_call(&world, json!("order-1"), json!({ "amount": 7 }));
    assert_eq!(fork["error"]["data"]["reason"], "already_used", "{fork}");
    assert_eq!(effects.count("charged"), 2);
}

#[test]
fn an_idempotency_key_counts_only_where_the_tool_asks_for_it() {
    let effects = Effects::default();
    let world = fleet(|server| server.tool(charge(&effects).once()));
    assert_ne!(first_call(&world, json!("order-1"), json!({})), first_call(&world, json!("order-1"), json!({})));
    first_call(&world, json!(5), json!({}));
    assert_eq!(effects.count("charged"), 3, "and what is none is nobody's mistake there");
}

#[test]
fn an_idempotency_key_that_is_none_is_refused() {
    let effects = Effects::default();
    let world = fleet(|server| server.tool(charge(&effects).idempotency_keys()));
    for bad in [json!(5), json!(""), json!("x".repeat(257)), json!({})] {
        let refused = first_call(&world, bad.clone(), json!({}));
        assert_eq!(refused["error"]["code"], -32602, "{bad}: {refused}");
        assert!(refused["error"]["message"].as_str().is_some_and(|text| text.contains("mrtr/idempotencyKey")));
    }
    assert_eq!(effects.count("charged"), 0);
}

/// A ledger that fails in a way of its own.
pub struct Faulty(pub fn(&str) -> Fault);

pub enum Fault {
    Down,
    Full,
    Hangs,
    Rubbish,
}

impl Faulty {
    fn fail<T: Send + 'static>(&self, step: &str) -> LedgerFuture<'_, T> {
        let fault = (self.0)(step);
        Box::pin(async move {
            Err(match fault {
                Fault::Down => LedgerError::Unavailable("connection refused".to_owned()),
                Fault::Full => LedgerError::Full("no room".to_owned()),
                Fault::Hangs => std::future::pending().await,
                Fault::Rubbish => LedgerError::Corrupt("PONG".to_owned()),
            })
        })
    }
}

impl Ledger for Faulty {
    fn claim(&self, _: Claim) -> LedgerFuture<'_, Standing> {
        match (self.0)("claim") {
            Fault::Rubbish => Box::pin(async { Ok(Standing::Finished(b"rubbish".to_vec())) }),
            _ => self.fail("claim"),
        }
    }
    fn renew(&self, _: EntryKey, _: Holder, _: Duration) -> LedgerFuture<'_, bool> {
        self.fail("renew")
    }
    fn settle<'a>(&'a self, _: EntryKey, _: Holder, _: Settlement<'a>) -> LedgerFuture<'a, bool> {
        self.fail("settle")
    }
    fn keep<'a>(&'a self, _: EntryKey, _: &'a [u8], _: Duration) -> LedgerFuture<'a, ()> {
        self.fail("keep")
    }
    fn kept(&self, _: EntryKey) -> LedgerFuture<'_, Option<Vec<u8>>> {
        self.fail("kept")
    }
    fn check(&self) -> LedgerFuture<'_, ()> {
        self.fail("check")
    }
}

#[test]
fn a_ledger_that_is_down_full_slow_or_answers_rubbish_fails_closed() {
    for fault in [|_: &str| Fault::Down, |_: &str| Fault::Full, |_: &str| Fault::Hangs, |_: &str| Fault::Rubbish] {
        let effects = Effects::default();
        let world = World::of(|server| server.tool(refund(&effects).once()).ledger(Faulty(fault)));
        let asked = world.call("refund", json!({})).asks(&["confirm"]);
        let refused = asked.respond(yes());
        let error = refused.errors(-32603);
        assert_eq!((refused.status, &error["data"]["retryable"]), (503, &json!(true)), "{error}");
        assert_eq!(error["data"]["reason"], "ledger_unavailable");
        assert!(error["message"].as_str().is_some_and(|text| text.contains("did nothing")), "{error}");
        assert_eq!(effects.count("paid"), 0, "the handler does not run");
        assert!(world.instances.iter().map(|server| server.counters().ledger_failures).sum::<u64>() >= 1);
    }
}

/// A ledger in memory that fails at one kind of step, for as long as it is told to.
struct Partly {
    ledger: MemoryLedger,
    fails: AtomicU8,
}

const NOTHING: u8 = 0;
const SETTLING: u8 = 1;
/// The step is done; its reply is lost.
const TAKING_OVER: u8 = 2;
/// The entry is lost meanwhile.
const REMEMBERING: u8 = 3;

impl Partly {
    fn at(&self, step: u8) -> bool {
        self.fails.load(Ordering::SeqCst) == step
    }

    /// Two instances with this tool and such a ledger.
    fn fleet(fails: u8, tool: Tool) -> (Arc<Self>, World) {
        let clock = HandClock::new();
        let ledger = MemoryLedger::new().clock(clock.clone());
        let ledger = Arc::new(Self { ledger, fails: AtomicU8::new(fails) });
        let setup =
            |server: Server| server.tool(tool.clone()).ledger(ledger.clone()).clock(clock.clone() as Arc<dyn Clock>);
        let mut world = World::of(setup);
        world.clock = clock;
        (ledger, world)
    }
}

impl Ledger for Partly {
    fn claim(&self, claim: Claim) -> LedgerFuture<'_, Standing> {
        let is_lost = claim.takes_over && self.at(TAKING_OVER);
        let claimed = self.ledger.claim(claim);
        if !is_lost {
            return claimed;
        }
        Box::pin(
            async move { claimed.await.and_then(|_| Err(LedgerError::Unavailable("connection reset".to_owned()))) },
        )
    }
    fn renew(&self, key: EntryKey, holder: Holder, lease: Duration) -> LedgerFuture<'_, bool> {
        self.ledger.renew(key, holder, lease)
    }
    fn settle<'a>(&'a self, key: EntryKey, holder: Holder, settlement: Settlement<'a>) -> LedgerFuture<'a, bool> {
        if self.at(SETTLING) {
            return Box::pin(async { Err(LedgerError::Unavailable("connection reset".to_owned())) });
        }
        if self.at(REMEMBERING) {
            self.fails.store(NOTHING, Ordering::SeqCst);
            let lost = self.ledger.settle(key, holder, Settlement::Released);
            return Box::pin(async move { lost.await.map(|_| false) });
        }
        self.ledger.settle(key, holder, settlement)
    }
    fn keep<'a>(&'a self, key: EntryKey, value: &'a [u8], lifetime: Duration) -> LedgerFuture<'a, ()> {
        self.ledger.keep(key, value, lifetime)
    }
    fn kept(&self, key: EntryKey) -> LedgerFuture<'_, Option<Vec<u8>>> {
        self.ledger.kept(key)
    }
    fn check(&self) -> LedgerFuture<'_, ()> {
        self.ledger.check()
    }
}

#[test]
fn an_answer_that_cannot_be_written_down_still_reaches_its_caller_and_is_not_made_again() {
    let effects = Effects::default();
    let (_, world) = Partly::fleet(SETTLING, refund(&effects).once());
    let asked = world.call("refund", json!({})).asks(&["confirm"]);
    asked.respond(yes()).finishes("paid 1");
    world.clock.advance(Duration::from_secs(10));
    asked.respond(yes()).errors(OUTCOME_UNKNOWN.into());
    assert_eq!(effects.count("paid"), 1);
}

#[test]
fn an_entry_that_was_lost_while_the_handler_ran_is_made_again() {
    let effects = Effects::default();
    let (_, world) = Partly::fleet(REMEMBERING, refund(&effects).once());
    let asked = world.call("refund", json!({})).asks(&["confirm"]);
    asked.respond(yes()).finishes("paid 1");
    asked.respond(yes()).finishes("paid 1");
    assert_eq!(effects.count("paid"), 1);
}

#[test]
fn a_take_over_whose_reply_is_lost_does_not_forget_that_somebody_had_begun() {
    let effects = Effects::default();
    let begun = effects.clone();
    let handler = move |_: NoArguments, cx: Context| {
        let begun = begun.clone();
        async move {
            cx.elicit::<NoArguments>("confirm", "Refund 5?").await?;
            begun.happen("paid");
            panic!("the instance dies");
            #[expect(unreachable_code, reason = "it says what the handler returns")]
            Ok::<String, ToolError>(String::new())
        }
    };
    let tool = Tool::new("refund", handler).on_unknown(async |_: NoArguments, _: Context| Ok(Some("found")));
    let (ledger, world) = Partly::fleet(TAKING_OVER, tool);
    let asked = world.call("refund", json!({})).asks(&["confirm"]);
    asked.respond(yes()).errors(-32603);
    assert_eq!(asked.respond(yes()).errors(-32603)["data"]["reason"], "ledger_unavailable");
    ledger.fails.store(NOTHING, Ordering::SeqCst);
    asked.respond(yes()).finishes("found");
    assert_eq!(effects.count("paid"), 1, "it is looked up, not done again");
}

/// A ledger whose first reply reaches a process that stood still: somebody else took over meanwhile, and failed.
struct RepliesLate {
    ledger: MemoryLedger,
    clock: Arc<HandClock>,
    is_late: AtomicBool,
}

impl Ledger for RepliesLate {
    fn claim(&self, claim: Claim) -> LedgerFuture<'_, Standing> {
        Box::pin(async move {
            let standing = self.ledger.claim(claim.clone()).await?;
            if self.is_late.swap(false, Ordering::SeqCst) {
                self.clock.advance(2 * claim.lease);
                let other = Claim { holder: Holder([7; 16]), takes_over: true, ..claim };
                assert_eq!(self.ledger.claim(other.clone()).await?, Standing::Claimed);
                assert!(self.ledger.settle(other.key, other.holder, Settlement::Abandoned).await?);
            }
            Ok(standing)
        })
    }
    fn renew(&self, key: EntryKey, holder: Holder, lease: Duration) -> LedgerFuture<'_, bool> {
        self.ledger.renew(key, holder, lease)
    }
    fn settle<'a>(&'a self, key: EntryKey, holder: Holder, settlement: Settlement<'a>) -> LedgerFuture<'a, bool> {
        self.ledger.settle(key, holder, settlement)
    }
    fn keep<'a>(&'a self, key: EntryKey, value: &'a [u8], lifetime: Duration) -> LedgerFuture<'a, ()> {
        self.ledger.keep(key, value, lifetime)
    }
    fn kept(&self, key: EntryKey) -> LedgerFuture<'_, Option<Vec<u8>>> {
        self.ledger.kept(key)
    }
    fn check(&self) -> LedgerFuture<'_, ()> {
        self.ledger.check()
    }
}

#[test]
fn a_claim_that_was_taken_over_before_its_reply_was_read_is_not_acted_on() {
    let effects = Effects::default();
    let clock = HandClock::new();
    let ledger = MemoryLedger::new().clock(clock.clone());
    let late = Arc::new(RepliesLate { ledger, clock: clock.clone(), is_late: AtomicBool::new(true) });
    let mut world = World::of(|server| {
        server.tool(refund(&effects).once()).ledger(late.clone()).clock(clock.clone() as Arc<dyn Clock>)
    });
    world.clock = clock;
    let asked = world.call("refund", json!({})).asks(&["confirm"]);
    asked.respond(yes()).errors(OUTCOME_UNKNOWN.into());
    assert_eq!(effects.count("paid"), 0);
}

#[test]
fn the_ledger_in_memory_keeps_the_contract() {
    let clock = HandClock::new();
    let ledger = MemoryLedger::new().clock(clock.clone());
    to_the_end(mrtr::testing::ledger_contract(&ledger, async |time| clock.advance(time)));
    clock.advance(Duration::from_secs(100));
    assert!(ledger.is_empty(), "{ledger:?}");
}
