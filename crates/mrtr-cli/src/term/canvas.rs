//! The lines of a prompt that change while it is asked, drawn over themselves.
//!
//! Each frame goes out in one piece, and every line is cut to the screen: one that wrapped would be counted wrong.

use std::fmt::Write as _;
use std::io::{self, Write as _};

use anstream::{AutoStream, ColorChoice};

/// What is on the screen below the lines that stay.
#[derive(Debug, Default)]
pub(super) struct Canvas {
    /// How many lines the cursor is below the first of the frame.
    down: usize,
}

/// One picture of a prompt.
#[derive(Debug, Default)]
pub(super) struct Frame {
    /// Styled, and without line breaks.
    pub(super) lines: Vec<String>,
    /// Line and column where the cursor is shown; hidden without one.
    pub(super) cursor: Option<(usize, usize)>,
}

impl Canvas {
    /// Draws a frame in place of the last one.
    pub(super) fn draw(&mut self, frame: &Frame) -> io::Result<()> {
        let mut out = self.erased();
        out.push_str(&painted(&frame.lines.join("\r\n")));
        let last = frame.lines.len().saturating_sub(1);
        self.down = last;
        match frame.cursor {
            Some((line, column)) => {
                up(&mut out, last.saturating_sub(line));
                let _ = write!(out, "\r\u{1b}[{}G\u{1b}[?25h", column + 1);
                self.down = line;
            }
            None => out.push_str("\u{1b}[?25l"),
        }
        send(&out)
    }

    /// Leaves these lines in place of the frame, and the cursor below them.
    pub(super) fn finish(mut self, lines: &[String]) -> io::Result<()> {
        let mut out = self.erased();
        for line in lines {
            let _ = write!(out, "{}\r\n", painted(line));
        }
        out.push_str("\u{1b}[?25h");
        send(&out)
    }

    /// What takes the last frame off the screen.
    fn erased(&mut self) -> String {
        let mut out = String::new();
        up(&mut out, std::mem::take(&mut self.down));
        out.push_str("\r\u{1b}[J");
        out
    }
}

fn up(out: &mut String, lines: usize) {
    if lines > 0 {
        let _ = write!(out, "\u{1b}[{lines}A");
    }
}

fn send(text: &str) -> io::Result<()> {
    let mut stderr = io::stderr().lock();
    stderr.write_all(text.as_bytes())?;
    stderr.flush()
}

/// Styled text where colours are wanted, and the text alone elsewhere (`NO_COLOR`).
fn painted(text: &str) -> String {
    match AutoStream::choice(&io::stderr()) {
        ColorChoice::Never => anstream::adapter::strip_str(text).to_string(),
        _ => text.to_owned(),
    }
}
