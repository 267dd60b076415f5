//! What is done once over ledgers that misbehave: they panic, hang, fill up, forget in the middle, or say nonsense.
//!
//! Time is tokio's, stopped: it moves when everybody waits, so whoever waits for ever is found out at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use mrtr::ledger::{Claim, EntryKey, Holder, Ledger, LedgerError, LedgerFuture, MemoryLedger, Settlement, Standing};
use mrtr::server::{Clock, Dispatch, Incoming, Sleep};
use mrtr::wire::OUTCOME_UNKNOWN;
use mrtr::{Context, NoArguments, Server, Tool, ToolError};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout};

use crate::world::{Effects, everything, keys, request};

/// Tokio's time, which tests stop.
struct Stopped(Instant);

impl Stopped {
    fn new() -> Arc<Self> {
        Arc::new(Self(Instant::now()))
    }
}

impl Clock for Stopped {
    fn now(&self) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(1_800_000_000) + self.0.elapsed()
    }

    fn sleep(&self, duration: Duration) -> Option<Sleep> {
        Some(Box::pin(sleep(duration)))
    }
}

/// Charges for so long, and answers with so much.
fn charge(effects: &Effects, takes: Duration, answer: usize) -> Tool {
    let effects = effects.clone();
    Tool::new("charge", move |_: NoArguments, _: Context| {
        effects.happen("charged");
        async move {
            sleep(takes).await;
            "x".repeat(answer)
        }
    })
    .idempotency_keys()
}

fn server(ledger: impl Ledger, tool: Tool) -> Arc<Dispatch> {
    limited(ledger, tool, |server| server)
}

fn limited(ledger: impl Ledger, tool: Tool, setup: impl FnOnce(Server) -> Server) -> Arc<Dispatch> {
    let clock: Arc<dyn Clock> = Stopped::new();
    let server = Server::new("shop", "1.0.0").keys(keys()).ledger(ledger).clock(clock).tool(tool);
    setup(server).build().expect("a server")
}

/// The same first call, by its key.
async fn call(server: &Dispatch) -> Value {
    let body = request(1, "tools/call", &everything(), json!({ "name": "charge", "arguments": {} }));
    let mut body: Value = serde_json::from_str(&body).expect("JSON");
    body["params"]["_meta"]["mrtr/idempotencyKey"] = json!("order-1");
    let body = body.to_string();
    let reply = timeout(Duration::from_secs(1000), server.handle(Incoming::new(body.as_bytes())));
    serde_json::from_slice(&reply.await.expect("an answer").body).expect("JSON")
}

/// What a ledger may do wrong in a step; the rest it does right.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Wrong {
    Nothing,
    Panics,
    PanicsLater,
    Hangs,
}

/// A ledger that does one step wrong, so many times.
struct Faulty {
    ledger: MemoryLedger,
    step: &'static str,
    wrong: Wrong,
    times: AtomicU32,
}

impl Faulty {
    fn new(step: &'static str, wrong: Wrong, times: u32) -> Self {
        Self { ledger: MemoryLedger::new().clock(Stopped::new()), step, wrong, times: times.into() }
    }

    fn wrong(&self, step: &str) -> Wrong {
        let goes_wrong = step == self.step
            && self.times.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok();
        if goes_wrong { self.wrong } else { Wrong::Nothing }
    }

