//! Scenarios that read aloud.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::fleet::{Fleet, Leg, Operation};
use super::reply::{End, Kind, Reply, message};
use super::{HandClock, Question};
use crate::seal::{Keyring, Principal};
use crate::server::{Prompt, Resource, ResourceTemplate, Server, Tool};

/// A scenario to be: what is called, on which server, by whom. [`call`](Self::call) begins it.
///
/// Calls go to two instances in turn that share nothing but a key and a clock. The client can be asked everything.
#[derive(Clone)]
#[must_use = "a scenario begins with `call` or `read`"]
pub struct Flow {
    offer: Arc<dyn Fn(Server) -> Server + Send + Sync>,
    method: &'static str,
    name: String,
    capabilities: Option<Value>,
    caller: Option<Principal>,
}

/// A scenario under way. Every method panics with an account of the whole conversation if what it says is not so.
///
/// It is run as it is written: a call is over, with all its effects, when the method that makes it returns.
pub struct Scene {
    fleet: Fleet,
    operation: Operation,
    last: (Leg, Reply),
    /// What was said so far, a line each.
    account: Vec<String>,
    round: u32,
}

impl Flow {
    /// A scenario of a tool.
    pub fn new(tool: Tool) -> Self {
        let name = tool.name().to_owned();
        Self::of("tools/call", name, move |server| server.tool(tool.clone()))
    }

    /// A scenario of a prompt.
    pub fn prompt(prompt: Prompt) -> Self {
        let name = prompt.name().to_owned();
        Self::of("prompts/get", name, move |server| server.prompt(prompt.clone()))
    }

    /// A scenario of a resource; [`read`](Self::read) begins it.
    pub fn resource(resource: Resource) -> Self {
        Self::of("resources/read", String::new(), move |server| server.resource(resource.clone()))
    }

    /// A scenario of a resource template; [`read`](Self::read) begins it.
    pub fn resource_template(template: ResourceTemplate) -> Self {
        Self::of("resources/read", String::new(), move |server| server.resource_template(template.clone()))
    }

    fn of(method: &'static str, name: String, offer: impl Fn(Server) -> Server + Send + Sync + 'static) -> Self {
        Self { offer: Arc::new(offer), method, name, capabilities: None, caller: None }
    }

    /// Sets up the server: its limits, its own keys. Called once for each instance.
    pub fn server(self, setup: impl Fn(Server) -> Server + Send + Sync + 'static) -> Self {
        let offer = Arc::clone(&self.offer);
        Self { offer: Arc::new(move |server| setup(offer(server))), ..self }
    }

    /// What the client can be asked, as it declares it: `json!({ "elicitation": { "url": {} } })`. Default: everything.
    pub fn client(mut self, capabilities: Value) -> Self {
        self.capabilities = Some(capabilities);
        self
    }

    /// Who calls. Default: nobody in particular, as over stdio.
    pub fn caller(mut self, caller: Principal) -> Self {
        self.caller = Some(caller);
        self
    }

    /// Calls the tool, or gets the prompt, with these arguments.
    ///
    /// # Panics
    /// When the server cannot be built, or the call does not end.
    #[track_caller]
    #[allow(clippy::needless_pass_by_value, reason = "json!(..) reads better without a borrow")]
    pub fn call(self, arguments: Value) -> Scene {
        let params = json!({ "name": self.name, "arguments": arguments });
        let title = format!("{} {} {arguments}", self.method, self.name);
        self.begin(params, &title)
    }

    /// Reads the resource of this URI.
    ///
    /// # Panics
    /// As [`call`](Self::call).
    #[track_caller]
    pub fn read(self, uri: &str) -> Scene {
        let title = format!("{} {uri}", self.method);
        self.begin(json!({ "uri": uri }), &title)
    }

