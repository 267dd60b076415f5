//! Questions as lines: nothing moves, nothing is drawn over, options have numbers.
//!
//! For screen readers, terminals that can do no more, and programs at the other end of a pipe. A line that begins with a
//! colon is a command (`:back`), and `::` at its beginning stands for a colon.

use std::io::{self, BufRead as _, Write as _};

use super::console::{Console, Left, PickPrompt, Said, SomePrompt, TextPrompt, Ways, matching};

/// Reads lines from stdin, and writes to stderr.
#[derive(Debug, Default)]
pub(super) struct Plain;

impl Console for Plain {
    fn text(&mut self, prompt: &TextPrompt<'_>) -> Result<Said<String>, Left> {
        if !prompt.initial.is_empty() {
            tell(&format!("Enter alone answers: {}", super::escape::line(prompt.initial)));
        }
        loop {
            let text = match read(prompt.ways)? {
                Line::Said(said) => return Ok(said),
                Line::Text(text) if text.is_empty() => prompt.initial.to_owned(),
                Line::Text(text) => text,
            };
            match (prompt.check)(&text) {
                Ok(()) => return Ok(Said::Given(text)),
                Err(problem) => tell(&format!("Error: {problem}")),
            }
        }
    }

    fn pick(&mut self, prompt: &PickPrompt<'_>) -> Result<Said<usize>, Left> {
        if !prompt.title.is_empty() {
            tell(prompt.title);
        }
        let mut shown = Shown::all(prompt.options, prompt.numbers > 0);
        if let Some(start) = prompt.start.and_then(|start| prompt.options.get(start)) {
            tell(&format!("Enter alone picks: {start}"));
        }
        loop {
            let text = match read(prompt.ways)? {
                Line::Said(said) => return Ok(said),
                Line::Text(text) => text,
            };
            let found = match text.trim() {
                "" => prompt.start.map(Said::Given),
                text if prompt.numbers > 0 => numbered(text, prompt.numbers).or_else(|| shown.find(text)),
                text => shown.find(text),
            };
            match found {
                Some(said) => return Ok(said),
                None if text.trim().is_empty() => tell("Error: an answer is needed"),
                None => shown.narrow(&text),
            }
        }
    }

    fn pick_some(&mut self, prompt: &SomePrompt<'_>) -> Result<Said<Vec<usize>>, Left> {
        let shown = Shown::all(prompt.options, false);
        tell("Type the numbers of your choices with commas between them, or :empty for none.");
        if !prompt.picked.is_empty() {
            let numbers: Vec<_> = prompt.picked.iter().map(|index| (index + 1).to_string()).collect();
            tell(&format!("Enter alone picks: {}", numbers.join(", ")));
        }
        loop {
            let picked = match read::<usize>(Ways { empty: true, ..prompt.ways })? {
                Line::Said(Said::Empty) => Ok(Vec::new()),
                Line::Said(Said::Omit) => return Ok(Said::Omit),
                Line::Said(_) => return Ok(Said::Back),
                Line::Text(text) if text.trim().is_empty() => Ok(prompt.picked.to_vec()),
                Line::Text(text) => several(&shown, &text),
            };
            match picked.and_then(|picked| (prompt.check)(&picked).map(|()| picked)) {
                Ok(picked) => return Ok(Said::Given(picked)),
                Err(problem) => tell(&format!("Error: {problem}")),
            }
        }
    }

    fn help(&self) -> &'static str {
        ":help lists what else you can type, such as :decline and :cancel"
    }
}

/// A line that was typed.
enum Line<T> {
    Text(String),
    Said(Said<T>),
}

/// Reads a line, and carries out commands that are no answer.
fn read<T>(ways: Ways) -> Result<Line<T>, Left> {
    loop {
        let line = read_line()?;
        let Some(command) = line.strip_prefix(':') else { return Ok(Line::Text(line)) };
        match command.trim() {
            "decline" => return Err(Left::Declined),
            "cancel" => return Err(Left::Cancelled),
            "stop" => return Err(Left::Stopped),
            "back" if ways.back => return Ok(Line::Said(Said::Back)),
            "omit" if ways.omit => return Ok(Line::Said(Said::Omit)),
            "empty" if ways.empty => return Ok(Line::Said(Said::Empty)),
            "back" => tell("Error: this is the first question"),
            "omit" => tell("Error: an answer is needed here"),
            "empty" => tell("Error: an empty answer does not fit here"),
            "help" => help(ways),
            text if text.starts_with(':') => return Ok(Line::Text(command.to_owned())),
            _ => tell("Error: there is no such command; :help lists them, and :: stands for a colon"),
        }
    }
}

