//! A line of text that is being typed.
//!
//! The text may hold anything, as defaults are a server's and pastes are anybody's. On the screen, what could move a
//! cursor or hide is shown as its code.

use unicode_width::UnicodeWidthStr;

use super::escape;
use super::keys::Key;

/// The text, and where in it the cursor is.
#[derive(Clone, Debug, Default)]
pub(super) struct Editor {
    chars: Vec<char>,
    cursor: usize,
}

impl Editor {
    /// Starts at the end of a text.
    pub(super) fn new(text: &str) -> Self {
        let chars: Vec<char> = text.chars().collect();
        Self { cursor: chars.len(), chars }
    }

    pub(super) fn text(&self) -> String {
        self.chars.iter().collect()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.chars.is_empty()
    }

    /// Does what a key means for a text; false if it means nothing.
    pub(super) fn press(&mut self, key: &Key) -> bool {
        match key {
            Key::Char(c) => self.insert(&[*c]),
            Key::Break => self.insert(&['\n']),
            Key::Paste(text) => self.insert(&text.chars().collect::<Vec<_>>()),
            Key::Backspace => self.delete(self.cursor.saturating_sub(1), self.cursor),
            Key::Delete => self.delete(self.cursor, (self.cursor + 1).min(self.chars.len())),
            Key::DeleteWord => self.delete(self.word_start(), self.cursor),
            Key::DeleteLine => self.delete(0, self.cursor),
            Key::Left => self.cursor = self.cursor.saturating_sub(1),
            Key::Right => self.cursor = (self.cursor + 1).min(self.chars.len()),
            Key::Home => self.cursor = 0,
            Key::End => self.cursor = self.chars.len(),
            _ => return false,
        }
        true
    }

    fn insert(&mut self, chars: &[char]) {
        self.chars.splice(self.cursor..self.cursor, chars.iter().copied());
        self.cursor += chars.len();
    }

    fn delete(&mut self, from: usize, to: usize) {
        self.chars.drain(from..to);
        self.cursor = from;
    }

    fn word_start(&self) -> usize {
        let before: Vec<char> = self.chars.iter().take(self.cursor).copied().collect();
        let end = before.iter().rposition(|c| !c.is_whitespace()).map_or(0, |last| last + 1);
        before.iter().take(end).rposition(|c| c.is_whitespace()).map_or(0, |space| space + 1)
    }

    /// The part around the cursor that fits so many columns, and the column of the cursor in it.
    pub(super) fn view(&self, columns: usize) -> (String, usize) {
        let shown = |c: &char| escape::character(*c);
        let mut before = Vec::new();
        let mut used = 0;
        // One column is the cursor's own.
        for piece in self.chars.iter().take(self.cursor).rev().map(shown) {
            let width = piece.width();
            if used + width > columns.saturating_sub(1) {
                break;
            }
            used += width;
            before.push(piece);
        }
        let at = used;
        let mut text: String = before.into_iter().rev().collect();
        for piece in self.chars.iter().skip(self.cursor).map(shown) {
            used += piece.width();
            if used > columns {
                break;
            }
            text.push_str(&piece);
        }
        (text, at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_lines_go_at_once() {
        let mut editor = Editor::new("one two  ");
        editor.press(&Key::DeleteWord);
        assert_eq!(editor.text(), "one ");
        editor.press(&Key::Left);
        editor.press(&Key::Char('!'));
        assert_eq!(editor.text(), "one! ");
        editor.press(&Key::DeleteLine);
        assert_eq!(editor.text(), " ");
        editor.press(&Key::Delete);
        assert!(editor.is_empty());
        editor.press(&Key::Backspace);
        assert!(editor.is_empty());
    }

    #[test]
    fn the_view_follows_the_cursor_and_shows_codes() {
        let mut editor = Editor::new("0123456789");
        assert_eq!(editor.view(6), ("56789".to_owned(), 5));
        editor.press(&Key::Home);
        assert_eq!(editor.view(6), ("012345".to_owned(), 0));
        let hostile = Editor::new("a\u{1b}[2J\n\u{202e}b");
        assert_eq!(hostile.view(80).0, r"a\u{1b}[2J\n\u{202e}b");
        assert_eq!(hostile.text(), "a\u{1b}[2J\n\u{202e}b");
        assert_eq!(Editor::new("日本語").view(5), ("本語".to_owned(), 4));
    }
}
