//! What is asked once and remembered, and what never is.

use std::time::Duration;

use http::{HeaderName, HeaderValue};
use tokio::time::advance;

use super::*;
use crate::client::{Cache, Event};

fn keeps(ttl: impl Into<Value>, scope: &str, text: &str) -> String {
    let contents = json!([{ "uri": "x://1", "text": text }]);
    result(&json!({ "resultType": "complete", "contents": contents, "ttlMs": ttl.into(), "cacheScope": scope }))
}

async fn read(client: &Client, uri: &str) -> String {
    let output = client.request("resources/read", json!({ "uri": uri })).await.unwrap();
    output.value()["contents"][0]["text"].as_str().unwrap_or_default().to_owned()
}

fn of(server: &Playback, cache: &Cache, token: &'static str) -> Client {
    let name = HeaderName::from_static("authorization");
    server.client(yes()).cache(cache.clone()).header(name, HeaderValue::from_static(token))
}

#[tokio::test(start_paused = true)]
async fn a_response_is_good_for_as_long_as_the_server_says() {
    let server = Playback::new([keeps(5000, "private", "old"), keeps(5000, "private", "new")]);
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&seen);
    let client = server.client(yes()).cache(Cache::new()).observer(move |event: &Event<'_>| {
        if let Event::Cached { age, method, .. } = event {
            log.lock().unwrap().push((*age, (*method).to_owned()));
        }
    });
    assert_eq!(read(&client, "x://1").await, "old");
    advance(Duration::from_millis(4999)).await;
    assert_eq!(read(&client, "x://1").await, "old");
    assert_eq!(*seen.lock().unwrap(), [(Duration::from_millis(4999), "resources/read".to_owned())]);
    advance(Duration::from_millis(1)).await;
    assert_eq!(read(&client, "x://1").await, "new");
    assert_eq!(server.sent().len(), 2);
}

#[tokio::test]
async fn without_a_cache_or_without_a_time_everything_is_asked_for() {
    let server = Playback::new([keeps(5000, "public", "1"), keeps(5000, "public", "2")]);
    let client = server.client(yes());
    assert_eq!([read(&client, "x://1").await, read(&client, "x://1").await], ["1", "2"]);
    for ttl in [json!(0), json!(-5), json!("5000"), Value::Null] {
        let server = Playback::new([keeps(ttl.clone(), "public", "1"), keeps(ttl, "public", "2")]);
        let client = server.client(yes()).cache(Cache::new());
        assert_eq!([read(&client, "x://1").await, read(&client, "x://1").await], ["1", "2"]);
    }
}

#[tokio::test]
async fn another_request_is_another_response() {
    let server = Playback::new([keeps(5000, "public", "1"), keeps(5000, "public", "2")]);
    let client = server.client(yes()).cache(Cache::new());
    assert_eq!([read(&client, "x://1").await, read(&client, "x://2").await], ["1", "2"]);
    assert_eq!(read(&client, "x://1").await, "1");
}

#[tokio::test]
async fn what_is_private_is_kept_from_others_and_what_is_public_is_not() {
    for (scope, expected) in [("private", "2"), ("secret", "2"), ("public", "1")] {
        let server = Playback::new([keeps(5000, scope, "1"), keeps(5000, scope, "2")]);
        let cache = Cache::new();
        let (anna, berta) = (of(&server, &cache, "Bearer a"), of(&server, &cache, "Bearer b"));
        assert_eq!(read(&anna, "x://1").await, "1");
        assert_eq!(read(&berta, "x://1").await, expected, "{scope}");
        assert_eq!(read(&anna, "x://1").await, "1", "{scope}");
    }
}

#[tokio::test]
async fn what_took_a_question_is_never_kept() {
    let ask = || asks(&json!({ "k": form() }), None);
    let server = Playback::new([ask(), keeps(5000, "public", "1"), ask(), keeps(5000, "public", "2")]);
    let client = server.client(yes()).cache(Cache::new());
    assert_eq!([read(&client, "x://1").await, read(&client, "x://1").await], ["1", "2"]);
    let wait = || wait("s");
    let server = Playback::new([wait(), keeps(5000, "public", "1"), wait(), keeps(5000, "public", "2")]);
    let client = server.client(yes()).cache(Cache::new());
    assert_eq!([read(&client, "x://1").await, read(&client, "x://1").await], ["1", "2"]);
}

