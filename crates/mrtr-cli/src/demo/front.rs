//! The front: a plain round-robin proxy. It knows nothing of MCP, keeps nothing between requests, and has no affinity.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::header::{CONNECTION, CONTENT_LENGTH, HeaderMap, TRANSFER_ENCODING};
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode, client, server};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use super::fleet::Fleet;

/// A proxy on a loopback port of its own.
pub(crate) struct Front {
    /// The URL that clients call.
    pub(crate) url: String,
    listener: TcpListener,
    fleet: Arc<Fleet>,
}

impl Front {
    /// Takes a free port.
    pub(crate) async fn bind(fleet: Arc<Fleet>) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}/mcp", listener.local_addr()?);
        Ok(Self { url, listener, fleet })
    }

    /// Forwards until the future is dropped, which ends all connections.
    pub(crate) async fn run(self) -> Infallible {
        let mut connections = JoinSet::new();
        loop {
            tokio::select! {
                accepted = self.listener.accept() => match accepted {
                    Ok((stream, _)) => { connections.spawn(serve(stream, Arc::clone(&self.fleet))); }
                    // Most likely no file descriptor is left; one will be.
                    Err(_) => tokio::time::sleep(REST).await,
                },
                Some(_) = connections.join_next() => {}
            }
        }
    }
}

async fn serve(stream: TcpStream, fleet: Arc<Fleet>) {
    let service = service_fn(|request| forward(&fleet, request));
    // A connection that breaks is its client's news, not the front's.
    let _ = server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}

/// Hands a request to the next live instance, and to the one after it if that cannot be reached.
///
/// Only a request of which nothing was sent yet is handed on; whether to repeat any other is up to the client.
async fn forward(fleet: &Fleet, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let (mut head, body) = request.into_parts();
    let Ok(body) = Limited::new(body, MAX_BODY).collect().await else {
        return Ok(refusal(StatusCode::BAD_REQUEST, "the body is too large, or incomplete"));
    };
    drop_framing(&mut head.headers);
    let request = Request::from_parts(head, Full::new(body.to_bytes()));
    for _ in 0..fleet.size() {
        let Some(address) = fleet.next() else { break };
        let Ok(stream) = TcpStream::connect(address).await else { continue };
        let answered = exchange(stream, address, request).await;
        return Ok(answered.unwrap_or_else(|why| refusal(StatusCode::BAD_GATEWAY, &why)));
    }
    Ok(refusal(StatusCode::BAD_GATEWAY, "no instance is left"))
}

async fn exchange(
    stream: TcpStream,
    address: SocketAddr,
    request: Request<Full<Bytes>>,
) -> Result<Response<Full<Bytes>>, String> {
    let lost = |error: hyper::Error| format!("lost the instance at {address}: {error}");
    let (mut sender, connection) = client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(lost)?;
    // Dropped with this future: a client that goes away takes its request with it.
    let mut driver = JoinSet::new();
    driver.spawn(connection);
    let response = sender.send_request(request).await.map_err(lost)?;
    let (mut head, body) = response.into_parts();
    drop_framing(&mut head.headers);
    let body = body.collect().await.map_err(lost)?.to_bytes();
    Ok(Response::from_parts(head, Full::new(body)))
}

/// Removes what describes one connection and not the message; each side writes its own.
fn drop_framing(headers: &mut HeaderMap) {
    for name in [CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING] {
        headers.remove(name);
    }
}

fn refusal(status: StatusCode, why: &str) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(format!("{why}\n").into()));
    *response.status_mut() = status;
    response
}

/// As much as the servers behind take.
const MAX_BODY: usize = 4 * 1024 * 1024;
/// How long accepting rests after the system refused it.
const REST: Duration = Duration::from_millis(50);
