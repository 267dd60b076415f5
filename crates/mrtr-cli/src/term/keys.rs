//! The keys a person presses, one at a time.
//!
//! Every key is looked at here, once: what has no meaning for a prompt does nothing. In particular a chord with Ctrl or
//! Alt never types its letter.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crossterm::event::{
    self, DisableBracketedPaste, EnableBracketedPaste, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers,
};
use crossterm::terminal;

/// What was done at the keyboard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Key {
    Char(char),
    Paste(String),
    Enter,
    Escape,
    /// To the question before: Shift-Tab.
    Previous,
    /// A line break within an answer: Alt-Enter.
    Break,
    Backspace,
    Delete,
    /// The word before the cursor goes: Ctrl-W.
    DeleteWord,
    /// All before the cursor goes: Ctrl-U.
    DeleteLine,
    Left,
    Right,
    Up,
    Down,
    PageUp,
    PageDown,
    Home,
    End,
    /// Ctrl-C.
    Interrupt,
    /// Ctrl-D: the end of input.
    Eof,
    /// The window has another size.
    Resized,
}

/// The keyboard in the hands of one prompt; dropped, the terminal is as it was.
#[derive(Debug)]
pub(super) struct Keyboard {
    /// Set when nobody waits for the answer any more.
    gone: Arc<AtomicBool>,
}

impl Keyboard {
    /// Takes the keyboard.
    pub(super) fn take(gone: &Arc<AtomicBool>) -> io::Result<Self> {
        terminal::enable_raw_mode()?;
        // Where it is not understood, it does nothing.
        let _ = crossterm::execute!(io::stderr(), EnableBracketedPaste);
        Ok(Self { gone: Arc::clone(gone) })
    }

    /// Waits for a key. `UnexpectedEof` says that none will come: the terminal or the question is gone.
    pub(super) fn next(&self) -> io::Result<Key> {
        loop {
            if self.gone.load(Ordering::Acquire) {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            // Looked at first: of a terminal that is gone, the reader would read for ever.
            if is_hung_up(Duration::ZERO)? {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            if !event::poll(Duration::ZERO)? {
                is_hung_up(MOMENT)?;
            } else if let Some(key) = key(event::read()?) {
                return Ok(key);
            }
        }
    }
}

impl Drop for Keyboard {
    fn drop(&mut self) {
        // Nothing could be done about a failure.
        let _ = crossterm::execute!(io::stderr(), DisableBracketedPaste);
        let _ = terminal::disable_raw_mode();
    }
}

/// Waits for input no longer than this, and says whether the other end of the terminal is closed.
#[cfg(unix)]
fn is_hung_up(timeout: Duration) -> io::Result<bool> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    let stdin = io::stdin();
    let mut fds = [PollFd::new(&stdin, PollFlags::IN)];
    let timeout = Timespec { tv_sec: 0, tv_nsec: timeout.subsec_nanos().into() };
    match poll(&mut fds, Some(&timeout)) {
        // A signal, such as that of a resized window.
        Ok(_) | Err(rustix::io::Errno::INTR) => {}
        Err(error) => return Err(error.into()),
    }
    let gone = PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL;
    Ok(fds.iter().any(|stdin| stdin.revents().intersects(gone)))
}

/// A console is there as long as the process.
#[cfg(not(unix))]
fn is_hung_up(timeout: Duration) -> io::Result<bool> {
    event::poll(timeout).map(|_| false)
}

fn key(event: Event) -> Option<Key> {
    match event {
        Event::Key(key) if key.kind != KeyEventKind::Release => pressed(key),
        Event::Paste(text) => Some(Key::Paste(text.replace("\r\n", "\n").replace('\r', "\n"))),
        Event::Resize(..) => Some(Key::Resized),
        _ => None,
    }
}

fn pressed(KeyEvent { code, modifiers, .. }: KeyEvent) -> Option<Key> {
    let (ctrl, alt) = (modifiers.contains(KeyModifiers::CONTROL), modifiers.contains(KeyModifiers::ALT));
    match code {
        // AltGr reads as both, and types.
        KeyCode::Char(c) if ctrl == alt && (!ctrl || cfg!(windows)) => Some(Key::Char(c)),
        KeyCode::Char(c) if ctrl => chord(c),
        KeyCode::Enter if alt => Some(Key::Break),
        KeyCode::Enter => Some(Key::Enter),
        KeyCode::Esc => Some(Key::Escape),
        KeyCode::BackTab => Some(Key::Previous),
        KeyCode::Tab if modifiers.contains(KeyModifiers::SHIFT) => Some(Key::Previous),
        KeyCode::Backspace if alt || ctrl => Some(Key::DeleteWord),
        KeyCode::Backspace => Some(Key::Backspace),
        KeyCode::Delete => Some(Key::Delete),
        KeyCode::Left => Some(Key::Left),
        KeyCode::Right => Some(Key::Right),
        KeyCode::Up => Some(Key::Up),
        KeyCode::Down => Some(Key::Down),
        KeyCode::PageUp => Some(Key::PageUp),
        KeyCode::PageDown => Some(Key::PageDown),
        KeyCode::Home => Some(Key::Home),
        KeyCode::End => Some(Key::End),
        _ => None,
    }
}

/// Those of a shell's line that have a meaning here.
fn chord(c: char) -> Option<Key> {
    match c.to_ascii_lowercase() {
        'a' => Some(Key::Home),
        'c' => Some(Key::Interrupt),
        'd' => Some(Key::Eof),
        'e' => Some(Key::End),
        'h' => Some(Key::Backspace),
        // What Enter sends to a program that was not ready for keys yet.
        // Ctrl-J is also what Enter is until a prompt has the terminal: whoever types ahead means the same.
        'j' | 'm' => Some(Key::Enter),
        'n' => Some(Key::Down),
        'p' => Some(Key::Up),
        'u' => Some(Key::DeleteLine),
        'w' => Some(Key::DeleteWord),
        _ => None,
    }
}

/// How long it takes at most to notice that nobody waits for an answer any more.
const MOMENT: Duration = Duration::from_millis(100);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chord_never_types_its_letter() {
        for c in 'a'..='z' {
            for modifiers in [KeyModifiers::CONTROL, KeyModifiers::ALT] {
                let key = pressed(KeyEvent::new(KeyCode::Char(c), modifiers));
                assert!(!matches!(key, Some(Key::Char(_))), "{modifiers:?} {c}");
            }
        }
        let shifted = KeyEvent::new(KeyCode::Char('A'), KeyModifiers::SHIFT);
        assert_eq!(pressed(shifted), Some(Key::Char('A')));
    }

    #[test]
    fn enter_typed_ahead_of_its_prompt_is_not_lost() {
        let typed_ahead = KeyEvent::new(KeyCode::Char('j'), KeyModifiers::CONTROL);
        assert_eq!(pressed(typed_ahead), Some(Key::Enter));
    }

    #[test]
    fn pasted_line_breaks_are_line_breaks() {
        assert_eq!(key(Event::Paste("a\r\nb\rc".to_owned())), Some(Key::Paste("a\nb\nc".to_owned())));
    }
}