    #[track_caller]
    fn begin(self, params: Value, title: &str) -> Scene {
        let keys = Keyring::random();
        let fleet = Fleet::new(HandClock::new(), [keys.clone(), keys], &*self.offer);
        let mut operation = Operation::new(self.method, params);
        if let Some(capabilities) = self.capabilities {
            operation.capabilities = capabilities;
        }
        let first = Leg { caller: self.caller, ..Leg::default() };
        let mut scene = Scene {
            fleet: fleet.unwrap_or_else(|error| panic!("the server cannot be built: {error}")),
            operation,
            last: (first.clone(), Reply::read(b"")),
            account: Vec::new(),
            round: 0,
        };
        scene.send(first, title);
        scene
    }
}

impl Scene {
    /// Says what is asked now: exactly these questions, in any order.
    #[track_caller]
    #[allow(clippy::needless_pass_by_value, reason = "form(..) and [form(..), url(..)] read better without a borrow")]
    pub fn expects(self, questions: impl AsRef<[Question]>) -> Self {
        let expected = questions.as_ref();
        let told = expected.iter().map(Question::to_string).collect::<Vec<_>>().join(" and ");
        let reply = &self.last.1;
        if reply.end() != End::Asks || reply.questions().count() != expected.len() {
            self.fail(&format!("expected it to ask {told}"));
        }
        for question in expected {
            let asked = reply.question(question.key());
            if let Some(problem) = question.problem(asked) {
                self.fail(&format!("expected it to ask {told}, but {problem}"));
            }
        }
        self
    }

    /// Answers what is asked, as its kind has it: a form with its content, which is accepted; sampling and roots with the
    /// result. Several questions are answered by key: `json!({ "size": { .. }, "budget": { .. } })`; URLs among them are
    /// agreed to. What is left out is not answered.
    #[track_caller]
    pub fn answers(self, answers: Value) -> Self {
        let questions: Vec<(String, Kind)> =
            self.last.1.questions().map(|(key, asked)| (key.clone(), Kind::of(asked))).collect();
        let by_key = match &*questions {
            [] => self.fail("nothing is asked that could be answered"),
            [(key, _)] => Map::from_iter([(key.clone(), answers)]),
            _ => match answers {
                Value::Object(by_key) => by_key,
                _ => self.fail("several questions are asked: answer them by key, json!({ \"key\": { .. } })"),
            },
        };
        if let Some(stray) = by_key.keys().find(|key| questions.iter().all(|(known, _)| known != *key)) {
            self.fail(&format!("there is an answer for {stray:?}, which is not asked"));
        }
        let mut responses = Map::new();
        for (key, kind) in questions {
            match by_key.get(&key) {
                Some(answer) => drop(responses.insert(key, response(kind, answer.clone()))),
                None if kind == Kind::Url => drop(responses.insert(key, response(kind, Value::Null))),
                None => {}
            }
        }
        self.responds(Value::Object(responses))
    }

    /// Accepts everything that is asked, with nothing filled in: agrees to go to a URL.
    #[track_caller]
    pub fn accepts(self) -> Self {
        self.act("accept")
    }

    /// Declines everything that is asked.
    #[track_caller]
    pub fn declines(self) -> Self {
        self.act("decline")
    }

    /// Cancels everything that is asked.
    #[track_caller]
    pub fn cancels(self) -> Self {
        self.act("cancel")
    }

    #[track_caller]
    fn act(self, action: &str) -> Self {
        let responses: Map<String, Value> =
            self.last.1.questions().map(|(key, _)| (key.clone(), json!({ "action": action }))).collect();
        if responses.is_empty() {
            self.fail("nothing is asked that could be answered");
        }
        self.responds(Value::Object(responses))
    }

    /// Calls again with these `inputResponses`, whatever they are: `json!({ "confirm": { "action": "decline" } })`.
    #[track_caller]
    pub fn responds(mut self, responses: Value) -> Self {
        let Some(state) = self.last.1.state().map(str::to_owned) else {
            self.fail("the operation is over, or never began: there is no state to call again with");
        };
        let said = match &responses {
            Value::Object(by_key) if by_key.is_empty() => "calls again, without answers".to_owned(),
            Value::Object(by_key) => {
                by_key.iter().map(|(key, answer)| format!("{key:?}: {answer}")).collect::<Vec<_>>().join(", ")
            }
            other => other.to_string(),
        };
        let caller = self.last.0.caller.clone();
        self.send(Leg { state: Some(state), answers: Some(responses), caller }, &said);
        self
    }

