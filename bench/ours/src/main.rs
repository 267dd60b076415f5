//! The deploy tool on mrtr, as in the README's first screen.

use bench_host::run;
use mrtr::http::{HttpServer, McpService};
use mrtr::{Context, Keyring, Server, Tool, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;

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

async fn deploy_release(deploy: Deploy, cx: Context) -> Result<String, ToolError> {
    let question = format!("Deploy {} {} to production?", deploy.service, deploy.version);
    let answer: Confirm = cx.elicit("confirm_prod", question).await?;
    if !answer.confirm {
        return Ok("Nothing was deployed.".into());
    }
    let id: String = cx.step("release", async { release(&deploy).await }).await?;
    Ok(format!("Deployed {} {} to production ({id}).", deploy.service, deploy.version))
}

async fn release(deploy: &Deploy) -> String {
    format!("{}-1", deploy.service)
}

fn main() {
    run(|listener| {
        let keys = Keyring::new([[7; 32]]).expect("one key");
        let tool = Tool::new("deploy_release", deploy_release).description("Deploy a release, after the user confirms");
        let server = Server::new("releases", "1.0.0").keys(keys).tool(tool).build().expect("a valid server");
        HttpServer::new(McpService::new(server)).serve(listener, std::future::pending())
    });
}
