//! Random flows: what a handler may do, as a tree; the handler that does it; and what must come of it.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;

use futures_util::StreamExt;
use futures_util::future::{join_all, poll_fn};
use futures_util::stream::FuturesUnordered;
use mrtr::flow::CreateMessage;
use mrtr::form::Form;
use mrtr::{Context, ContextError, NoArguments, Outcome, Tool, ToolError};
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::world::Effects;

/// One thing a handler does.
#[derive(Clone, Debug)]
pub enum Node {
    Ask(Ask),
    /// Runs once; gives up the thread this many times while it is at work.
    Step {
        key: String,
        yields: u8,
    },
    /// Asks yes or no, and goes on by the answer.
    Branch {
        ask: Ask,
        yes: Vec<Self>,
        no: Vec<Self>,
    },
    /// Does several things side by side, each polled with a waker of its own or all with the handler's.
    Join {
        parts: Vec<Vec<Self>>,
        own_wakers: bool,
    },
    /// Gives up the thread outside of any step; never in a join, where what waits must be a step.
    Yield,
}

/// One question, the answer it gets in the end, and another one that must never count.
#[derive(Clone, Debug)]
pub struct Ask {
    pub key: String,
    pub kind: Kind,
    /// A refusal ends the handler.
    strict: bool,
    pub answer: Answer,
    pub decoy: Answer,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    YesNo,
    Text,
    Whole,
    Number,
    Choices,
    Optional,
    Nothing,
    Schema,
    Url,
    Sample,
    Roots,
}

