//! Keys from a URL: how they are fetched, shared, rotated, and what happens while they cannot be had.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use futures_util::future::join_all;
use http::{StatusCode, header};
use http_body_util::Full;
use serde_json::json;

use super::{
    issuer::{AUDIENCE, Answer, HandClock, ISSUER, KeyServer, NOW, Signer, claims, keys},
    world::{Echo, endpoint, request},
};
use crate::http::{Jwks, JwksError, JwtAuthenticator, endpoint::Endpoint};

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);

/// A server that takes tokens by the keys of a key server, and a clock for both of them.
struct World {
    server: Endpoint<Echo>,
    keys: KeyServer,
    clock: Arc<HandClock>,
}

impl World {
    async fn with(answer: Answer) -> Self {
        let keys = KeyServer::start(answer).await;
        let clock = Arc::new(HandClock::default());
        let authenticator =
            JwtAuthenticator::new(ISSUER, AUDIENCE, Jwks::from_url(&keys.url).unwrap()).clock(clock.clone());
        let server = endpoint(Echo, |rules| rules.auth.set_authenticator(authenticator));
        Self { server, keys, clock }
    }

    async fn call(&self, signer: &Signer, id: &str) -> StatusCode {
        let mut claims = claims();
        claims["exp"] = json!(NOW + 86_400);
        let token = signer.sign(&json!({ "alg": "EdDSA", "kid": id }), &claims);
        let mut request = request(Full::<Bytes>::from("{}"));
        request.headers_mut().insert(header::AUTHORIZATION, format!("Bearer {token}").parse().unwrap());
        self.server.respond(request).await.status()
    }
}

#[tokio::test]
async fn keys_are_fetched_once_and_shared() {
    let signer = Signer::ed25519();
    let world = World::with(keys(&[signer.jwk("a")])).await;
    let calls = join_all((0..20).map(|_| world.call(&signer, "a"))).await;
    assert!(calls.iter().all(|status| *status == 200), "{calls:?}");
    world.clock.advance(4 * MINUTE);
    assert_eq!(world.call(&signer, "a").await, 200);
    assert_eq!(world.keys.asked(), 1);
}

#[tokio::test]
async fn a_new_key_works_as_soon_as_a_token_names_it() {
    let (old, new) = (Signer::ed25519(), Signer::ed25519());
    let world = World::with(keys(&[old.jwk("old")])).await;
    assert_eq!(world.call(&old, "old").await, 200);
    world.keys.now(keys(&[old.jwk("old"), new.jwk("new")]));

    world.clock.advance(9 * SECOND);
    assert_eq!(world.call(&new, "new").await, 401, "the last fetch is less than ten seconds ago");
    world.clock.advance(SECOND);
    assert_eq!(world.call(&new, "new").await, 200);
    assert_eq!(world.call(&old, "old").await, 200);
    assert_eq!(world.keys.asked(), 2);
}

#[tokio::test]
async fn a_withdrawn_key_stops_working_when_the_keys_are_no_longer_fresh() {
    let (old, new) = (Signer::ed25519(), Signer::ed25519());
    let world = World::with(keys(&[old.jwk("old")])).await;
    assert_eq!(world.call(&old, "old").await, 200);
    world.keys.now(keys(&[new.jwk("new")]));
    world.clock.advance(5 * MINUTE);
    assert_eq!(world.call(&old, "old").await, 200);
    world.clock.advance(SECOND);
    assert_eq!(world.call(&old, "old").await, 401);
}

#[tokio::test]
async fn unknown_keys_cannot_make_us_ask_more_than_every_ten_seconds() {
    let (ours, theirs) = (Signer::ed25519(), Signer::ed25519());
    let world = World::with(keys(&[ours.jwk("a")])).await;
    for second in 0..20 {
        for n in 0..10 {
            assert_eq!(world.call(&theirs, &format!("forged {second} {n}")).await, 401);
        }
        world.clock.advance(SECOND);
    }
    assert_eq!(world.keys.asked(), 2);
    assert_eq!(world.call(&ours, "a").await, 200);
}

