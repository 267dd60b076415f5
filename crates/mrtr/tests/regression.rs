//! One test per fixed bug, named for what went wrong.

use mrtr::{Context, NoArguments, Tool, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::world::World;

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
