//! The deploy tool on rmcp, by hand: its state is sealed with rmcp's codec and bound to the tool, the arguments and ten
//! minutes; the answer is decoded into the form's type.
//!
//! Set up to be as fast as rmcp gets: no sessions, JSON replies, on hyper without a router, the question's schema built
//! once.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use hyper_util::service::TowerToHyperService;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ElicitRequest, ElicitRequestParams,
    ElicitResult, ElicitationAction, ElicitationSchema, Implementation, InputRequest, InputRequests,
    InputRequiredResult, JsonObject, ListToolsResult, PaginatedRequestParams, ProtocolVersion, RequestStateCodec,
    SealOptions, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::{RequestContext, RoleServer};
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ErrorData, ServerHandler};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

#[derive(Deserialize, Serialize, JsonSchema)]
struct Deploy {
    service: String,
    version: String,
}

#[derive(Deserialize, JsonSchema)]
struct Confirm {
    /// Confirm production deploy
    confirm: bool,
}

/// What the state says: the question that is open.
#[derive(Deserialize, Serialize)]
struct Asked {
    key: String,
}

#[derive(Clone)]
struct Releases {
    codec: RequestStateCodec,
    form: Arc<ElicitationSchema>,
    tool: Tool,
}

impl Releases {
    fn new() -> Self {
        let form = ElicitationSchema::from_type::<Confirm>().expect("a form");
        let arguments = serde_json::from_value(schemars::schema_for!(Deploy).to_value()).expect("an object");
        Self {
            codec: RequestStateCodec::try_new([7; 32]).expect("a long enough key"),
            form: Arc::new(form),
            tool: Tool::new(
                "deploy_release",
                "Deploy a release, after the user confirms",
                Arc::<JsonObject>::new(arguments),
            ),
        }
    }

    fn ask(&self, deploy: &Deploy, binding: &[u8]) -> Result<CallToolResponse, ErrorData> {
        let question = ElicitRequestParams::FormElicitationParams {
            meta: None,
            message: format!("Deploy {} {} to production?", deploy.service, deploy.version),
            requested_schema: ElicitationSchema::clone(&self.form),
        };
        let question = InputRequest::Elicitation(ElicitRequest::new(question));
        let asked = Asked { key: KEY.to_owned() };
        let options = SealOptions::new().associated_data(binding).ttl(Duration::from_secs(600));
        let state = self
            .codec
            .seal_json_with(&asked, &options)
            .map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
        let questions = InputRequests::from([(asked.key, question)]);
        Ok(InputRequiredResult::new(Some(questions), Some(state)).into())
    }

    fn finish(
        &self,
        deploy: &Deploy,
        binding: &[u8],
        state: &str,
        answers: Option<&Answers>,
    ) -> Result<String, ErrorData> {
        let asked: Asked = self
            .codec
            .open_json_with(state, binding)
            .map_err(|_| ErrorData::invalid_params("invalid or expired request state", None))?;
        let answer = answers.and_then(|answers| answers.get(&asked.key));
        let answer: ElicitResult = decode(answer.cloned().unwrap_or_default())?;
        if answer.action != ElicitationAction::Accept {
            return Ok("The user did not confirm.".to_owned());
        }
        let Confirm { confirm } = decode(answer.content.unwrap_or_default())?;
        if !confirm {
            return Ok("Nothing was deployed.".to_owned());
        }
        Ok(format!("Deployed {0} {1} to production ({0}-1).", deploy.service, deploy.version))
    }
}

impl ServerHandler for Releases {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("releases", "1.0.0"))
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(&[ProtocolVersion::V_2026_07_28])
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(vec![self.tool.clone()]))
    }

    async fn call_tool(
        &self,
        call: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if call.name != self.tool.name {
            return Err(ErrorData::invalid_params("unknown tool", None));
        }
        if context.client_capabilities().is_none_or(|client| client.elicitation.is_none()) {
            return Err(ErrorData::invalid_params("the client cannot be asked", None));
        }
        let deploy: Deploy = decode(Value::Object(call.arguments.unwrap_or_default()))?;
        let binding = serde_json::to_vec(&("deploy_release", &deploy)).unwrap_or_default();
        let Some(state) = call.request_state else {
            return self.ask(&deploy, &binding);
        };
        let text = self.finish(&deploy, &binding, &state, call.input_responses.as_ref())?;
        Ok(CallToolResult::success(vec![ContentBlock::text(text)]).into())
    }
}

fn decode<T: DeserializeOwned>(value: Value) -> Result<T, ErrorData> {
    serde_json::from_value(value).map_err(|error| ErrorData::invalid_params(error.to_string(), None))
}

fn main() {
    bench_host::run(|listener| {
        let releases = Releases::new();
        let options = StreamableHttpServerConfig::default().with_legacy_session_mode(false).with_json_response(true);
        let sessions = Arc::new(NeverSessionManager::default());
        let service = StreamableHttpService::new(move || Ok(releases.clone()), sessions, options);
        bench_host::serve(listener, TowerToHyperService::new(service))
    });
}

type Answers = rmcp::model::InputResponses;

const KEY: &str = "confirm_prod";
