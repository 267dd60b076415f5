//! What came of it: every fault that was tried, and what went wrong.

use std::collections::BTreeMap;
use std::fmt;

/// What can happen to a call between a client and a fleet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Fault {
    /// Nothing: the call as it should be.
    None,
    /// Every request goes to another instance than the one before.
    TwoInstances,
    /// A reply does not arrive, and the client sends the same request again.
    LostReply,
    /// The instance dies, or the client hangs up, while the handler is at work; the client sends the request again.
    TornOff,
    /// A request arrives once more when the operation is long over.
    LateDuplicate,
    /// A request arrives at two instances at the same time.
    ParallelDuplicate,
    /// One state comes back twice, with two valid answers.
    Fork,
    /// One state comes back twice, first with the answer, then with a refusal.
    ForkRefused,
    /// The question is another one by the time its answer arrives.
    Drift,
    /// The answer arrives when the state has expired.
    Expiry,
    /// The sealing key changes between two rounds, forwards or back.
    Rotation,
    /// The key of a state is gone when it comes back.
    KeyGone,
    /// The user declines.
    Decline,
    /// The user cancels.
    Cancel,
    /// A question gets no answer.
    MissingAnswer,
    /// A question gets an answer that does not fit it.
    InvalidAnswer,
    /// The state was changed on its way.
    TamperedState,
    /// The state comes back from somebody else.
    OtherCaller,
}

/// Something that went wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// What it is.
    pub problem: Problem,
    /// The fault that brought it about.
    pub fault: Fault,
    /// The round the fault struck, counted from 1; 0 where it struck no single one.
    pub round: usize,
    /// The question it struck, for faults of one question.
    pub key: Option<String>,
}

/// What can go wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// An effect happened more than once in one operation.
    Repeated {
        /// What the effect was recorded as, or the step's key.
        effect: String,
        /// Whether it is a step that nothing was recorded in.
        is_step: bool,
        /// How often it happened.
        times: usize,
    },
    /// An effect happened although the user had refused.
    AfterRefusal {
        /// What the effect was recorded as, or the step's key.
        effect: String,
    },
    /// The operation ended without a result, a refusal or a clear error.
    NoOutcome {
        /// How it stands.
        why: String,
    },
    /// The operation ended or went on in another way than it should.
    Unexpected {
        /// What should have happened.
        expected: String,
        /// What happened.
        got: String,
    },
}

/// What [`torture`](super::torture) tried and found. Its `Display` is the account to read, at most 80 columns wide.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    pub(super) tool: String,
    pub(super) rounds: usize,
    pub(super) requests: usize,
    /// How often each fault was tried.
    pub(super) runs: BTreeMap<Fault, usize>,
    pub(super) findings: Vec<Finding>,
}

impl Report {
    /// Whether nothing went wrong.
    pub fn is_clean(&self) -> bool {
        self.findings.is_empty()
    }

    /// Everything that went wrong.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// How many runs the tool went through.
    pub fn runs(&self) -> usize {
        self.runs.values().sum()
    }

    /// Asserts that nothing went wrong.
    ///
    /// # Panics
    /// With the whole report, if something did.
    #[track_caller]
    pub fn assert_clean(&self) {
        assert!(self.is_clean(), "{self}");
    }
}

impl Fault {
    fn name(self) -> &'static str {
        match self {
            Self::None => "no fault at all",
            Self::TwoInstances => "two instances in turn",
            Self::LostReply => "lost reply",
            Self::TornOff => "torn off at work",
            Self::LateDuplicate => "duplicate after the end",
            Self::ParallelDuplicate => "parallel duplicate",
            Self::Fork => "fork: two answers",
            Self::ForkRefused => "fork: answer, then refusal",
            Self::Drift => "question changed",
            Self::Expiry => "state expired",
            Self::Rotation => "keys rotated",
            Self::KeyGone => "key gone",
            Self::Decline => "declined",
            Self::Cancel => "cancelled",
            Self::MissingAnswer => "missing answer",
            Self::InvalidAnswer => "invalid answer",
            Self::TamperedState => "tampered state",
            Self::OtherCaller => "other caller",
        }
    }
}