fn read_line() -> Result<String, Left> {
    let mut stderr = io::stderr();
    // A closed stderr is noticed by nobody but the person who closed it.
    let _ = stderr.write_all(b"> ").and_then(|()| stderr.flush());
    let mut bytes = Vec::new();
    io::stdin().lock().read_until(b'\n', &mut bytes)?;
    // What was cut off in the middle of a line is no answer, and certainly no consent.
    if bytes.last() != Some(&b'\n') {
        tell("");
        return Err(Left::Stopped);
    }
    let line = String::from_utf8_lossy(&bytes);
    Ok(line.trim_end_matches(['\n', '\r']).to_owned())
}

fn help(ways: Ways) {
    let commands = [
        (ways.back, ":back     the question before"),
        (ways.omit, ":omit     leave this answer out"),
        (ways.empty, ":empty    answer with nothing in it"),
        (true, ":decline  say no to the server"),
        (true, ":cancel   leave it undecided"),
        (true, ":stop     stop the whole call"),
        (true, "::        a colon at the beginning of an answer"),
    ];
    commands.into_iter().filter(|(is_possible, _)| *is_possible).for_each(|(_, text)| tell(&format!("  {text}")));
}

/// Options under the numbers a person sees.
struct Shown<'a> {
    options: &'a [String],
    /// Whether numbers mean something else here.
    by_name: bool,
}

impl<'a> Shown<'a> {
    fn all(options: &'a [String], by_name: bool) -> Self {
        let shown = Self { options, by_name };
        shown.list(&(0..options.len()).collect::<Vec<_>>());
        shown
    }

    fn list(&self, indices: &[usize]) {
        for &index in indices.iter().take(MOST_LISTED) {
            if let Some(option) = self.options.get(index) {
                tell(&if self.by_name { format!("  {option}") } else { format!("  {}. {option}", index + 1) });
            }
        }
        if indices.len() > MOST_LISTED {
            tell(&format!("  {} more; type a part of one to search for it", indices.len() - MOST_LISTED));
        }
    }

    fn find(&self, text: &str) -> Option<Said<usize>> {
        self.index(text).map(Said::Given)
    }

    /// The option of this number, of this name, or the only one that begins with or holds the text.
    fn index(&self, text: &str) -> Option<usize> {
        let text = text.trim();
        if let Some(index) = self.options.iter().position(|option| option == text) {
            return Some(index);
        }
        if !self.by_name
            && let Ok(number) = text.parse::<usize>()
        {
            return number.checked_sub(1).filter(|index| *index < self.options.len());
        }
        let lower = text.to_lowercase();
        let begins =
            |index: &&usize| self.options.get(**index).is_some_and(|option| option.to_lowercase().starts_with(&lower));
        let found = matching(self.options, text);
        match (found.as_slice(), found.iter().filter(begins).count()) {
            ([only], _) => Some(*only),
            ([first, ..], 1) => Some(*first),
            _ => None,
        }
    }

    fn narrow(&mut self, text: &str) {
        let found = matching(self.options, text);
        if found.is_empty() {
            tell("Error: there is no such choice");
        } else {
            tell("Error: which one?");
            self.list(&found);
        }
    }
}

fn numbered(text: &str, most: usize) -> Option<Said<usize>> {
    text.parse().ok().filter(|number| (1..=most).contains(number)).map(Said::Number)
}

fn several(shown: &Shown<'_>, text: &str) -> Result<Vec<usize>, String> {
    let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
    let mut picked = parts
        .map(|part| shown.index(part).ok_or_else(|| format!("{} is none of the choices", super::escape::line(part))))
        .collect::<Result<Vec<_>, _>>()?;
    picked.sort_unstable();
    picked.dedup();
    Ok(picked)
}

fn tell(text: &str) {
    anstream::eprintln!("{text}");
}

/// Most options read out at once.
const MOST_LISTED: usize = 40;
