//! More than anybody can take: clients that do not read, handlers that do not stop, requests without end.

use std::collections::HashSet;
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::time::Duration;

use serde_json::json;
use tokio::time::{sleep, timeout};

use super::world::{Client, PIPE, SOON, call, cancel, endless, pass, server, text, told};
use crate::{Context, NoArguments, Tool};

#[tokio::test(start_paused = true)]
async fn no_more_requests_run_at_once_than_may() {
    let running = Arc::new(AtomicUsize::new(0));
    let counted = Tool::new("counted", move |_: NoArguments, _: Context| {
        let running = running.clone();
        async move {
            let now = running.fetch_add(1, Ordering::SeqCst) + 1;
            sleep(Duration::from_millis(10)).await;
            running.fetch_sub(1, Ordering::SeqCst);
            now.to_string()
        }
    });
    let mut client = Client::of(server([counted]).max_running(3));
    for id in 0..20 {
        client.send(call(id, "counted", json!({}))).await;
    }
    for _ in 0..20 {
        assert!(text(&client.read().await).parse::<usize>().unwrap() <= 3);
    }
}

#[tokio::test(start_paused = true)]
async fn a_cancellation_is_heard_while_all_slots_are_taken() {
    let (tool, started, dropped) = endless();
    let mut client = Client::of(server([tool]).max_running(2));
    for id in [1, 2] {
        client.send(call(id, "endless", json!({}))).await;
        pass(&started).await;
    }
    for id in 3..=500 {
        client.send(call(id, "wait", json!({ "ms": 1 }))).await;
    }
    client.nothing().await;
    client.send(cancel(1)).await;
    pass(&dropped).await;
    assert_eq!(client.read().await["id"], 3);
}

#[tokio::test(start_paused = true)]
async fn a_request_that_waits_for_its_turn_can_be_cancelled() {
    let (tool, started, dropped) = endless();
    let mut client = Client::of(server([tool]).max_running(1));
    client.send(call(1, "endless", json!({}))).await;
    pass(&started).await;
    client.send(call(2, "wait", json!({ "ms": 1 }))).await;
    client.send(call(3, "wait", json!({ "ms": 2 }))).await;
    client.send(cancel(2)).await;
    client.send(cancel(1)).await;
    pass(&dropped).await;
    assert_eq!(text(&client.read().await), "waited 2");
    client.nothing().await;
}

#[tokio::test(start_paused = true)]
async fn requests_without_end_are_read_up_to_a_point() {
    let (tool, started, _) = endless();
    let mut client = Client::of(server([tool]).max_running(1));
    let size = call(1, "endless", json!({})).to_string().len() as u64;
    let sent = client.flood(|id| call(id, "endless", json!({}))).await;
    // Those read, and those in the pipe and the reader's buffer.
    assert!((1025..1025 + 3 * PIPE as u64 / size).contains(&sent), "{sent}");
    assert_eq!(started.available_permits(), 1);
}

#[tokio::test(start_paused = true)]
async fn long_lines_of_unanswered_requests_are_bounded_by_their_bytes() {
    let (tool, ..) = endless();
    let mut client = Client::of(server([tool]).max_line(10_000));
    let long = "x".repeat(9000);
    let sent = client.flood(|id| call(id, "endless", json!({ "long": long }))).await;
    assert!((17..22).contains(&sent), "{sent}");
}

#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_read_is_not_read_from_for_ever_and_loses_no_reply() {
    let mut client = Client::of(server([]).max_running(4));
    let sent = client.flood(|id| call(id, "deploy", json!({}))).await;
    assert!(sent < 1500, "{sent}");
    let (rest, served) = client.end().await;
    served.unwrap();
    // The last request is cut off and has an error of its own.
    let replies = rest.iter().filter(|message| message["result"].is_object()).count() as u64;
    assert_eq!(replies, sent);
}

#[tokio::test(start_paused = true)]
async fn garbage_without_end_is_read_up_to_a_point() {
    let mut client = Client::of(server([]));
    let sent = client.flood(|_| json!("garbage")).await;
    assert!(sent < 10_000, "{sent}");
}

