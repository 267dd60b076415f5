//! Lists under the cursor: one option is picked, or any number of them.
//!
//! What is typed searches, where it does not name something above by its number.

use anstyle::{AnsiColor, Style};

use super::canvas::Frame;
use super::console::{Said, Ways, matching};
use super::escape;
use super::keyboard::{Live, complaint, dim, help, width};
use super::keys::Key;
use super::layout::{cut, screen};

/// Options, one of which is under the cursor, and what is typed to find others.
pub(super) struct List<'a> {
    title: &'a str,
    options: &'a [String],
    /// The indices of those that fit what was typed.
    found: Vec<usize>,
    /// The place in `found` that is under the cursor.
    at: Option<usize>,
    search: String,
    numbers: usize,
    error: Option<String>,
    pub(super) ways: Ways,
}

impl<'a> List<'a> {
    pub(super) fn new(title: &'a str, options: &'a [String], at: Option<usize>, numbers: usize) -> Self {
        let found = (0..options.len()).collect();
        let (search, error, ways) = (String::new(), None, Ways::default());
        Self { title, options, found, at, search, numbers, error, ways }
    }

    fn index(&self) -> Option<usize> {
        self.found.get(self.at?).copied()
    }

    /// Does what a key means for any list; false if it means nothing.
    fn moved(&mut self, key: &Key) -> bool {
        let last = self.found.len().saturating_sub(1);
        let page = rows();
        self.at = match (key, self.at) {
            (Key::Up, None | Some(0)) | (Key::End, _) => Some(last),
            (Key::Up, Some(at)) => Some(at - 1),
            (Key::Down, None) | (Key::Home, _) => Some(0),
            (Key::Down, Some(at)) => Some(if at >= last { 0 } else { at + 1 }),
            (Key::PageUp, at) => Some(at.unwrap_or(0).saturating_sub(page)),
            (Key::PageDown, at) => Some((at.unwrap_or(0) + page).min(last)),
            _ => return self.searched(key),
        };
        self.error = None;
        true
    }

    fn searched(&mut self, key: &Key) -> bool {
        match key {
            Key::Char(c) => self.search.push(*c),
            Key::Paste(text) => self.search.push_str(text.lines().next().unwrap_or_default()),
            Key::Backspace => drop(self.search.pop()),
            Key::DeleteLine | Key::DeleteWord => self.search.clear(),
            _ => return false,
        }
        self.search_anew();
        true
    }

    fn search_anew(&mut self) {
        self.error = None;
        let is_number = self.number().is_some();
        if self.search.is_empty() || is_number {
            self.found = (0..self.options.len()).collect();
            self.at = if is_number { None } else { Some(0) };
        } else {
            self.found = matching(self.options, &self.search);
            self.at = (!self.found.is_empty()).then_some(0);
        }
    }

    fn number(&self) -> Option<usize> {
        self.search.trim().parse().ok().filter(|number| (1..=self.numbers).contains(number))
    }

    /// The lines, with a mark before each option.
    fn lines(&self, mark: impl Fn(usize) -> &'static str) -> Vec<String> {
        let mut lines = Vec::new();
        if !self.title.is_empty() {
            let bold = Style::new().bold();
            lines.push(format!("{bold}{}{bold:#}", cut(self.title, width())));
        }
        let page = rows().min(self.found.len());
        let at = self.at.unwrap_or(0);
        let first = at.saturating_sub(page / 2).min(self.found.len() - page);
        for (place, &index) in self.found.iter().enumerate().skip(first).take(page) {
            let pointer = if self.at == Some(place) { ">" } else { " " };
            let option = self.options.get(index).map(String::as_str).unwrap_or_default();
            let line = cut(&format!("{pointer} {}{option}", mark(index)), width());
            let style = if self.at == Some(place) { AnsiColor::Cyan.on_default() } else { Style::new() };
            lines.push(format!("{style}{line}{style:#}"));
        }
        if page < self.found.len() {
            lines.push(dim(&format!("  ({} to {} of {})", first + 1, first + page, self.found.len())));
        }
        if !self.search.is_empty() {
            lines.push(cut(&format!("  typed: {}", escape::line(&self.search)), width()));
        }
        if self.found.is_empty() {
            lines.extend(complaint("there is no such choice"));
        }
        lines.extend(self.error.iter().flat_map(|error| complaint(error)));
        lines
    }

