//! The deploy tool on turbomcp. It makes a state only when a tool stores something in it, so this one stores the
//! question that is open, and does not believe an answer that comes without.

use std::net::SocketAddr;
use std::sync::Arc;

use serde_json::{Value, json};
use turbomcp::http::{HttpConfig, router};
use turbomcp::prelude::*;

#[derive(Clone)]
struct Releases {
    form: Arc<Value>,
}

#[server(name = "releases", version = "1.0.0", protocols("2026-07-28"))]
impl Releases {
    /// Deploys a release, after the user confirms.
    #[tool(description = "Deploy a release, after the user confirms")]
    async fn deploy_release(&self, ctx: &CallToolContext, service: String, version: String) -> McpResult<String> {
        let asked: Option<String> = ctx.client.load_state()?;
        ctx.client.store_state(&KEY)?;
        let message = format!("Deploy {service} {version} to production?");
        let answer = ctx.client.elicit(KEY, neutral::ElicitParams::new(message, Value::clone(&self.form))).await?;
        if asked.as_deref() != Some(KEY) {
            return Err(McpError::invalid_params("an answer that nobody asked for"));
        }
        if !answer.accepted() {
            return Ok("The user did not confirm.".to_owned());
        }
        if answer.content.get("confirm").and_then(Value::as_bool) != Some(true) {
            return Ok("Nothing was deployed.".to_owned());
        }
        Ok(format!("Deployed {service} {version} to production ({service}-1)."))
    }
}

fn main() {
    bench_host::run(|listener| async {
        let form = json!({
            "type": "object",
            "properties": { "confirm": { "type": "boolean", "description": "Confirm production deploy" } },
            "required": ["confirm"],
        });
        let service = Releases { form: Arc::new(form) }.into_server().with_state_key([7; 32]).build();
        let app = router(service, HttpConfig::new().path("/mcp"));
        let app = app.into_make_service_with_connect_info::<SocketAddr>();
        axum::serve(listener, app).await.expect("a listener");
    });
}

const KEY: &str = "confirm_prod";
