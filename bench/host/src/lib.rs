//! The process around a server: one thread, one port on loopback, hyper's HTTP/1.1. What is served is the caller's.

use std::convert::Infallible;
use std::error::Error;
use std::future::Future;

use http::{Request, Response};
use hyper::body::{Body, Incoming};
use hyper::server::conn::http1;
use hyper::service::Service;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;

/// Runs a server on a current-thread runtime, on the port that is the program's only argument.
///
/// # Panics
///
/// When there is no such argument, or the port is taken: a benchmark has nothing better to do.
pub fn run<S>(server: impl FnOnce(TcpListener) -> S)
where
    S: Future<Output = ()>,
{
    let port: u16 = std::env::args().nth(1).and_then(|port| port.parse().ok()).expect("usage: PROGRAM <port>");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let listener = TcpListener::bind(("127.0.0.1", port)).await.expect("a free port");
        server(listener).await;
    });
}

/// Serves one hyper service on every connection, without end.
pub async fn serve<S, B>(listener: TcpListener, service: S)
where
    S: Service<Request<Incoming>, Response = Response<B>, Error = Infallible> + Clone + 'static,
    S::Future: Send,
    S: Send,
    B: Body<Data: Send, Error: Into<Box<dyn Error + Send + Sync>>> + Send + 'static,
{
    loop {
        let Ok((stream, _)) = listener.accept().await else { continue };
        // As mrtr does: an answer is one write, there is nothing to wait for.
        let _ = stream.set_nodelay(true);
        let connection =
            http1::Builder::new().timer(TokioTimer::new()).serve_connection(TokioIo::new(stream), service.clone());
        tokio::spawn(connection);
    }
}
