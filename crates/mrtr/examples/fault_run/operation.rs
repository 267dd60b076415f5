//! One refund as a client lives through it: legs sent until they have an answer, some of them twice at the same time.

use std::net::SocketAddr;
use std::time::Duration;

use rand::RngExt;
use rand::rngs::StdRng;
use tokio::time::sleep;

use super::client::{Answer, Client, Leg, NoAnswer};
use super::fleet::millis;

/// How many legs are sent twice, at the same time.
const DUPLICATED: f64 = 0.20;

/// What became of an operation, as its client saw it.
pub struct Operation {
    pub order: u64,
    pub tool: &'static str,
    pub rounds: Vec<Round>,
}

/// One leg and, if it had one, its duplicate.
pub struct Round {
    pub answers: Vec<Answered>,
}

/// An answer, and what it took to get it. Times are in milliseconds since the epoch.
pub struct Answered {
    pub answer: Answer,
    pub began: u64,
    pub ended: u64,
    pub lost: u64,
    pub told_to_come_again: u64,
}

impl Operation {
    /// Calls, says yes, and does not rest before there is an answer.
    pub async fn run(to: SocketAddr, tool: &'static str, order: u64, random: &mut StdRng) -> Self {
        let mut leg = Leg::first(tool, order);
        let mut rounds = Vec::new();
        loop {
            let round = Round::run(to, &leg, random).await;
            let state = round.state().map(str::to_owned);
            rounds.push(round);
            match state {
                // A question more than there should be is not answered for ever.
                Some(state) if rounds.len() < 4 => leg = leg.confirmed(&state),
                _ => return Self { order, tool, rounds },
            }
        }
    }

    /// The text it ended with.
    pub fn done(&self) -> Option<&str> {
        self.rounds.last()?.answers.iter().find_map(|answered| match &answered.answer {
            Answer::Done(text) => Some(text.as_str()),
            _ => None,
        })
    }
}

impl Round {
    async fn run(to: SocketAddr, leg: &Leg, random: &mut StdRng) -> Self {
        let (first, second) = (random.random(), random.random());
        let answers = if random.random_bool(DUPLICATED) {
            let (first, second) = tokio::join!(until_answered(to, leg, first), until_answered(to, leg, second));
            vec![first, second]
        } else {
            vec![until_answered(to, leg, first).await]
        };
        Self { answers }
    }

    /// The state of the question, if there was one.
    fn state(&self) -> Option<&str> {
        self.answers.iter().find_map(|answered| match &answered.answer {
            Answer::Asked(state) => Some(state.as_str()),
            _ => None,
        })
    }
}

async fn until_answered(to: SocketAddr, leg: &Leg, seed: u64) -> Answered {
    let mut client = Client::of(to);
    let (began, mut lost, mut told_to_come_again) = (millis(), 0, 0);
    loop {
        match client.send(leg).await {
            Ok(answer) => return Answered { answer, began, ended: millis(), lost, told_to_come_again },
            Err(NoAnswer::Lost(_)) => lost += 1,
            Err(NoAnswer::ComeAgain(_)) => told_to_come_again += 1,
        }
        sleep(Duration::from_millis(20 + (seed >> (lost % 32)) % 80)).await;
    }
}
