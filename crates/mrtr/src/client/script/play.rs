//! Playing a script: which reply is whose, what is left over, and what is not as it was.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Map, Value};
use thiserror::Error;

use super::{Difference, Expected, Given, Reply, Say, Script, ScriptedCall};
use crate::client::scripted::check_page;
use crate::client::{
    Answer, Ask, BoxFuture, Event, Kind, NotAnswered, Observer, OperationId, Output, Responder, Responders,
    RoundOutcome,
};
use crate::form::{Form, Problem, quoted};

/// Answers questions from a [`Script`].
///
/// It is a [`Responder`] for every kind the script has answers to, and an [`Observer`], so that each operation takes
/// the next call of its name in the file when it begins. Clones share what was used.
///
/// A question is answered by its key: from its round of the call, else from the call, else from what the file says for
/// all calls. A reply is used once in an operation; a key with a list of replies is answered as often. A page that was
/// agreed to and is asked for again while the server waits is agreed to again.
///
/// A question without a reply is answered by [`NotAnswered::Nobody`]. A reply that does not fit is a [`Misplayed`], a
/// question that is not the recorded one a [`Difference`]: either ends the operation before anything is sent.
#[derive(Clone, Debug)]
pub struct Player {
    script: Arc<Script>,
    memory: Arc<Mutex<Memory>>,
}

#[derive(Debug, Default)]
struct Memory {
    runs: HashMap<OperationId, Run>,
    /// The calls of the file that an operation has taken, by index.
    taken: HashSet<usize>,
    /// The replies given in any operation, by number.
    used: HashSet<usize>,
}

/// One operation.
#[derive(Clone, Debug, Default)]
struct Run {
    call: Option<usize>,
    /// The last round that brought a question, and how many did.
    round: u32,
    nth: usize,
    used: HashSet<usize>,
    /// The questions of the last response, and the pages that were agreed to.
    asked: Vec<String>,
    pages: HashSet<String>,
}

/// A reply that does not fit its question; the cause of a
/// [`CallError::Responder`](crate::client::CallError::Responder).
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{file}:{line}: the answer to {} does not fit: {}", quoted(.key), sentences(.problems))]
#[non_exhaustive]
pub struct Misplayed {
    /// The file.
    pub file: String,
    /// The line of the reply.
    pub line: usize,
    /// The question.
    pub key: String,
    /// What is wrong with it. Never empty.
    pub problems: Vec<Problem>,
}

fn sentences(problems: &[Problem]) -> String {
    problems.iter().map(Problem::to_string).collect::<Vec<_>>().join("; ")
}

impl Player {
    /// Makes a player of a script.
    pub fn new(script: Script) -> Self {
        Self { script: Arc::new(script), memory: Arc::default() }
    }

    /// Returns the script.
    pub fn script(&self) -> &Script {
        &self.script
    }

    /// Has this player answer the kinds of question the script has answers to, and no others.
    #[must_use]
    pub fn responders(&self, mut responders: Responders) -> Responders {
        if self.answers(Kind::Form) {
            responders = responders.elicitation(self.clone());
        }
        if self.answers(Kind::Sampling) {
            responders = responders.sampling(self.clone());
        }
        if self.answers(Kind::Roots) {
            responders = responders.roots(self.clone());
        }
        responders
    }

    /// Tells whether the script has answers to questions of this kind. Those to forms and to pages look the same.
    pub fn answers(&self, kind: Kind) -> bool {
        let is_one = |reply: &Reply| match &reply.say {
            Say::Sampling(_) => kind == Kind::Sampling,
            Say::Roots(_) => kind == Kind::Roots,
            Say::Accept(_) | Say::Decline | Say::Cancel => kind.is_elicitation(),
        };
        let script = &self.script;
        let of_calls = script.calls.iter().flat_map(all_replies);
        of_calls.chain(replies(&script.answers)).any(is_one)
    }

    /// Holds the result of an operation to what the script says about it.
    ///
    /// # Errors
    ///
    /// With what differs.
    pub fn check(&self, output: &Output) -> Result<(), Difference> {
        let call = self.memory().runs.get(&output.operation).and_then(|run| run.call);
        let Some((call, expected)) = call.and_then(|index| {
            let call = self.script.calls.get(index)?;
            Some((call, call.result.as_ref()?))
        }) else {
            return Ok(());
        };
        Difference::of_result(&self.script.file, call.line, expected, output).map_or(Ok(()), Err)
    }