impl Problem {
    /// The heading it is listed under.
    fn heading(&self) -> &'static str {
        match self {
            Self::Repeated { .. } => "More than once in one operation:",
            Self::AfterRefusal { .. } => "After the user had refused:",
            Self::NoOutcome { .. } => "Without an outcome:",
            Self::Unexpected { .. } => "Other than it should be:",
        }
    }

    /// What findings of the same thing have in common.
    fn subject(&self) -> String {
        match self {
            Self::Repeated { effect, is_step: true, .. } => format!("step {effect:?}"),
            Self::Repeated { effect, .. } | Self::AfterRefusal { effect } => format!("{effect:?}"),
            Self::NoOutcome { why } => why.clone(),
            Self::Unexpected { expected, got } => format!("expected that {expected}; it {got}"),
        }
    }
}

impl Finding {
    /// As it is listed.
    fn line(&self) -> String {
        match self.problem {
            Problem::Repeated { times, .. } => format!("{times} times: {self}"),
            _ => self.to_string(),
        }
    }

    /// What to do about it.
    fn advice(&self) -> Option<&'static str> {
        match self.problem {
            Problem::Repeated { .. } if self.fault == Fault::None => Some(
                "A handler runs from the top in every round. What must not happen in each of them belongs into a step, \
                 below the last question.",
            ),
            Problem::Repeated { .. } => Some(
                "What no state records yet happens again when its request is repeated. Tool::once() has each retry done once; \
                 Tool::idempotency_keys() first calls too. Or hand cx.operation_id() to whatever can deduplicate, and \
                 say so to the script: repeatable(..).",
            ),
            Problem::AfterRefusal { .. } => Some(
                "`?` on a question ends the tool when it is refused. Where it goes on, say so to the script: optional(..) \
                 for a question it can do without, compensates(..) for an effect that takes something back.",
            ),
            Problem::NoOutcome { .. } => Some("The server's log says more: subscribe to `tracing` in the test."),
            Problem::Unexpected { .. } => None,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.fault)?;
        if let Some(key) = &self.key {
            write!(f, " {key:?}")?;
        }
        match self.round {
            0 => Ok(()),
            round => write!(f, ", round {round}"),
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { tool, rounds, requests, .. } = self;
        let rounds = if *rounds == 1 { "1 round".to_owned() } else { format!("{rounds} rounds") };
        let verdict = match self.findings.len() {
            0 => "clean".to_owned(),
            1 => "1 finding".to_owned(),
            many => format!("{many} findings"),
        };
        writeln!(f, "{tool}: {verdict}")?;
        writeln!(f, "  {} runs of a call of {rounds}, {requests} requests\n", self.runs())?;
        for (fault, runs) in &self.runs {
            let found = self.findings.iter().filter(|finding| finding.fault == *fault).count();
            let found = if found == 0 { "ok".to_owned() } else { format!("{found} found") };
            writeln!(f, "  {:<28}{runs:>4}   {found}", fault.name())?;
        }
        self.write_findings(f)
    }
}

impl Report {
    fn write_findings(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut by_heading = BTreeMap::<usize, BTreeMap<String, Vec<&Finding>>>::new();
        for finding in &self.findings {
            let order = match finding.problem {
                Problem::Repeated { .. } => 0,
                Problem::AfterRefusal { .. } => 1,
                Problem::NoOutcome { .. } => 2,
                Problem::Unexpected { .. } => 3,
            };
            by_heading.entry(order).or_default().entry(finding.problem.subject()).or_default().push(finding);
        }
        for subjects in by_heading.values() {
            let Some(first) = subjects.values().flatten().next() else { continue };
            writeln!(f, "\n{}", first.problem.heading())?;
            for (subject, findings) in subjects {
                write_wrapped(f, "  ", subject)?;
                let mut lines: Vec<String> = findings.iter().map(|finding| finding.line()).collect();
                // A fault is tried in several ways.
                lines.dedup();
                for line in lines {
                    write_wrapped(f, "    ", &line)?;
                }
            }
            let mut advice: Vec<&str> = subjects.values().flatten().filter_map(|finding| finding.advice()).collect();
            advice.sort_unstable();
            advice.dedup();
            for advice in advice {
                write_wrapped(f, "  > ", advice)?;
            }
        }
        Ok(())
    }
}

/// Writes a text in lines of at most 80 columns, each with this in front.
fn write_wrapped(f: &mut fmt::Formatter<'_>, front: &str, text: &str) -> fmt::Result {
    let mut line = String::new();
    for word in text.split_whitespace() {
        let width = front.chars().count() + line.chars().count() + 1 + word.chars().count();
        if !line.is_empty() && width > 80 {
            writeln!(f, "{front}{line}")?;
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    writeln!(f, "{front}{line}")
}
