//! Lines of a child's output, none of them longer than allowed.

use std::io;

use tokio::io::{AsyncBufRead, AsyncBufReadExt as _};

/// One line, without its end.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// It is whole.
    Whole(Vec<u8>),
    /// It is longer than allowed; this is how it begins, the rest was dropped.
    Cut(Vec<u8>),
}

/// Reads the next line; `None` at the end. `longest` is asked as bytes arrive, since it may change while one waits.
pub(super) async fn next(
    reader: &mut (impl AsyncBufRead + Unpin),
    longest: impl Fn() -> usize,
) -> io::Result<Option<Line>> {
    let mut line = Vec::new();
    let mut is_cut = false;
    let mut is_empty = true;
    loop {
        let bytes = reader.fill_buf().await?;
        if bytes.is_empty() {
            return Ok((!is_empty).then(|| finish(line, is_cut)));
        }
        is_empty = false;
        let end = bytes.iter().position(|&byte| byte == b'\n');
        let part = &bytes[..end.unwrap_or(bytes.len())];
        let room = longest().saturating_sub(line.len());
        is_cut |= part.len() > room;
        line.extend_from_slice(&part[..part.len().min(room)]);
        let used = part.len() + usize::from(end.is_some());
        reader.consume(used);
        if end.is_some() {
            return Ok(Some(finish(line, is_cut)));
        }
    }
}

fn finish(mut line: Vec<u8>, is_cut: bool) -> Line {
    if is_cut {
        return Line::Cut(line);
    }
    if line.last() == Some(&b'\r') {
        line.pop();
    }
    Line::Whole(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn lines(mut text: &[u8], longest: usize) -> Vec<Line> {
        let mut lines = Vec::new();
        while let Some(line) = next(&mut text, || longest).await.unwrap() {
            lines.push(line);
        }
        lines
    }

    #[tokio::test]
    async fn lines_end_at_a_newline_or_where_the_stream_does() {
        let whole = |text: &str| Line::Whole(text.as_bytes().to_vec());
        assert_eq!(lines(b"one\r\n\ntwo", 10).await, [whole("one"), whole(""), whole("two")]);
        assert_eq!(lines(b"", 10).await, []);
    }

    #[tokio::test]
    async fn a_long_line_is_cut_and_the_next_one_is_not() {
        assert_eq!(lines(b"abcdef\nok\n", 4).await, [Line::Cut(b"abcd".to_vec()), Line::Whole(b"ok".to_vec())]);
    }
}
