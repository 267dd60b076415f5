//! Stopping: who is still served, who is not, and for how long.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use tokio::{
    net::{TcpListener, TcpStream},
    task::yield_now,
    time::timeout,
};

use super::world::{Gate, SOON, Served, pass, post};
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

#[cfg(unix)]
#[tokio::test]
async fn a_termination_signal_stops_a_listening_server() {
    let address = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let server = Server::new("releases", "1.0.0").build().unwrap();
    let running = tokio::spawn(HttpServer::new(McpService::new(server)).listen(address));
    let listening = async {
        while TcpStream::connect(address).await.is_err() {
            yield_now().await
        }
    };
    timeout(SOON, listening).await.expect("listens soon");

    let pid = std::process::id().to_string();
    let sent = std::process::Command::new("kill").args(["-TERM", &pid]).status().unwrap();
    assert!(sent.success());
    timeout(SOON, running).await.expect("stops soon").unwrap().unwrap();
    assert!(TcpStream::connect(address).await.is_err());
}

/// Connects until the system says no: the listener is closed a moment after the server was told to stop.
async fn until_refused(address: SocketAddr) {
    let refused = async { while TcpStream::connect(address).await.is_ok() {} };
    timeout(SOON, refused).await.expect("refuses soon");
}
