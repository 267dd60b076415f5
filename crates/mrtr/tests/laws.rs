//! Laws: what holds for every flow, every split into rounds, every spelling.

mod flow;
mod spelling;

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context as Task, Poll, Wake, Waker};

use mrtr::server::{Dispatch, Incoming, IntoToolResult, SystemClock};
use mrtr::{Context, Keyring, NoArguments, Server, Tool, ToolError};
use proptest::prelude::*;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use self::flow::{Ask, Expected, Node, asks_in, expected, flows};
use crate::world::{Effects, everything, request};

/// Bad answers a question takes without giving up on the operation.
const FORGIVEN: u32 = 2;

proptest! {
    // What fails shrinks to something that becomes a test with a name; files of seeds would only be noise.
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_flow_ends_the_same_however_its_answers_are_spread_over_rounds_and_instances(
        flow in flows(),
        tape in prop::collection::vec(any::<u8>(), 0..60),
    ) {
        let expected = expected(&flow);
        let log = Log::default();
        let effects = Effects::default();
        let ended = log.during(|| Client::new(&flow, &effects, tape).run());
        prop_assert_eq!(&ended.result, &result_of(&expected));
        assert_ran_once(&flow, &expected, &effects);
        prop_assert_eq!(log.text(), "", "a lawful flow has nothing to warn of");
        prop_assert!(ended.rounds - ended.idle_rounds <= 1 + asks_in(&flow).len() as u32);
    }

    #[test]
    fn questions_asked_side_by_side_share_a_round(flow in flows()) {
        let ended = Client::new(&flow, &Effects::default(), Vec::new()).run();
        prop_assert_eq!(ended.rounds, 1 + expected(&flow).depth);
    }

    #[test]
    fn a_flow_that_takes_answers_unasked_ends_the_same_in_one_round(flow in flows()) {
        let (expected, effects) = (expected(&flow), Effects::default());
        let instance = instance(&[1], flow::tool(&flow, &effects).accept_unasked());
        let answers: Map<String, Value> =
            asks_in(&flow).into_values().map(|ask| (ask.key, ask.answer.on_the_wire(ask.kind))).collect();
        let reply = send(&instance, &call(None, &Value::Object(answers).to_string()));
        prop_assert_eq!(&reply["result"], &result_of(&expected));
        assert_ran_once(&flow, &expected, &effects);
    }

    #[test]
    fn a_state_fits_every_spelling_of_its_arguments_and_no_other_arguments(
        data in spelling::values(),
        tape in prop::collection::vec(any::<u8>(), 0..80),
    ) {
        let instance = instance(&[1], Tool::new("flow", hold));
        let mut tape = Tape(tape.into_iter());
        let mut choose = |among| tape.choose(among);
        let at = choose(256);
        let mut send_as = |data: &spelling::Json, state: Option<&str>| {
            let body = call(state, r#"{"sure":{"action":"accept","content":{"sure":true}}}"#);
            let spelled = data.spell(&mut choose);
            send(&instance, &body.replace(r#""name":"#, &format!(r#""arguments":{{"data":{spelled}}},"name":"#)))
        };
        let asked = send_as(&data, None);
        let state = asked["result"]["requestState"].as_str();
        prop_assert!(state.is_some(), "{}", asked);
        let done = send_as(&data, state);
        prop_assert_eq!(&done["result"]["content"][0]["text"], "held", "{}", done);
        let refused = send_as(&data.altered(at), state);
        prop_assert_eq!(&refused["error"]["message"], "Invalid or expired requestState", "{}", refused);
    }

    #[test]
    fn a_state_grows_by_what_was_answered_and_no_more(texts in prop::collection::vec("\\PC{0,40}", 1..12)) {
        let instance = instance(&[1], Tool::new("flow", interview).accept_unasked());
        let (mut state, mut bound, mut answers) = (None, 190, "{}".to_owned());
        for (round, text) in texts.iter().enumerate() {
            let reply = send(&instance, &call(state.as_deref(), &answers));
            state = reply["result"]["requestState"].as_str().map(str::to_owned);
            let length = state.as_ref().map(String::len).unwrap_or_default();
            prop_assert!((1..=bound).contains(&length), "round {}: {} of {}", round + 1, length, bound);
            let answer = json!({ "text": text });
            // The entry: its key, a digest of 16 bytes, the answer, four bytes of structure, two more of lengths.
            bound += (format!("q{round}").len() + 16 + answer.to_string().len() + 6) * 4 / 3 + 2;
            answers = json!({ format!("q{round}"): { "action": "accept", "content": answer } }).to_string();
        }
    }
}

/// A question asked over a slow step must not be asked twice because its neighbour was answered meanwhile.
#[test]
fn what_followed_a_slow_step_was_asked_twice_when_something_was_answered_beside_it() {
    let ask = |key: &str| Node::Ask(Ask::yes(key));
    let slow = Node::Step { key: "slow".to_owned(), yields: 1 };
    let parts = vec![vec![ask("first"), slow, ask("then")], vec![ask("beside")]];
    let flow = Arc::new(vec![Node::Join { parts, own_wakers: false }]);
    let ended = Client::new(&flow, &Effects::default(), Vec::new()).run();
    assert_eq!(ended.rounds, 3);
}

/// Combinators and runtimes give way for fairness; a round must not end over that.
#[test]
fn a_branch_that_gave_way_was_asked_about_in_a_round_of_its_own() {
    let ask = |key: &str| Node::Ask(Ask::yes(key));
    let parts = vec![vec![ask("first")], vec![Node::Yield, ask("beside")]];
    let flow = Arc::new(vec![Node::Join { parts, own_wakers: false }]);
    let ended = Client::new(&flow, &Effects::default(), Vec::new()).run();
    assert_eq!(ended.rounds, 2);
}

#[derive(Deserialize, JsonSchema)]
struct Anything {
    #[expect(dead_code, reason = "what is bound is its text")]
    data: Value,
}

#[derive(Deserialize, JsonSchema)]
struct Sure {
    sure: bool,
}

#[derive(Deserialize, JsonSchema)]
struct Text {
    #[expect(dead_code, reason = "only its length matters")]
    text: String,
}

async fn hold(_: Anything, cx: Context) -> Result<&'static str, ToolError> {
    let answer: Sure = cx.elicit("sure", "Sure?").await?;
    Ok(if answer.sure { "held" } else { "not held" })
}

async fn interview(_: NoArguments, cx: Context) -> Result<&'static str, ToolError> {
    for number in 0..30 {
        let _: Text = cx.elicit(format!("q{number}"), "And then?").await?;
    }
    Ok("done")
}

fn assert_ran_once(flow: &[Node], expected: &Expected, effects: &Effects) {
    for step in steps_in(flow) {
        let times = u32::from(expected.steps.contains(&step));
        assert_eq!(effects.count(&step), times, "step {step:?} in {flow:?}");
    }
}

fn steps_in(nodes: &[Node]) -> Vec<String> {
    let in_node = |node: &Node| match node {
        Node::Step { key, .. } => vec![key.clone()],
        Node::Branch { yes, no, .. } => [steps_in(yes), steps_in(no)].concat(),
        Node::Join { parts, .. } => parts.iter().flat_map(|part| steps_in(part)).collect(),
        Node::Ask(_) | Node::Yield => Vec::new(),
    };
    nodes.iter().flat_map(in_node).collect()
}

fn result_of(expected: &Expected) -> Value {
    let result = match &expected.refused {
        None => expected.log.join("\n").into_tool_result(),
        Some(refused) => ToolError::from(refused.clone()).into_tool_result(),
    };
    let mut members = json!(result);
    members["resultType"] = json!("complete");
    members["_meta"] = json!({ "io.modelcontextprotocol/serverInfo": { "name": "laws", "version": "1" } });
    members
}

/// Choices, read off a tape: shrinking it makes a run plainer, and behind its end every choice is the plainest one.
struct Tape(std::vec::IntoIter<u8>);

impl Tape {
    fn choose(&mut self, among: usize) -> usize {
        usize::from(self.0.next().unwrap_or_default()) % among.max(1)
    }
}

/// A client that answers when and how the tape says, through instances the tape picks.
struct Client {
    instances: [Arc<Dispatch>; 2],
    asks: BTreeMap<String, Ask>,
    tape: Tape,
    /// Bad answers so far.
    bad: BTreeMap<String, u32>,
    state: Option<String>,
}

struct Ended {
    result: Value,
    rounds: u32,
    /// Rounds in which the client gave no good answer.
    idle_rounds: u32,
}

impl Client {
    fn new(flow: &Arc<Vec<Node>>, effects: &Effects, tape: Vec<u8>) -> Self {
        // In the middle of a key rotation: each instance seals with another key, both open both.
        let instance = |keys| instance(keys, flow::tool(flow, effects));
        Self {
            instances: [instance(&[1, 2]), instance(&[2, 1])],
            asks: asks_in(flow),
            tape: Tape(tape.into_iter()),
            bad: BTreeMap::new(),
            state: None,
        }
    }

    fn run(mut self) -> Ended {
        let (mut rounds, mut idle_rounds) = (0, 0);
        let mut answers = Answers::default();
        let mut open = BTreeSet::new();
        loop {
            rounds += 1;
            let instance = &self.instances[self.tape.choose(2)];
            let reply = send(instance, &call(self.state.as_deref(), &answers.text()));
            let result = &reply["result"];
            if result["resultType"] == "complete" {
                return Ended { result: result.clone(), rounds, idle_rounds };
            }
            let requests = result["inputRequests"].as_object().unwrap_or_else(|| panic!("no questions: {reply}"));
            self.check(requests, &open, &answers);
            self.state = result["requestState"].as_str().map(str::to_owned);
            open = requests.keys().cloned().collect();
            answers = self.answer(&open);
            idle_rounds += u32::from(answers.good.is_empty());
        }
    }

    /// What was answered well is not asked again; what was not, is, and says what was wrong.
    fn check(&self, requests: &Map<String, Value>, open: &BTreeSet<String>, answers: &Answers) {
        for key in requests.keys() {
            assert!(!answers.good.contains(key), "{key:?} was answered and is asked again");
        }
        for key in open.iter().filter(|key| !answers.good.contains(*key)) {
            let request = requests.get(key).unwrap_or_else(|| panic!("{key:?} was not answered and is gone"));
            if let Some(message) = request["params"]["message"].as_str() {
                assert!(message.starts_with(&format!("Question {key}")), "{message}");
                let is_form = request["params"]["mode"] == "form";
                assert!(!is_form || answers.bad.contains(key) == message.contains("could not be used"), "{message}");
            }
        }
    }

    fn answer(&mut self, open: &BTreeSet<String>) -> Answers {
        let mut answers = Answers::default();
        for key in open {
            let ask = &self.asks[key];
            let bad = self.bad.entry(key.clone()).or_default();
            let wrong = match self.tape.choose(8) {
                0..=3 => None,
                4 | 5 => continue,
                6 => Some(ask.kind.wrong()),
                _ => Some([json!(null), json!([]), json!("yes"), json!({ "result": {} })][self.tape.choose(4)].clone()),
            };
            match wrong.filter(|_| *bad < FORGIVEN) {
                None => {
                    answers.good.insert(key.clone());
                    answers.members.push((key.clone(), ask.answer.on_the_wire(ask.kind)));
                }
                Some(wrong) => {
                    *bad += 1;
                    answers.bad.insert(key.clone());
                    answers.members.push((key.clone(), wrong));
                }
            }
        }
        self.add_decoys(open, &mut answers);
        let turn = self.tape.choose(answers.members.len());
        answers.members.rotate_left(turn);
        answers
    }

    /// Answers to questions that are not open: settled long ago, not asked yet, never asked, unknown.
    fn add_decoys(&mut self, open: &BTreeSet<String>, answers: &mut Answers) {
        if self.tape.choose(2) == 0 {
            return;
        }
        answers.members.push(("nobody asked".to_owned(), json!({ "action": "accept", "content": {} })));
        for ask in self.asks.values().filter(|ask| !open.contains(&ask.key)) {
            if self.tape.choose(2) == 1 {
                answers.members.push((ask.key.clone(), ask.decoy.on_the_wire(ask.kind)));
            }
        }
    }
}

/// One round's answers, in the order they are sent.
#[derive(Default)]
struct Answers {
    members: Vec<(String, Value)>,
    good: BTreeSet<String>,
    bad: BTreeSet<String>,
}

impl Answers {
    fn text(&self) -> String {
        let members: Vec<String> = self.members.iter().map(|(key, value)| format!("{}:{value}", json!(key))).collect();
        format!("{{{}}}", members.join(","))
    }
}

/// A call of the tool `flow`, with its answers as they are spelled.
fn call(state: Option<&str>, answers: &str) -> String {
    let mut params = json!({ "name": "flow", "inputResponses": "HERE" });
    if let Some(state) = state {
        params["requestState"] = json!(state);
    }
    request(1, "tools/call", &everything(), params).replace("\"HERE\"", answers)
}

/// An instance without timers and with room for any flow.
fn instance(keys: &[u8], tool: Tool) -> Arc<Dispatch> {
    let keys = Keyring::new(keys.iter().map(|byte| [*byte; 32])).expect("distinct keys");
    let server = Server::new("laws", "1").keys(keys).clock(Arc::new(SystemClock));
    server.max_rounds(1000).max_state(1 << 20).tool(tool).build().expect("a valid server")
}

fn send(instance: &Dispatch, body: &str) -> Value {
    let incoming = Incoming::new(body.as_bytes());
    let reply = drive(instance.handle(incoming));
    serde_json::from_slice(&reply.body).expect("a JSON reply")
}

/// Polls a future for as long as it wakes itself. One that waits for nothing would hang a server.
fn drive<F: Future>(future: F) -> F::Output {
    struct Woken(AtomicBool);
    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let woken = Arc::new(Woken(AtomicBool::new(false)));
    let waker = Waker::from(Arc::clone(&woken));
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Task::from_waker(&waker)) {
            return output;
        }
        assert!(woken.0.swap(false, Ordering::Relaxed), "it waits and nobody will wake it");
    }
}

/// The warnings and errors of one thread.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    fn during<T>(&self, work: impl FnOnce() -> T) -> T {
        let log = self.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_ansi(false)
            .with_max_level(tracing::Level::WARN)
            .with_writer(move || log.clone())
            .finish();
        tracing::subscriber::with_default(subscriber, work)
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().expect("log")).into_owned()
    }
}

impl std::io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("log").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
