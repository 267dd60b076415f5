//! The ends of a connection: closing it without cutting off the answer that was just written to it, and not waiting
//! for ever for a peer that does not read, or does not ask.
//!
//! Closing a socket that still has unread input makes the kernel reset it, and a reset can overtake the
//! last response on its way: a client in the middle of sending a body that is too large would see a broken
//! connection instead of our 413. So, as RFC 9112 (section 9.6) asks, the sending half is closed first and
//! what the client still sends is read and dropped, for a bounded time.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::{Sleep, sleep},
};

use super::idle::Idle;

/// How long input is dropped before the socket is closed regardless.
const PATIENCE: Duration = Duration::from_secs(1);

/// How long a peer may take no byte of what is written to it.
const STALL: Duration = Duration::from_secs(30);

/// A stream whose shutdown waits, within bounds, for the peer to stop sending.
#[derive(Debug)]
pub(super) struct Linger<S> {
    stream: S,
    idle: Idle,
    /// Running from the moment the sending half is closed.
    patience: Option<Pin<Box<Sleep>>>,
    /// Running while the peer takes nothing.
    stalled: Option<Pin<Box<Sleep>>>,
}

impl<S> Linger<S> {
    pub(super) fn new(stream: S, idle: Idle) -> Self {
        Self { stream, idle, patience: None, stalled: None }
    }
}

impl<S: AsyncRead + Unpin> Linger<S> {
    /// Ready when the peer has stopped sending, whichever way.
    fn poll_drop_input(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let mut scratch = [0; 4096];
        loop {
            let mut input = ReadBuf::new(&mut scratch);
            let read = ready!(Pin::new(&mut self.stream).poll_read(cx, &mut input));
            if read.is_err() || input.filled().is_empty() {
                return Poll::Ready(());
            }
        }
    }
}

impl<S> Linger<S> {
    /// Turns a write that has been waiting for too long into an error, which ends the connection.
    fn or_stalled(&mut self, cx: &mut Context<'_>, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if written.is_ready() {
            self.stalled = None;
            return written;
        }
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(sleep(STALL)));
        ready!(stalled.as_mut().poll(cx));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Linger<S> {
    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.patience.is_none() {
            ready!(Pin::new(&mut self.stream).poll_shutdown(cx))?;
        }
        let patience = self.patience.get_or_insert_with(|| Box::pin(sleep(PATIENCE)));
        if patience.as_mut().poll(cx).is_ready() {
            return Poll::Ready(Ok(()));
        }
        self.poll_drop_input(cx).map(Ok)
    }

    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.or_stalled(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, slices);
        self.or_stalled(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Linger<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(cx, buf);
        if read.is_pending() {
            ready!(self.idle.poll_over(cx));
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        if buf.filled().len() > before {
            self.idle.fed();
        }
        read
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncWriteExt, duplex};

    use super::*;
    use crate::http::idle::Activity;

    fn idle() -> Idle {
        Idle::new(Activity::default(), STALL * 100)
    }

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_reads_nothing_is_given_up() {
        let (ours, _theirs) = duplex(16);
        let mut stream = Linger::new(ours, idle());
        let error = stream.write_all(&[0; 64]).await.expect_err("nobody reads");
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_peer_is_not() {
        let (ours, mut theirs) = duplex(16);
        let reading = tokio::spawn(async move {
            let mut byte = [0; 16];
            for _ in 0..4 {
                sleep(STALL - Duration::from_secs(1)).await;
                tokio::io::AsyncReadExt::read_exact(&mut theirs, &mut byte).await.unwrap();
            }
        });
        Linger::new(ours, idle()).write_all(&[0; 64]).await.unwrap();
        reading.await.unwrap();
    }
}