    /// Sends the same request once more, as a client does whose reply was lost.
    #[track_caller]
    pub fn repeats(mut self) -> Self {
        let leg = self.last.0.clone();
        self.round -= 1;
        self.send(leg, "the same once more");
        self
    }

    /// Lets time pass.
    #[must_use = "the scenario goes on"]
    pub fn after(mut self, time: Duration) -> Self {
        self.fleet.clock.advance(time);
        self.account.push(format!("    ({time:?} pass)"));
        self
    }

    /// Says that it finished with exactly this text, and gives the result's members for whatever else is to be said.
    #[track_caller]
    pub fn finishes(self, text: &str) -> Value {
        if self.last.1.end() != End::Finishes || self.last.1.text() != text {
            self.fail(&format!("expected it to finish with {text:?}"));
        }
        self.last.1.result().clone()
    }

    /// Says that it finished with a text that contains this one, and gives the result's members.
    #[track_caller]
    pub fn finishes_with(self, part: &str) -> Value {
        if self.last.1.end() != End::Finishes || !self.last.1.text().contains(part) {
            self.fail(&format!("expected it to finish with a text that contains {part:?}"));
        }
        self.last.1.result().clone()
    }

    /// Says that the tool reported an error to the model, with a text that contains this one.
    #[track_caller]
    pub fn fails_with(self, part: &str) -> Value {
        if self.last.1.end() != End::Fails || !self.last.1.text().contains(part) {
            self.fail(&format!("expected it to fail with a text that contains {part:?}"));
        }
        self.last.1.result().clone()
    }

    /// Says that the call was refused with a JSON-RPC error of this code, and gives its message.
    #[track_caller]
    pub fn errs(self, code: i64) -> String {
        if self.last.1.end() != End::Errs(code) {
            self.fail(&format!("expected the error {code}"));
        }
        self.last.1.text()
    }

    #[track_caller]
    fn send(&mut self, leg: Leg, said: &str) {
        self.round += 1;
        self.account.push(format!("{:>3} > {said}", self.round));
        match self.fleet.send(&self.operation, &leg) {
            Ok(reply) => {
                self.account.push(format!("{:>3} < {reply}", self.round));
                self.last = (leg, reply);
            }
            Err(hang) => panic!("{hang}\n\nthe conversation so far:\n{}\n", self.account.join("\n")),
        }
    }

    #[track_caller]
    fn fail(&self, expectation: &str) -> ! {
        panic!(
            "{expectation}; the last reply {}\n\nthe conversation so far:\n{}\n",
            self.last.1,
            self.account.join("\n")
        )
    }
}

/// An answer of this kind, as the wire has it.
pub(super) fn response(kind: Kind, answer: Value) -> Value {
    match kind {
        Kind::Form => json!({ "action": "accept", "content": answer }),
        Kind::Url => json!({ "action": "accept" }),
        Kind::Sampling | Kind::Roots => answer,
    }
}

impl Question {
    /// What is wrong with a question that was asked under this one's key.
    fn problem(&self, asked: Option<&Value>) -> Option<String> {
        let Some(asked) = asked else { return Some(format!("{:?} is not asked", self.key())) };
        let kind = Kind::of(asked);
        if kind != self.kind {
            return Some(format!("{:?} is a question of the kind {kind}", self.key()));
        }
        let part = self.says.as_deref().filter(|part| !message(asked).contains(part))?;
        Some(format!("the message of {:?} does not contain {part:?}", self.key()))
    }
}

impl fmt::Debug for Flow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Flow").field("method", &self.method).field("name", &self.name).finish_non_exhaustive()
    }
}

impl fmt::Debug for Scene {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scene").field("account", &self.account).finish_non_exhaustive()
    }
}
