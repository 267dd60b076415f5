//! The server the official conformance suite asks its questions: `conformance_server --port 8080`.
//!
//! The first half is every fixture that asks the user something; the rest are one-liners of what a server offers besides.
//! The suite prescribes names, texts and keys.

use std::time::Duration;

use mrtr::flow::CreateMessage;
use mrtr::server::{Content, PromptMessage, ResourceContents};
use mrtr::{
    Context, Json, NoArguments, Prompt, Resource, ResourceTemplate, Server, Tool, ToolError, ToolResult,
    http::ServeError,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

// --- what asks

#[derive(Deserialize, JsonSchema)]
struct Name {
    name: String,
}

#[derive(Deserialize, JsonSchema)]
struct Color {
    color: String,
}

#[derive(Deserialize, JsonSchema)]
struct Confirm {
    ok: bool,
}

async fn elicitation(_: NoArguments, cx: Context) -> Result<String, ToolError> {
    let user: Name = cx.elicit("user_name", "What is your name?").await?;
    Ok(format!("Hello, {}!", user.name))
}

async fn sampling(_: NoArguments, cx: Context) -> Result<String, ToolError> {
    let question = CreateMessage::new("What is the capital of France?", 100);
    Ok(cx.sample("capital_question", &question).await?.text())
}

async fn list_roots(_: NoArguments, cx: Context) -> Result<String, ToolError> {
    let roots = cx.list_roots("client_roots").await?;
    Ok(roots.into_iter().map(|root| root.uri).collect::<Vec<_>>().join("\n"))
}

async fn confirm(_: NoArguments, cx: Context) -> Result<&'static str, ToolError> {
    let answer: Confirm = cx.elicit("confirm", "Please confirm").await?;
    Ok(if answer.ok { "state-ok" } else { "not confirmed" })
}

async fn multiple_inputs(_: NoArguments, cx: Context) -> Result<String, ToolError> {
    let greeting = CreateMessage::new("Generate a greeting", 50);
    let (user, greeting, roots) = tokio::try_join!(
        cx.elicit::<Name>("user_name", "What is your name?"),
        cx.sample("greeting", &greeting),
        cx.list_roots("client_roots"),
    )?;
    Ok(format!("{} {} ({} roots)", greeting.text(), user.name, roots.len()))
}

async fn multi_round(_: NoArguments, cx: Context) -> Result<String, ToolError> {
    let user: Name = cx.elicit("step1", "Step 1: What is your name?").await?;
    let favorite: Color = cx.elicit("step2", "Step 2: What is your favorite color?").await?;
    Ok(format!("{} likes {}.", user.name, favorite.color))
}

async fn capabilities(_: NoArguments, cx: Context) -> Result<String, ToolError> {
    let (client, mut said) = (cx.client(), Vec::new());
    if client.can_elicit_form() {
        said.push(cx.elicit::<Name>("user_name", "What is your name?").await?.name);
    }
    if client.can_sample() {
        said.push(cx.sample("greeting", &CreateMessage::new("Generate a greeting", 50)).await?.text());
    }
    if client.can_list_roots() {
        said.push(format!("{} roots", cx.list_roots("client_roots").await?.len()));
    }
    Ok(said.join(", "))
}

fn asking_tools() -> [Tool; 8] {
    [
        Tool::new("test_input_required_result_elicitation", elicitation).accept_unasked(),
        Tool::new("test_input_required_result_sampling", sampling),
        Tool::new("test_input_required_result_list_roots", list_roots),
        Tool::new("test_input_required_result_request_state", confirm),
        Tool::new("test_input_required_result_multiple_inputs", multiple_inputs),
        Tool::new("test_input_required_result_multi_round", multi_round),
        Tool::new("test_input_required_result_tampered_state", confirm),
        Tool::new("test_input_required_result_capabilities", capabilities),
    ]
}

// --- tools that answer at once

const PNG: &[u8] = include_bytes!("conformance/pixel.png");
const WAV: &[u8] = include_bytes!("conformance/silence.wav");

#[derive(Deserialize, JsonSchema)]
struct Mirrored {
    #[schemars(extend("x-mcp-header" = "Value"))]
    value: String,
}

async fn with_progress(_: NoArguments, cx: Context) -> &'static str {
    for percent in [0.0, 50.0, 100.0] {
        cx.progress(percent, Some(100.0), Some("Working"));
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    "Done."
}

async fn mixed_content(_: NoArguments, _: Context) -> [Content; 3] {
    let data = ResourceContents::text("test://mixed-content-resource", r#"{"test":"data","value":123}"#);
    [
        Content::text("Multiple content types test:"),
        Content::image(PNG, "image/png"),
        Content::resource(data.mime_type("application/json")),
    ]
}

async fn embedded_resource(_: NoArguments, _: Context) -> Content {
    let contents = ResourceContents::text("test://embedded-resource", "This is an embedded resource content.");
    Content::resource(contents.mime_type("text/plain"))
}

async fn needs_sampling(_: NoArguments, cx: Context) -> Result<&'static str, ToolError> {
    cx.sample("anything", &CreateMessage::new("Say something", 10)).await?;
    Ok("Success")
}

async fn log_something(_: NoArguments, cx: Context) -> &'static str {
    cx.log(mrtr::LogLevel::Info, "Evaluating");
    "Logging evaluated"
}