#[tokio::test]
async fn calls_of_tools_are_never_kept() {
    let hinted = result(&json!({ "resultType": "complete", "content": [], "ttlMs": 5000, "cacheScope": "public" }));
    let server = Playback::new([hinted.clone(), hinted]);
    let client = server.client(yes()).cache(Cache::new());
    client.call_tool("t", json!({})).await.unwrap();
    client.call_tool("t", json!({})).await.unwrap();
    assert_eq!(server.sent().len(), 2);
}

#[tokio::test]
async fn a_fresh_call_asks_and_replaces_what_was_kept() {
    let server = Playback::new([keeps(5000, "public", "1"), keeps(5000, "public", "2")]);
    let client = server.client(yes()).cache(Cache::new());
    assert_eq!(read(&client, "x://1").await, "1");
    client.request("resources/read", json!({ "uri": "x://1" })).fresh().await.unwrap();
    assert_eq!(read(&client, "x://1").await, "2");
}

#[tokio::test(start_paused = true)]
async fn a_cache_is_bounded_in_number_bytes_and_age() {
    let server = Playback::new((1..=4).map(|number| keeps(60_000 * number, "public", &number.to_string())));
    let client = server.client(yes()).cache(Cache::new().max_entries(2));
    for uri in ["x://1", "x://2", "x://3"] {
        read(&client, uri).await;
    }
    assert_eq!([read(&client, "x://2").await, read(&client, "x://3").await], ["2", "3"]);
    assert_eq!(read(&client, "x://1").await, "4", "what went stale first made room");

    for cache in [Cache::new().max_bytes(50), Cache::new().max_entries(0), Cache::new().max_age(Duration::from_secs(1))]
    {
        let server = Playback::new([keeps(60_000, "public", "1"), keeps(60_000, "public", "2")]);
        let client = server.client(yes()).cache(cache);
        assert_eq!(read(&client, "x://1").await, "1");
        advance(Duration::from_secs(1)).await;
        assert_eq!(read(&client, "x://1").await, "2");
    }
}

fn page(tool: &str, next: Option<&str>) -> String {
    let tools = json!([{ "name": tool, "inputSchema": { "type": "object" } }]);
    let mut page = json!({ "resultType": "complete", "tools": tools, "ttlMs": 5000, "cacheScope": "public" });
    if let Some(next) = next {
        page["nextCursor"] = json!(next);
    }
    result(&page)
}

async fn names(client: &Client) -> Vec<String> {
    client.list_tools().await.unwrap().tools.into_iter().map(|tool| tool.name).collect()
}

#[tokio::test]
async fn pages_are_kept_one_by_one_and_thrown_away_together() {
    let mut last = serde_json::from_str::<Value>(&page("b", None)).unwrap();
    last["result"]["ttlMs"] = json!(0);
    let refused = error(-32602, "Invalid cursor", &Value::Null);
    let server = Playback::new([page("a", Some("2")), last.to_string(), refused, page("c", None)]);
    let client = server.client(yes()).cache(Cache::new());
    assert_eq!(names(&client).await, ["a", "b"]);
    assert_eq!(names(&client).await, ["c"], "the cursor of the page that was kept is no longer good");
    assert_eq!(names(&client).await, ["c"]);
    assert_eq!(server.sent().len(), 4);
}

#[tokio::test]
async fn a_notification_makes_what_it_is_about_stale() {
    let cache = Cache::new();
    let changed = r#"{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"x://1"}}"#;
    let server = Playback::new([
        keeps(5000, "public", "1"),
        keeps(5000, "public", "2"),
        page("a", None),
        keeps(5000, "public", "3"),
        page("b", None),
    ]);
    let client = server.client(yes()).cache(cache.clone());
    assert_eq!([read(&client, "x://1").await, read(&client, "x://2").await], ["1", "2"]);
    assert_eq!(names(&client).await, ["a"]);
    client.outdate(changed);
    assert_eq!([read(&client, "x://2").await, read(&client, "x://1").await], ["2", "3"]);
    client.outdate(r#"{"method":"notifications/tools/list_changed"}"#);
    assert_eq!(names(&client).await, ["b"]);
    cache.clear();
    assert!(format!("{cache:?}").contains("entries: 0"));
}
