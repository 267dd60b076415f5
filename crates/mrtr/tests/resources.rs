//! Resources and templates: read by URI, listed by code, asked about in the middle.

use std::time::Duration;

use mrtr::server::{Annotations, BuildError, ResourceContents, ResourceInfo, Role};
use mrtr::{Context, Json, NoArguments, Resource, ResourceTemplate, Server, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::tools::Confirm;
use crate::world::World;

#[derive(Deserialize, JsonSchema)]
struct Row {
    table: String,
    id: u32,
}

async fn row(row: Row, _: Context) -> Result<Option<Json<Value>>, ToolError> {
    match row.table.as_str() {
        "users" => Ok(Some(Json(json!({ "id": row.id })))),
        "broken" => Err(ToolError::new("the table is locked")),
        _ => Ok(None),
    }
}

async fn secret(_: NoArguments, cx: Context) -> Result<String, ToolError> {
    let confirm: Confirm = cx.elicit("show", "Show the secret?").await?;
    Ok(if confirm.confirm { "42" } else { "no" }.to_owned())
}

fn world() -> World {
    World::of(|server| {
        server
            .resource(Resource::new("motd://today", "motd", async |_, _| "Be kind.").mime_type("text/plain").size(8))
            .resource(Resource::new("raw://bytes", "bytes", async |_, _| vec![0_u8, 255]))
            .resource(Resource::new("secret://1", "secret", secret).fresh_for(Duration::from_secs(60)).public())
            .resource_template(ResourceTemplate::new("db://{table}/{id}", "row", row).fresh_for(Duration::from_secs(5)))
    })
}

#[test]
fn a_resource_is_read_by_its_uri_with_the_media_type_it_was_declared_with() {
    let world = world();
    let read = |uri: &str| world.request("resources/read", json!({ "uri": uri })).result().clone();
    let contents = |uri: &str| read(uri)["contents"].clone();
    assert_eq!(
        contents("motd://today"),
        json!([{ "uri": "motd://today", "mimeType": "text/plain", "text": "Be kind." }])
    );
    assert_eq!(contents("raw://bytes"), json!([{ "uri": "raw://bytes", "blob": "AP8=" }]));
    assert_eq!(
        contents("db://users/7"),
        json!([{ "uri": "db://users/7", "mimeType": "application/json", "text": "{\"id\":7}" }])
    );
    let hints = |uri: &str| (read(uri)["ttlMs"].clone(), read(uri)["cacheScope"].clone());
    assert_eq!(hints("motd://today"), (json!(0), json!("private")));
    assert_eq!(hints("db://users/7"), (json!(5000), json!("private")));
}

#[test]
fn a_resource_that_is_not_there_is_an_error_that_names_the_uri_and_never_an_empty_result() {
    let world = world();
    for (uri, why) in [
        ("motd://tomorrow", "not found"),
        ("db://nothing/1", "not found"),
        ("db://users/many", "id"),
        ("", "not found"),
    ] {
        let reply = world.request("resources/read", json!({ "uri": uri }));
        let error = reply.errors(-32602);
        assert_eq!(error["data"]["uri"], uri, "{error}");
        assert!(error["message"].as_str().expect("a text").contains(why), "{uri}: {error}");
    }
    assert_eq!(world.request("resources/read", json!({})).errors(-32602)["data"], Value::Null);
    let locked = world.request("resources/read", json!({ "uri": "db://broken/1" }));
    assert_eq!(locked.errors(-32603)["message"], "the table is locked");
}

#[test]
fn a_resource_asks_and_what_took_answers_is_never_kept() {
    let asked = world().request("resources/read", json!({ "uri": "secret://1" })).asks(&["show"]).reply;
    assert!(asked["result"].get("ttlMs").is_none() && asked["result"].get("cacheScope").is_none(), "{asked}");
    let world = world();
    let read =
        world.request("resources/read", json!({ "uri": "secret://1" })).accept("show", json!({ "confirm": true }));
    assert_eq!(read.result()["contents"][0]["text"], "42");
    assert_eq!((&read.result()["ttlMs"], &read.result()["cacheScope"]), (&json!(0), &json!("private")));
}

#[test]
fn a_state_of_one_resource_opens_no_other() {
    let world = World::of(|server| {
        server.resource(Resource::new("secret://1", "one", secret)).resource(Resource::new("secret://2", "two", secret))
    });
    let state = world.request("resources/read", json!({ "uri": "secret://1" })).state();
    let answers = json!({ "show": { "action": "accept", "content": { "confirm": true } } });
    world
        .request("resources/read", json!({ "uri": "secret://2", "inputResponses": answers, "requestState": state }))
        .errors(-32602);
}

#[test]
fn resources_and_templates_are_listed_in_order_and_code_adds_what_there_is_now() {
    let world = World::of(|server| {
        let here = Annotations::new().audience(Role::User).priority(0.5);
        let rows = ResourceTemplate::new("db://{table}/{id}", "row", row).description("A row").list(async |caller| {
            assert!(caller.principal().is_none());
            Ok(vec![
                ResourceInfo::new("db://users/1", "first"),
                ResourceInfo::new("db://users/2", "second").title("Two"),
            ])
        });
        server
            .resource(Resource::new("motd://today", "motd", async |_, _| "Be kind.").annotations(here))
            .resource_template(rows)
    });
    let list = world.request("resources/list", json!({}));
    assert_eq!(
        list.result()["resources"],
        json!([
            { "uri": "motd://today", "name": "motd", "annotations": { "audience": ["user"], "priority": 0.5 } },
            { "uri": "db://users/1", "name": "first" },
            { "uri": "db://users/2", "name": "second", "title": "Two" },
        ])
    );
    assert_eq!((&list.result()["ttlMs"], &list.result()["cacheScope"]), (&json!(0), &json!("private")));
    let templates = world.request("resources/templates/list", json!({}));
    assert_eq!(
        templates.result()["resourceTemplates"],
        json!([{ "uriTemplate": "db://{table}/{id}", "name": "row", "description": "A row" }])
    );
    assert_eq!(templates.result()["cacheScope"], "public");
}

#[test]
fn a_resource_that_code_lists_twice_is_shown_once_and_pages_come_to_an_end() {
    let listed = |uris: &'static [&'static str]| {
        move |_| async move { Ok(uris.iter().map(|uri| ResourceInfo::new(*uri, "listed")).collect()) }
    };
    let world = World::of(|server| {
        server
            .page_size(1)
            .resource(Resource::new("db://own/1", "own", async |_, _| ""))
            .resource_template(
                ResourceTemplate::new("db://{table}/{id}", "row", row)
                    .list(listed(&["db://a/1", "db://b/1", "db://a/1"])),
            )
            .resource_template(ResourceTemplate::new("x://{table}/{id}", "row", row).list(listed(&[
                "db://own/1",
                "db://b/1",
                "x://a/1",
            ])))
    });
    let (mut seen, mut params) = (Vec::new(), json!({}));
    while seen.len() < 10 {
        let page = world.request("resources/list", params).result().clone();
        seen.push(page["resources"][0]["uri"].as_str().expect("a URI").to_owned());
        let Some(cursor) = page.get("nextCursor") else { break };
        params = json!({ "cursor": cursor });
    }
    assert_eq!(seen, ["db://own/1", "db://a/1", "db://b/1", "x://a/1"]);
}

