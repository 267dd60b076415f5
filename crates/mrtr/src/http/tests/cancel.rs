//! A client that goes away takes its call with it.

use std::{net::Shutdown, sync::Arc};

use tokio::sync::Semaphore;

use super::world::{Gate, Served, head, pass, post};
use crate::http::{endpoint::Endpoint, serve::Options};
use crate::{Context, NoArguments, Server, Tool};

#[tokio::test]
async fn a_client_that_closes_cancels_its_call() {
    let gate = Arc::new(Gate::default());
    let served = Served::start(Endpoint::new(gate.clone()), Options::default()).await;

    let mut peer = served.connect().await;
    peer.send(&post("{}")).await;
    pass(&gate.started).await;
    assert_eq!(gate.dropped.available_permits(), 0);

    drop(peer);
    pass(&gate.dropped).await;
}

#[tokio::test]
async fn a_client_that_closes_its_sending_half_cancels_its_call() {
    let gate = Arc::new(Gate::default());
    let served = Served::start(Endpoint::new(gate.clone()), Options::default()).await;

    let mut peer = served.connect().await;
    peer.send(&post("{}")).await;
    pass(&gate.started).await;

    let stream = peer.0.into_std().unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    pass(&gate.dropped).await;
}

#[tokio::test]
async fn a_cancelled_call_leaves_others_alone() {
    let gate = Arc::new(Gate::default());
    let served = Served::start(Endpoint::new(gate.clone()), Options::default()).await;

    let (mut leaving, mut staying) = (served.connect().await, served.connect().await);
    leaving.send(&post("{}")).await;
    staying.send(&post("{}")).await;
    pass(&gate.started).await;
    pass(&gate.started).await;

    drop(leaving);
    pass(&gate.dropped).await;
    gate.finish.add_permits(1);
    staying.read_until("finished").await;
}

/// Lets one pass when it is dropped.
pub(super) struct Guard(pub(super) Arc<Semaphore>);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.add_permits(1);
    }
}

#[tokio::test]
async fn a_tool_whose_client_goes_away_is_dropped_where_it_stands() {
    let (started, dropped) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let tool = Tool::new("wait", {
        let (started, dropped) = (started.clone(), dropped.clone());
        move |_: NoArguments, _: Context| {
            let (started, guard) = (started.clone(), Guard(dropped.clone()));
            async move {
                started.add_permits(1);
                std::future::pending::<()>().await;
                drop(guard);
            }
        }
    });
    let server = Server::new("waits", "1.0.0").tool(tool).build().unwrap();
    let served = Served::start(Endpoint::new(server), Options::default()).await;

    let body = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"wait","_meta":{
        "io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;
    let mirrored = "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: wait\r\n";
    let mut peer = served.connect().await;
    peer.send(&format!("{}{mirrored}Content-Length: {}\r\n\r\n{body}", head(), body.len())).await;
    pass(&started).await;
    assert_eq!(dropped.available_permits(), 0);

    drop(peer);
    pass(&dropped).await;
}