#[tokio::test]
async fn without_keys_nothing_can_be_decided_and_later_it_can() {
    let signer = Signer::ed25519();
    for broken in [
        Answer::Status("500 Internal Server Error"),
        Answer::Status("302 Found"),
        Answer::Body("<html>".to_owned()),
        Answer::Body(json!({ "keys": [] }).to_string()),
        Answer::Body(format!("{}{}", json!({ "keys": [signer.jwk("a")] }), " ".repeat(300 * 1024))),
    ] {
        let world = World::with(broken.clone()).await;
        assert_eq!(world.call(&signer, "a").await, 503, "{broken:?}");
        assert_eq!(world.call(&signer, "a").await, 503, "{broken:?}");
        assert_eq!(world.keys.asked(), 1, "failed attempts are ten seconds apart, too");

        world.keys.now(keys(&[signer.jwk("a")]));
        world.clock.advance(10 * SECOND);
        assert_eq!(world.call(&signer, "a").await, 200);
    }
}

#[tokio::test]
async fn while_the_key_server_is_down_the_keys_at_hand_are_good_for_an_hour() {
    let (signer, other) = (Signer::ed25519(), Signer::ed25519());
    let world = World::with(keys(&[signer.jwk("a")])).await;
    assert_eq!(world.call(&signer, "a").await, 200);
    world.keys.now(Answer::Status("503 Service Unavailable"));

    world.clock.advance(30 * MINUTE);
    assert_eq!(world.call(&signer, "a").await, 200);
    assert_eq!(world.call(&other, "a").await, 401);
    assert_eq!(world.call(&other, "b").await, 503, "it may be a new key");
    world.clock.advance(35 * MINUTE);
    assert_eq!(world.call(&signer, "a").await, 200);
    world.clock.advance(SECOND);
    assert_eq!(world.call(&signer, "a").await, 503);

    world.keys.now(keys(&[signer.jwk("a")]));
    world.clock.advance(10 * SECOND);
    assert_eq!(world.call(&signer, "a").await, 200);
}

#[tokio::test]
async fn a_request_that_is_cancelled_does_not_take_the_fetch_with_it() {
    let signer = Signer::ed25519();
    let world = World::with(keys(&[signer.jwk("a")])).await;
    let mut cancelled = Box::pin(world.call(&signer, "a"));
    let poll = std::future::poll_fn(|task| std::task::Poll::Ready(cancelled.as_mut().poll(task))).await;
    assert!(poll.is_pending());
    drop(cancelled);
    assert_eq!(world.call(&signer, "a").await, 200);
    assert_eq!(world.keys.asked(), 1);
}

#[tokio::test]
async fn nobody_waits_for_a_key_server_that_hangs_who_can_be_judged_without_it() {
    let signer = Signer::ed25519();
    let world = World::with(keys(&[signer.jwk("a")])).await;
    assert_eq!(world.call(&signer, "a").await, 200);
    world.keys.now(Answer::Status("500 Internal Server Error"));
    world.clock.advance(6 * MINUTE);
    assert_eq!(world.call(&signer, "a").await, 200, "the first one has waited for the failure");

    world.keys.now(Answer::Hangs);
    world.clock.advance(MINUTE);
    let answered = tokio::time::timeout(SECOND, world.call(&signer, "a")).await;
    assert_eq!(answered.expect("does not wait"), 200);
}

#[test]
fn keys_come_over_https_or_from_this_machine() {
    for url in ["http://127.0.0.1:1/jwks", "http://localhost/jwks", "http://[::1]/jwks"] {
        assert!(Jwks::from_url(url).is_ok(), "{url}");
    }
    for url in [
        "http://id.example.com/jwks",
        "http://localhost.evil.example/jwks",
        "http://127.0.0.1.nip.io/jwks",
        "file:///etc/jwks.json",
        "ftp://localhost/jwks",
        "http://ada:secret@localhost/jwks",
        "jwks.json",
    ] {
        assert!(matches!(Jwks::from_url(url), Err(JwksError::Url { .. })), "{url}");
    }
}

#[test]
fn fixed_keys_are_checked_at_once() {
    let text = json!({ "keys": [Signer::ed25519().jwk("a")] }).to_string();
    assert!(Jwks::from_json(&text).is_ok());
    assert!(matches!(Jwks::from_json("{\"keys\":[]}"), Err(JwksError::Unusable(_))));
    let missing = Jwks::from_file("no such file").unwrap_err();
    assert_eq!(missing.to_string(), "cannot read the key set no such file");
}
