//! A server on rmcp that asks in every way there is; its states are sealed by rmcp's codec and bound to the call.
//!
//! usage: server PORT|stdio

use std::borrow::Cow;
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, GetPromptRequestParams, GetPromptResponse,
    Implementation, InputRequests, InputRequiredResult, InputResponses, JsonObject, ListToolsResult,
    PaginatedRequestParams, ProtocolVersion, ReadResourceRequestParams, ReadResourceResponse, RequestStateCodec,
    SealOptions, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::{RequestContext, RoleServer};
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ErrorData, ServerHandler, ServiceExt};
use serde_json::{Value, json};
use tokio::net::TcpListener;

#[derive(Clone)]
struct Interop {
    codec: RequestStateCodec,
}

/// What a handler says: a text in the end, or questions and what to remember meanwhile.
enum Said {
    Text(String),
    Ask(Value, Value),
}

/// What a retry brings.
struct Retry<'a> {
    state: Value,
    responses: Option<&'a InputResponses>,
}

impl Retry<'_> {
    fn answer(&self, key: &str) -> Value {
        let response = self.responses.and_then(|responses| responses.get(key));
        response.map(|response| json!(response)).unwrap_or_default()
    }

    /// A field of an accepted form.
    fn field(&self, key: &str, name: &str) -> String {
        self.answer(key)["content"][name].as_str().unwrap_or_default().to_owned()
    }
}

/// A form with one text field.
fn form(message: &str, field: &str) -> Value {
    let schema = json!({ "type": "object", "properties": { field: { "type": "string" } }, "required": [field] });
    json!({ "method": "elicitation/create", "params": { "mode": "form", "message": message, "requestedSchema": schema } })
}

fn fields() -> Value {
    let schema = json!({
        "type": "object",
        "properties": {
            "email": { "type": "string", "format": "email", "title": "E-mail" },
            "day": { "type": "string", "format": "date" },
            "count": { "type": "integer", "minimum": 1, "maximum": 9 },
            "ratio": { "type": "number" },
            "agree": { "type": "boolean", "default": false },
            "size": { "type": "string", "enum": ["small", "large"] },
            "extras": { "type": "array", "items": { "type": "string", "enum": ["backup", "metrics"] } },
            "note": { "type": "string" },
        },
        "required": ["email", "day", "count", "ratio", "size", "extras"],
    });
    let params = json!({ "mode": "form", "message": "Fill in everything", "requestedSchema": schema });
    json!({ "method": "elicitation/create", "params": params })
}

fn call(tool: &str, retry: Option<&Retry<'_>>) -> Option<Said> {
    let name = || form("What is your name?", "name");
    Some(match (tool, retry) {
        ("greet", None) => Said::Ask(json!({ "who": name() }), json!({})),
        ("greet", Some(retry)) => Said::Text(match retry.answer("who")["action"].as_str() {
            Some("accept") => format!("Hello, {}!", retry.field("who", "name")),
            action => format!("You said {}.", action.unwrap_or("missing")),
        }),
        ("pair", None) => Said::Ask(json!({ "first": name() }), json!({ "round": 1 })),
        ("pair", Some(retry)) if retry.state["round"] == 1 => {
            let name = retry.field("first", "name");
            let second = form(&format!("Which color, {name}?"), "color");
            Said::Ask(json!({ "second": second }), json!({ "round": 2, "name": name }))
        }
        ("pair", Some(retry)) => {
            let name = retry.state["name"].as_str().unwrap_or_default();
            Said::Text(format!("{name} likes {}.", retry.field("second", "color")))
        }
        ("batch", None) => {
            let question = json!({ "type": "text", "text": "What is the capital of France?" });
            let sampling = json!({ "messages": [{ "role": "user", "content": question }], "maxTokens": 100 });
            let capital = json!({ "method": "sampling/createMessage", "params": sampling });
            Said::Ask(json!({ "who": name(), "capital": capital, "where": { "method": "roots/list" } }), json!({}))
        }
        ("batch", Some(retry)) => {
            let said = retry.answer("capital")["content"]["text"].as_str().unwrap_or_default().to_owned();
            let roots = retry.answer("where")["roots"].as_array().map_or(0, Vec::len);
            Said::Text(format!("{said} {} ({roots} roots)", retry.field("who", "name")))
        }
        ("visit", None) => {
            let params = json!({ "mode": "url", "message": "Visit the page", "url": "https://example.com/visit" });
            Said::Ask(json!({ "page": { "method": "elicitation/create", "params": params } }), json!({}))
        }
        ("visit", Some(retry)) => {
            let visited = retry.answer("page")["action"] == "accept";
            Said::Text(if visited { "visited" } else { "not visited" }.to_owned())
        }
        ("fields", None) => Said::Ask(json!({ "all": fields() }), json!({})),
        ("fields", Some(retry)) => Said::Text(retry.answer("all")["content"].to_string()),
        ("later", None) => Said::Ask(Value::Null, json!({})),
        ("later", Some(_)) => Said::Text("ready".to_owned()),
        _ => return None,
    })
}

