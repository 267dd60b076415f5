//! Calls over a limit: what goes back, and what makes room again.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use http::{Request, header};
use http_body_util::Full;

use super::world::{Echo, End, Gate, Script, endpoint, json, pass, request};
use crate::{
    Principal,
    http::{Limits, endpoint::Endpoint, limits::Limiter},
};

fn limited(limits: Limits) -> Endpoint<Echo> {
    endpoint(Echo, |rules| rules.limits = Some(Arc::new(Limiter::new(limits))))
}

fn from(subject: &str) -> Request<Full<Bytes>> {
    let mut request = request(Full::from("{}"));
    request.extensions_mut().insert(Principal::new("https://id.example", subject));
    request
}

#[tokio::test(start_paused = true)]
async fn a_caller_over_the_rate_is_told_when_to_come_back() {
    let endpoint = limited(Limits::new().rate(2, Duration::from_secs(5)));
    for _ in 0..2 {
        assert_eq!(endpoint.respond(from("ada")).await.status(), 200);
    }
    let refused = endpoint.respond(from("ada")).await;
    assert_eq!(refused.status(), 429);
    assert_eq!(refused.headers()[header::RETRY_AFTER], "3", "2.5 seconds, rounded up");
    let body = json(refused).await;
    assert_eq!(body["error"]["message"], "too many calls; wait 3 s, then go on more slowly");
    assert_eq!(endpoint.respond(from("grace")).await.status(), 200);

    tokio::time::advance(Duration::from_secs(3)).await;
    assert_eq!(endpoint.respond(from("ada")).await.status(), 200);
}

#[tokio::test]
async fn what_is_malformed_counts_too() {
    let endpoint = limited(Limits::new().rate(1, Duration::from_secs(5)));
    let mut wrong = from("ada");
    wrong.headers_mut().insert(header::CONTENT_TYPE, "text/plain".parse().unwrap());
    assert_eq!(endpoint.respond(wrong).await.status(), 415);
    assert_eq!(endpoint.respond(from("ada")).await.status(), 429);
}

#[tokio::test]
async fn a_call_that_is_cancelled_makes_room_for_the_next() {
    for limits in [Limits::new().open_per_caller(1), Limits::new().open(1)] {
        let over = if limits == Limits::new().open(1) { 503 } else { 429 };
        let gate = Arc::new(Gate::default());
        let mut endpoint = Endpoint::new(Arc::clone(&gate));
        endpoint.rules_mut().limits = Some(Arc::new(Limiter::new(limits)));
        let running = tokio::spawn({
            let endpoint = endpoint.clone();
            async move { endpoint.respond(from("ada")).await.status() }
        });
        pass(&gate.started).await;
        let refused = endpoint.respond(from("ada")).await;
        assert_eq!(refused.status(), over);
        assert_eq!(refused.headers()[header::RETRY_AFTER], "1");

        running.abort();
        assert!(running.await.unwrap_err().is_cancelled());
        gate.finish.add_permits(1);
        assert_eq!(endpoint.respond(from("ada")).await.status(), 200);
    }
}

#[tokio::test]
async fn a_call_is_open_while_its_body_arrives_and_while_its_response_is_held() {
    let endpoint = limited(Limits::new().open_per_caller(1));
    let mut slow = Box::pin(endpoint.respond(request(Script::new(["{"], End::Never))));
    assert!(std::future::poll_fn(|task| std::task::Poll::Ready(slow.as_mut().poll(task).is_pending())).await);
    assert_eq!(endpoint.respond(request(Full::<Bytes>::from("{}"))).await.status(), 429, "anonymous callers are one");
    drop(slow);

    let response = endpoint.respond(from("ada")).await;
    assert_eq!(endpoint.respond(from("ada")).await.status(), 429);
    drop(response);
    assert_eq!(endpoint.respond(from("ada")).await.status(), 200);
}
