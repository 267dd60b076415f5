//! `mrtr demo`: a call that is asked by one process and finished by another.
//!
//! Two server processes share a key and nothing else. This process is the round-robin front before them and the client
//! that calls through it. The instance that asks first is killed as soon as its question is here, before anybody can
//! answer. What the other one knows of the operation is what the client sends it.

use std::io::{self, IsTerminal};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anstyle::{AnsiColor, Style};
use mrtr::client::{Client, Event, Observer};

use super::answers::Flags;
use super::call::{self, Operation};
use super::{arguments, trace};
use crate::args::{DemoArgs, Lend, Show};
use crate::demo::fleet::Fleet;
use crate::demo::front::Front;
use crate::demo::rounds::{self, Round};
use crate::demo::tools::Example;
use crate::exit::{Exit, Failure};
use crate::term;

/// Runs the command.
pub(crate) async fn run(args: DemoArgs) -> Result<Exit, Failure> {
    let (example, words) = chosen(&args)?;
    let arguments = arguments::read(&words, Some(&example.input_schema()))?;
    let flags = Flags::read(&args.answers)?;

    say("starting two servers that share a key and nothing else");
    let fleet = Arc::new(Fleet::start(["alpha", "beta"]).await?);
    let _stopped = StopOnDrop(&fleet);
    fleet.each(|it| say(&format!("  {BOLD}{:<5}{BOLD:#}  pid {}, http://{}/mcp", it.name, it.pid, it.address)));
    let front = Front::bind(Arc::clone(&fleet)).await.map_err(|error| cannot_listen(&error))?;
    say("and a front that sends each request to the next of them");
    say(&format!("  {BOLD}front{BOLD:#}  {}", front.url));
    say(&format!("calling {BOLD}{}{BOLD:#} {}", example.name, term::escape::line(&words.join(" "))));

    let story = Arc::new(Story { fleet: Arc::clone(&fleet), rounds: Mutex::default() });
    let client = Client::new(&front.url)
        .map_err(|error| Failure::new(Exit::Failed, error.to_string()))?
        .name("mrtr-cli", env!("CARGO_PKG_VERSION"));
    let show = Show { tracing: args.tracing, json: false, plain: args.plain };
    let client = trace::watch(client, &show.tracing)?.observer(Watch(Arc::clone(&story)));
    let operation = Operation::Call { tool: example.name, arguments };
    let lend = Lend::default();
    let finished = tokio::select! {
        finished = call::run_with(client, operation, flags, &lend, &show) => finished,
        never = front.run() => match never {},
    };
    let finished = finished.map_err(|failure| with_example(failure, example))?;
    story.print()?;
    Ok(finished.exit)
}

/// The example, and the arguments to call it with as if they had been typed.
fn chosen(args: &DemoArgs) -> Result<(&'static Example, Vec<String>), Failure> {
    // `mrtr demo version=5` means the first example.
    let is_argument = |word: &&String| word.contains('=');
    let name = args.tool.as_ref().filter(|word| !is_argument(word)).map_or(Example::ALL[0].name, String::as_str);
    let example = Example::find(name).ok_or_else(|| unknown(name))?;
    let given: Vec<String> = args.tool.iter().filter(is_argument).chain(&args.arguments).cloned().collect();
    let is_given = |name: &str| {
        let given = given.iter().filter_map(|word| word.split_once('='));
        given.map(|(given, _)| given.strip_suffix(':').unwrap_or(given)).any(|given| given == name)
    };
    let defaults = example.arguments.iter().filter(|(name, _)| !is_given(name));
    let words = defaults.map(|(name, value)| format!("{name}={value}")).chain(given.iter().cloned()).collect();
    Ok((example, words))
}

fn unknown(name: &str) -> Failure {
    let names: Vec<_> = Example::ALL.iter().map(|example| example.name).collect();
    let hint = arguments::did_you_mean(name, &names);
    Failure::usage(format!("the demo has no tool {name:?}{hint}; it has {}", names.join(", ")))
}

fn cannot_listen(error: &io::Error) -> Failure {
    Failure::new(Exit::Failed, format!("cannot listen on a loopback port: {error}"))
}

/// Where nobody can be asked, a command that works is worth more than its parts.
fn with_example(mut failure: Failure, example: &Example) -> Failure {
    if failure.exit == Exit::Unanswered {
        let Example { name, answers, .. } = example;
        failure.message += &format!("\nthe whole demo without a terminal:\n  mrtr demo {name} {answers}");
    }
    failure
}

/// What happened so far, and the fleet it happens to.
struct Story {
    fleet: Arc<Fleet>,
    rounds: Mutex<Vec<Round>>,
}

impl Story {
    /// Takes note of a round. The first instance to ask is killed here: the driver hands no question to anybody before
    /// this returns.
    fn note(&self, mut round: Round) {
        let mut rounds = self.rounds();
        match rounds.last() {
            None if !round.asked.is_empty() => self.kill(&mut round),
            Some(_) if round.asked.is_empty() => {
                say(&format!("{BOLD}{}{BOLD:#} ends the call, from nothing but what the client sent", round.instance));
            }
            _ => {}
        }
        rounds.push(round);
    }

    fn kill(&self, round: &mut Round) {
        let Some(pid) = self.fleet.kill(&round.instance) else { return };
        round.is_last_of_instance = true;
        let red = AnsiColor::Red.on_default().bold();
        let Round { instance, asked, .. } = round;
        say(&format!(
            "{BOLD}{instance}{BOLD:#} asked {}, and is {red}killed{red:#} now: pid {pid}",
            term::escape::line(&asked.join(" and "))
        ));
    }

    fn print(&self) -> Result<(), Failure> {
        let is_plain = !io::stdout().is_terminal();
        term::print_text(&format!("\n{}", rounds::table(&self.rounds(), term::columns(80), is_plain)))
    }

    fn rounds(&self) -> MutexGuard<'_, Vec<Round>> {
        self.rounds.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Watch(Arc<Story>);

impl Observer for Watch {
    fn observe(&self, event: &Event<'_>) {
        if let Some(round) = Round::of(event) {
            self.0.note(round);
        }
    }
}

/// Ends the fleet on every way out, whoever else still holds it.
struct StopOnDrop<'a>(&'a Fleet);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.stop();
    }
}

/// Says what the demo does. The text is its own, and may be styled.
fn say(line: &str) {
    anstream::eprintln!("{line}");
}

const BOLD: Style = Style::new().bold();
