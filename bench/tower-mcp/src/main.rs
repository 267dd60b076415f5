//! The deploy tool on tower-mcp, by hand: its state is sealed with tower-mcp's codec for ten minutes and holds the
//! arguments that were asked about.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tower_mcp::protocol::{
    ElicitAction, ElicitFieldValue, ElicitFormParams, ElicitFormSchema, ElicitMode, ElicitRequestParams, InputRequest,
    InputRequests, InputRequiredResult, InputResponse, RequestOutcome,
};
use tower_mcp::{
    CallToolResult, Error, HttpTransport, McpRouter, ProtocolSupport, RequestContext, RequestStateCodec, ToolBuilder,
};

#[derive(Clone, Deserialize, JsonSchema, PartialEq, Serialize)]
struct Deploy {
    service: String,
    version: String,
}

/// What the state says: the question that is open, and about what.
#[derive(Deserialize, Serialize)]
struct Asked {
    key: String,
    deploy: Deploy,
}

type Outcome = RequestOutcome<CallToolResult>;

fn ask(codec: &RequestStateCodec, form: &ElicitFormSchema, deploy: Deploy) -> Result<Outcome, Error> {
    let question = ElicitRequestParams::Form(ElicitFormParams {
        mode: Some(ElicitMode::Form),
        message: format!("Deploy {} {} to production?", deploy.service, deploy.version),
        requested_schema: form.clone(),
        meta: None,
    });
    let questions = InputRequests::from([(KEY.to_owned(), InputRequest::Elicit(question))]);
    let asked = Asked { key: KEY.to_owned(), deploy };
    let state = codec.encode(&asked).map_err(|error| Error::internal(error.to_string()))?;
    Ok(RequestOutcome::input_required(InputRequiredResult::with_requests(questions).with_request_state(state)))
}

fn finish(cx: &RequestContext, codec: &RequestStateCodec, deploy: &Deploy, state: &str) -> Result<String, Error> {
    let invalid = || Error::invalid_params("invalid or expired request state");
    let asked: Asked = codec.decode(state).map_err(|_| invalid())?;
    if asked.deploy != *deploy {
        return Err(invalid());
    }
    let answer = cx.input_responses().and_then(|answers| answers.get(&asked.key));
    let Some(InputResponse::Elicit(answer)) = answer else {
        return Err(Error::invalid_params("the question was not answered"));
    };
    if answer.action != ElicitAction::Accept {
        return Ok("The user did not confirm.".to_owned());
    }
    let confirm = answer.content.as_ref().and_then(|content| content.get("confirm"));
    match confirm {
        Some(ElicitFieldValue::Boolean(true)) => {
            Ok(format!("Deployed {0} {1} to production ({0}-1).", deploy.service, deploy.version))
        }
        Some(ElicitFieldValue::Boolean(false)) => Ok("Nothing was deployed.".to_owned()),
        _ => Err(Error::invalid_params("confirm is a boolean")),
    }
}

fn router() -> McpRouter {
    let codec = RequestStateCodec::new([7; 32], Duration::from_secs(600)).expect("a long enough key");
    let form = ElicitFormSchema::new().boolean_field("confirm", Some("Confirm production deploy"), true);
    let tool = ToolBuilder::new("deploy_release")
        .description("Deploy a release, after the user confirms")
        .mrtr_handler(move |cx: RequestContext, deploy: Deploy| {
            let outcome = match cx.request_state() {
                None => ask(&codec, &form, deploy),
                Some(state) => {
                    finish(&cx, &codec, &deploy, state).map(|text| Outcome::Complete(CallToolResult::text(text)))
                }
            };
            async move { outcome }
        })
        .build();
    McpRouter::new().server_info("releases", "1.0.0").tool(tool)
}

fn main() {
    bench_host::run(|listener| async {
        let versions = ProtocolSupport::try_new(["2026-07-28"]).expect("compiled in");
        let app = HttpTransport::new(router()).protocol_support(versions).into_router_at("/mcp");
        axum::serve(listener, app).await.expect("a listener");
    });
}

const KEY: &str = "confirm_prod";
