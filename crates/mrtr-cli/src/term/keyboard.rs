//! Questions under the cursor: arrows, a line to type in, errors where they belong.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anstyle::{AnsiColor, Style};

use super::canvas::{Canvas, Frame};
use super::console::{Console, Left, PickPrompt, Said, SomePrompt, TextPrompt, Ways};
use super::editor::Editor;
use super::escape;
use super::keys::{Key, Keyboard};
use super::layout::{cut, screen, wrap};
use super::list::{Checks, List};

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
pub(super) trait Live<T> {
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

/// The keys there are, as far as they fit: all of them are behind Esc too.
pub(super) fn help(ways: Ways, enter: &str) -> String {
    let back = if ways.back { ", Shift-Tab: back" } else { "" };
    let texts = [format!("  {enter}{back}, Esc: more"), format!("  {enter}, Esc: more")];
    let fitting = texts.into_iter().find(|text| text.len() <= width());
    dim(&fitting.unwrap_or_else(|| "  Esc: more".to_owned()))
}

pub(super) fn complaint(error: &str) -> Vec<String> {
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
pub(super) fn width() -> usize {
    screen().0.saturating_sub(1)
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