impl Interop {
    fn retry<'a>(
        &self,
        state: Option<&str>,
        responses: Option<&'a InputResponses>,
        binding: &str,
    ) -> Result<Option<Retry<'a>>, ErrorData> {
        let Some(state) = state else { return Ok(None) };
        let opened = self.codec.open_json_with(state, binding.as_bytes());
        let state = opened.map_err(|_| ErrorData::invalid_params("invalid or expired request state", None))?;
        Ok(Some(Retry { state, responses }))
    }

    fn ask(&self, questions: Value, state: &Value, binding: &str) -> Result<InputRequiredResult, ErrorData> {
        let options = SealOptions::new().associated_data(binding.as_bytes()).ttl(Duration::from_secs(600));
        let state = self.codec.seal_json_with(state, &options).map_err(internal)?;
        let questions: Option<InputRequests> = serde_json::from_value(questions).map_err(internal)?;
        Ok(InputRequiredResult::new(questions, Some(state)))
    }
}

impl ServerHandler for Interop {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().enable_prompts().enable_resources().build();
        ServerConfig::new(capabilities).with_server_info(Implementation::new("interop", "1.0.0"))
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(&[ProtocolVersion::V_2026_07_28])
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let schema = Arc::new(JsonObject::from_iter([("type".to_owned(), json!("object"))]));
        let names = ["greet", "pair", "batch", "visit", "fields", "later", "fails"];
        let tool = |name| Tool::new(name, name, Arc::clone(&schema));
        Ok(ListToolsResult::with_all_items(names.map(tool).to_vec()))
    }

    async fn call_tool(
        &self,
        params: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if params.name == "fails" {
            return Ok(CallToolResult::error(vec![ContentBlock::text("out of stock")]).into());
        }
        let retry = self.retry(params.request_state.as_deref(), params.input_responses.as_ref(), &params.name)?;
        match call(&params.name, retry.as_ref()) {
            None => Err(ErrorData::invalid_params(format!("Unknown tool: {}", params.name), None)),
            Some(Said::Text(text)) => Ok(CallToolResult::success(vec![ContentBlock::text(text)]).into()),
            // rmcp leaves it to the server to ask only what was declared.
            Some(Said::Ask(..)) if context.client_capabilities().is_none_or(|client| client.elicitation.is_none()) => {
                let required = json!({ "requiredCapabilities": { "elicitation": {} } });
                Err(ErrorData::new(rmcp::model::ErrorCode(-32021), "Missing client capability", Some(required)))
            }
            Some(Said::Ask(questions, state)) => Ok(self.ask(questions, &state, &params.name)?.into()),
        }
    }

    async fn get_prompt(
        &self,
        params: GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let topic = params.arguments.as_ref().and_then(|arguments| arguments["topic"].as_str()).unwrap_or_default();
        let retry = self.retry(params.request_state.as_deref(), params.input_responses.as_ref(), topic)?;
        let Some(retry) = retry else {
            let tone = form(&format!("Which tone for {topic}?"), "tone");
            return Ok(GetPromptResponse::InputRequired(self.ask(json!({ "tone": tone }), &json!({}), topic)?));
        };
        let text = format!("Write about {topic} in a {} tone.", retry.field("tone", "tone"));
        let messages = json!({ "messages": [{ "role": "user", "content": { "type": "text", "text": text } }] });
        Ok(GetPromptResponse::Complete(serde_json::from_value(messages).map_err(internal)?))
    }

    async fn read_resource(
        &self,
        params: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let uri = &params.uri;
        let Some(retry) = self.retry(params.request_state.as_deref(), params.input_responses.as_ref(), uri)? else {
            let tone = form("Which tone?", "tone");
            return Ok(ReadResourceResponse::InputRequired(self.ask(json!({ "tone": tone }), &json!({}), uri)?));
        };
        let text = format!("Note 7 in a {} tone.", retry.field("tone", "tone"));
        let contents = json!({ "contents": [{ "uri": uri, "text": text }] });
        Ok(ReadResourceResponse::Complete(serde_json::from_value(contents).map_err(internal)?))
    }
}

fn internal(error: impl std::fmt::Display) -> ErrorData {
    ErrorData::internal_error(error.to_string(), None)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let server = Interop { codec: RequestStateCodec::try_new([7; 32])? };
    match std::env::args().nth(1).as_deref() {
        Some("stdio") => {
            server.serve(rmcp::transport::io::stdio()).await?.waiting().await?;
        }
        Some(port) => {
            let options = StreamableHttpServerConfig::default().with_legacy_session_mode(false);
            let sessions = Arc::new(NeverSessionManager::default());
            let service = StreamableHttpService::new(move || Ok(server.clone()), sessions, options);
            let listener = TcpListener::bind(("127.0.0.1", port.parse()?)).await?;
            axum::serve(listener, Router::new().nest_service("/mcp", service)).await?;
        }
        None => return Err("usage: server PORT|stdio".into()),
    }
    Ok(())
}
