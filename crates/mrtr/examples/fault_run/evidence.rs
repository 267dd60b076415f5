//! The evidence: what the instances, nginx and the run itself wrote down, and what it says of an outcome that is unknown.

use std::collections::HashMap;
use std::path::Path;

use super::fleet::{Events, Kill, Outcome};
use super::nginx;
use super::operation::Answered;

/// How long after a handler's end its instance may still be at writing that down, in milliseconds.
const SETTLING: u64 = 1_000;
/// How long after a request was sent to an instance its handler may begin, or after its connection broke go on.
const AT_WORK: u64 = 3_000;
/// nginx rounds its times.
const ROUNDING: u64 = 5;

/// Why nobody knows what became of a leg.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cause {
    KilledBeforeHandler,
    KilledInHandler,
    KilledBeforeSettled,
    RedisAway,
}

pub struct Evidence<'a> {
    kills: HashMap<u32, Kill>,
    events: &'a Events,
    /// What instances noted for each leg.
    handlers: HashMap<LegId, Vec<Handler>>,
    /// Where nginx sent each leg.
    sent: HashMap<LegId, Vec<Sent>>,
}

/// Order and round.
type LegId = (u64, u32);

/// A request on its way to an instance and back.
struct Sent {
    to: String,
    from: u64,
    until: u64,
}

/// A handler's run.
struct Handler {
    process: u32,
    began: u64,
    ended: Option<u64>,
}

impl<'a> Evidence<'a> {
    pub fn gather(directory: &Path, events: &'a Events) -> Outcome<Self> {
        let kills = events.kills.iter().map(|kill| (kill.process, *kill)).collect();
        let mut evidence = Self { kills, events, handlers: HashMap::new(), sent: HashMap::new() };
        for line in std::fs::read_to_string(directory.join("legs.log"))?.lines() {
            evidence.read_leg(line).ok_or_else(|| format!("not a leg: {line:?}"))?;
        }
        for line in std::fs::read_to_string(directory.join(nginx::LOG))?.lines() {
            // Those without a leg are not from our clients.
            let _ = evidence.read_request(line);
        }
        Ok(evidence)
    }

    fn read_leg(&mut self, line: &str) -> Option<()> {
        let words: Vec<&str> = line.split(' ').collect();
        let [at, what, process, order, round] = words[..] else { return None };
        let (at, process, leg) = (at.parse().ok()?, process.parse().ok()?, (order.parse().ok()?, round.parse().ok()?));
        let handlers = self.handlers.entry(leg).or_default();
        match what {
            "begin" => handlers.push(Handler { process, began: at, ended: None }),
            _ => handlers.iter_mut().rev().find(|handler| handler.process == process)?.ended = Some(at),
        }
        Some(())
    }

    fn read_request(&mut self, line: &str) -> Option<()> {
        let (words, addresses) = (line.split(' ').collect::<Vec<_>>(), line.splitn(5, ' ').nth(4)?);
        let [at, took, leg] = words.get(..3)?.try_into().ok()?;
        let (order, round) = <str>::split_once(leg, '/')?;
        let millis = |seconds: &str| seconds.parse::<f64>().ok().map(|seconds| (seconds * 1000.0) as u64);
        let (until, took) = (millis(at)?, millis(took)?);
        let sent = self.sent.entry((order.parse().ok()?, round.parse().ok()?)).or_default();
        let from = until.saturating_sub(took);
        sent.extend(addresses.split(", ").map(|to| Sent { to: to.to_owned(), from, until }));
        Some(())
    }

    /// Why the outcome of a leg that was answered so was not known; `None` if nothing tells, or if it was.
    pub fn cause(&self, order: u64, round: u32, answered: &Answered) -> Option<Cause> {
        let mut torn_off = None;
        for handler in self.handlers.get(&(order, round)).into_iter().flatten() {
            torn_off = torn_off.or_else(|| self.torn_off(handler, answered));
            if torn_off.is_none() && !self.may_be_unsettled(handler) {
                return None;
            }
        }
        torn_off
            .or_else(|| self.before_handler(order, round, answered))
            .or_else(|| self.was_redis_away(answered).then_some(Cause::RedisAway))
    }

    /// Whether the ledger may not know of a handler's end though its instance lived on: Redis was away.
    fn may_be_unsettled(&self, handler: &Handler) -> bool {
        let Some(ended) = handler.ended else { return false };
        self.events.redis_away.iter().any(|&(from, until)| from <= ended + SETTLING && ended <= until + SETTLING)
    }

    /// The handler's instance was killed while it was at work, or before it can have been written down.
    fn torn_off(&self, handler: &Handler, answered: &Answered) -> Option<Cause> {
        let kill = self.kills.get(&handler.process).filter(|kill| kill.at <= answered.ended)?;
        match handler.ended {
            None if kill.at >= handler.began => Some(Cause::KilledInHandler),
            Some(ended) if kill.at + ROUNDING >= ended && kill.at <= ended + SETTLING => {
                Some(Cause::KilledBeforeSettled)
            }
            _ => None,
        }
    }

    /// An instance that this leg was sent to was killed soon after it was.
    fn before_handler(&self, order: u64, round: u32, answered: &Answered) -> Option<Cause> {
        let ran_at = |kill: &Kill| {
            let known = self.handlers.get(&(order, round)).into_iter().flatten();
            known.into_iter().any(|handler| handler.process == kill.process)
        };
        let sent = self.sent.get(&(order, round))?;
        let was_killed = sent.iter().any(|Sent { to, from, until }| {
            self.events.kills.iter().any(|kill| {
                let near = from.saturating_sub(ROUNDING)..=(until + AT_WORK).min(answered.ended);
                kill.address.to_string() == *to && near.contains(&kill.at) && !ran_at(kill)
            })
        });
        was_killed.then_some(Cause::KilledBeforeHandler)
    }

    /// Whether Redis was away while the leg was under way.
    pub fn was_redis_away(&self, answered: &Answered) -> bool {
        self.events.redis_away.iter().any(|&(from, until)| from <= answered.ended && answered.began <= until)
    }

    /// How often a handler ran for a leg.
    pub fn runs(&self, order: u64, round: u32) -> usize {
        self.handlers.get(&(order, round)).map_or(0, Vec::len)
    }
}