fn other_tools() -> [Tool; 11] {
    const TEXT: &str = "This is a simple text response for testing.";
    const FAILURE: &str = "This tool intentionally returns an error for testing";
    [
        Tool::new("test_simple_text", async |_: NoArguments, _| TEXT),
        Tool::new("test_image_content", async |_: NoArguments, _| Content::image(PNG, "image/png")),
        Tool::new("test_audio_content", async |_: NoArguments, _| Content::audio(WAV, "audio/wav")),
        Tool::new("test_embedded_resource", embedded_resource),
        Tool::new("test_multiple_content_types", mixed_content),
        Tool::new("test_error_handling", async |_: NoArguments, _| ToolResult::error(FAILURE)),
        Tool::new("test_tool_with_progress", with_progress),
        Tool::new("test_missing_capability", needs_sampling),
        Tool::new("test_streaming_elicitation", elicitation),
        Tool::new("test_logging_tool", log_something),
        Tool::new("test_custom_header", async |mirrored: Mirrored, _| mirrored.value),
    ]
}

/// A schema no Rust type has, sent as it is.
fn json_schema_tool() -> Tool {
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": { "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": { "street": { "type": "string" }, "city": { "type": "string" } },
        } },
        "properties": {
            "name": { "type": "string" },
            "address": { "$ref": "#/$defs/address" },
            "contactMethod": { "type": "string", "enum": ["phone", "email"] },
            "phone": { "type": "string" },
            "email": { "type": "string" },
        },
        "allOf": [{ "anyOf": [{ "required": ["phone"] }, { "required": ["email"] }] }],
        "if": { "properties": { "contactMethod": { "const": "phone" } }, "required": ["contactMethod"] },
        "then": { "required": ["phone"] },
        "else": { "required": ["email"] },
        "additionalProperties": false,
    });
    Tool::new("json_schema_2020_12_tool", async |arguments: Value, _| Json(arguments))
        .input_schema(schema)
        .description("Tool with JSON Schema 2020-12 features")
}

// --- prompts

#[derive(Deserialize, JsonSchema)]
struct Two {
    /// First test argument
    arg1: String,
    /// Second test argument
    arg2: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Embedded {
    /// URI of the resource to embed
    resource_uri: String,
}

#[derive(Deserialize, JsonSchema)]
struct About {
    context: String,
}

async fn with_arguments(two: Two, _: Context) -> String {
    format!("Prompt with arguments: arg1='{}', arg2='{}'", two.arg1, two.arg2)
}

async fn with_resource(embedded: Embedded, _: Context) -> [PromptMessage; 2] {
    let contents = ResourceContents::text(embedded.resource_uri, "Embedded resource content for testing.");
    [
        PromptMessage::user(Content::resource(contents.mime_type("text/plain"))),
        PromptMessage::user("Please process the embedded resource above."),
    ]
}

async fn with_image(_: NoArguments, _: Context) -> [PromptMessage; 2] {
    [PromptMessage::user(Content::image(PNG, "image/png")), PromptMessage::user("Please analyze the image above.")]
}

async fn asking_prompt(_: NoArguments, cx: Context) -> Result<String, ToolError> {
    let about: About = cx.elicit("user_context", "What context should the prompt use?").await?;
    Ok(format!("Use this context: {}", about.context))
}

fn prompts() -> [Prompt; 5] {
    const SIMPLE: &str = "This is a simple prompt for testing.";
    [
        Prompt::new("test_simple_prompt", async |_: NoArguments, _| SIMPLE),
        Prompt::new("test_prompt_with_arguments", with_arguments)
            .complete("arg1", async |typed| typed.among(["paris", "park", "party", "test"])),
        Prompt::new("test_prompt_with_embedded_resource", with_resource),
        Prompt::new("test_prompt_with_image", with_image),
        Prompt::new("test_input_required_result_prompt", asking_prompt),
    ]
}

// --- resources

#[derive(Deserialize, JsonSchema)]
struct Row {
    id: String,
}

async fn row(row: Row, _: Context) -> Json<Value> {
    let data = format!("Data for ID: {}", row.id);
    Json(json!({ "id": row.id, "templateTest": true, "data": data }))
}

fn server() -> Server {
    const TEXT: &str = "This is the content of the static text resource.";
    let described =
        |tool: Tool| if tool.name().starts_with("test") { tool.description("A test fixture") } else { tool };
    let tools = other_tools().into_iter().chain([json_schema_tool()]).chain(asking_tools());
    let server = tools.map(described).fold(Server::new("conformance", "1.0.0").logging(), Server::tool);
    prompts()
        .into_iter()
        .map(|prompt| prompt.description("A test fixture"))
        .fold(server, Server::prompt)
        .resource(
            Resource::new("test://static-text", "Static text", async |_, _| TEXT)
                .description("A test fixture")
                .mime_type("text/plain"),
        )
        .resource(
            Resource::new("test://static-binary", "Static binary", async |_, _| PNG)
                .description("A test fixture")
                .mime_type("image/png"),
        )
        .resource_template(
            ResourceTemplate::new("test://template/{id}/data", "Template", row)
                .description("A test fixture")
                .mime_type("application/json"),
        )
}

#[tokio::main]
async fn main() -> Result<(), ServeError> {
    let port = std::env::args().skip_while(|argument| argument != "--port").nth(1).unwrap_or_else(|| "8080".into());
    server().serve_http(format!("127.0.0.1:{port}")).await
}
