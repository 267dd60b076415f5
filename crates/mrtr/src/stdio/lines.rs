//! Lines of bounded length, from a stream of bytes.

use std::io;

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt};

/// What stands between two newlines.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// The bytes, without the newline and the white space around them; never empty.
    Text(Bytes),
    /// More bytes than a line may have. They are skipped.
    TooLong,
}

/// Reads a stream line by line. The last line needs no newline.
pub(super) struct Lines<R> {
    reader: R,
    limit: usize,
    buffer: BytesMut,
    /// How much of the buffer is known to have no newline.
    searched: usize,
    /// Whether the line the buffer begins with was too long.
    is_skipping: bool,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    /// Lines of at most `limit` bytes.
    pub(super) fn new(reader: R, limit: usize) -> Self {
        Self { reader, limit, buffer: BytesMut::new(), searched: 0, is_skipping: false }
    }

    /// The next line that is not blank; `None` at the end of the stream.
    pub(super) async fn next(&mut self) -> io::Result<Option<Line>> {
        loop {
            if let Some(line) = self.buffered() {
                return Ok(Some(line));
            }
            if self.buffer.is_empty() {
                // What a long line took is not kept.
                self.buffer = BytesMut::with_capacity(READ);
            }
            self.buffer.reserve(READ);
            if self.reader.read_buf(&mut self.buffer).await? == 0 {
                let rest = self.buffer.split();
                self.searched = 0;
                return Ok(if self.is_skipping { None } else { self.line(&rest) });
            }
        }
    }

    /// The next line of what was read already.
    fn buffered(&mut self) -> Option<Line> {
        while let Some(newline) = self.buffer[self.searched..].iter().position(|byte| *byte == b'\n') {
            let bytes = self.buffer.split_to(self.searched + newline + 1);
            self.searched = 0;
            if std::mem::take(&mut self.is_skipping) {
                continue;
            }
            if let Some(line) = self.line(&bytes) {
                return Some(line);
            }
        }
        // A carriage return does not count; it may be the last byte so far.
        if self.is_skipping || self.buffer.len() > self.limit.saturating_add(1) {
            self.buffer.clear();
            self.searched = 0;
            return (!std::mem::replace(&mut self.is_skipping, true)).then_some(Line::TooLong);
        }
        self.searched = self.buffer.len();
        None
    }

    /// What a line says. It is copied: a short one may lie in the memory of a long one and outlive it by far.
    fn line(&self, bytes: &[u8]) -> Option<Line> {
        let text = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        let text = text.strip_suffix(b"\r").unwrap_or(text);
        if text.len() > self.limit {
            return Some(Line::TooLong);
        }
        let text = text.trim_ascii();
        (!text.is_empty()).then(|| Line::Text(Bytes::copy_from_slice(text)))
    }
}

/// How much is asked for at a time.
const READ: usize = 8 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    async fn lines(mut reader: impl AsyncRead + Unpin) -> Vec<String> {
        let mut lines = Lines::new(&mut reader, 8);
        let mut seen = Vec::new();
        while let Some(line) = lines.next().await.unwrap() {
            seen.push(match line {
                Line::Text(text) => String::from_utf8(text.to_vec()).unwrap(),
                Line::TooLong => "too long".to_owned(),
            });
        }
        seen
    }

    #[tokio::test]
    async fn newlines_end_lines_and_the_last_one_needs_none() {
        assert_eq!(lines(&b"a\nbc\r\n\n \t\n\r\nd"[..]).await, ["a", "bc", "d"]);
        assert!(lines(&b""[..]).await.is_empty() && lines(&b"\n\r\n  "[..]).await.is_empty());
    }

    #[tokio::test]
    async fn a_line_of_the_limit_passes_and_one_byte_more_does_not() {
        assert_eq!(
            lines(&b"12345678\n12345678\r\n123456789\nok\n12345678"[..]).await,
            ["12345678", "12345678", "too long", "ok", "12345678"]
        );
        assert_eq!(lines(&b"ok\n123456789"[..]).await, ["ok", "too long"]);
    }

    #[tokio::test]
    async fn a_line_without_end_is_told_once_and_never_kept() {
        let endless = vec![b'x'; 1 << 20];
        let mut reader = Lines::new(endless.chain(&b"\nok\n"[..]), 8);
        assert_eq!(reader.next().await.unwrap(), Some(Line::TooLong));
        assert_eq!(reader.next().await.unwrap(), Some(Line::Text(Bytes::from_static(b"ok"))));
        assert!(reader.buffer.capacity() <= 2 * READ);
        assert_eq!(reader.next().await.unwrap(), None);
    }

    #[tokio::test]
    async fn the_pieces_a_line_arrives_in_do_not_matter() {
        let whole = b"one\r\n\n123456789012\r\ntwo\n12345678\r\nlast";
        for size in 1..whole.len() {
            let mut reader = pieces(whole, size);
            assert_eq!(
                lines(&mut reader).await,
                ["one", "too long", "two", "12345678", "last"],
                "{size} bytes at a time"
            );
        }
    }

    /// A reader that gives at most so many bytes at a time.
    fn pieces(bytes: &'static [u8], size: usize) -> impl AsyncRead + Unpin {
        struct Pieces(&'static [u8], usize);
        impl AsyncRead for Pieces {
            fn poll_read(
                mut self: std::pin::Pin<&mut Self>,
                _: &mut std::task::Context<'_>,
                buffer: &mut tokio::io::ReadBuf<'_>,
            ) -> std::task::Poll<io::Result<()>> {
                let (piece, rest) = self.0.split_at(self.1.min(self.0.len()).min(buffer.remaining()));
                buffer.put_slice(piece);
                self.0 = rest;
                std::task::Poll::Ready(Ok(()))
            }
        }
        Pieces(bytes, size)
    }
}