/// What a client makes of a question.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    Given(Value),
    Declined,
    Cancelled,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct YesNo {
    yes: bool,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Text {
    #[schemars(length(min = 1, max = 12))]
    text: String,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Whole {
    #[schemars(range(min = -1000, max = 1000))]
    count: i64,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Number {
    amount: f64,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Choices {
    colours: Vec<Colour>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
enum Colour {
    Red,
    Green,
    Blue,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Optional {
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

impl Ask {
    /// A yes-or-no question that is answered with yes.
    pub fn yes(key: &str) -> Self {
        let answer = |yes: bool| Answer::Given(json!({ "yes": yes }));
        Self { key: key.to_owned(), kind: Kind::YesNo, strict: true, answer: answer(true), decoy: answer(false) }
    }
}

impl Answer {
    /// The answer as it goes on the wire.
    pub fn on_the_wire(&self, kind: Kind) -> Value {
        match (self, kind) {
            (Self::Given(content), Kind::Sample | Kind::Roots) => content.clone(),
            (Self::Given(content), _) => json!({ "action": "accept", "content": content }),
            (Self::Declined, _) => json!({ "action": "decline" }),
            (Self::Cancelled, _) => json!({ "action": "cancel" }),
        }
    }
}

impl Kind {
    /// An answer of this kind that is none.
    pub fn wrong(self) -> Value {
        let accept = |content| json!({ "action": "accept", "content": content });
        match self {
            Self::YesNo => accept(json!({ "yes": "maybe" })),
            Self::Text => accept(json!({ "text": "much longer than twelve" })),
            Self::Whole => accept(json!({ "count": 1001 })),
            Self::Number => accept(json!({ "amount": null })),
            Self::Choices => accept(json!({ "colours": ["Mauve"] })),
            Self::Optional => accept(json!({ "note": 5 })),
            Self::Schema => accept(json!({})),
            Self::Nothing | Self::Url => json!({ "action": "maybe" }),
            Self::Sample => json!({ "role": 1 }),
            Self::Roots => json!({ "roots": [{ "uri": 7 }] }),
        }
    }
}

/// A flow: every key unique, some of them awkward to write down.
pub fn flows() -> impl Strategy<Value = Arc<Vec<Node>>> {
    let leaf = prop_oneof![
        6 => asks().prop_map(Node::Ask),
        4 => (0..3_u8).prop_map(|yields| Node::Step { key: String::new(), yields }),
        1 => Just(Node::Yield),
    ];
    let node = leaf.prop_recursive(3, 14, 4, |inner| {
        let several = || prop::collection::vec(inner.clone(), 0..4);
        prop_oneof![
            (asks_of(Just(Kind::YesNo)), several(), several()).prop_map(|(ask, yes, no)| Node::Branch { ask, yes, no }),
            (prop::collection::vec(several(), 1..4), any::<bool>())
                .prop_map(|(parts, own_wakers)| Node::Join { parts, own_wakers }),
        ]
    });
    prop::collection::vec(node, 1..5).prop_map(|mut nodes| {
        name(&mut nodes, &mut 0);
        Arc::new(nodes)
    })
}

fn asks() -> impl Strategy<Value = Ask> {
    asks_of(select(vec![
        Kind::YesNo,
        Kind::Text,
        Kind::Whole,
        Kind::Number,
        Kind::Choices,
        Kind::Optional,
        Kind::Nothing,
        Kind::Schema,
        Kind::Url,
        Kind::Sample,
        Kind::Roots,
    ]))
}

fn asks_of(kinds: impl Strategy<Value = Kind>) -> impl Strategy<Value = Ask> {
    let answered = kinds.prop_flat_map(|kind| (Just(kind), answers(kind), answers(kind)));
    (answered, prop::bool::weighted(0.3)).prop_map(|((kind, answer, decoy), strict)| Ask {
        key: String::new(),
        kind,
        strict,
        answer,
        decoy,
    })
}

fn answers(kind: Kind) -> BoxedStrategy<Answer> {
    let given = match kind {
        Kind::YesNo => any::<bool>().prop_map(|yes| json!({ "yes": yes })).boxed(),
        Kind::Text => "\\PC{1,12}".prop_map(|text| json!({ "text": text })).boxed(),
        Kind::Whole => (-1000..=1000_i64).prop_map(|count| json!({ "count": count })).boxed(),
        Kind::Number => any::<f64>().prop_map(|amount| json!({ "amount": amount })).boxed(),
        Kind::Choices => {
            subsequence(vec!["Red", "Green", "Blue"], 0..3).prop_map(|some| json!({ "colours": some })).boxed()
        }
        Kind::Optional => {
            prop_oneof![Just(json!({})), any::<String>().prop_map(|note| json!({ "note": note }))].boxed()
        }
        Kind::Nothing => Just(json!({})).boxed(),
        Kind::Schema => any::<bool>().prop_map(|agree| json!({ "agree": agree })).boxed(),
        Kind::Url => Just(Value::Null).boxed(),
        Kind::Sample => any::<String>()
            .prop_map(|text| json!({ "role": "assistant", "content": { "type": "text", "text": text }, "model": "m" }))
            .boxed(),
        Kind::Roots => "[a-z]{1,5}".prop_map(|name| json!({ "roots": [{ "uri": format!("file:///{name}") }] })).boxed(),
    };
    if matches!(kind, Kind::Sample | Kind::Roots) {
        return given.prop_map(Answer::Given).boxed();
    }
    prop_oneof![6 => given.prop_map(Answer::Given), 1 => Just(Answer::Declined), 1 => Just(Answer::Cancelled)].boxed()
}

fn name(nodes: &mut [Node], last: &mut usize) {
    for node in nodes {
        match node {
            Node::Ask(ask) => ask.key = next_name(last),
            Node::Step { key, .. } => *key = next_name(last),
            Node::Yield => {}
            Node::Branch { ask, yes, no } => {
                ask.key = next_name(last);
                name(yes, last);
                name(no, last);
            }
            Node::Join { parts, .. } => {
                parts.iter_mut().for_each(remove_yields);
                parts.iter_mut().for_each(|part| name(part, last));
            }
        }
    }
}

fn remove_yields(nodes: &mut Vec<Node>) {
    nodes.retain(|node| !matches!(node, Node::Yield));
    for node in nodes {
        match node {
            Node::Branch { yes, no, .. } => [yes, no].into_iter().for_each(remove_yields),
            Node::Join { parts, .. } => parts.iter_mut().for_each(remove_yields),
            Node::Ask(_) | Node::Step { .. } | Node::Yield => {}
        }
    }
}

fn next_name(last: &mut usize) -> String {
    *last += 1;
    let odd = ["", " ", "\"", "\\u0041", "é", "\u{1f980}"];
    format!("k{last}{}", odd[*last % odd.len()])
}

/// All questions of a flow, asked or not.
pub fn asks_in(nodes: &[Node]) -> BTreeMap<String, Ask> {
    let mut asks = BTreeMap::new();
    for node in nodes {
        match node {
            Node::Ask(ask) => asks.extend([(ask.key.clone(), ask.clone())]),
            Node::Branch { ask, yes, no } => {
                asks.extend([(ask.key.clone(), ask.clone())]);
                asks.extend(asks_in(yes));
                asks.extend(asks_in(no));
            }
            Node::Join { parts, .. } => asks.extend(parts.iter().flat_map(|part| asks_in(part))),
            Node::Step { .. } | Node::Yield => {}
        }
    }
    asks
}

/// What must come of a flow, worked out without the engine.
#[derive(Debug, Default)]
pub struct Expected {
    pub log: Vec<String>,
    /// Why it ended early.
    pub refused: Option<ContextError>,
    pub steps: Vec<String>,
    /// How many rounds it asks in when every question is answered as soon as it is asked.
    pub depth: u32,
}

pub fn expected(nodes: &[Node]) -> Expected {
    let mut so_far = Expected::default();
    for node in nodes {
        match node {
            Node::Step { key, .. } => {
                so_far.steps.push(key.clone());
                so_far.log.push(format!("{key} ran 1 times"));
            }
            Node::Yield => {}
            Node::Ask(ask) => so_far.ask(ask),
            Node::Branch { ask, yes, no } => {
                so_far.ask(ask);
                if so_far.refused.is_none()
                    && let Answer::Given(content) = &ask.answer
                {
                    so_far.then(expected(if content["yes"] == true { yes } else { no }));
                }
            }
            Node::Join { parts, .. } => {
                let mut all: Vec<Expected> = parts.iter().map(|part| expected(part)).collect();
                let depth = all.iter().map(|part| part.depth).max().unwrap_or_default();
                so_far.depth += depth;
                so_far.steps.extend(all.iter_mut().flat_map(|part| std::mem::take(&mut part.steps)));
                for part in all {
                    if so_far.refused.is_none() {
                        so_far.log.extend(part.log);
                        so_far.refused = part.refused;
                    }
                }
            }
        }
        if so_far.refused.is_some() {
            break;
        }
    }
    so_far
}

impl Expected {
    fn ask(&mut self, ask: &Ask) {
        let Ask { key, strict, .. } = ask;
        self.depth += 1;
        match &ask.answer {
            Answer::Given(content) => self.log.push(format!("{key}: {content}")),
            Answer::Declined if *strict => self.refused = Some(ContextError::Declined { key: key.clone() }),
            Answer::Cancelled if *strict => self.refused = Some(ContextError::Cancelled { key: key.clone() }),
            Answer::Declined => self.log.push(format!("{key}: declined")),
            Answer::Cancelled => self.log.push(format!("{key}: cancelled")),
        }
    }

    fn then(&mut self, next: Self) {
        self.log.extend(next.log);
        self.steps.extend(next.steps);
        self.refused = next.refused;
        self.depth += next.depth;
    }
}

/// The tool whose handler does what the flow says, and returns a log of it.
pub fn tool(flow: &Arc<Vec<Node>>, effects: &Effects) -> Tool {
    let (flow, effects) = (Arc::clone(flow), effects.clone());
    Tool::new("flow", move |_: NoArguments, cx: Context| {
        let (flow, effects) = (Arc::clone(&flow), effects.clone());
        async move { Ok::<_, ToolError>(run(&flow, &cx, &effects).await?.join("\n")) }
    })
}

type Running<'a> = Pin<Box<dyn Future<Output = Result<Vec<String>, ContextError>> + Send + 'a>>;

fn run<'a>(nodes: &'a [Node], cx: &'a Context, effects: &'a Effects) -> Running<'a> {
    Box::pin(async move {
        let mut log = Vec::new();
        for node in nodes {
            match node {
                Node::Yield => give_way().await,
                Node::Ask(ask) => log.push(put(ask, cx).await?.0),
                Node::Step { key, yields } => log.push(cx.step(key, work(key, *yields, effects)).await?),
                Node::Branch { ask, yes, no } => {
                    let (line, answer) = put(ask, cx).await?;
                    log.push(line);
                    if let Some(answer) = answer {
                        let nodes = if answer["yes"] == true { yes } else { no };
                        log.extend(run(nodes, cx, effects).await?);
                    }
                }
                Node::Join { parts, own_wakers } => {
                    let running = parts.iter().map(|part| run(part, cx, effects));
                    let ended = if *own_wakers { all_on_their_own(running).await } else { join_all(running).await };
                    for part in ended {
                        log.extend(part?);
                    }
                }
            }
        }
        Ok(log)
    })
}

async fn work(key: &str, yields: u8, effects: &Effects) -> String {
    effects.happen(key);
    for _ in 0..yields {
        give_way().await;
    }
    format!("{key} ran {} times", effects.count(key))
}

async fn all_on_their_own<'a>(parts: impl Iterator<Item = Running<'a>>) -> Vec<Result<Vec<String>, ContextError>> {
    let numbered = parts.enumerate().map(|(number, part)| async move { (number, part.await) });
    let mut ended: Vec<_> = numbered.collect::<FuturesUnordered<_>>().collect().await;
    ended.sort_by_key(|(number, _)| *number);
    ended.into_iter().map(|(_, part)| part).collect()
}

async fn give_way() {
    let mut gave = false;
    poll_fn(|task| {
        if std::mem::replace(&mut gave, true) {
            return Poll::Ready(());
        }
        task.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// Asks, and gives a line for the log and the accepted answer.
async fn put(ask: &Ask, cx: &Context) -> Result<(String, Option<Value>), ContextError> {
    macro_rules! settle {
        ($ask:expr) => {
            match ask.strict {
                true => Outcome::Accepted(json!($ask.await?)),
                false => match $ask.outcome().await? {
                    Outcome::Accepted(value) => Outcome::Accepted(json!(value)),
                    Outcome::Declined => Outcome::Declined,
                    Outcome::Cancelled => Outcome::Cancelled,
                },
            }
        };
    }
    let key = &ask.key;
    let message = format!("Question {key}");
    let outcome = match ask.kind {
        Kind::YesNo => settle!(cx.elicit::<YesNo>(key, message)),
        Kind::Text => settle!(cx.elicit::<Text>(key, message)),
        Kind::Whole => settle!(cx.elicit::<Whole>(key, message)),
        Kind::Number => settle!(cx.elicit::<Number>(key, message)),
        Kind::Choices => settle!(cx.elicit::<Choices>(key, message)),
        Kind::Optional => settle!(cx.elicit::<Optional>(key, message)),
        Kind::Nothing => match settle!(cx.elicit::<()>(key, message)) {
            Outcome::Accepted(Value::Null) => Outcome::Accepted(json!({})),
            other => other,
        },
        Kind::Schema => settle!(cx.elicit_with_schema(key, message, agreement())),
        Kind::Url => settle!(cx.elicit_url(key, message, "https://example.com/")),
        Kind::Sample => settle!(cx.sample(key, &CreateMessage::new(message, 10))),
        Kind::Roots => match settle!(cx.list_roots(key)) {
            Outcome::Accepted(roots) => Outcome::Accepted(json!({ "roots": roots })),
            other => other,
        },
    };
    Ok(match outcome {
        Outcome::Accepted(value) => (format!("{key}: {value}"), Some(value)),
        Outcome::Declined => (format!("{key}: declined"), None),
        Outcome::Cancelled => (format!("{key}: cancelled"), None),
    })
}

fn agreement() -> Form {
    let schema = json!({ "type": "object", "properties": { "agree": { "type": "boolean" } }, "required": ["agree"] });
    Form::from_schema(schema).expect("a strict schema")
}