    fn does<'a, T: Send + 'a>(&self, step: &str, right: impl FnOnce() -> LedgerFuture<'a, T>) -> LedgerFuture<'a, T> {
        match self.wrong(step) {
            Wrong::Nothing => right(),
            Wrong::Panics => panic!("{step} panics"),
            Wrong::PanicsLater => Box::pin(async { panic!("a step panics at work") }),
            Wrong::Hangs => Box::pin(std::future::pending()),
        }
    }
}

impl Ledger for Faulty {
    fn claim(&self, claim: Claim) -> LedgerFuture<'_, Standing> {
        self.does("claim", || self.ledger.claim(claim))
    }
    fn renew(&self, key: EntryKey, holder: Holder, lease: Duration) -> LedgerFuture<'_, bool> {
        self.does("renew", || self.ledger.renew(key, holder, lease))
    }
    fn settle<'a>(&'a self, key: EntryKey, holder: Holder, settlement: Settlement<'a>) -> LedgerFuture<'a, bool> {
        self.does("settle", || self.ledger.settle(key, holder, settlement))
    }
    fn keep<'a>(&'a self, key: EntryKey, value: &'a [u8], lifetime: Duration) -> LedgerFuture<'a, ()> {
        self.does("keep", || self.ledger.keep(key, value, lifetime))
    }
    fn kept(&self, key: EntryKey) -> LedgerFuture<'_, Option<Vec<u8>>> {
        self.does("kept", || self.ledger.kept(key))
    }
    fn check(&self) -> LedgerFuture<'_, ()> {
        self.ledger.check()
    }
    fn changed(&self, key: EntryKey) -> Option<LedgerFuture<'_, ()>> {
        if self.step == "changed" {
            return Some(match self.wrong {
                Wrong::Hangs => Box::pin(std::future::pending()),
                Wrong::PanicsLater => Box::pin(async { panic!("waiting panics") }),
                Wrong::Panics => panic!("waiting panics"),
                // It says so all the time.
                Wrong::Nothing => Box::pin(std::future::ready(Ok(()))),
            });
        }
        self.ledger.changed(key)
    }
    fn let_go(&self, key: EntryKey, holder: Holder) {
        assert!(self.wrong("let_go") == Wrong::Nothing, "letting go panics");
        self.ledger.let_go(key, holder);
    }
}

const A_WHILE: Duration = Duration::from_secs(20);

