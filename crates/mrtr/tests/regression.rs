//! One test per fixed bug, named for what went wrong.

use mrtr::server::{Completing, ResourceInfo};
use mrtr::{Context, NoArguments, Prompt, Resource, ResourceTemplate, Tool, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::world::{World, logged};

#[derive(Deserialize, JsonSchema)]
struct Sure {
    sure: bool,
}

#[test]
fn an_accepted_form_without_fields_was_forgotten_in_later_rounds() {
    async fn handler(_: NoArguments, cx: Context) -> Result<String, ToolError> {
        cx.elicit::<()>("ready", "Press OK when you are ready").await?;
        let last: Sure = cx.elicit("last", "Really?").await?;
        Ok(format!("sure: {}", last.sure))
    }
    let world = World::with(Tool::new("go", handler));
    let ready = world.call("go", json!({})).asks(&["ready"]).accept("ready", json!({}));
    ready.asks(&["last"]).accept("last", json!({ "sure": true })).finishes("sure: true");
}

#[derive(Deserialize, JsonSchema)]
struct Named {
    name: String,
}

fn completing<Fut>(complete: fn(Completing) -> Fut) -> World
where
    Fut: Future<Output = Vec<String>> + Send + 'static,
{
    let prompt = Prompt::new("greet", async |named: Named, _: Context| format!("Greet {}.", named.name));
    World::of(move |server| server.prompt(prompt.clone().complete("name", complete)))
}

fn complete(world: &World) {
    let reference = json!({ "type": "ref/prompt", "name": "greet" });
    let params = json!({ "ref": reference, "argument": { "name": "name", "value": "" } });
    world.request("completion/complete", params).errors(-32603);
}

#[test]
fn a_completer_that_panicked_before_its_first_await_took_the_connection_with_it() {
    complete(&completing(|_| -> std::future::Ready<Vec<String>> { panic!("no names") }));
}

#[test]
fn a_completer_that_panicked_while_it_was_dropped_took_the_connection_with_it() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("still counting");
        }
    }
    complete(&completing(|_| async {
        let _bomb = Bomb;
        std::future::pending().await
    }));
}

#[test]
fn a_resource_uri_wrote_lines_of_its_own_into_the_log() {
    async fn read(named: Named, _: Context) -> String {
        tracing::info!("reading");
        named.name
    }
    let world = World::of(|server| server.resource_template(ResourceTemplate::new("note://{name}", "note", read)));
    let read = |uri: String| logged(|| drop(world.request("resources/read", json!({ "uri": uri })).reply.clone()));
    let log = read("note://a\n2026 INFO all is well\u{1b}[2J".to_owned());
    assert!(!log.contains("\n2026") && !log.contains('\u{1b}'), "{log}");
    let log = read(format!("note://{}", "x".repeat(4_000)));
    assert!(log.contains("reading") && log.len() < 1_000, "{log}");
}

#[test]
fn a_resource_listed_twice_made_the_pages_go_round_for_ever() {
    async fn read(named: Named, _: Context) -> String {
        named.name
    }
    let found = || ["note://b", "note://a", "note://b", "note://c"].map(|uri| ResourceInfo::new(uri, "found")).to_vec();
    let world = World::of(|server| {
        let notes = ResourceTemplate::new("note://{name}", "note", read).list(move |_| async move { Ok(found()) });
        let own = Resource::new("note://a", "own", async |_: NoArguments, _: Context| "a");
        server.page_size(1).resource(own).resource_template(notes)
    });
    let (mut seen, mut cursor) = (Vec::new(), Value::Null);
    while seen.len() < 10 {
        let params = if cursor.is_null() { json!({}) } else { json!({ "cursor": cursor }) };
        let page = world.request("resources/list", params).result().clone();
        let resource = &page["resources"][0];
        seen.push(format!("{} {}", resource["uri"], resource["name"]).replace('"', ""));
        match page.get("nextCursor") {
            Some(next) => cursor = next.clone(),
            None => break,
        }
    }
    assert_eq!(seen, ["note://a own", "note://b found", "note://c found"]);
}

#[derive(Deserialize, JsonSchema)]
#[serde(tag = "type")]
#[expect(dead_code, reason = "never read")]
enum Tree {
    Left { child: Option<Box<Self>> },
    Right { child: Option<Box<Self>> },
}

#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "never read")]
enum Shape {
    Round { inner: Option<Box<Self>>, radius: u32 },
    Square { inner: Option<Box<Self>>, side: u32 },
}

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "never read")]
struct Drawing {
    tree: Option<Tree>,
    shape: Option<Shape>,
}

#[test]
fn arguments_of_a_recursive_type_took_twice_the_time_with_every_level() {
    let nested = |level: fn(Value) -> Value, innermost: Value| (0..60).fold(innermost, |inner, _| level(inner));
    let tree = |inner| json!({ "child": inner, "type": "Right" });
    let shape = |inner| json!({ "inner": inner, "side": 1 });
    let world = World::with(Tool::new("draw", async |_: Drawing, _: Context| "drawn"));
    let draw = |tree: Value, shape: Value| world.call("draw", json!({ "tree": tree, "shape": shape }));
    draw(nested(tree, json!(null)), json!(null)).finishes("drawn");
    draw(nested(tree, json!(5)), json!(null)).fails("does not match the schema");
    draw(json!(null), nested(shape, json!(5))).fails("does not match the schema");
    draw(tree(json!(5)), json!(null)).fails("/tree");
}
