//! Stopping: who is still served, who is not, and for how long.

use std::{io::Write, net::SocketAddr, sync::Arc, time::Duration};

use tokio::{
    net::{TcpListener, TcpStream},
    task::yield_now,
    time::timeout,
};

use super::world::{Echo, Gate, Peer, SOON, Served, endpoint, pass, post};
use crate::{
    http::{HttpServer, McpService, endpoint::Endpoint, serve::Options},
    server::Server,
};

#[tokio::test]
async fn a_running_call_finishes_and_new_connections_are_refused() {
    let gate = Arc::new(Gate::default());
    let served = Served::start(Endpoint::new(gate.clone()), Options::default()).await;
    let address = served.address;
    let mut peer = served.connect().await;
    peer.send(&post("{}")).await;
    pass(&gate.started).await;

    let running = served.stop();
    until_refused(address).await;
    assert!(!running.is_finished());

    gate.finish.add_permits(1);
    let answer = peer.read_to_end().await;
    assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("\"finished\""), "{answer}");
    drop(peer);
    timeout(SOON, running).await.expect("stops soon").unwrap();
}

#[tokio::test]
async fn a_call_that_outlasts_the_drain_timeout_is_dropped() {
    let gate = Arc::new(Gate::default());
    let options = Options { drain_timeout: Duration::from_millis(50), ..Options::default() };
    let served = Served::start(Endpoint::new(gate.clone()), options).await;
    let mut peer = served.connect().await;
    peer.send(&post("{}")).await;
    pass(&gate.started).await;

    timeout(SOON, served.stop()).await.expect("stops soon").unwrap();
    pass(&gate.dropped).await;
    assert_eq!(peer.read_to_end().await, "");
}

#[tokio::test]
async fn idle_connections_do_not_hold_the_server_up() {
    let gate = Arc::new(Gate::default());
    let served = Served::start(Endpoint::new(gate.clone()), Options::default()).await;
    let mut silent = served.connect().await;
    let mut idle = served.connect().await;
    gate.finish.add_permits(1);
    idle.send(&post("{}")).await;
    idle.read_until("finished").await;

    let running = served.stop();
    assert_eq!(idle.read_to_end().await, "");
    assert_eq!(silent.read_to_end().await, "");
    drop((idle, silent));
    timeout(SOON, running).await.expect("stops soon").unwrap();
}

#[tokio::test]
async fn while_the_delay_lasts_everybody_is_served_and_sent_elsewhere() {
    let options = Options { drain_delay: SOON, ..Options::default() };
    let served = Served::start(endpoint(Echo, |_| {}), options).await;
    let address = served.address;
    let mut regular = served.connect().await;
    regular.send(&post("{}")).await;
    let answer = regular.read_until("caller").await;
    assert!(!answer.contains("connection: close"), "{answer}");

    let running = served.stop();
    let ready = async { while probe(address).await.starts_with("HTTP/1.1 200") {} };
    timeout(SOON / 2, ready).await.expect("is not ready soon");

    let mut late = Peer(TcpStream::connect(address).await.unwrap());
    for peer in [&mut regular, &mut late] {
        peer.send(&post("{}")).await;
        let answer = peer.read_to_end().await;
        assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("connection: close\r\n"), "{answer}");
    }
    assert!(!running.is_finished());
    running.abort();
}

#[tokio::test]
async fn after_the_delay_new_connections_are_refused() {
    let options = Options { drain_delay: Duration::from_millis(50), ..Options::default() };
    let served = Served::start(endpoint(Echo, |_| {}), options).await;
    let address = served.address;
    let running = served.stop();
    until_refused(address).await;
    timeout(SOON, running).await.expect("stops soon").unwrap();
}

#[tokio::test]
async fn requests_on_connections_that_were_never_accepted_are_answered() {
    let served = Served::start(endpoint(Echo, |_| {}), Options::default()).await;
    // This thread is the server's too: it has seen none of them when it is told to stop.
    let peers: Vec<_> = (0..30).map(|_| sent_unseen(served.address)).collect();
    let running = served.stop();
    for mut peer in peers.into_iter().map(adopted) {
        let answer = peer.read_to_end().await;
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }
    timeout(SOON, running).await.expect("stops soon").unwrap();
}

