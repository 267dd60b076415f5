//! The few things a question needs of a terminal, whatever sort of terminal it is.
//!
//! [`super::keyboard`] has them with arrows and a cursor that moves; [`super::plain`] with lines in and lines out, for
//! screen readers, dumb terminals and pipes. What is asked, and what an answer means, is decided by the callers.

use std::io;

use mrtr::client::{Answer, NotAnswered};

/// Asks for one thing at a time. What is passed in is shown as it is: a server's text is made harmless before.
pub(super) trait Console {
    /// Has a line of text typed, again until `check` takes it.
    fn text(&mut self, prompt: &TextPrompt<'_>) -> Result<Said<String>, Left>;

    /// Has one of some options picked, by its index.
    fn pick(&mut self, prompt: &PickPrompt<'_>) -> Result<Said<usize>, Left>;

    /// Has any number of options picked, again until `check` takes them.
    fn pick_some(&mut self, prompt: &SomePrompt<'_>) -> Result<Said<Vec<usize>>, Left>;

    /// How a person declines or goes back, in a line.
    fn help(&self) -> &'static str;
}

/// What came of a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Said<T> {
    Given(T),
    /// The number of something listed above, from 1.
    Number(usize),
    /// To the question before.
    Back,
    /// The answer is to be left out.
    Omit,
    /// The answer is the empty text.
    Empty,
}

/// How a person left a question instead of answering it.
#[derive(Debug)]
pub(super) enum Left {
    /// By saying no.
    Declined,
    /// Without a decision.
    Cancelled,
    /// And the whole call with it: Ctrl-C, or there is nobody any more.
    Stopped,
    /// Not at all: the terminal failed.
    Broken(io::Error),
}

impl Left {
    /// Says it in terms of the protocol.
    pub(super) fn settle(self) -> Result<Answer, NotAnswered> {
        match self {
            Self::Declined => Ok(Answer::decline()),
            Self::Cancelled => Ok(Answer::cancel()),
            Self::Stopped => Err(NotAnswered::Abandoned),
            Self::Broken(error) => Err(NotAnswered::failed(format!("the terminal failed: {error}"))),
        }
    }
}

impl From<io::Error> for Left {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            // There is nobody at the other end: what Ctrl-C means, said by hanging up.
            io::ErrorKind::UnexpectedEof | io::ErrorKind::BrokenPipe => Self::Stopped,
            _ => Self::Broken(error),
        }
    }
}

/// What a person can do at a prompt beside answering it; declining and cancelling are always possible.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ways {
    pub(super) back: bool,
    pub(super) omit: bool,
    pub(super) empty: bool,
}

/// A line of text to be typed.
pub(super) struct TextPrompt<'a> {
    /// What to start from: a default, or the answer so far.
    pub(super) initial: &'a str,
    pub(super) ways: Ways,
    /// Says what is wrong with a text.
    pub(super) check: &'a dyn Fn(&str) -> Result<(), String>,
}

/// Options to pick one of.
pub(super) struct PickPrompt<'a> {
    /// The question, where it was not asked above.
    pub(super) title: &'a str,
    pub(super) options: &'a [String],
    /// The option that Enter alone picks; without one, Enter alone picks nothing.
    pub(super) start: Option<usize>,
    /// How many things above can be named by their number in place of an option.
    pub(super) numbers: usize,
    pub(super) ways: Ways,
}

/// Options to pick any number of.
pub(super) struct SomePrompt<'a> {
    pub(super) options: &'a [String],
    /// Those picked so far.
    pub(super) picked: &'a [usize],
    pub(super) ways: Ways,
    /// Says what is wrong with a selection.
    pub(super) check: &'a dyn Fn(&[usize]) -> Result<(), String>,
}

/// Has one of some choices picked that stand for values.
pub(super) fn pick<T: Copy>(
    console: &mut dyn Console,
    title: &str,
    choices: &[(&str, T)],
    start: Option<usize>,
) -> Result<T, Left> {
    let options: Vec<String> = choices.iter().map(|(label, _)| (*label).to_owned()).collect();
    let prompt = PickPrompt { title, options: &options, start, numbers: 0, ways: Ways::default() };
    loop {
        if let Said::Given(index) = console.pick(&prompt)?
            && let Some((_, value)) = choices.get(index)
        {
            return Ok(*value);
        }
    }
}

/// The options that hold a text, those that begin with it first.
pub(super) fn matching(options: &[String], text: &str) -> Vec<usize> {
    let text = text.trim().to_lowercase();
    let lower: Vec<(usize, String)> = options.iter().map(|option| option.to_lowercase()).enumerate().collect();
    let (first, others): (Vec<_>, Vec<_>) =
        lower.iter().filter(|(_, option)| option.contains(&text)).partition(|(_, option)| option.starts_with(&text));
    first.into_iter().chain(others).map(|(index, _)| *index).collect()
}
