//! What is done once goes on when its client goes away, and its answer waits for whoever comes again.

use std::sync::Arc;

use tokio::{sync::Semaphore, time::timeout};

use super::cancel::Guard;
use super::world::{SOON, Served, head, pass};
use crate::{
    Context, NoArguments, Server, Tool,
    http::{Limits, endpoint::Endpoint, limits::Limiter, serve::Options},
};

/// A tool that is at work until the test lets it finish.
struct Slow {
    started: Arc<Semaphore>,
    finish: Arc<Semaphore>,
    dropped: Arc<Semaphore>,
}

impl Slow {
    fn new() -> Self {
        let closed = || Arc::new(Semaphore::new(0));
        Self { started: closed(), finish: closed(), dropped: closed() }
    }

    async fn serve(&self, limits: Option<Limits>) -> Served {
        let (started, finish, dropped) = (self.started.clone(), self.finish.clone(), self.dropped.clone());
        let tool = Tool::new("pay", move |_: NoArguments, _: Context| {
            let (started, finish, guard) = (started.clone(), finish.clone(), Guard(dropped.clone()));
            async move {
                let _guard = guard;
                started.add_permits(1);
                finish.acquire().await.unwrap().forget();
                "paid"
            }
        });
        let server = Server::new("shop", "1.0.0").tool(tool.idempotency_keys()).build().unwrap();
        let mut endpoint = Endpoint::new(server);
        endpoint.rules_mut().limits = limits.map(|limits| Arc::new(Limiter::new(limits)));
        Served::start(endpoint, Options::default()).await
    }
}

fn pay() -> String {
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"pay","_meta":{
        "mrtr/idempotencyKey":"order-1",
        "io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;
    let mirrored = "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: pay\r\n";
    format!("{}{mirrored}Content-Length: {}\r\n\r\n{body}", head(), body.len())
}

#[tokio::test]
async fn a_client_that_goes_away_and_comes_again_gets_the_answer_of_the_first_run() {
    let slow = Slow::new();
    let served = slow.serve(None).await;
    let mut peer = served.connect().await;
    peer.send(&pay()).await;
    pass(&slow.started).await;
    drop(peer);

    let mut again = served.connect().await;
    again.send(&pay()).await;
    slow.finish.add_permits(1);
    again.read_until("paid").await;
    assert_eq!(slow.started.available_permits(), 0, "it was begun once");
}

#[tokio::test]
async fn a_server_that_stops_waits_for_what_its_client_no_longer_waits_for() {
    let slow = Slow::new();
    let served = slow.serve(None).await;
    let mut peer = served.connect().await;
    peer.send(&pay()).await;
    pass(&slow.started).await;
    drop(peer);

    let running = served.stop();
    tokio::task::yield_now().await;
    assert!(!running.is_finished());
    assert_eq!(slow.dropped.available_permits(), 0);
    slow.finish.add_permits(1);
    timeout(SOON, running).await.expect("stops soon").unwrap();
    pass(&slow.dropped).await;
}

#[tokio::test]
async fn a_call_whose_client_went_away_is_still_open() {
    let slow = Slow::new();
    let served = slow.serve(Some(Limits::new().open(1))).await;
    let mut peer = served.connect().await;
    peer.send(&pay()).await;
    pass(&slow.started).await;
    drop(peer);

    for _ in 0..10 {
        let mut again = served.connect().await;
        again.send(&pay()).await;
        again.read_until("503").await;
    }
    slow.finish.add_permits(1);
    pass(&slow.dropped).await;
}