    /// Names the replies whose question has not come up in the operations there were, with file and line.
    ///
    /// Calls of the file that no operation has taken do not count.
    pub fn unused(&self) -> Vec<String> {
        let memory = self.memory();
        let file = &self.script.file;
        let is_unused = |reply: &&Reply| !memory.used.contains(&reply.number);
        let of_call = |index: usize, call: &ScriptedCall| {
            let complain = |key: &str, reply: &Reply| {
                format!("{file}:{}: {} was not asked by {}", reply.line, quoted(key), quoted(&call.target))
            };
            let is_taken = memory.taken.contains(&index);
            let keyed = call.rounds.iter().flatten().chain(&call.answers).filter(|_| is_taken);
            let each = keyed.flat_map(|(key, replies)| replies.iter().filter(is_unused).map(move |it| (key, it)));
            each.map(|(key, reply)| complain(key, reply)).collect::<Vec<_>>()
        };
        let of_calls = self.script.calls.iter().enumerate().flat_map(|(index, call)| of_call(index, call));
        let of_all = self.script.answers.iter().flat_map(|(key, replies)| {
            let complain = |reply: &Reply| format!("{file}:{}: {} was not asked", reply.line, quoted(key));
            replies.iter().filter(is_unused).map(complain).collect::<Vec<_>>()
        });
        of_calls.chain(of_all).collect()
    }

    async fn play(&self, ask: &Ask) -> Result<Answer, NotAnswered> {
        let reply = self.reply_to(ask).map_err(NotAnswered::failed)?;
        let Some(reply) = reply else {
            return if ask.consented { Ok(Answer::accept([])) } else { Err(NotAnswered::Nobody) };
        };
        if let Some(recorded) = &reply.asked
            && let Some(difference) = Difference::of_question(&self.script.file, reply.line, recorded, ask)
        {
            return Err(NotAnswered::failed(difference));
        }
        let answer = answer(&reply.say, ask).map_err(|problems| {
            let (file, key) = (self.script.file.clone(), ask.key.clone());
            NotAnswered::failed(Misplayed { file, line: reply.line, key, problems })
        })?;
        if ask.kind == Kind::Url {
            self.memory().runs.entry(ask.operation.clone()).or_default().pages.insert(ask.key.clone());
        }
        if !reply.after.is_zero() {
            tokio::time::sleep(reply.after).await;
        }
        Ok(answer)
    }

    /// Finds the reply to a question, and takes it. None for a page that was agreed to: that needs no reply.
    fn reply_to(&self, ask: &Ask) -> Result<Option<Reply>, Difference> {
        let mut memory = self.memory();
        if !memory.runs.contains_key(&ask.operation) {
            memory.begin(&self.script, &ask.operation, &ask.method, &ask.target);
        }
        let Memory { runs, used, .. } = &mut *memory;
        let Some(run) = runs.get_mut(&ask.operation).filter(|_| !ask.consented) else { return Ok(None) };
        if run.round != ask.round {
            run.round = ask.round;
            run.nth += 1;
            self.compare_keys(run)?;
        }
        let call = run.call.and_then(|index| self.script.calls.get(index));
        let round = call.and_then(|call| call.rounds.get(run.nth.saturating_sub(1)));
        let scopes = [round, call.map(|call| &call.answers), Some(&self.script.answers)];
        let of_key = scopes.into_iter().flatten().flatten().filter(|(key, _)| *key == ask.key);
        let reply = of_key.flat_map(|(_, replies)| replies).find(|reply| !run.used.contains(&reply.number));
        run.used.extend(reply.map(|reply| reply.number));
        used.extend(reply.map(|reply| reply.number));
        Ok(reply.cloned())
    }

