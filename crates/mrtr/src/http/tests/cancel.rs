//! A client that goes away takes its call with it.

use std::{net::Shutdown, sync::Arc};

use super::world::{Gate, Served, pass, post};
use crate::http::{endpoint::Endpoint, serve::Options};

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
