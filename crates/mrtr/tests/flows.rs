//! The flows every example tool needs: asks, accepts, declines, several steps, invalid and missing answers.

use mrtr::{Context, Tool, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::world::{Effects, World};

#[derive(Deserialize, JsonSchema)]
struct Deploy {
    service: String,
    version: String,
}

#[derive(Deserialize, JsonSchema)]
struct Confirm {
    /// Confirm production deploy
    confirm: bool,
}

fn deploy_tool(effects: &Effects) -> Tool {
    let effects = effects.clone();
    Tool::new("deploy_release", move |deploy: Deploy, cx: Context| {
        let effects = effects.clone();
        async move {
            let question = format!("Deploy {} {} to production?", deploy.service, deploy.version);
            let answer: Confirm = cx.elicit("confirm_prod", question).await?;
            if !answer.confirm {
                return Ok("Nothing was deployed.".into());
            }
            let id: String = cx
                .step("release", async {
                    effects.happen("release");
                    "r-1".to_owned()
                })
                .await?;
            Ok::<String, ToolError>(format!("Deployed {} {} to production ({id}).", deploy.service, deploy.version))
        }
    })
}

fn deploy() -> (World, Effects) {
    let effects = Effects::default();
    (World::with(deploy_tool(&effects)), effects)
}

#[test]
fn a_deploy_is_asked_for_then_done_by_another_instance() {
    let (world, effects) = deploy();
    let asked = world.call("deploy_release", json!({ "service": "api", "version": "4.8.1" })).asks(&["confirm_prod"]);
    assert_eq!(asked.message("confirm_prod"), "Deploy api 4.8.1 to production?");
    assert_eq!(
        asked.schema("confirm_prod"),
        json!({
            "type": "object",
            "properties": { "confirm": { "type": "boolean", "description": "Confirm production deploy" } },
            "required": ["confirm"],
        })
    );
    assert!(asked.state().len() < 200, "{} characters", asked.state().len());
    assert_eq!(effects.count("release"), 0);
    asked.accept("confirm_prod", json!({ "confirm": true })).finishes("Deployed api 4.8.1 to production (r-1).");
    assert_eq!(effects.count("release"), 1);
}

#[test]
fn a_declined_deploy_does_nothing_and_says_so() {
    let (world, effects) = deploy();
    let asked = world.call("deploy_release", json!({ "service": "api", "version": "4.8.1" })).asks(&["confirm_prod"]);
    asked.decline("confirm_prod").fails("The user declined \"confirm_prod\".");
    asked.cancel("confirm_prod").fails("The user dismissed \"confirm_prod\"");
    asked.accept("confirm_prod", json!({ "confirm": false })).finishes("Nothing was deployed.");
    assert_eq!(effects.count("release"), 0);
}