#[tokio::test]
async fn a_request_sent_on_an_idle_connection_as_the_server_stops_is_answered() {
    let served = Served::start(endpoint(Echo, |_| {}), Options::default()).await;
    let mut idle = Vec::new();
    for _ in 0..10 {
        let mut peer = served.connect().await;
        peer.send(&post("{}")).await;
        peer.read_until("caller").await;
        idle.push(peer);
    }
    let address = served.address;
    let running = served.stop();
    until_refused(address).await;
    for peer in &mut idle {
        peer.send(&post("{}")).await;
        let answer = peer.read_to_end().await;
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }
    timeout(SOON, running).await.expect("stops soon").unwrap();
}

#[tokio::test]
async fn a_request_that_has_half_arrived_on_a_used_connection_is_waited_for() {
    let served = Served::start(endpoint(Echo, |_| {}), Options::default()).await;
    let mut peer = served.connect().await;
    peer.send(&post("{}")).await;
    peer.read_until("caller").await;
    let request = post("{}");
    let (one, other) = request.split_at(20);
    peer.send(one).await;

    let running = served.stop();
    tokio::time::sleep(Duration::from_millis(400)).await;
    peer.send(other).await;
    let answer = peer.read_to_end().await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    timeout(SOON, running).await.expect("stops soon").unwrap();
}

/// One test for both: signals go to all servers of the process.
#[cfg(unix)]
#[tokio::test]
async fn a_termination_signal_stops_a_listening_server_and_a_second_one_at_once() {
    let (address, running) = listening(|server| server).await;
    terminate();
    timeout(SOON, running).await.expect("stops soon").unwrap().unwrap();
    assert!(TcpStream::connect(address).await.is_err());

    let (address, running) = listening(|server| server.drain_delay(SOON * 10)).await;
    terminate();
    let ready = async { while probe(address).await.starts_with("HTTP/1.1 200") {} };
    timeout(SOON, ready).await.expect("is not ready soon");
    assert!(!running.is_finished());
    terminate();
    timeout(SOON, running).await.expect("stops soon").unwrap().unwrap();
}

#[cfg(unix)]
async fn listening(
    change: impl FnOnce(HttpServer) -> HttpServer,
) -> (SocketAddr, tokio::task::JoinHandle<Result<(), crate::http::ServeError>>) {
    let address = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let server = Server::new("releases", "1.0.0").build().unwrap();
    let running = tokio::spawn(change(HttpServer::new(McpService::new(server))).listen(address));
    let listening = async {
        while TcpStream::connect(address).await.is_err() {
            yield_now().await
        }
    };
    timeout(SOON, listening).await.expect("listens soon");
    (address, running)
}

#[cfg(unix)]
fn terminate() {
    let pid = std::process::id().to_string();
    let sent = std::process::Command::new("kill").args(["-TERM", &pid]).status().unwrap();
    assert!(sent.success());
}

/// What the readiness probe says.
async fn probe(address: SocketAddr) -> String {
    let mut peer = Peer(TcpStream::connect(address).await.unwrap());
    peer.send("GET /readyz HTTP/1.1\r\nConnection: close\r\n\r\n").await;
    peer.read_to_end().await
}

/// A connection with a request on it, made without giving the runtime a chance to run.
fn sent_unseen(address: SocketAddr) -> std::net::TcpStream {
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    stream.write_all(post("{}").as_bytes()).unwrap();
    stream
}

fn adopted(stream: std::net::TcpStream) -> Peer {
    stream.set_nonblocking(true).unwrap();
    Peer(TcpStream::from_std(stream).unwrap())
}

/// Connects until the system says no: the listener is closed a moment after the server was told to stop.
async fn until_refused(address: SocketAddr) {
    let refused = async { while TcpStream::connect(address).await.is_ok() {} };
    timeout(SOON, refused).await.expect("refuses soon");
}