    /// Compares the questions of a recorded round with those that came.
    fn compare_keys(&self, run: &Run) -> Result<(), Difference> {
        let Some(call) = run.call.and_then(|index| self.script.calls.get(index)) else { return Ok(()) };
        let Some(round) = call.rounds.get(run.nth.saturating_sub(1)) else { return Ok(()) };
        let is_recorded = replies(round).any(|reply| reply.asked.is_some());
        if !is_recorded || run.asked.is_empty() {
            return Ok(());
        }
        let recorded: Vec<_> = round.iter().map(|(key, _)| key.as_str()).collect();
        let elsewhere = |key: &str| call.answers.iter().chain(&self.script.answers).any(|(it, _)| it == key);
        let is_own = |key: &&str| recorded.contains(key) || !(elsewhere(key) || run.pages.contains(*key));
        let came: Vec<_> = run.asked.iter().map(String::as_str).filter(is_own).collect();
        Difference::of_keys(
            &self.script.file,
            replies(round).next().map_or(call.line, |it| it.line),
            run.round,
            &recorded,
            &came,
        )
        .map_or(Ok(()), Err)
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Memory {
    /// Gives an operation the next call of its name that none has taken.
    fn begin(&mut self, script: &Script, operation: &OperationId, method: &str, target: &str) {
        let is_it = |(index, call): &(usize, &ScriptedCall)| {
            call.method == method && call.target == target && !self.taken.contains(index)
        };
        let call = script.calls.iter().enumerate().find(is_it).map(|(index, _)| index);
        self.taken.extend(call);
        self.runs.insert(operation.clone(), Run { call, ..Run::default() });
    }
}

impl Responder for Player {
    fn respond<'a>(&'a self, ask: &'a Ask) -> BoxFuture<'a, Result<Answer, NotAnswered>> {
        Box::pin(self.play(ask))
    }
}

impl Observer for Player {
    fn observe(&self, event: &Event<'_>) {
        match event {
            Event::Start { operation, method, target } => {
                self.memory().begin(&self.script, operation, method, target);
            }
            Event::Round(round) => {
                let mut memory = self.memory();
                let Memory { runs, taken, .. } = &mut *memory;
                let Some(run) = runs.get_mut(&round.operation) else { return };
                match &round.outcome {
                    RoundOutcome::InputRequired { asked, .. } => {
                        run.asked = asked.iter().map(|(key, _)| key.clone()).collect();
                    }
                    // Nothing came of it: if it is tried anew, the call is still there.
                    RoundOutcome::Failed if run.used.is_empty() => {
                        if let Some(index) = run.call {
                            taken.remove(&index);
                        }
                    }
                    _ => {}
                }
            }
            _ => {}
        }
    }
}

impl Expected {
    /// Tells what of a result is not as expected; `None` if nothing is. `file` and `line` are where the expectation is.
    pub fn difference(&self, file: &str, line: usize, output: &Output) -> Option<Difference> {
        Difference::of_result(file, line, self, output)
    }
}

fn all_replies(call: &ScriptedCall) -> impl Iterator<Item = &Reply> {
    call.rounds.iter().flat_map(|round| replies(round)).chain(replies(&call.answers))
}

fn replies(answers: &[(String, Vec<Reply>)]) -> impl Iterator<Item = &Reply> {
    answers.iter().flat_map(|(_, replies)| replies)
}

/// Makes an answer to this question of what the file says.
fn answer(say: &Say, ask: &Ask) -> Result<Answer, Vec<Problem>> {
    match (say, ask.kind) {
        (Say::Sampling(result), Kind::Sampling) | (Say::Roots(result), Kind::Roots) => {
            Ok(Answer::result(result.clone()))
        }
        (Say::Decline, kind) if kind.is_elicitation() => Ok(Answer::decline()),
        (Say::Cancel, kind) if kind.is_elicitation() => Ok(Answer::cancel()),
        (Say::Accept(fields), Kind::Form) => fill(fields, ask).map(Answer::accept),
        (Say::Accept(fields), Kind::Url) => match fields.first() {
            Some((field, _)) => Err(vec![Problem {
                field: Some(field.clone()),
                text: "is not asked: this is a page to open".to_owned(),
            }]),
            None => check_page(ask).map(|()| Answer::accept([])).map_err(|problem| vec![problem]),
        },
        _ => Err(vec![Problem { field: None, text: format!("this is a question by {}", ask.kind) }]),
    }
}

fn fill(fields: &[(String, Given)], ask: &Ask) -> Result<Map<String, Value>, Vec<Problem>> {
    let form = Form::lenient(&ask.requested_schema());
    let (mut content, mut problems) = (ask.settled.clone(), Vec::new());
    // What is settled was settled by whoever was asked first.
    for (name, given) in fields.iter().filter(|(name, _)| !ask.settled.contains_key(name)) {
        match given.for_field(&form, name) {
            Ok(value) => drop(content.insert(name.clone(), value)),
            Err(problem) => problems.push(problem),
        }
    }
    match form.validate(&content) {
        Ok(content) if problems.is_empty() => Ok(content),
        Ok(_) => Err(problems),
        Err(others) => {
            let is_new = |problem: &Problem| !problems.iter().any(|known| known.field == problem.field);
            let others: Vec<_> = others.into_iter().filter(is_new).collect();
            problems.extend(others);
            Err(problems)
        }
    }
}
