//! Questions under the cursor: arrows, a line to type in, errors where they belong.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anstyle::{AnsiColor, Style};

use super::canvas::{Canvas, Frame};
use super::console::{Console, Left, PickPrompt, Said, SomePrompt, TextPrompt, Ways, matching};
use super::editor::Editor;
use super::escape;
use super::keys::{Key, Keyboard};
use super::layout::{cut, screen, wrap};

/// A terminal whose cursor can be moved.
#[derive(Debug)]
pub(super) struct Cursor {
    gone: Arc<AtomicBool>,
}

impl Cursor {
    /// `gone` tells that nobody waits for answers any more.
    pub(super) fn new(gone: Arc<AtomicBool>) -> Self {
        Self { gone }
    }

    /// Puts a prompt until a person has answered or left it.
    fn put<T>(&self, ways: Ways, live: &mut dyn Live<T>) -> Result<Said<T>, Left> {
        let keyboard = Keyboard::take(&self.gone)?;
        let mut canvas = Canvas::default();
        loop {
            canvas.draw(&live.frame())?;
            let said = match keyboard.next() {
                Ok(Key::Interrupt) => Err(Left::Stopped),
                // As in a shell: the end of input, unless something is typed already.
                Ok(Key::Eof) if live.is_untouched() => Err(Left::Stopped),
                Ok(Key::Previous) if ways.back => Ok(Some(Said::Back)),
                Ok(Key::Escape) if !live.escapes() => self.leave(ways, &keyboard, &mut canvas),
                Ok(key) => Ok(live.press(key)),
                // Nobody waits, or nobody is there: what is on the screen is somebody else's by now.
                Err(error) => return Err(error.into()),
            };
            match said {
                Ok(None) => {}
                Ok(Some(said @ (Said::Given(_) | Said::Number(_)))) => {
                    canvas.finish(&live.answered())?;
                    return Ok(said);
                }
                Ok(Some(said)) => {
                    canvas.finish(&[])?;
                    return Ok(said);
                }
                Err(left) => {
                    // Where the terminal is gone there is nothing to tidy up, and this is why.
                    let _ = canvas.finish(&[]);
                    return Err(left);
                }
            }
        }
    }

    /// Asks what Esc was meant to do; nothing goes back to the question.
    fn leave<T>(&self, ways: Ways, keyboard: &Keyboard, canvas: &mut Canvas) -> Result<Option<Said<T>>, Left> {
        let all = [
            (true, "Back to the question", Way::Stay),
            (ways.back, "The question before", Way::Back),
            (ways.omit, "Leave this answer out", Way::Omit),
            (ways.empty, "Answer with an empty text", Way::Empty),
            (true, "Decline: say no to the server", Way::Decline),
            (true, "Cancel: leave it undecided", Way::Cancel),
            (true, "Stop the whole call", Way::Stop),
        ];
        let possible: Vec<_> = all.into_iter().filter(|(is_possible, ..)| *is_possible).collect();
        let options: Vec<String> = possible.iter().map(|(_, label, _)| (*label).to_owned()).collect();
        let mut list = List::new("Leave the question?", &options, Some(0), 0);
        loop {
            canvas.draw(&list.frame())?;
            match keyboard.next()? {
                Key::Interrupt => return Err(Left::Stopped),
                Key::Escape => return Ok(None),
                key => {
                    let Some(Said::Given(index)) = list.press(key) else { continue };
                    return possible.get(index).map_or(Ok(None), |(_, _, way)| way.take());
                }
            }
        }
    }
}

#[derive(Clone, Copy)]
enum Way {
    Stay,
    Back,
    Omit,
    Empty,
    Decline,
    Cancel,
    Stop,
}

impl Way {
    fn take<T>(self) -> Result<Option<Said<T>>, Left> {
        match self {
            Self::Stay => Ok(None),
            Self::Back => Ok(Some(Said::Back)),
            Self::Omit => Ok(Some(Said::Omit)),
            Self::Empty => Ok(Some(Said::Empty)),
            Self::Decline => Err(Left::Declined),
            Self::Cancel => Err(Left::Cancelled),
            Self::Stop => Err(Left::Stopped),
        }
    }
}

impl Console for Cursor {
    fn text(&mut self, prompt: &TextPrompt<'_>) -> Result<Said<String>, Left> {
        let mut line =
            TextLine { editor: Editor::new(prompt.initial), check: prompt.check, error: None, ways: prompt.ways };
        self.put(prompt.ways, &mut line)
    }

    fn pick(&mut self, prompt: &PickPrompt<'_>) -> Result<Said<usize>, Left> {
        let mut list = List::new(prompt.title, prompt.options, prompt.start, prompt.numbers);
        list.ways = prompt.ways;
        self.put(prompt.ways, &mut list)
    }

