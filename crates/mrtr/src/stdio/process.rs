//! This process's own stdin and stdout, each on a thread of its own.
//!
//! Reading stdin blocks, and no system lets go of such a read. Tokio's own handles block a thread of the runtime, which
//! the runtime waits for when it is dropped: a server that was told to stop would hang in the last line of its `main`
//! until the client writes something. The same goes for a stdout nobody reads. Threads of our own end with the process.

use std::io::{self, Read, Write};
use std::pin::Pin;
use std::sync::mpsc as blocking;
use std::task::{Context as Task, Poll, ready};
use std::thread;

use bytes::{Buf, Bytes};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::mpsc;

/// What a thread reads; it is never more than two pieces ahead.
#[derive(Debug)]
pub(super) struct Input {
    pieces: mpsc::Receiver<io::Result<Bytes>>,
    piece: Bytes,
}

impl Input {
    /// Reads `source`, from now on.
    pub(super) fn start(mut source: impl Read + Send + 'static) -> io::Result<Self> {
        let (sender, pieces) = mpsc::channel(1);
        thread::Builder::new().name("stdin".to_owned()).spawn(move || {
            let mut buffer = vec![0; PIECE];
            loop {
                let piece = match source.read(&mut buffer) {
                    Ok(0) => return,
                    Ok(count) => Ok(Bytes::copy_from_slice(&buffer[..count])),
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    Err(error) => Err(error),
                };
                let is_last = piece.is_err();
                if sender.blocking_send(piece).is_err() || is_last {
                    return;
                }
            }
        })?;
        Ok(Self { pieces, piece: Bytes::new() })
    }
}

impl AsyncRead for Input {
    fn poll_read(mut self: Pin<&mut Self>, task: &mut Task<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if self.piece.is_empty() {
            match ready!(self.pieces.poll_recv(task)) {
                Some(piece) => self.piece = piece?,
                None => return Poll::Ready(Ok(())),
            }
        }
        let count = self.piece.len().min(buffer.remaining());
        buffer.put_slice(&self.piece[..count]);
        self.piece.advance(count);
        Poll::Ready(Ok(()))
    }
}

/// What a thread writes, one piece after the other.
#[derive(Debug)]
pub(super) struct Output {
    pieces: blocking::Sender<Vec<u8>>,
    written: mpsc::Receiver<io::Result<()>>,
    is_writing: bool,
}

impl Output {
    /// Writes to `target`, whatever arrives.
    pub(super) fn start(mut target: impl Write + Send + 'static) -> io::Result<Self> {
        let (pieces, receiver) = blocking::channel::<Vec<u8>>();
        let (sender, written) = mpsc::channel(1);
        thread::Builder::new().name("stdout".to_owned()).spawn(move || {
            for piece in receiver {
                let result = target.write_all(&piece).and_then(|()| target.flush());
                if sender.blocking_send(result).is_err() {
                    return;
                }
            }
        })?;
        Ok(Self { pieces, written, is_writing: false })
    }

    /// Waits until the thread has written what it was given.
    fn poll_written(&mut self, task: &mut Task<'_>) -> Poll<io::Result<()>> {
        if !self.is_writing {
            return Poll::Ready(Ok(()));
        }
        let result = ready!(self.written.poll_recv(task));
        self.is_writing = false;
        Poll::Ready(result.unwrap_or_else(|| Err(io::ErrorKind::BrokenPipe.into())))
    }
}

impl AsyncWrite for Output {
    fn poll_write(mut self: Pin<&mut Self>, task: &mut Task<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        ready!(self.poll_written(task))?;
        if self.pieces.send(bytes.to_vec()).is_err() {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        self.is_writing = true;
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(mut self: Pin<&mut Self>, task: &mut Task<'_>) -> Poll<io::Result<()>> {
        self.poll_written(task)
    }

    fn poll_shutdown(self: Pin<&mut Self>, task: &mut Task<'_>) -> Poll<io::Result<()>> {
        self.poll_flush(task)
    }
}

/// How much is read at a time.
const PIECE: usize = 16 * 1024;

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    #[tokio::test]
    async fn what_was_read_arrives_whole_and_then_ends() {
        let text = vec![b'x'; 3 * PIECE + 1];
        let mut input = Input::start(io::Cursor::new(text.clone())).unwrap();
        let mut read = Vec::new();
        input.read_to_end(&mut read).await.unwrap();
        assert!(read == text);
    }

    #[tokio::test]
    async fn a_flush_waits_for_the_bytes_to_be_written() {
        let (mut reader, writer) = io::pipe().unwrap();
        let mut output = Output::start(writer).unwrap();
        output.write_all(b"one").await.unwrap();
        output.write_all(b"two").await.unwrap();
        output.flush().await.unwrap();
        let mut read = [0; 6];
        reader.read_exact(&mut read).unwrap();
        assert_eq!(&read, b"onetwo");
    }

    #[tokio::test]
    async fn errors_reach_the_one_who_reads_or_writes() {
        struct Broken;
        impl Read for Broken {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::ErrorKind::PermissionDenied.into())
            }
        }
        let error = Input::start(Broken).unwrap().read_u8().await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);

        let (reader, writer) = io::pipe().unwrap();
        drop(reader);
        let mut output = Output::start(writer).unwrap();
        output.write_all(b"one").await.unwrap();
        assert_eq!(output.flush().await.unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }
}
