//! `deploy_release`: one question, then one step.

use std::time::{SystemTime, UNIX_EPOCH};

use mrtr::{Context, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
pub(super) struct Deploy {
    service: String,
    version: String,
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct Confirm {
    /// Confirm production deploy
    confirm: bool,
}

pub(super) async fn deploy_release(deploy: Deploy, cx: Context) -> Result<String, ToolError> {
    let question = format!("Deploy {} {} to production?", deploy.service, deploy.version);
    let answer: Confirm = cx.elicit("confirm_prod", question).await?;
    if !answer.confirm {
        return Ok("Nothing was deployed.".into());
    }
    let id: String = cx.step("release", async { release(&deploy).await }).await?;
    Ok(format!("Deployed {} {} to production ({id}).", deploy.service, deploy.version))
}

/// Stands in for a deployment pipeline. Every run gives another id, so it runs as a step.
async fn release(deploy: &Deploy) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("{}-{:x}", deploy.service, now.as_millis())
}
