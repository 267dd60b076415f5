//! usage: mrtr-interop-rmcp CONFORMANCE_URL INTEROP_URL DEMO_URL

mod world;

use std::process::ExitCode;
use std::time::Duration;

use futures::future::join_all;
use rmcp::model::{CallToolRequestParams, ClientRequest, PaginatedRequestParams, Request};
use rmcp::service::PeerRequestOptions;
use rmcp::{ClientLifecycleMode, ServiceError};
use serde_json::{Value, json};
use world::{
    Client, Outcome, ROOT, Scripted, accept, accept_to, action, call, contains, equal, from_json, refused, report,
    text, to_json,
};

/// Where the three servers are.
struct Servers {
    conformance: String,
    interop: String,
    demo: String,
}

/// Waits until this is so, or two seconds.
async fn eventually(is_so: impl Fn() -> bool) {
    for _ in 0..200 {
        if is_so() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

fn form() -> Value {
    serde_json::from_str(include_str!("../../every_field.json")).expect("JSON")
}

fn definitions() -> Value {
    serde_json::from_str(include_str!("../../definitions.json")).expect("JSON")
}

fn nobody() -> Scripted {
    Scripted::new([])
}

impl Servers {
    async fn discover(&self) -> Outcome {
        let client = nobody().connect(&self.interop).await?;
        let info = client.peer_info().map(|info| to_json(&*info)).unwrap_or_default();
        equal(&info["protocolVersion"], "2026-07-28", "the version")?;
        equal(&info["serverInfo"], json!({ "name": "interop", "version": "1.0.0" }), "the server")
    }

    async fn one_round(&self) -> Outcome {
        let script = Scripted::new([accept(json!({ "name": "Alice" }))]);
        let (_, said, asked) = self.fixture("elicitation", script).await?;
        equal(said, "Hello, Alice!", "the result")?;
        equal(&asked[0]["message"], "What is your name?", "the question")
    }

    async fn two_rounds(&self) -> Outcome {
        let script = Scripted::new([accept(json!({ "name": "Alice" })), accept(json!({ "color": "blue" }))]);
        let (_, said, asked) = self.fixture("multi_round", script).await?;
        equal(said, "Alice likes blue.", "the result")?;
        let messages: Vec<_> = asked.iter().map(|asked| &asked["message"]).collect();
        equal(messages, ["Step 1: What is your name?", "Step 2: What is your favorite color?"], "the questions")
    }

    async fn batched_round(&self) -> Outcome {
        let script = Scripted::new([accept(json!({ "name": "Alice" }))]).completion("Hello there!");
        let (_, said, _) = self.fixture("multiple_inputs", script).await?;
        equal(said, "Hello there! Alice (1 roots)", "the result")
    }

    async fn sampling(&self) -> Outcome {
        let (_, said, asked) = self.fixture("sampling", nobody().completion("Paris, of course.")).await?;
        equal(said, "Paris, of course.", "the result")?;
        let question = json!({ "type": "text", "text": "What is the capital of France?" });
        equal(&asked[0]["messages"], json!([{ "role": "user", "content": question }]), "the question")?;
        equal(&asked[0]["maxTokens"], 100, "the bound")
    }

    async fn roots(&self) -> Outcome {
        let (_, said, _) = self.fixture("list_roots", nobody()).await?;
        equal(said, ROOT, "the result")
    }

    async fn every_field(&self) -> Outcome {
        let (form, answer) = (form(), form()["answer"].clone());
        let script = Scripted::new([accept(answer.clone())]);
        let (_, said, asked) = call(&self.interop, "every_field", json!({}), script).await?;
        equal(&asked[0]["requestedSchema"], &form["schema"], "the schema")?;
        equal(parsed(&said)?, answer, "the answer")
    }

    async fn optional_left_out(&self) -> Outcome {
        let form = form();
        let (mut content, mut expected) = (form["answer"].clone(), form["answer"].clone());
        for (optional, default) in form["left_out"].as_object().expect("an object") {
            content.as_object_mut().expect("an object").remove(optional);
            expected[optional] = default.clone();
        }
        let script = Scripted::new([accept(content)]);
        let (_, said, _) = call(&self.interop, "every_field", json!({}), script).await?;
        equal(parsed(&said)?, expected, "the answer")
    }

    async fn url(&self) -> Outcome {
        let script = Scripted::new([action("accept")]);
        let (_, said, asked) = call(&self.interop, "visit", json!({}), script).await?;
        equal(said, "visited", "the result")?;
        let question = ["mode", "message", "url"].map(|member| asked[0][member].clone());
        equal(question, ["url", "Visit the page", "https://example.com/visit"], "the question")
    }

    async fn url_declined(&self) -> Outcome {
        let (_, said, _) = call(&self.interop, "visit", json!({}), Scripted::new([action("decline")])).await?;
        equal(said, "declined", "the result")
    }

    async fn decline(&self) -> Outcome {
        let (_, said, _) = call(&self.interop, "even", json!({}), Scripted::new([action("decline")])).await?;
        equal(said, "declined", "the result")
    }

    async fn cancel(&self) -> Outcome {
        let (_, said, _) = call(&self.interop, "even", json!({}), Scripted::new([action("cancel")])).await?;
        equal(said, "cancelled", "the result")
    }

    async fn asked_again(&self) -> Outcome {
        let script = Scripted::new([accept(json!({ "number": 3 })), accept(json!({ "number": 4 }))]);
        let (_, said, asked) = call(&self.interop, "even", json!({}), script).await?;
        equal(said, "4 is even", "the result")?;
        contains(asked[1]["message"].as_str().unwrap_or_default(), "3 is odd")?;
        equal(&asked[1]["requestedSchema"]["properties"]["number"]["default"], 3, "the default")
    }

    async fn wrong_type(&self) -> Outcome {
        let script = Scripted::new([accept(json!({ "number": "many" })), accept(json!({ "number": 4 }))]);
        let (_, said, asked) = call(&self.interop, "even", json!({}), script).await?;
        equal(said, "4 is even", "the result")?;
        contains(asked[1]["message"].as_str().unwrap_or_default(), "\"number\" must be a whole number")
    }

    async fn state_only(&self) -> Outcome {
        let (_, said, asked) = call(&self.interop, "come_back", json!({}), nobody()).await?;
        equal(said, "ready in round 2", "the result")?;
        equal(asked, json!([]), "what was asked")
    }

    async fn prompt_asks(&self) -> Outcome {
        let client = Scripted::new([accept(json!({ "tone": "dry" }))]).connect(&self.interop).await?;
        let params = from_json(json!({ "name": "write_about", "arguments": { "topic": "tea" } }));
        let result = to_json(&client.get_prompt(params).await.map_err(text)?);
        let content = json!({ "type": "text", "text": "Write about tea in a dry tone." });
        equal(&result["messages"], json!([{ "role": "user", "content": content }]), "the messages")?;
        equal(&client.service().asked()[0]["message"], "Which tone for tea?", "the question")
    }

    async fn resource_asks(&self) -> Outcome {
        let client = Scripted::new([accept(json!({ "tone": "dry" }))]).connect(&self.interop).await?;
        let result = client.read_resource(from_json(json!({ "uri": "interop://asks" }))).await.map_err(text)?;
        let expected = json!([{ "uri": "interop://asks", "text": "A dry resource." }]);
        equal(&to_json(&result)["contents"], expected, "the contents")
    }

    async fn template_asks(&self) -> Outcome {
        let client = Scripted::new([accept(json!({ "tone": "dry" }))]).connect(&self.interop).await?;
        let uri = "interop://notes/7%2F8";
        let result = client.read_resource(from_json(json!({ "uri": uri }))).await.map_err(text)?;
        let expected = json!([{ "uri": uri, "text": "Note 7/8 in a dry tone." }]);
        equal(&to_json(&result)["contents"], expected, "the contents")?;
        equal(&client.service().asked()[0]["message"], "Which tone for note 7/8?", "the question")
    }

    async fn not_declared(&self) -> Outcome {
        let client = nobody().capabilities(json!({ "sampling": {} })).connect(&self.interop).await?;
        let error = refused(client.call_tool(from_json(json!({ "name": "every_field", "arguments": {} }))).await)?;
        equal(error.code, -32021, "the code")?;
        equal(error.data, json!({ "requiredCapabilities": { "elicitation": { "form": {} } } }), "the data")
    }

    async fn progress(&self) -> Outcome {
        let client = nobody().connect(&self.conformance).await?;
        let params = from_json(json!({ "name": "test_tool_with_progress", "arguments": {} }));
        let result = to_json(&client.call_tool(params).await.map_err(text)?);
        equal(&result["content"][0]["text"], "Done.", "the result")?;
        let expected = json!([[0.0, 100.0, "Working"], [50.0, 100.0, "Working"], [100.0, 100.0, "Working"]]);
        equal(client.service().progress(), expected, "the progress")
    }

    async fn progress_and_ask(&self) -> Outcome {
        let client = Scripted::new([accept(json!({ "tone": "dry" }))]).connect(&self.interop).await?;
        let params = from_json(json!({ "name": "step_by_step", "arguments": {} }));
        let result = to_json(&client.call_tool(params).await.map_err(text)?);
        equal(&result["content"][0]["text"], "Written in a dry tone.", "the result")?;
        // rmcp runs a task for each notification, so those that come together may change places, or come after the result.
        eventually(|| client.service().progress().len() >= 3).await;
        let mut seen = names(&json!(client.service().progress()), 2);
        seen.sort_by_key(Value::to_string);
        equal(seen, ["Asking", "Asking", "Writing"], "the progress")
    }

    async fn log(&self) -> Outcome {
        let client = nobody().connect(&self.conformance).await?;
        let meta = json!({ "io.modelcontextprotocol/logLevel": "debug" });
        let params = from_json(json!({ "name": "test_logging_tool", "arguments": {}, "_meta": meta }));
        client.call_tool(params).await.map_err(text)?;
        eventually(|| !client.service().logged().is_empty()).await;
        equal(client.service().logged(), json!([{ "level": "info", "data": "Evaluating" }]), "the log")
    }

    async fn pages(&self) -> Outcome {
        let client = nobody().connect(&self.interop).await?;
        // One walk for each list: the methods have types of their own.
        macro_rules! pages {
            ($list:ident, $member:literal, $name:literal) => {{
                let (mut seen, mut cursor) = (Vec::new(), None);
                loop {
                    let params = PaginatedRequestParams::default().with_cursor(cursor);
                    let page = client.$list(Some(params)).await.map_err(text)?;
                    cursor = page.next_cursor.clone();
                    seen.push(names(&to_json(&page)[$member], $name));
                    if cursor.is_none() {
                        break seen;
                    }
                }
            }};
        }
        let tools = json!([["every_field", "visit"], ["even", "come_back"], ["described", "step_by_step"]]);
        equal(pages!(list_tools, "tools", "name"), tools, "the tools")?;
        equal(pages!(list_prompts, "prompts", "name"), json!([["write_about", "second"], ["third"]]), "the prompts")?;
        let resources = json!([["asks", "second"], ["third"]]);
        equal(pages!(list_resources, "resources", "name"), resources, "the resources")?;
        let templates = pages!(list_resource_templates, "resourceTemplates", "uriTemplate");
        equal(templates, json!([["interop://notes/{id}"]]), "the templates")
    }

    async fn completion(&self) -> Outcome {
        let client = nobody().connect(&self.interop).await?;
        let found = client.complete_prompt_argument("write_about", "topic", "Tr", None).await.map_err(text)?;
        equal(found.values, ["trains", "trees"], "the values")
    }

    async fn resource_not_found(&self) -> Outcome {
        let client = nobody().connect(&self.interop).await?;
        for uri in ["interop://notes/gone", "interop://nowhere"] {
            let error = refused(client.read_resource(from_json(json!({ "uri": uri }))).await)?;
            equal((error.code, error.data), json!([-32602, { "uri": uri }]), "the error")?;
        }
        Ok(())
    }

    async fn unknown_tool(&self) -> Outcome {
        let client = nobody().connect(&self.interop).await?;
        let error = refused(client.call_tool(from_json(json!({ "name": "no_such_tool", "arguments": {} }))).await)?;
        equal(error.code, -32602, "the code")?;
        contains(&error.message, "no_such_tool")
    }

    async fn tool_error(&self) -> Outcome {
        let (result, said, _) = call(&self.conformance, "test_error_handling", json!({}), nobody()).await?;
        equal(&result["isError"], true, "isError")?;
        equal(said, "This tool intentionally returns an error for testing", "the result")
    }

    async fn content(&self) -> Outcome {
        let (result, _, _) = call(&self.conformance, "test_multiple_content_types", json!({}), nobody()).await?;
        equal(names(&result["content"], "type"), ["text", "image", "resource"], "the kinds")?;
        contains(result["content"][1]["data"].as_str().unwrap_or_default(), "iVBORw0KGgo")?;
        let resource = json!({
            "uri": "test://mixed-content-resource",
            "mimeType": "application/json",
            "text": r#"{"test":"data","value":123}"#,
        });
        equal(&result["content"][2]["resource"], resource, "the resource")?;
        let (result, _, _) = call(&self.conformance, "test_audio_content", json!({}), nobody()).await?;
        let audio = &result["content"][0];
        equal([&audio["type"], &audio["mimeType"]], ["audio", "audio/wav"], "the audio")?;
        contains(audio["data"].as_str().unwrap_or_default(), "UklG")
    }

    async fn structured(&self) -> Outcome {
        let client = nobody().connect(&self.conformance).await?;
        let tools = client.list_all_tools().await.map_err(text)?;
        let tool = tools.iter().find(|tool| tool.name == "json_schema_2020_12_tool").map(to_json).unwrap_or_default();
        equal(&tool["inputSchema"]["$defs"]["address"]["$anchor"], "addressDef", "the anchor")?;
        let arguments = json!({ "name": "Ada", "contactMethod": "phone", "phone": "1", "address": { "city": "Ulm" } });
        let params = from_json(json!({ "name": "json_schema_2020_12_tool", "arguments": arguments }));
        let result = to_json(&client.call_tool(params).await.map_err(text)?);
        equal(&result["structuredContent"], arguments, "the structured content")
    }

    async fn output_schema(&self) -> Outcome {
        let answer = form()["answer"].clone();
        let script = Scripted::new([accept(answer.clone())]);
        let (result, _, _) = call(&self.interop, "every_field", json!({}), script).await?;
        equal(&result["structuredContent"], answer, "the structured content")
    }

    async fn described(&self) -> Outcome {
        let client = nobody().connect(&self.interop).await?;
        let tools = client.list_all_tools().await.map_err(text)?;
        let mut tool = tools.iter().find(|tool| tool.name == "described").map(to_json).unwrap_or_default();
        if let Some(tool) = tool.as_object_mut() {
            tool.remove("inputSchema");
        }
        equal(tool, &definitions()["tool"], "the tool")?;
        let resources = client.list_all_resources().await.map_err(text)?;
        equal(resources.last(), &definitions()["resource"], "the resource")
    }

    async fn header(&self) -> Outcome {
        let client = nobody().connect(&self.conformance).await?;
        client.list_all_tools().await.map_err(text)?;
        for value in ["plain", " Grüße ", "=?base64?x?="] {
            let params = from_json(json!({ "name": "test_custom_header", "arguments": { "value": value } }));
            let result = to_json(&client.call_tool(params).await.map_err(text)?);
            equal(&result["content"][0]["text"], value, "the result")?;
        }
        Ok(())
    }

    async fn abandoned(&self) -> Outcome {
        let client = nobody().connect(&self.conformance).await?;
        let slow: CallToolRequestParams = from_json(json!({ "name": "test_tool_with_progress", "arguments": {} }));
        let request = ClientRequest::CallToolRequest(Request::new(slow.clone()));
        let options = PeerRequestOptions::with_timeout(Duration::from_millis(30));
        let handle = client.send_cancellable_request(request, options).await.map_err(text)?;
        match handle.await_response().await {
            Err(ServiceError::Timeout { .. }) => {}
            other => return Err(format!("not given up, but {other:?}")),
        }
        let result = to_json(&client.call_tool(slow).await.map_err(text)?);
        equal(&result["content"][0]["text"], "Done.", "the result")
    }

    async fn legacy(&self) -> Outcome {
        match nobody().connect_as(&self.interop, ClientLifecycleMode::Initialize).await {
            Err(error) => contains(&error, "2026-07-28"),
            Ok(_) => Err("no error, but a connection".into()),
        }
    }

    async fn many_at_once(&self) -> Outcome {
        let answers = (0..20).map(|_| accept(json!({ "number": 4 })));
        let client: Client = Scripted::new(answers).connect(&self.interop).await?;
        let calls = (0..20).map(|_| client.call_tool(from_json(json!({ "name": "even", "arguments": {} }))));
        let results: Result<Vec<_>, ServiceError> = join_all(calls).await.into_iter().collect();
        for result in results.map_err(text)? {
            equal(&to_json(&result)["content"][0]["text"], "4 is even", "a result")?;
        }
        Ok(())
    }

    async fn demo_deploy(&self) -> Outcome {
        let arguments = json!({ "service": "api", "version": "4.8.1" });
        let script = Scripted::new([accept(json!({ "confirm": true }))]);
        let (_, said, asked) = call(&self.demo, "deploy_release", arguments, script).await?;
        contains(&said, "Deployed api 4.8.1 to production (api-")?;
        equal(&asked[0]["message"], "Deploy api 4.8.1 to production?", "the question")
    }

    async fn demo_claim(&self) -> Outcome {
        let damage = json!({ "description": "The lid is cracked, the box was wet." });
        let script = Scripted::new([accept(json!({ "email": "ada@example.com" })), accept(damage)]);
        let (_, said, _) = call(&self.demo, "file_shipping_claim", json!({ "order_id": "ord_5177" }), script).await?;
        contains(&said, "filed. Confirmation sent to ada@example.com.")
    }

    async fn demo_provision(&self) -> Outcome {
        let machine = json!({ "size": "medium", "features": ["backups", "monitoring"] });
        let script =
            Scripted::new([accept_to("How much", json!({ "monthly": 24.5 })), accept_to("What kind", machine)]);
        let (_, said, _) = call(&self.demo, "provision", json!({ "name": "web-1" }), script).await?;
        contains(&said, "Provisioned web-1 as medium-")?;
        contains(&said, ", for 24.5 euros a month.")
    }

    async fn fixture(&self, name: &str, script: Scripted) -> Result<(Value, String, Vec<Value>), String> {
        call(&self.conformance, &format!("test_input_required_result_{name}"), json!({}), script).await
    }
}

fn names(entries: &Value, name: impl serde_json::value::Index) -> Vec<Value> {
    entries.as_array().map(|entries| entries.iter().map(|entry| entry[&name].clone()).collect()).unwrap_or_default()
}

fn parsed(said: &str) -> Result<Value, String> {
    serde_json::from_str(said).map_err(|_| format!("{said:?} is not JSON"))
}

/// Runs each method under its name, with hyphens.
macro_rules! run {
    ($servers:ident: $($scenario:ident)*) => {{
        let mut all_well = true;
        $(all_well &= report(&stringify!($scenario).replace('_', "-"), $servers.$scenario()).await;)*
        all_well
    }};
}

#[tokio::main]
async fn main() -> ExitCode {
    let mut urls = std::env::args().skip(1);
    let (Some(conformance), Some(interop), Some(demo), None) = (urls.next(), urls.next(), urls.next(), urls.next())
    else {
        eprintln!("usage: mrtr-interop-rmcp CONFORMANCE_URL INTEROP_URL DEMO_URL");
        return ExitCode::from(2);
    };
    let servers = Servers { conformance, interop, demo };
    let all_well = run!(servers:
        discover one_round two_rounds batched_round sampling roots every_field optional_left_out url url_declined
        decline cancel asked_again wrong_type state_only prompt_asks resource_asks template_asks not_declared progress
        progress_and_ask log pages completion resource_not_found unknown_tool tool_error content structured
        output_schema described header abandoned legacy many_at_once demo_deploy demo_claim demo_provision);
    if all_well { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
