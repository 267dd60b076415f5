//! The accept loop: connections in, hyper on each, and an orderly end.

use std::{convert::Infallible, io, net::SocketAddr, time::Duration};

use http::{Request, Response};
use hyper::{
    body::Incoming,
    server::conn::http1,
    service::{HttpService, service_fn},
};
use hyper_util::{rt::TokioIo, server::graceful::GracefulShutdown};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpStream},
    task::{JoinError, JoinSet},
};

use super::{
    body::ResponseBody,
    endpoint::{Endpoint, Handle},
    idle::{Activity, Idle},
    linger::Linger,
    refusal::Refusal,
    serve::Options,
};

/// How long accepting rests after the system refused to, typically because no file descriptor is left.
const REST: Duration = Duration::from_millis(50);

/// How often calls that would go on for ever are told to end, once the server is.
const REMINDER: Duration = Duration::from_millis(50);

/// Serves connections until `stop` is ready, then lets running calls finish within the drain timeout.
pub(super) async fn run<H: Handle>(
    listener: TcpListener,
    endpoint: Endpoint<H>,
    options: &Options,
    stop: impl Future<Output = ()>,
) {
    let mut stop = std::pin::pin!(stop);
    let graceful = GracefulShutdown::new();
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            () = &mut stop => break,
            (stream, peer) = accept(&listener) => {
                if let Err(error) = stream.set_nodelay(true) {
                    tracing::debug!(%peer, %error, "cannot set TCP_NODELAY");
                }
                let connection = graceful.watch(connection(stream, endpoint.clone(), options));
                connections.spawn(async move {
                    if let Err(error) = connection.await {
                        tracing::debug!(%peer, %error, "connection ended early");
                    }
                });
            }
            Some(ended) = connections.join_next() => report_panic(ended),
        }
    }

    // From here on the system refuses new connections.
    drop(listener);
    drain(graceful, connections, &endpoint, options.drain_timeout).await;
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
) -> http1::Connection<
    TokioIo<Linger<S>>,
    impl HttpService<Incoming, ResBody = ResponseBody, Error = Infallible, Future: Send> + use<H, S>,
> {
    let path = options.path.clone();
    let activity = Activity::default();
    let idle = Idle::new(activity.clone(), options.header_timeout);
    let service = service_fn(move |request: Request<Incoming>| {
        let (endpoint, path, busy) = (endpoint.clone(), path.clone(), activity.begin());
        async move {
            let mut response = route(&endpoint, &path, request).await;
            response.body_mut().keep_busy(busy);
            Ok::<_, Infallible>(response)
        }
    });
    // No timer of hyper's: `idle` has the time of the head.
    http1::Builder::new().serve_connection(TokioIo::new(Linger::new(stream, idle)), service)
}

async fn route<H: Handle>(endpoint: &Endpoint<H>, path: &str, request: Request<Incoming>) -> Response<ResponseBody> {
    if let Some(document) = endpoint.metadata(path, &request) {
        return document;
    }
    if request.uri().path() != path {
        return Refusal::PathUnknown { endpoint: path.to_owned() }.into_response();
    }
    endpoint.respond(request).await
}

/// Waits for the running calls; those that outlast the timeout are dropped with their connections.
async fn drain<H: Handle>(
    graceful: GracefulShutdown,
    mut connections: JoinSet<()>,
    endpoint: &Endpoint<H>,
    timeout: Duration,
) {
    let finished = async {
        graceful.shutdown().await;
        while let Some(ended) = connections.join_next().await {
            report_panic(ended);
        }
        endpoint.detached_calls_ended().await;
    };
    let finished = async {
        tokio::select! {
            () = finished => {}
            () = end_lasting_calls(endpoint) => {}
        }
    };
    if tokio::time::timeout(timeout, finished).await.is_err() {
        tracing::warn!(connections = connections.len(), "drain timeout is over; dropping what still runs");
        connections.shutdown().await;
    }
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