    fn picked(&self) -> Option<&String> {
        self.options.get(self.index()?)
    }

    /// What Enter comes to.
    fn enter(&mut self) -> Option<Said<usize>> {
        if let Some(number) = self.number() {
            return Some(Said::Number(number));
        }
        if self.at.is_none() && !self.found.is_empty() {
            self.error = Some("pick one with the arrows, or type how it begins".to_owned());
        }
        self.index().map(Said::Given)
    }

    fn take_search_back(&mut self) -> bool {
        let was_searched = !self.search.is_empty();
        if was_searched {
            self.search.clear();
            self.search_anew();
        }
        was_searched
    }
}

impl Live<usize> for List<'_> {
    fn frame(&self) -> Frame {
        let mut lines = self.lines(|_| "");
        let what = if self.numbers > 0 { "Enter: pick, number: change" } else { "Enter: pick" };
        lines.push(help(self.ways, what));
        Frame { lines, cursor: None }
    }

    fn press(&mut self, key: Key) -> Option<Said<usize>> {
        match key {
            Key::Enter => self.enter(),
            key => {
                self.moved(&key);
                None
            }
        }
    }

    fn answered(&self) -> Vec<String> {
        let number = self.number().map(|number| format!("> {number}"));
        let picked = self.picked().map(|option| format!("> {option}"));
        let line = number.or(picked).map(|line| cut(&line, width()));
        [self.title.to_owned()].into_iter().filter(|title| !title.is_empty()).chain(line).collect()
    }

    fn is_untouched(&self) -> bool {
        self.search.is_empty()
    }

    fn escapes(&mut self) -> bool {
        self.take_search_back()
    }
}

/// A list with a box before each option.
pub(super) struct Checks<'a> {
    pub(super) list: List<'a>,
    pub(super) picked: Vec<bool>,
    pub(super) check: &'a dyn Fn(&[usize]) -> Result<(), String>,
}

impl Checks<'_> {
    fn indices(&self) -> Vec<usize> {
        self.picked.iter().enumerate().filter(|(_, picked)| **picked).map(|(index, _)| index).collect()
    }

    fn toggle(&mut self) {
        if let Some(picked) = self.list.index().and_then(|index| self.picked.get_mut(index)) {
            *picked = !*picked;
        }
        self.list.error = None;
    }
}

impl Live<Vec<usize>> for Checks<'_> {
    fn frame(&self) -> Frame {
        let is_picked = |index: usize| self.picked.get(index).copied().unwrap_or_default();
        let mut lines = self.list.lines(|index| if is_picked(index) { "[x] " } else { "[ ] " });
        lines.push(help(self.list.ways, "Space: tick, Enter: go on"));
        Frame { lines, cursor: None }
    }

    fn press(&mut self, key: Key) -> Option<Said<Vec<usize>>> {
        match key {
            Key::Enter => {
                let picked = self.indices();
                match (self.check)(&picked) {
                    Ok(()) => return Some(Said::Given(picked)),
                    Err(error) => self.list.error = Some(error),
                }
            }
            Key::Char(' ') => self.toggle(),
            key => drop(self.list.moved(&key)),
        }
        None
    }

    fn answered(&self) -> Vec<String> {
        let picked: Vec<&str> =
            self.indices().iter().filter_map(|index| self.list.options.get(*index)).map(String::as_str).collect();
        let picked = if picked.is_empty() { "(none)".to_owned() } else { picked.join(", ") };
        vec![cut(&format!("> {picked}"), width())]
    }

    fn is_untouched(&self) -> bool {
        self.list.search.is_empty()
    }

    fn escapes(&mut self) -> bool {
        self.list.take_search_back()
    }
}

/// How many options are shown at once.
fn rows() -> usize {
    screen().1.saturating_sub(7).clamp(1, 20)
}
