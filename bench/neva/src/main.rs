//! The deploy tool on neva: its replay engine, its sealed state, its memo.
//!
//! neva remembers the last reply of each call and sends it again when the same retry comes twice, which is all that a
//! load of equal second legs would measure: that memory is off.

use neva::app::mrtr_store::RequestStateStore;
use neva::error::Error;
use neva::types::Response;
use neva::types::elicitation::ElicitRequestParams;
use neva::{App, Context};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
struct Confirm {
    /// Confirm production deploy
    confirm: bool,
}

async fn deploy_release(cx: Context, service: String, version: String) -> Result<String, Error> {
    let question = ElicitRequestParams::form(format!("Deploy {service} {version} to production?"));
    let answer = cx.elicit("confirm_prod", question.with_schema::<Confirm>().into()).await?;
    if !answer.is_accepted() {
        return Ok("The user did not confirm.".to_owned());
    }
    if !answer.content::<Confirm>().is_some_and(|answer| answer.confirm) {
        return Ok("Nothing was deployed.".to_owned());
    }
    let id: String = cx.memo("release", async { Ok(format!("{service}-1")) }).await?;
    Ok(format!("Deployed {service} {version} to production ({id})."))
}

/// Remembers nothing.
struct Forgetful;

impl RequestStateStore for Forgetful {
    async fn get(&self, _: &str) -> Option<Response> {
        None
    }

    async fn put(&self, _: &str, _: Response, _: u64) {}
}

fn main() {
    let port: u16 = std::env::args().nth(1).and_then(|port| port.parse().ok()).expect("usage: PROGRAM <port>");
    let address = format!("127.0.0.1:{port}");
    let mut app = App::new()
        .without_greeting()
        .with_request_state_secret([7; 32])
        .with_request_state_store(Forgetful)
        .with_options(|options| options.with_http(|http| http.bind(&address).with_endpoint("/mcp")));
    app.map_tool("deploy_release", deploy_release).with_arg_names(["service", "version"]);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(app.run());
}
