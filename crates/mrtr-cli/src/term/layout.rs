//! Lines that fit the screen, and messages that do not push the question off it.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Columns and rows, with what is usual where there is no telling.
pub(super) fn screen() -> (usize, usize) {
    match crossterm::terminal::size() {
        Ok((columns, rows)) if columns > 0 && rows > 0 => (usize::from(columns).max(20), usize::from(rows).max(10)),
        _ => (80, 24),
    }
}

/// Breaks text into lines of at most so many columns: at spaces, and within a word only if it is longer than a line.
pub(super) fn wrap(text: &str, width: usize) -> Vec<String> {
    text.split('\n').flat_map(|line| wrap_line(line, width)).collect()
}

fn wrap_line(line: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut current = String::new();
    let mut used = 0;
    for word in line.split_inclusive(' ') {
        let columns = word.trim_end_matches(' ').width();
        if used > 0 && used + columns > width {
            lines.push(take_line(&mut current));
            used = 0;
        }
        for c in word.chars() {
            let columns = c.width().unwrap_or(0);
            // Spaces at the end of a line need no room.
            if c != ' ' && used + columns > width && used > 0 {
                lines.push(take_line(&mut current));
                used = 0;
            }
            current.push(c);
            used += columns;
        }
    }
    lines.push(take_line(&mut current));
    lines
}

fn take_line(line: &mut String) -> String {
    std::mem::take(line).trim_end_matches(' ').to_owned()
}

/// Cuts text to so many columns.
pub(super) fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut used = 1;
    let fits = |c: &char| {
        used += c.width().unwrap_or(0);
        used <= width
    };
    text.chars().take_while(fits).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_at_spaces_and_long_words_where_they_must() {
        assert_eq!(wrap("to be or not to be", 8), ["to be or", "not to", "be"]);
        assert_eq!(wrap("a abcdefghij", 4), ["a", "abcd", "efgh", "ij"]);
        assert_eq!(wrap("one\n\n  two", 8), ["one", "", "  two"]);
        assert_eq!(wrap("日本語", 4), ["日本", "語"]);
    }

    #[test]
    fn a_cut_is_visible() {
        assert_eq!(cut("abcdef", 6), "abcdef");
        assert_eq!(cut("abcdef", 4), "abc…");
        assert_eq!(cut("日本語", 4), "日…");
    }
}
