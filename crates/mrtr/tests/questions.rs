//! Questions as they are sent, and answers held to exactly that.

use mrtr::{Context, NoArguments, Tool, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::cases::{asked, asking};
use crate::world::{World, logged};

#[derive(Debug, Deserialize, JsonSchema)]
enum Colour {
    /// Like a fire engine
    Red,
    /// Like the sea
    Blue,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Size {
    Small,
    Large,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[allow(dead_code, reason = "shown by Debug")]
struct Order {
    zip: String,
    colour: Colour,
    age: u8,
    sizes: Vec<Size>,
    #[schemars(length(max = 10))]
    a_note: Option<String>,
}

fn order() -> World {
    World::with(Tool::new("t", async |_: NoArguments, cx: Context| {
        let order: Order = cx.elicit("k", "What?").await?;
        Ok::<_, ToolError>(format!("{order:?}"))
    }))
}

#[test]
fn choices_are_sent_whole() {
    let schema = asked(&order()).schema("k");
    let titled =
        json!([{ "const": "Red", "title": "Like a fire engine" }, { "const": "Blue", "title": "Like the sea" }]);
    assert_eq!(schema["properties"]["colour"], json!({ "type": "string", "oneOf": titled }));
    assert_eq!(
        schema["properties"]["sizes"],
        json!({ "type": "array", "items": { "type": "string", "enum": ["small", "large"] } })
    );
    assert_eq!(schema["properties"]["age"], json!({ "type": "integer", "minimum": 0, "maximum": 255 }));
    assert_eq!(schema["properties"]["a_note"], json!({ "type": "string", "maxLength": 10 }));
    assert!(!schema.to_string().contains('$'), "{schema}");
}

#[test]
fn fields_are_sent_in_the_authors_order() {
    let schema = asked(&order()).schema("k");
    let names: Vec<&String> = schema["properties"].as_object().expect("properties").keys().collect();
    assert_eq!(names, ["zip", "colour", "age", "sizes", "a_note"]);
    assert_eq!(schema["required"], json!(["zip", "colour", "age", "sizes"]));
}

#[test]
fn several_choices_are_checked_one_by_one() {
    let world = order();
    let with = |sizes: Value| json!({ "zip": "", "colour": "Red", "age": 3, "sizes": sizes });
    for (bad, hint) in [
        (json!(["small", "small"]), "\"sizes\" has \"small\" more than once"),
        (json!(["small", "huge"]), "\"sizes\" has \"huge\", which is not one of \"small\", \"large\""),
        (json!("small"), "\"sizes\" must be a list of choices"),
        (json!([1]), "\"sizes\" has 1"),
    ] {
        let again = asked(&world).accept("k", with(bad)).asks(&["k"]);
        assert!(again.message("k").contains(hint), "{}", again.reply);
    }
    let done = r#"Order { zip: "", colour: Red, age: 3, sizes: [], a_note: None }"#;
    asked(&world).accept("k", with(json!([]))).finishes(done);
    let both = asked(&world).accept("k", with(json!(["large", "small"])));
    both.finishes(&done.replace("[]", "[Large, Small]"));
}

#[test]
fn an_instant_needs_a_zone_and_a_real_day() {
    let world = asking(json!({ "at": { "type": "string", "format": "date-time" } }), json!(["at"]));
    for bad in
        ["2025-10-22T15:50:22", "2024-02-30T00:00:00Z", "2024-02-30", "2025-10-22", "2025-10-22T25:00:00Z", "now"]
    {
        asked(&world).accept("k", json!({ "at": bad })).asks(&["k"]);
    }
    for good in
        ["2025-10-22T15:50:22Z", "2024-02-29T00:00:00+05:30", "2016-12-31T23:59:60Z", "2025-10-22T15:50:22.123Z"]
    {
        asked(&world).accept("k", json!({ "at": good })).finishes(&json!({ "at": good }).to_string());
    }
}

#[derive(Deserialize, JsonSchema)]
struct Nested {
    #[allow(dead_code, reason = "never answered")]
    inner: Order,
}

#[test]
fn a_form_that_cannot_be_shown_is_never_sent() {
    let world = World::with(Tool::new("t", async |_: NoArguments, cx: Context| {
        let _: Nested = cx.elicit("k", "What?").await?;
        Ok::<_, ToolError>("never")
    }));
    let log = logged(|| {
        world.call("t", json!({})).errors(-32603);
    });
    assert!(
        log.contains("the handler is at fault: \"k\": ") && log.contains("Nested") && log.contains("inner"),
        "{log}"
    );
    for url in
        ["example.com", "ftp://example.com/", "javascript:alert(1)", "https://", "https:///x", "https://a b/", ""]
    {
        let tool =
            Tool::new("t", move |_: NoArguments, cx: Context| async move { cx.elicit_url("k", "Go", url).await });
        World::with(tool).call("t", json!({})).errors(-32603);
    }
}

#[test]
fn every_question_names_its_mode() {
    let world = World::with(Tool::new("t", async |_: NoArguments, cx: Context| {
        let _ = tokio::join!(cx.elicit::<()>("form", "A?"), cx.elicit_url("url", "B", "https://example.com/?q=1"));
        "never"
    }));
    let requests = world.call("t", json!({})).asks(&["form", "url"]).requests();
    let form = json!({ "mode": "form", "message": "A?", "requestedSchema": { "type": "object", "properties": {} } });
    assert_eq!(requests["form"], json!({ "method": "elicitation/create", "params": form }));
    let url = json!({ "mode": "url", "message": "B", "url": "https://example.com/?q=1" });
    assert_eq!(requests["url"], json!({ "method": "elicitation/create", "params": url }));
}

#[test]
fn an_authors_own_rule_is_asked_again_like_any_other() {
    let world = World::with(Tool::new("t", async |_: NoArguments, cx: Context| {
        let odd = |order: &Order| if order.age % 2 == 1 { Ok(()) } else { Err("age must be odd".to_owned()) };
        let order: Order = cx.elicit("k", "What?").check(odd).attempts(2).await?;
        Ok::<_, ToolError>(order.age.to_string())
    }));
    let with = |age: u8| json!({ "zip": "z", "colour": "Blue", "age": age, "sizes": ["large"] });
    let again = asked(&world).accept("k", with(2)).asks(&["k"]);
    assert_eq!(again.message("k"), "What?\n\nThe last answer could not be used: age must be odd.");
    assert_eq!(again.schema("k")["properties"]["zip"]["default"], "z");
    assert_eq!(again.schema("k")["properties"]["sizes"]["default"], json!(["large"]));
    again.accept("k", with(4)).fails("The user gave no valid answer to \"k\": age must be odd.");
    again.accept("k", with(3)).finishes("3");
}
