//! Which characters of a peer's text are shown as their codes.
//!
//! One table for the library and the `mrtr` program. No part of the API: it may change in any release.

/// Goes through a text, and says of each character whether it is to be shown as its code.
///
/// That is what a terminal could obey, and what a reader does not see or sees in another place: controls, line
/// separators, marks of direction, and all that Unicode lets a display leave out. The one exception is the selector that
/// gives a symbol its colours, as in ⚠️: it is where it belongs, and common.
pub fn characters(text: &str) -> impl Iterator<Item = (char, bool)> {
    let mut is_symbol = false;
    text.chars().map(move |c| {
        let is_unsafe = is_unsafe(c) && !(is_symbol && c == EMOJI_SELECTOR);
        is_symbol = !is_unsafe && is_emoji_like(c);
        (c, is_unsafe)
    })
}

/// The default-ignorable characters of Unicode, and the controls, separators and annotations that are not among them.
fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c,
            // Soft hyphen, joiners, fillers of Hangul and Khmer, notation marks: nothing to see.
            '\u{ad}' | '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{200b}'..='\u{200d}'
            | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fff8}' | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}'
            // Marks, embeddings, overrides and isolates of the bidirectional algorithm; invisible operators.
            | '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            // Line and paragraph separators, annotations.
            | '\u{2028}' | '\u{2029}' | '\u{fff9}'..='\u{fffb}'
            // Variation selectors, and the tags among them.
            | '\u{180b}'..='\u{180f}' | '\u{fe00}'..='\u{fe0f}' | '\u{e0000}'..='\u{e0fff}')
}

/// The blocks of the symbols that come plain or in colours.
fn is_emoji_like(c: char) -> bool {
    matches!(c, '\u{a9}' | '\u{ae}' | '\u{203c}'..='\u{3299}' | '\u{1f000}'..='\u{1faff}')
}

const EMOJI_SELECTOR: char = '\u{fe0f}';

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        let code =
            |(c, is_unsafe): (char, bool)| if is_unsafe { c.escape_unicode().to_string() } else { c.to_string() };
        characters(text).map(code).collect()
    }

    #[test]
    fn fillers_selectors_and_tags_cannot_hide_in_a_text() {
        for hidden in [
            '\u{ad}',
            '\u{34f}',
            '\u{61c}',
            '\u{115f}',
            '\u{1160}',
            '\u{17b5}',
            '\u{180b}',
            '\u{180e}',
            '\u{200b}',
            '\u{200f}',
            '\u{2028}',
            '\u{202e}',
            '\u{2060}',
            '\u{206f}',
            '\u{3164}',
            '\u{fe00}',
            '\u{fe0f}',
            '\u{feff}',
            '\u{ffa0}',
            '\u{fff9}',
            '\u{1d173}',
            '\u{e0001}',
            '\u{e0041}',
            '\u{e0100}',
            '\u{e01ef}',
            '\u{1b}',
            '\u{9b}',
        ] {
            assert_eq!(shown(&format!("pay{hidden}pal")), format!("pay{}pal", hidden.escape_unicode()));
        }
    }

    #[test]
    fn ordinary_text_is_left_alone() {
        for text in ["Größe: 3 µm", "日本語 한국어 ភាសាខ្មែរ", "שלום مرحبا", "⚠️ ✔️ 🇩🇪 ©️", "e\u{301} [bold] <b>"]
        {
            assert_eq!(shown(text), text);
        }
    }

    #[test]
    fn a_symbol_takes_one_selector_and_nothing_else_takes_any() {
        assert_eq!(shown("⚠\u{fe0f}\u{fe0f}"), "⚠\u{fe0f}\\u{fe0f}");
        assert_eq!(shown("⚠\u{fe0e}"), "⚠\\u{fe0e}");
        assert_eq!(shown("\u{3164}\u{fe0f}"), "\\u{3164}\\u{fe0f}");
    }
}