#[test]
fn a_lister_that_fails_panics_or_hangs_is_an_error_and_nothing_more() {
    for kind in ["fails", "panics", "hangs"] {
        let world = World::of(|server| {
            server.resource_template(ResourceTemplate::new("db://{table}/{id}", "row", row).list(move |_| async move {
                match kind {
                    "fails" => Err(ToolError::new("the store is down")),
                    "panics" => panic!("no store"),
                    _ => std::future::pending().await,
                }
            }))
        });
        world.request("resources/list", json!({})).errors(-32603);
        world.request("resources/templates/list", json!({})).result();
    }
}

#[test]
fn the_first_template_that_matches_is_it() {
    #[derive(Deserialize, JsonSchema)]
    struct Path {
        path: String,
    }
    let one = async |path: Path, _: Context| format!("segment {}", path.path);
    let all = async |path: Path, _: Context| format!("path {}", path.path);
    let world = World::of(|server| {
        server
            .resource_template(ResourceTemplate::new("file:///{path}", "one", one))
            .resource_template(ResourceTemplate::new("file:///{+path}", "all", all))
    });
    for (uri, text) in [("file:///a%20b", "segment a b"), ("file:///a/b", "path a/b"), ("file:///a%2Fb", "segment a/b")]
    {
        let read = world.request("resources/read", json!({ "uri": uri }));
        assert_eq!(read.result()["contents"][0]["text"], text, "{uri}");
    }
}

#[test]
fn several_contents_keep_their_own_addresses() {
    let world = World::of(|server| {
        server.resource(
            Resource::new("dir://a", "dir", async |_, _| {
                vec![
                    ResourceContents::text("dir://a/1", "x"),
                    ResourceContents::blob("dir://a/2", [1]).mime_type("image/png"),
                ]
            })
            .mime_type("text/plain"),
        )
    });
    let read = world.request("resources/read", json!({ "uri": "dir://a" }));
    assert_eq!(
        read.result()["contents"],
        json!([
            { "uri": "dir://a/1", "mimeType": "text/plain", "text": "x" },
            { "uri": "dir://a/2", "mimeType": "image/png", "blob": "AQ==" },
        ])
    );
}

#[test]
fn what_cannot_be_a_resource_is_an_error_of_the_build() {
    let none = async |_: NoArguments, _: Context| "";
    let problem = |server: Server| match server.build().expect_err("invalid") {
        BuildError::Resource { problem, .. } => problem,
        other => other.to_string(),
    };
    let server = || Server::new("s", "1");
    for (built, why) in [
        (server().resource(Resource::new("notes.txt", "n", none)), "scheme"),
        (server().resource_template(ResourceTemplate::new("db://{table}", "r", row)), "\"id\" is no variable"),
        (server().resource_template(ResourceTemplate::new("db://{table}/{id}/{x}", "r", row)), "\"x\" is no field"),
        (server().resource_template(ResourceTemplate::new("db://{table}{id}", "r", row)), "nothing tells"),
        (
            server().resource_template(
                ResourceTemplate::new("db://{table}/{id}", "r", row).complete("x", async |_| Vec::new()),
            ),
            "\"x\"",
        ),
        (server().resource(Resource::new("a:b", "1", none)).resource(Resource::new("a:b", "2", none)), "\"a:b\""),
    ] {
        let problem = problem(built);
        assert!(problem.contains(why), "{why}: {problem}");
    }
}
