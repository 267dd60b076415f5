//! Lists: pages in the author's order, cursors that cannot be made up, and how long they may be kept.

use std::time::Duration;

use mrtr::{Context, Keyring, NoArguments, Prompt, Server, Tool};
use serde_json::{Value, json};

use crate::world::World;

async fn nothing(_: NoArguments, _: Context) {}

fn tools(server: Server, count: usize) -> Server {
    (0..count).fold(server, |server, n| server.tool(Tool::new(format!("tool-{n}"), nothing)))
}

fn names(page: &Value) -> Vec<String> {
    let tools = page["tools"].as_array().expect("tools");
    tools.iter().map(|tool| tool["name"].as_str().expect("a name").to_owned()).collect()
}

#[test]
fn pages_show_everything_once_in_order_on_any_instance() {
    for (count, pages) in [(0, 1), (1, 1), (2, 1), (3, 2), (4, 2), (5, 3)] {
        // Requests go round two instances: each page comes from another one.
        let world = World::of(|server| tools(server, count).page_size(2));
        let (mut seen, mut cursor, mut turns) = (Vec::new(), Value::Null, 0);
        loop {
            let params = if cursor.is_null() { json!({}) } else { json!({ "cursor": cursor }) };
            let page = world.request("tools/list", params).result().clone();
            seen.extend(names(&page));
            turns += 1;
            assert_eq!((&page["ttlMs"], &page["cacheScope"]), (&json!(300_000), &json!("public")));
            match page.get("nextCursor") {
                Some(next) => cursor = next.clone(),
                None => break,
            }
        }
        assert_eq!(seen, (0..count).map(|n| format!("tool-{n}")).collect::<Vec<_>>());
        assert_eq!(turns, pages, "{count}");
    }
}

#[test]
fn a_cursor_that_is_not_ours_is_invalid() {
    let world = World::of(|server| {
        tools(server, 3)
            .page_size(1)
            .prompt(Prompt::new("a", async |_: NoArguments, _| ""))
            .prompt(Prompt::new("b", async |_: NoArguments, _| ""))
    });
    let cursor = world.request("tools/list", json!({})).result()["nextCursor"].as_str().expect("more").to_owned();
    assert!(!cursor.contains("tool"), "it says nothing: {cursor}");
    let prompts = world.request("prompts/list", json!({})).result()["nextCursor"].clone();
    let stranger = World::fleet([&|_| tools(Server::new("test", "1").keys(Keyring::random()), 3).page_size(1)]);
    let foreign = stranger.request("tools/list", json!({})).result()["nextCursor"].clone();
    let cut = &cursor[..cursor.len() - 1];
    for wrong in
        [json!(""), json!("tool-0"), json!(5), json!({}), json!(cut), json!(format!("{cursor}A")), prompts, foreign]
    {
        let reply = world.request("tools/list", json!({ "cursor": wrong }));
        assert!(reply.errors(-32602)["message"].as_str().expect("a text").contains("cursor"), "{wrong}");
    }
    assert_eq!(names(world.request("tools/list", json!({ "cursor": cursor })).result()), ["tool-1"]);
    world.request("tools/list", json!({ "cursor": null })).result();
}

#[test]
fn a_cursor_behind_an_entry_that_is_gone_starts_over() {
    let before = |server: Server| tools(server, 3).page_size(2);
    let after =
        |server: Server| server.tool(Tool::new("tool-0", nothing)).tool(Tool::new("tool-2", nothing)).page_size(2);
    let world = World::fleet([&before, &after]);
    let cursor = world.request("tools/list", json!({})).result()["nextCursor"].clone();
    world.request("tools/list", json!({ "cursor": cursor })).errors(-32602);
}

#[test]
fn how_lists_may_be_kept_is_the_authors_choice() {
    let world = World::of(|server| tools(server, 1).lists_fresh_for(Duration::from_millis(1500)).private_lists());
    for method in ["tools/list", "server/discover"] {
        let reply = world.request(method, json!({}));
        assert_eq!(
            (&reply.result()["ttlMs"], &reply.result()["cacheScope"]),
            (&json!(1500), &json!("private")),
            "{method}"
        );
    }
}

#[test]
fn the_server_introduces_itself_with_every_result() {
    let world = World::of(|server| {
        tools(server, 1)
            .title("Test server")
            .description("For tests")
            .website("https://x.example")
            .icon(mrtr::server::Icon::new("https://x.example/i.svg").size("any").mime_type("image/svg+xml"))
            .instructions("Use it")
    });
    let discovered = world.request("server/discover", json!({}));
    assert_eq!(discovered.result()["instructions"], "Use it");
    assert_eq!(
        discovered.result()["_meta"]["io.modelcontextprotocol/serverInfo"],
        json!({
            "name": "test", "version": "1.0.0", "title": "Test server", "description": "For tests",
            "websiteUrl": "https://x.example",
            "icons": [{ "src": "https://x.example/i.svg", "mimeType": "image/svg+xml", "sizes": ["any"] }],
        })
    );
}