#[tokio::test(start_paused = true)]
async fn a_flood_of_progress_is_dropped_where_it_does_not_fit_and_harms_nobody() {
    let flood = Tool::new("flood", |_: NoArguments, cx: Context| async move {
        for step in 1..=10_000 {
            cx.progress(f64::from(step), None, Some("so far"));
        }
        "done"
    });
    let mut client = Client::of(server([flood]));
    client.send(told(call(1, "flood", json!({})))).await;
    client.send(call(2, "wait", json!({ "ms": 1 }))).await;
    let (rest, served) = client.end().await;
    served.unwrap();
    let progress = rest.iter().filter(|message| message["method"] == "notifications/progress").count();
    assert!((1..=64).contains(&progress), "{progress}");
    assert!([1, 2].iter().all(|id| rest.iter().any(|message| message["id"] == *id)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn on_many_threads_every_request_has_one_reply_and_a_cancelled_one_at_most_one() {
    let mut client = Client::of(server([]).max_running(8));
    let mut said = Vec::new();
    for id in 0..900_u64 {
        client.send(told(call(id, "wait", json!({ "ms": id % 3 })))).await;
        if id % 3 == 0 {
            client.send(cancel(id)).await;
        }
        // Reading along, so that the pipes do not fill up.
        while let Some(message) = client.read_now().await {
            said.push(message);
        }
    }
    let (rest, served) = client.end().await;
    served.unwrap();
    said.extend(rest);

    let mut ended = HashSet::new();
    for message in said {
        match message["params"]["progressToken"].as_u64() {
            Some(id) => assert!(!ended.contains(&id), "{id} goes on after its reply"),
            None => assert!(ended.insert(message["id"].as_u64().unwrap()), "{message} is a second reply"),
        }
    }
    assert!((0..900).all(|id| id % 3 == 0 || ended.contains(&id)));
}

#[tokio::test(start_paused = true)]
async fn one_who_waits_for_room_tells_everything() {
    use crate::flow::Outlet as _;
    use crate::stdio::{
        calls::{Calls, Room},
        outlet::CallOutlet,
    };
    use crate::wire::Message;

    let calls = Arc::new(Calls::new(Room { calls: 1, bytes: 1 }, ""));
    let Ok(Message::Request(request)) = Message::parse(br#"{"jsonrpc":"2.0","id":1,"method":"m"}"#) else { panic!() };
    let serial = calls.open(&request, 1).unwrap();
    let outlet = CallOutlet { calls: calls.clone(), serial };
    let telling = tokio::spawn(async move {
        for number in 0..1000 {
            poll_fn(|task| outlet.poll_room(task)).await;
            assert!(outlet.send(number.to_string()));
        }
    });
    for number in 0..1000 {
        let text = timeout(SOON, calls.next()).await.unwrap().unwrap();
        assert_eq!(text, number.to_string().into_bytes());
    }
    telling.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn one_who_waits_for_room_is_let_go_when_the_call_is_cancelled() {
    use crate::flow::Outlet as _;
    use crate::stdio::{
        calls::{Calls, Room},
        outlet::CallOutlet,
    };
    use crate::wire::Message;

    let calls = Arc::new(Calls::new(Room { calls: 1, bytes: 1 }, ""));
    let Ok(Message::Request(request)) = Message::parse(br#"{"jsonrpc":"2.0","id":1,"method":"m"}"#) else { panic!() };
    let outlet = CallOutlet { calls: calls.clone(), serial: calls.open(&request, 1).unwrap() };
    while outlet.send("{}".to_owned()) {}
    let mut waiting = by_hand(poll_fn(move |task| outlet.poll_room(task).map(|()| outlet.send("{}".to_owned()))));
    assert!(waiting().is_pending());
    assert!(calls.cancel(&request.id));
    assert_eq!(waiting(), Poll::Ready(false));
    assert_eq!(calls.try_next(), None);
}

/// Polls a future when told to.
fn by_hand<T>(future: impl Future<Output = T> + 'static) -> impl FnMut() -> Poll<T> {
    let mut future = Box::pin(future);
    move || future.as_mut().poll(&mut std::task::Context::from_waker(std::task::Waker::noop()))
}
