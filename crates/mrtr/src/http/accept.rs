//! The accept loop: connections in, hyper on each, and an orderly end.

use std::{convert::Infallible, io, net::SocketAddr, sync::Arc, time::Duration};

use http::{Request, Response};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpStream},
    task::{JoinError, JoinSet},
};

use super::{
    body::ResponseBody,
    endpoint::{Endpoint, Handle},
    health::Health,
    idle::{Activity, Idle},
    linger::Linger,
    refusal::Refusal,
    serve::Options,
};

/// How long accepting rests after the system refused to, typically because no file descriptor is left.
const REST: Duration = Duration::from_millis(50);

/// How often calls that would go on for ever are told to end, once the server is.
const REMINDER: Duration = Duration::from_millis(50);

/// Serves connections until `stop` is ready and the drain delay is over, then lets running calls finish within the
/// drain timeout.
pub(super) async fn run<H: Handle>(
    listener: TcpListener,
    endpoint: Endpoint<H>,
    options: &Options,
    stop: impl Future<Output = ()>,
) {
    let health = Arc::new(Health::new(options.probes.clone()));
    let mut connections = Connections { endpoint, options, health, tasks: JoinSet::new() };
    connections.accept_until(&listener, stop).await;

    connections.health.drain.leave();
    if !options.drain_delay.is_zero() {
        tracing::info!(delay = ?options.drain_delay, "told to stop; serving on while clients find out");
        connections.accept_until(&listener, tokio::time::sleep(options.drain_delay)).await;
    }
    connections.accept_rest(listener);
    connections.drain().await;
}

/// The connections of a server.
struct Connections<'a, H> {
    endpoint: Endpoint<H>,
    options: &'a Options,
    health: Arc<Health>,
    tasks: JoinSet<()>,
}

impl<H: Handle> Connections<'_, H> {
    async fn accept_until(&mut self, listener: &TcpListener, end: impl Future<Output = ()>) {
        let mut end = std::pin::pin!(end);
        loop {
            tokio::select! {
                () = &mut end => return,
                (stream, peer) = accept(listener) => self.serve(stream, peer),
                Some(ended) = self.tasks.join_next() => report_panic(ended),
            }
        }
    }

    /// Closes the listener, from when on the system refuses connections. Those it has made already are taken over
    /// first: they would be reset, with the requests that were sent on them.
    fn accept_rest(&mut self, listener: TcpListener) {
        let Ok(listener) = listener.into_std() else { return };
        // It does not block; what fails here is nobody waiting, or an error that ends with the listener.
        while let Ok((stream, peer)) = listener.accept() {
            let stream = stream.set_nonblocking(true).and_then(|()| TcpStream::from_std(stream));
            match stream {
                Ok(stream) => self.serve(stream, peer),
                Err(error) => tracing::warn!(%peer, %error, "lost a connection while stopping"),
            }
        }
    }

    fn serve(&mut self, stream: TcpStream, peer: SocketAddr) {
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%peer, %error, "cannot set TCP_NODELAY");
        }
        let connection = connection(stream, self.endpoint.clone(), self.options, Arc::clone(&self.health));
        self.tasks.spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%peer, %error, "connection ended early");
            }
        });
    }

    /// Waits for the running calls; those that outlast the timeout are dropped with their connections.
    async fn drain(mut self) {
        self.health.drain.close();
        let finished = async {
            while let Some(ended) = self.tasks.join_next().await {
                report_panic(ended);
            }
            self.endpoint.detached_calls_ended().await;
        };
        let finished = async {
            tokio::select! {
                () = finished => {}
                () = end_lasting_calls(&self.endpoint) => {}
            }
        };
        if tokio::time::timeout(self.options.drain_timeout, finished).await.is_err() {
            tracing::warn!(connections = self.tasks.len(), "drain timeout is over; dropping what still runs");
            self.tasks.shutdown().await;
        }
    }
}

/// The next connection; a failure to accept is waited out, never the end of the server.
async fn accept(listener: &TcpListener) -> (TcpStream, SocketAddr) {
    loop {
        match listener.accept().await {
            Ok(accepted) => return accepted,
            Err(error) if is_about_one_peer(&error) => {}
            Err(error) => {
                tracing::warn!(%error, "cannot accept connections; trying again");
                tokio::time::sleep(REST).await;
            }
        }
    }
}

/// Whether a peer gave up before it was accepted, which says nothing about the next one.
fn is_about_one_peer(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

/// HTTP/1.1 on one connection, up to its end.
pub(super) fn connection<H: Handle, S: AsyncRead + AsyncWrite + Unpin>(
    stream: S,
    endpoint: Endpoint<H>,
    options: &Options,
    health: Arc<Health>,
) -> impl Future<Output = hyper::Result<()>> + use<H, S> {
    let path = options.path.clone();
    let activity = Activity::default();
    let idle = Idle::new(activity.clone(), options.header_timeout);
    async move {
        let service = service_fn(|request: Request<Incoming>| {
            let (endpoint, path, health, busy) = (&endpoint, &*path, &*health, activity.begin());
            async move {
                let mut response = route(endpoint, path, health, request).await;
                response.body_mut().keep_busy(busy);
                health.drain.mark(&mut response);
                Ok::<_, Infallible>(response)
            }
        });
        // No timer of hyper's: `idle` has the time of the head.
        let connection = http1::Builder::new().serve_connection(TokioIo::new(Linger::new(stream, idle)), service);
        health.drain.run(connection, &activity).await
    }
}

async fn route<H: Handle>(
    endpoint: &Endpoint<H>,
    path: &str,
    health: &Health,
    request: Request<Incoming>,
) -> Response<ResponseBody> {
    if let Some(document) = endpoint.metadata(path, &request) {
        return document;
    }
    if request.uri().path() == path {
        return endpoint.respond(request).await;
    }
    if let Some(probed) = health.answer(request.method(), request.uri().path()).await {
        return endpoint.finish(probed);
    }
    Refusal::PathUnknown { endpoint: path.to_owned() }.into_response()
}

/// Goes on ending calls that would last: one that was still on its way when the server was told to stop may come yet.
async fn end_lasting_calls<H: Handle>(endpoint: &Endpoint<H>) {
    loop {
        endpoint.end_lasting_calls();
        tokio::time::sleep(REMINDER).await;
    }
}

/// A panic below a connection ends that connection only.
fn report_panic(ended: Result<(), JoinError>) {
    if let Err(error) = ended {
        tracing::error!(%error, "a connection's task failed");
    }
}