#[tokio::test(start_paused = true)]
async fn a_handler_may_have_all_the_time_there_is() {
    let effects = Effects::default();
    let ledger = MemoryLedger::new().clock(Stopped::new());
    let server = limited(ledger, charge(&effects, A_WHILE, 3), |server| {
        server.handler_time(Duration::MAX).lease(Duration::MAX).ledger_time(Duration::MAX).state_lifetime(Duration::MAX)
    });
    let (first, second) = tokio::join!(call(&server), call(&server));
    assert_eq!((&first["result"]["content"][0]["text"], &first), (&json!("xxx"), &second));
    assert_eq!(effects.count("charged"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_lease_of_nothing_does_not_make_a_claim_look_torn_off() {
    let effects = Effects::default();
    let ledger = MemoryLedger::new().clock(Stopped::new());
    let server = limited(ledger, charge(&effects, A_WHILE, 3), |server| server.lease(Duration::ZERO));
    let (first, second) = tokio::join!(call(&server), call(&server));
    assert_eq!(first, second);
    assert_eq!(first["result"]["content"][0]["text"], "xxx");
}

#[tokio::test(start_paused = true)]
async fn who_waits_for_an_answer_the_ledger_has_no_room_for_is_told_that_it_is_lost() {
    let effects = Effects::default();
    let ledger = MemoryLedger::new().clock(Stopped::new()).capacity(1000);
    let server = server(ledger, charge(&effects, A_WHILE, 5000));
    let (first, second) = tokio::join!(call(&server), call(&server));
    assert!(first["result"].is_object(), "{first}");
    assert_eq!(second["error"]["code"], OUTCOME_UNKNOWN, "{second}");
    assert_eq!(effects.count("charged"), 1);
}

#[tokio::test(start_paused = true)]
async fn who_waits_is_answered_whatever_the_ledger_makes_of_waiting() {
    for wrong in [Wrong::Hangs, Wrong::Nothing, Wrong::PanicsLater, Wrong::Panics] {
        let effects = Effects::default();
        let server = server(Faulty::new("changed", wrong, u32::MAX), charge(&effects, A_WHILE, 3));
        let (first, second) = tokio::join!(call(&server), call(&server));
        assert_eq!(first, second, "{wrong:?}");
        assert_eq!(effects.count("charged"), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_renewal_that_is_never_answered_does_not_cost_the_claim() {
    let effects = Effects::default();
    let server = server(Faulty::new("renew", Wrong::Hangs, 2), charge(&effects, A_WHILE, 3));
    let late = async {
        sleep(Duration::from_secs(12)).await;
        call(&server).await
    };
    let (first, second) = tokio::join!(call(&server), late);
    assert_eq!(first, second);
    assert_eq!(effects.count("charged"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_ledger_that_panics_is_a_ledger_that_fails() {
    for wrong in [Wrong::Panics, Wrong::PanicsLater] {
        for step in ["claim", "renew", "settle"] {
            let effects = Effects::default();
            let server = server(Faulty::new(step, wrong, 1), charge(&effects, A_WHILE, 3));
            let (first, second) = (call(&server).await, call(&server).await);
            assert_eq!(first["result"]["content"][0]["text"], "xxx", "{step}: {first}");
            assert_eq!(first, second, "{step}");
            assert_eq!(effects.count("charged"), 1, "{step}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_ledger_that_panics_when_work_is_torn_off_takes_nobody_along() {
    let effects = Effects::default();
    let server = server(Faulty::new("let_go", Wrong::Panics, 1), charge(&effects, A_WHILE, 3));
    assert!(timeout(Duration::from_secs(1), call(&server)).await.is_err(), "its client hangs up");
    assert_eq!(call(&server).await["error"]["code"], OUTCOME_UNKNOWN);
}

/// A ledger somebody empties, which counts claims and cannot tell when an entry changes.
struct Emptied(std::sync::Mutex<Arc<MemoryLedger>>, AtomicU32);

impl Emptied {
    fn new() -> Arc<Self> {
        Arc::new(Self(std::sync::Mutex::new(Arc::new(MemoryLedger::new().clock(Stopped::new()))), AtomicU32::new(0)))
    }

    fn now(&self) -> Arc<MemoryLedger> {
        self.0.lock().expect("whole").clone()
    }

    fn empty(&self) {
        *self.0.lock().expect("whole") = Arc::new(MemoryLedger::new().clock(Stopped::new()));
    }
}

impl Ledger for Emptied {
    fn claim(&self, claim: Claim) -> LedgerFuture<'_, Standing> {
        let ledger = self.now();
        self.1.fetch_add(1, Ordering::Relaxed);
        Box::pin(async move { ledger.claim(claim).await })
    }
    fn renew(&self, key: EntryKey, holder: Holder, lease: Duration) -> LedgerFuture<'_, bool> {
        let ledger = self.now();
        Box::pin(async move { ledger.renew(key, holder, lease).await })
    }
    fn settle<'a>(&'a self, key: EntryKey, holder: Holder, settlement: Settlement<'a>) -> LedgerFuture<'a, bool> {
        let ledger = self.now();
        Box::pin(async move { ledger.settle(key, holder, settlement).await })
    }
    fn keep<'a>(&'a self, _: EntryKey, _: &'a [u8], _: Duration) -> LedgerFuture<'a, ()> {
        Box::pin(async { Err(LedgerError::Full("no room".to_owned())) })
    }
    fn kept(&self, _: EntryKey) -> LedgerFuture<'_, Option<Vec<u8>>> {
        Box::pin(async { Ok(None) })
    }
    fn check(&self) -> LedgerFuture<'_, ()> {
        Box::pin(async { Ok(()) })
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_outlives_a_ledger_that_was_emptied_while_it_was_made() {
    let (effects, ledger) = (Effects::default(), Emptied::new());
    let server = server(ledger.clone(), charge(&effects, A_WHILE, 3));
    let (first, ()) = tokio::join!(call(&server), async {
        sleep(A_WHILE / 2).await;
        ledger.empty();
    });
    assert_eq!(first["result"]["content"][0]["text"], "xxx");
    assert_eq!(call(&server).await, first);
    assert_eq!(effects.count("charged"), 1);
}

#[tokio::test(start_paused = true)]
async fn an_idempotency_key_is_remembered_for_as_long_as_the_state_it_led_to() {
    let effects = Effects::default();
    let count = effects.clone();
    let tool = Tool::new("charge", move |_: NoArguments, cx: Context| {
        count.happen("begun");
        async move {
            sleep(Duration::from_secs(30)).await;
            cx.elicit::<NoArguments>("confirm", "Charge 5?").await?;
            Ok::<_, ToolError>("charged")
        }
    });
    let ledger = MemoryLedger::new().clock(Stopped::new());
    let server = limited(ledger, tool.idempotency_keys(), |server| server.state_lifetime(Duration::from_secs(20)));
    let (first, second) = tokio::join!(call(&server), async {
        sleep(Duration::from_secs(25)).await;
        call(&server).await
    });
    assert_eq!(first, second);
    sleep(Duration::from_secs(60)).await;
    assert_eq!(call(&server).await, first, "its state is still good, within the skew of clocks");
    assert_eq!(effects.count("begun"), 1);
}

/// Asks after it has heard more than a state may carry.
fn note(effects: &Effects) -> Tool {
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct Note {
        text: String,
    }
    let effects = effects.clone();
    Tool::new("charge", move |_: NoArguments, cx: Context| {
        let effects = effects.clone();
        async move {
            let note: Note = cx.elicit("note", "What?").await?;
            effects.happen("written");
            cx.elicit::<NoArguments>("confirm", "Sure?").await?;
            Ok::<_, ToolError>(format!("{} characters", note.text.len()))
        }
    })
    .once()
}

async fn retry(server: &Dispatch, asked: &Value, answers: Value) -> Value {
    let state = &asked["result"]["requestState"];
    let params = json!({ "name": "charge", "arguments": {}, "inputResponses": answers, "requestState": state });
    let body = request(2, "tools/call", &everything(), params);
    serde_json::from_slice(&server.handle(Incoming::new(body.as_bytes())).await.body).expect("JSON")
}

fn long_note() -> Value {
    json!({ "note": { "action": "accept", "content": { "text": "x".repeat(20_000) } } })
}

#[tokio::test(start_paused = true)]
async fn a_question_whose_state_could_not_be_kept_is_not_what_came_of_a_leg() {
    let effects = Effects::default();
    let tool = note(&effects).on_unknown(async |_: NoArguments, _: Context| Ok(None::<String>));
    let server = limited(Faulty::new("keep", Wrong::Hangs, 1), tool, |server| server.spill_states(100_000));
    let asked = call(&server).await;
    let refused = retry(&server, &asked, long_note()).await;
    assert_eq!(refused["error"]["data"]["reason"], "state_not_kept", "{refused}");
    let asked = retry(&server, &asked, long_note()).await;
    assert!(asked["result"]["requestState"].is_string(), "{asked}");
}

#[tokio::test(start_paused = true)]
async fn a_handle_travels_even_where_states_must_be_shorter_than_one() {
    let effects = Effects::default();
    let ledger = MemoryLedger::new().clock(Stopped::new());
    let server = limited(ledger, note(&effects), |server| server.max_state(16).spill_states(100_000));
    let asked = call(&server).await;
    let asked = retry(&server, &asked, long_note()).await;
    let done = retry(&server, &asked, json!({ "confirm": { "action": "accept", "content": {} } })).await;
    assert_eq!(done["result"]["content"][0]["text"], "20000 characters", "{asked} {done}");
}

#[tokio::test(start_paused = true)]
async fn ten_thousand_who_ask_for_the_same_are_all_answered() {
    let effects = Effects::default();
    let server = server(MemoryLedger::new().clock(Stopped::new()), charge(&effects, A_WHILE, 3));
    let calls = (0..10_000).map(|_| {
        let server = server.clone();
        tokio::spawn(async move { call(&server).await })
    });
    for called in calls.collect::<Vec<_>>() {
        assert_eq!(called.await.expect("no panic")["result"]["content"][0]["text"], "xxx");
    }
    assert_eq!(effects.count("charged"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_thousand_who_wait_ask_the_store_hardly_more_often_than_a_few_would() {
    let (effects, ledger) = (Effects::default(), Emptied::new());
    let server = server(ledger.clone(), charge(&effects, A_WHILE, 3));
    let calls = (0..1000).map(|_| call(&server));
    let answers = futures_util::future::join_all(calls).await;
    assert!(answers.iter().all(|answer| answer == &answers[0] && answer["result"].is_object()));
    let claims = ledger.1.load(Ordering::Relaxed);
    assert!(
        claims < 3 * 1000,
        "{claims} claims: one when they come, one when it is their turn, and a few while they wait"
    );
}
