//! The client the official conformance suite drives: `conformance_client URL`, with the scenario's name in
//! `MCP_CONFORMANCE_SCENARIO` and what it wants called in `MCP_CONFORMANCE_CONTEXT`.
//!
//! The suite plays the server and judges what it is sent. This does what a client does anyway (look at what there is, call
//! it, answer with yes), so one program serves all scenarios; those that want certain calls say so.

use std::env;
use std::error::Error;

use mrtr::client::{Answer, Ask, Client, Responders, Tool};
use serde_json::{Map, Value, json};

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

#[tokio::main]
async fn main() -> Outcome {
    let url = env::args().next_back().filter(|url| url.contains("://")).ok_or("usage: conformance_client URL")?;
    let scenario = env::var("MCP_CONFORMANCE_SCENARIO").unwrap_or_default();
    let client = Client::new(&url)?.name("mrtr-conformance", env!("CARGO_PKG_VERSION")).responders(responders());
    match scenario.as_str() {
        "json-schema-2020-12-preservation" => echo_schema(&client).await,
        "http-custom-headers" => call_as_told(&client).await,
        // Its tool is there to be listed; the suite does not serve it.
        "json-schema-ref-no-deref" => client.list_tools().await.map(drop).map_err(Into::into),
        _ => look_around(&client).await,
    }
}

/// Says yes to forms, fills in whatever they ask, and answers the other kinds with the least that is valid.
fn responders() -> Responders {
    Responders::new()
        .form(async |ask: Ask| Ok(Answer::accept(sample(&ask.requested_schema()))))
        .url(Answer::decline())
        .sampling(Answer::result(json!({
            "role": "assistant", "model": "none", "content": { "type": "text", "text": "Yes." }
        })))
        .roots(Answer::result(json!({ "roots": [] })))
}

/// Lists everything, calls every tool the client accepts, reads every resource and gets every prompt.
async fn look_around(client: &Client) -> Outcome {
    let discovered = client.discover().await?.value();
    for tool in client.list_tools().await?.tools {
        client.call_tool(&tool.name, Value::Object(sample(&tool.input_schema))).await?;
    }
    for (capability, list, items, method, member) in [
        ("resources", "resources/list", "resources", "resources/read", "uri"),
        ("prompts", "prompts/list", "prompts", "prompts/get", "name"),
    ] {
        if discovered["capabilities"].get(capability).is_none() {
            continue;
        }
        let listed = client.call(list, json!({})).await?.value();
        for item in listed[items].as_array().into_iter().flatten() {
            client.call(method, json!({ member: item[member] })).await?;
        }
    }
    Ok(())
}

/// Calls the tools the suite names with the arguments it names.
async fn call_as_told(client: &Client) -> Outcome {
    let context: Value = serde_json::from_str(&env::var("MCP_CONFORMANCE_CONTEXT")?)?;
    client.list_tools().await?;
    for call in context["toolCalls"].as_array().into_iter().flatten() {
        client.call_tool(call["name"].as_str().unwrap_or_default(), call["arguments"].clone()).await?;
    }
    Ok(())
}

/// Hands the schema of one tool to the other one, as the client has it.
async fn echo_schema(client: &Client) -> Outcome {
    let tools = client.list_tools().await?.tools;
    let named = |name: &str| tools.iter().find(|tool: &&Tool| tool.name == name);
    let focal = named("json_schema_2020_12_tool").ok_or("the tool with the rich schema is not listed")?;
    client.call_tool("json_schema_echo", json!({ "schema": focal.input_schema })).await?;
    Ok(())
}

/// Makes up a value for each member of an object schema.
fn sample(schema: &Value) -> Map<String, Value> {
    let members = schema["properties"].as_object().into_iter().flatten();
    members.map(|(name, member)| (name.clone(), value(member))).collect()
}

fn value(schema: &Value) -> Value {
    match schema["type"].as_str() {
        Some("boolean") => json!(true),
        Some("number" | "integer") => json!(2),
        Some("array") => json!([]),
        Some("object") => Value::Object(sample(schema)),
        _ => schema["enum"].get(0).cloned().unwrap_or_else(|| json!("text")),
    }
}