    fn pick_some(&mut self, prompt: &SomePrompt<'_>) -> Result<Said<Vec<usize>>, Left> {
        let mut list = List::new("", prompt.options, Some(0), 0);
        list.ways = prompt.ways;
        let mut picked = vec![false; prompt.options.len()];
        prompt.picked.iter().for_each(|&index| picked.get_mut(index).into_iter().for_each(|it| *it = true));
        self.put(prompt.ways, &mut Checks { list, picked, check: prompt.check })
    }

    fn help(&self) -> &'static str {
        "Esc: decline, cancel and more; Ctrl-C: stop the call"
    }
}

/// A prompt while it is on the screen.
trait Live<T> {
    fn frame(&self) -> Frame;
    /// What a key comes to, if it ends the prompt.
    fn press(&mut self, key: Key) -> Option<Said<T>>;
    /// What stays on the screen.
    fn answered(&self) -> Vec<String>;
    /// Whether nothing is typed.
    fn is_untouched(&self) -> bool;
    /// Takes back what was searched for, if anything was: the first meaning of Esc.
    fn escapes(&mut self) -> bool {
        false
    }
}

struct TextLine<'a> {
    editor: Editor,
    check: &'a dyn Fn(&str) -> Result<(), String>,
    error: Option<String>,
    ways: Ways,
}

impl Live<String> for TextLine<'_> {
    fn frame(&self) -> Frame {
        let (view, column) = self.editor.view(width().saturating_sub(2));
        let mut lines = vec![format!("> {view}")];
        lines.extend(self.error.iter().flat_map(|error| complaint(error)));
        lines.push(help(self.ways, "Enter: go on"));
        Frame { lines, cursor: Some((0, column + 2)) }
    }

    fn press(&mut self, key: Key) -> Option<Said<String>> {
        if key != Key::Enter {
            if self.editor.press(&key) {
                self.error = None;
            }
            return None;
        }
        let text = self.editor.text();
        match (self.check)(&text) {
            Ok(()) => return Some(Said::Given(text)),
            Err(error) => self.error = Some(error),
        }
        None
    }

    fn answered(&self) -> Vec<String> {
        let text = self.editor.text();
        vec![cut(&format!("> {}", escape::line(&text)), width())]
    }

    fn is_untouched(&self) -> bool {
        self.editor.is_empty()
    }
}

/// Options, one of which is under the cursor, and what is typed to find others.
struct List<'a> {
    title: &'a str,
    options: &'a [String],
    /// The indices of those that fit what was typed.
    found: Vec<usize>,
    /// The place in `found` that is under the cursor.
    at: Option<usize>,
    search: String,
    numbers: usize,
    error: Option<String>,
    ways: Ways,
}

impl<'a> List<'a> {
    fn new(title: &'a str, options: &'a [String], at: Option<usize>, numbers: usize) -> Self {
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
struct Checks<'a> {
    list: List<'a>,
    picked: Vec<bool>,
    check: &'a dyn Fn(&[usize]) -> Result<(), String>,
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

/// The keys there are, as far as they fit.
fn help(ways: Ways, enter: &str) -> String {
    let back = if ways.back { ", Shift-Tab: back" } else { "" };
    let long = format!("  {enter}{back}, Esc: more");
    dim(&cut(&long, width()))
}

fn complaint(error: &str) -> Vec<String> {
    let red = AnsiColor::Red.on_default();
    let lines = wrap(&format!("! {error}"), width());
    lines.into_iter().take(MOST_LINES).map(|line| format!("{red}{line}{red:#}")).collect()
}

/// Makes text that says how, not what.
pub(super) fn dim(text: &str) -> String {
    let dimmed = Style::new().dimmed();
    format!("{dimmed}{text}{dimmed:#}")
}

/// The last column stays free: some terminals wrap when it is written to.
fn width() -> usize {
    screen().0.saturating_sub(1)
}

/// How many options are shown at once.
fn rows() -> usize {
    screen().1.saturating_sub(7).clamp(1, 20)
}

/// Most lines of one complaint.
const MOST_LINES: usize = 4;

/// Puts the terminal back as a shell wants it, if a prompt has it in its hands.
pub(crate) fn restore() {
    use crossterm::cursor::Show;
    use crossterm::event::DisableBracketedPaste;
    use crossterm::style::Print;
    use crossterm::terminal::{Clear, ClearType, disable_raw_mode, is_raw_mode_enabled};

    if is_raw_mode_enabled().unwrap_or(false) {
        // Nothing could be done about a failure, and the program is on its way out.
        let _ = disable_raw_mode();
        let _ = crossterm::execute!(
            io::stderr(),
            Print("\n"),
            Clear(ClearType::FromCursorDown),
            DisableBracketedPaste,
            Show
        );
    }
}
