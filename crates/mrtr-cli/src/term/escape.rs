//! Making a server's text harmless: what could move the cursor, hide or reorder text is shown as its code. Which
//! characters these are, the library says for all who show text.
//!
//! The rest is left alone. Markup of other places, such as `[bold]` or `<b>`, means nothing to a terminal.

use std::fmt::Write as _;

use mrtr::visible;

/// Escapes text that belongs on one line; line breaks and tabs are shown as codes too.
pub(crate) fn line(text: &str) -> String {
    escaped(text, |c| match c {
        '\n' => Some("\\n"),
        '\t' => Some("\\t"),
        _ => None,
    })
}

/// One character as [`line`] shows it.
pub(crate) fn character(c: char) -> String {
    line(c.encode_utf8(&mut [0; 4]))
}

/// Escapes text of several lines, and keeps its line breaks. A tab becomes four spaces.
pub(crate) fn block(text: &str) -> String {
    // CR LF is a line break; a CR by itself would overwrite the line, and is shown.
    escaped(&text.replace("\r\n", "\n"), |c| match c {
        '\n' => Some("\n"),
        '\t' => Some("    "),
        _ => None,
    })
}

/// As [`block`], and no more of it than a person can be expected to look at.
pub(crate) fn message(text: &str) -> String {
    match text.char_indices().nth(LONGEST_MESSAGE) {
        None => block(text),
        Some((end, _)) => {
            let (head, rest) = text.split_at(end);
            format!("{}\n({} more bytes are not shown)", block(head), rest.len())
        }
    }
}

/// Escapes JSON so that it stays the same JSON.
///
/// Inside strings the codes are JSON's own. Outside of them only white space is valid: line breaks and tabs stay, and a
/// carriage return, which would overwrite the line, becomes a space.
pub(crate) fn json(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for (c, is_unsafe) in visible::characters(text) {
        match c {
            '\r' => escaped.push(' '),
            c if is_unsafe && !matches!(c, '\n' | '\t') => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    let _ = write!(escaped, "\\u{unit:04x}");
                }
            }
            c => escaped.push(c),
        }
    }
    escaped
}

fn escaped(text: &str, replacement: impl Fn(char) -> Option<&'static str>) -> String {
    let mut escaped = String::with_capacity(text.len());
    for (c, is_unsafe) in visible::characters(text) {
        match replacement(c) {
            Some(replacement) => escaped.push_str(replacement),
            None if is_unsafe => escaped.extend(c.escape_unicode()),
            None => escaped.push(c),
        }
    }
    escaped
}

/// Longest message that is shown, in characters: thirty pages of it.
const LONGEST_MESSAGE: usize = 50_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_without_end_ends() {
        let shown = message(&"ä".repeat(1_000_000));
        assert!(shown.len() < 101_000 && shown.ends_with("\n(1900000 more bytes are not shown)"));
    }

    #[test]
    fn what_could_move_hide_or_reorder_is_shown_as_its_code() {
        for (text, shown) in [
            ("\u{1b}[2J", r"\u{1b}[2J"),
            ("\u{1b}]8;;http://evil\u{7}ok", r"\u{1b}]8;;http://evil\u{7}ok"),
            ("\u{9b}31m", r"\u{9b}31m"),
            ("safe\rEVIL", r"safe\u{d}EVIL"),
            ("a\u{8}b\u{7f}", r"a\u{8}b\u{7f}"),
            ("\u{202e}gpj.exe", r"\u{202e}gpj.exe"),
            ("pay\u{200b}pal \u{2066}x\u{2069}", r"pay\u{200b}pal \u{2066}x\u{2069}"),
            ("a\u{2028}b\u{e0041}", r"a\u{2028}b\u{e0041}"),
            ("pay\u{3164}pal\u{fe01}", r"pay\u{3164}pal\u{fe01}"),
            ("two\nlines\tand", r"two\nlines\tand"),
        ] {
            assert_eq!(line(text), shown);
        }
    }

    #[test]
    fn ordinary_text_is_left_alone() {
        for text in ["Deploy api 4.8.1?", "Größe: 3 µm", "日本語 ✔️ [bold] <b> \\ \"", "שלום"] {
            assert_eq!(line(text), text);
        }
    }

    #[test]
    fn blocks_keep_their_lines_but_no_bare_carriage_return() {
        assert_eq!(block("one\r\ntwo\n\tthree\rfour"), "one\ntwo\n    three\\u{d}four");
    }

    #[test]
    fn json_stays_the_same_json() {
        let text = "{\"a\":\"\u{202e}\u{9b}\u{e0041}é\"}\r\n";
        let shown = json(text);
        assert_eq!(shown, "{\"a\":\"\\u202e\\u009b\\udb40\\udc41é\"} \n");
        let parse = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
        assert_eq!(parse(&shown), parse(text));
    }
}
