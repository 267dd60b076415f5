//! `--trace`: messages on the screen as they come and go, under the operation and round they belong to.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use hyper::HeaderMap;
use mrtr::client::{Event, Observer, OperationId, RoundOutcome};

use super::pretty::{States, pretty};
use super::secrets::Secrets;
use crate::term::escape;

/// Prints each message as a block of its own; the ids of the client say where it belongs, and nothing the server sends.
pub(super) struct Live<P> {
    states: States,
    print: P,
    secrets: Secrets,
    story: Mutex<Story>,
}

#[derive(Default)]
struct Story {
    /// What the last block was about.
    last: Option<(OperationId, u32)>,
    operations: HashMap<OperationId, Operation>,
}

#[derive(Default)]
struct Operation {
    name: String,
    rounds: Vec<Round>,
    is_over: bool,
}

#[derive(Default)]
struct Round {
    number: u32,
    requests: u32,
    sent: usize,
    received: usize,
    server: Duration,
    answers: Duration,
    questions: u32,
}

impl<P: Fn(&str) + Send + Sync> Live<P> {
    pub(super) fn new(states: States, server: &str, print: P) -> Self {
        Self { states, print, secrets: Secrets::of(server), story: Mutex::default() }
    }

    /// Sums up the operations that ended without a result.
    pub(super) fn finish(&self) {
        let mut story = self.story.lock().unwrap_or_else(PoisonError::into_inner);
        for (id, operation) in &mut story.operations {
            if !std::mem::replace(&mut operation.is_over, true) && !operation.rounds.is_empty() {
                (self.print)(&operation.summary(id));
            }
        }
    }

    fn message(&self, title: &str, headers: Option<&HeaderMap>, body: &str) -> String {
        let mut block = title.to_owned();
        for (name, value) in headers.into_iter().flat_map(|headers| self.secrets.headers(headers)) {
            block.push_str(&format!("\n    {}", escape::line(&format!("{name}: {value}"))));
        }
        let body = self.secrets.scrub(body);
        let body = match pretty(&body, self.states) {
            Some(json) => escape::json(&json),
            None => escape::block(&body),
        };
        body.lines().for_each(|line| block.push_str(&format!("\n    {line}")));
        block
    }
}

impl<P: Fn(&str) + Send + Sync> Observer for Live<P> {
    fn observe(&self, event: &Event<'_>) {
        let mut story = self.story.lock().unwrap_or_else(PoisonError::into_inner);
        let id = event.operation();
        let block = match event {
            Event::Request { headers, body, .. } => {
                self.secrets.learn(headers);
                Some(self.message(&format!("--> {} bytes", body.len()), Some(headers), body))
            }
            Event::Notification { body, .. } => {
                Some(self.message(&format!("<-- notification, {} bytes", body.len()), None, body))
            }
            Event::Response { status, headers, body, elapsed, .. } => {
                let title = format!("<-- HTTP {status}, {} bytes, {}", body.len(), time(*elapsed));
                Some(self.message(&title, Some(headers), body))
            }
            Event::Lost { error, elapsed, .. } => Some(format!(
                "<-- nothing, after {}: {}",
                time(*elapsed),
                escape::line(&self.secrets.scrub(&error.to_string()))
            )),
            Event::Answered { ask, response, elapsed } => {
                let action = response["action"].as_str().unwrap_or("a result");
                Some(format!("    {} answered with {action}, after {}", escape::line(&ask.key), time(*elapsed)))
            }
            Event::Unanswered { ask, elapsed } => {
                Some(format!("    {} not answered, after {}", escape::line(&ask.key), time(*elapsed)))
            }
            Event::Pause { pause, .. } => {
                Some(format!("    the server asks to be called again; next call in {}", time(*pause)))
            }
            _ => None,
        };
        let name = story.note(event);
        if let Some(block) = block {
            let place = (id.clone(), event.round());
            if story.last.as_ref() != Some(&place) {
                (self.print)(&format!("=== operation {id}: {name}, round {}", event.round()));
                story.last = Some(place);
            }
            (self.print)(&block);
        }
        if let Event::Round(round) = event
            && round.outcome == RoundOutcome::Complete
            && let Some(operation) = story.operations.get_mut(id)
        {
            operation.is_over = true;
            (self.print)(&operation.summary(id));
        }
    }
}

impl Story {
    /// Counts an event, and returns the name of its operation.
    fn note(&mut self, event: &Event<'_>) -> String {
        let operation = self.operations.entry(event.operation().clone()).or_default();
        match event {
            Event::Start { method, target, .. } => {
                operation.name = escape::line(format!("{method} {target}").trim_end());
            }
            Event::Request { round, body, .. } => {
                let round = operation.round(*round);
                round.requests += 1;
                round.sent += body.len();
            }
            Event::Response { round, body, elapsed, .. } => {
                let round = operation.round(*round);
                round.received += body.len();
                round.server += *elapsed;
            }
            Event::Lost { round, elapsed, .. } => operation.round(*round).server += *elapsed,
            Event::Answered { ask, elapsed, .. } | Event::Unanswered { ask, elapsed, .. } => {
                let round = operation.round(ask.round);
                round.questions += 1;
                round.answers += *elapsed;
            }
            _ => {}
        }
        operation.name.clone()
    }
}

impl Operation {
    fn round(&mut self, number: u32) -> &mut Round {
        let at = self.rounds.iter().position(|round| round.number == number).unwrap_or_else(|| {
            self.rounds.push(Round { number, ..Round::default() });
            self.rounds.len() - 1
        });
        &mut self.rounds[at]
    }

    fn summary(&self, id: &OperationId) -> String {
        let s = if self.rounds.len() == 1 { "" } else { "s" };
        let sent: usize = self.rounds.iter().map(|round| round.sent).sum();
        let received: usize = self.rounds.iter().map(|round| round.received).sum();
        let count = self.rounds.len();
        let mut text = format!("=== operation {id}: {count} round{s}, {sent} bytes sent, {received} received");
        for round in &self.rounds {
            let more = if round.requests > 1 { format!(" ({} requests)", round.requests) } else { String::new() };
            text.push_str(&format!("\n    round {}: {} in the server{more}", round.number, time(round.server)));
            if round.questions > 0 {
                let s = if round.questions == 1 { "" } else { "s" };
                text.push_str(&format!(", {} for {} answer{s}", time(round.answers), round.questions));
            }
        }
        let server = self.rounds.iter().map(|round| round.server).sum();
        let answers = self.rounds.iter().map(|round| round.answers).sum();
        text.push_str(&format!("\n    in sum:  {} in the server, {} for answers", time(server), time(answers)));
        text
    }
}

/// Milliseconds, or seconds where it is people who take them.
fn time(time: Duration) -> String {
    if time < Duration::from_secs(1) {
        format!("{} ms", time.as_millis())
    } else {
        format!("{:.1} s", time.as_secs_f64())
    }
}
