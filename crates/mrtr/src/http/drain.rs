//! A server on its way out, as its connections see it.
//!
//! Told to stop, a server first *leaves*: it is not ready any more and says `Connection: close` in every response, so that
//! clients and load balancers go elsewhere, but whoever comes is served. Then it *closes*: each connection ends as soon as
//! nothing is asked on it.
//!
//! A connection that looks idle may have a request in its socket's buffer, or on its way. hyper would close it
//! unread, and nobody could tell whether the request was carried out. So a quiet connection is listened to for a
//! moment more. What is sent later still meets a closed connection; HTTP/1.1 has no way to announce that one.

use std::{
    pin::pin,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use http::{HeaderValue, Response, header};
use hyper::{body::Body, rt, server::conn::http1, service::HttpService};
use tokio::{
    sync::watch,
    time::{Instant, sleep},
};

use super::idle::Activity;

/// How long a quiet connection may still bring a request: the way from one continent to another and back.
const LAST_CALL: Duration = Duration::from_millis(250);

/// How often it is looked at meanwhile.
const LOOK: Duration = Duration::from_millis(25);

/// How far a server has come in stopping.
#[derive(Debug)]
pub(super) struct Drain {
    /// Read for every response, hence not in the channel.
    leaving: AtomicBool,
    closing: watch::Sender<bool>,
}

impl Default for Drain {
    fn default() -> Self {
        Self { leaving: AtomicBool::new(false), closing: watch::Sender::new(false) }
    }
}

impl Drain {
    /// From here on every response is the last of its connection.
    pub(super) fn leave(&self) {
        self.leaving.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_leaving(&self) -> bool {
        self.leaving.load(Ordering::Relaxed)
    }

    /// From here on connections end.
    pub(super) fn close(&self) {
        self.closing.send_replace(true);
    }

    /// Says that the connection ends with this response, if it does.
    pub(super) fn mark<B>(&self, response: &mut Response<B>) {
        if self.is_leaving() {
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
    }

    /// Runs a connection up to its end, which is near once the server closes.
    pub(super) async fn run<I, S, B>(
        &self,
        connection: http1::Connection<I, S>,
        activity: &Activity,
    ) -> hyper::Result<()>
    where
        S: HttpService<hyper::body::Incoming, ResBody = B>,
        S::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
        I: rt::Read + rt::Write + Unpin,
        B: Body<Error: Into<Box<dyn std::error::Error + Send + Sync>>> + 'static,
    {
        let mut connection = pin!(connection);
        let mut closing = self.closing.subscribe();
        tokio::select! {
            biased;
            ended = connection.as_mut() => return ended,
            // The sender is in `self`: waiting cannot fail.
            _ = closing.wait_for(|is_closing| *is_closing) => {}
        }
        let told = Instant::now();
        while activity.is_being_asked() || (activity.is_quiet() && told.elapsed() < LAST_CALL) {
            tokio::select! {
                biased;
                ended = connection.as_mut() => return ended,
                () = sleep(LOOK) => {}
            }
        }
        connection.as_mut().graceful_shutdown();
        connection.await
    }
}
