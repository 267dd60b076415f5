//! What `interop/` asks of other SDKs' clients beyond the official fixtures: `interop_server --port 8080`.
//!
//! A form with every kind of field, a page to visit, a rule that asks again, a round without a question, a prompt and
//! resources that ask, everything a definition can say, and lists of several pages.

use mrtr::flow::Outcome;
use mrtr::server::{Annotations, Icon, Role};
use mrtr::{Context, Json, NoArguments, Prompt, Resource, ResourceTemplate, Server, Tool, ToolError, http::ServeError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// Every kind of field a form can have.
#[derive(Deserialize, JsonSchema, Serialize)]
struct EveryField {
    /// What to call you
    #[schemars(length(min = 2, max = 20))]
    name: String,
    #[schemars(email)]
    email: String,
    /// A home page
    #[schemars(url)]
    site: Option<String>,
    #[schemars(extend("format" = "date"))]
    day: String,
    #[schemars(range(min = 1, max = 9))]
    count: u32,
    #[schemars(range(min = 0.5, max = 2.5))]
    ratio: f64,
    agree: bool,
    size: Size,
    color: Color,
    extras: Vec<Extra>,
    #[serde(default)]
    spare: Vec<Size>,
    fallback: Option<Color>,
    #[schemars(length(max = 40))]
    note: Option<String>,
    #[serde(default = "standard")]
    plan: String,
    #[serde(default = "two")]
    copies: u8,
    #[serde(default)]
    urgent: bool,
}

/// How large
#[derive(Deserialize, JsonSchema, Serialize)]
#[serde(rename_all = "lowercase")]
enum Size {
    Small,
    Large,
}

/// Which color
#[derive(Deserialize, JsonSchema, Serialize)]
#[serde(rename_all = "lowercase")]
enum Color {
    /// Deep red
    Red,
    /// Sky blue
    Blue,
}

#[derive(Deserialize, JsonSchema, Serialize)]
#[serde(rename_all = "lowercase")]
enum Extra {
    /// Nightly backups
    Backup,
    /// Metrics and alerts
    Metrics,
}

fn standard() -> String {
    "standard".into()
}

fn two() -> u8 {
    2
}

#[derive(Deserialize, JsonSchema)]
struct Even {
    number: i64,
}

#[derive(Deserialize, JsonSchema)]
struct Tone {
    tone: String,
}

#[derive(Deserialize, JsonSchema)]
struct About {
    topic: String,
}

#[derive(Deserialize, JsonSchema)]
struct Note {
    id: String,
}

async fn every_field(_: NoArguments, cx: Context) -> Result<Json<EveryField>, ToolError> {
    Ok(Json(cx.elicit("everything", "Fill in everything").await?))
}

async fn visit(_: NoArguments, cx: Context) -> Result<String, ToolError> {
    let outcome = cx.elicit_url("page", "Visit the page", "https://example.com/visit").outcome().await?;
    Ok(told(outcome, |()| "visited".into()))
}

async fn even(_: NoArguments, cx: Context) -> Result<String, ToolError> {
    let question = cx.elicit("even", "Give me an even number").check(|answer: &Even| match answer.number % 2 {
        0 => Ok(()),
        _ => Err(format!("{} is odd", answer.number)),
    });
    Ok(told(question.outcome().await?, |answer| format!("{} is even", answer.number)))
}

/// Its first round asks nothing: the client comes back with the state alone.
async fn come_back(_: NoArguments, cx: Context) -> Result<String, ToolError> {
    let round = cx.round();
    let ready = || async move { (round > 1).then_some(round) };
    let seen: u32 = cx.until("ready", ready).hold(std::time::Duration::ZERO).state_only().await?;
    Ok(format!("ready in round {seen}"))
}

/// For a client that wants to know, its question is the end of a stream.
async fn step_by_step(_: NoArguments, cx: Context) -> Result<String, ToolError> {
    cx.progress(1.0, Some(2.0), Some("Asking"));
    let answer: Tone = cx.elicit("tone", "Which tone?").await?;
    cx.progress(2.0, Some(2.0), Some("Writing"));
    Ok(format!("Written in a {} tone.", answer.tone))
}

fn told<T>(outcome: Outcome<T>, accepted: impl FnOnce(T) -> String) -> String {
    match outcome {
        Outcome::Accepted(value) => accepted(value),
        Outcome::Declined => "declined".into(),
        Outcome::Cancelled => "cancelled".into(),
    }
}

async fn write_about(about: About, cx: Context) -> Result<String, ToolError> {
    let answer: Tone = cx.elicit("tone", format!("Which tone for {}?", about.topic)).await?;
    Ok(format!("Write about {} in a {} tone.", about.topic, answer.tone))
}

async fn asking_resource(_: NoArguments, cx: Context) -> Result<String, ToolError> {
    let answer: Tone = cx.elicit("tone", "Which tone for the resource?").await?;
    Ok(format!("A {} resource.", answer.tone))
}

async fn note(note: Note, cx: Context) -> Result<Option<String>, ToolError> {
    if note.id == "gone" {
        return Ok(None);
    }
    let answer: Tone = cx.elicit("tone", format!("Which tone for note {}?", note.id)).await?;
    Ok(Some(format!("Note {} in a {} tone.", note.id, answer.tone)))
}

/// Its definition has every member there is.
fn described() -> Tool {
    Tool::new("described", async |_: NoArguments, _| "described")
        .title("Described")
        .description("Says all there is to say")
        .icon(Icon::new("data:image/png;base64,AA==").mime_type("image/png").size("48x48").for_dark())
        .annotations(json!({ "title": "Hinted", "readOnlyHint": true, "openWorldHint": false }))
        .meta("example.com/color", "blue")
}

fn server() -> Server {
    const TOPICS: [&str; 4] = ["tea", "trains", "trees", "water"];
    let plain = |name: &str| Prompt::new(name, async |_: NoArguments, _| "Say something.");
    let asking = Prompt::new("write_about", write_about);
    let hints = Annotations::new().audience(Role::User).priority(0.5).last_modified("2026-07-28T15:00:58Z");
    Server::new("interop", "1.0.0")
        .page_size(2)
        .tool(Tool::new("every_field", every_field).output::<EveryField>())
        .tool(Tool::new("visit", visit))
        .tool(Tool::new("even", even))
        .tool(Tool::new("come_back", come_back))
        .tool(described())
        .tool(Tool::new("step_by_step", step_by_step))
        .prompt(asking.complete("topic", async |typed| typed.among(TOPICS)))
        .prompt(plain("second"))
        .prompt(plain("third"))
        .resource(Resource::new("interop://asks", "asks", asking_resource))
        .resource(Resource::new("interop://second", "second", async |_, _| "second"))
        .resource(Resource::new("interop://third", "third", async |_, _| "third").annotations(hints).size(5))
        .resource_template(ResourceTemplate::new("interop://notes/{id}", "notes", note))
}

#[tokio::main]
async fn main() -> Result<(), ServeError> {
    let port = std::env::args().skip_while(|argument| argument != "--port").nth(1).unwrap_or_else(|| "8080".into());
    server().serve_http(format!("127.0.0.1:{port}")).await
}

#[cfg(test)]
mod tests {
    use mrtr::testing::{Script, torture};

    use super::*;

    #[test]
    fn every_tool_that_asks_comes_to_an_end_whatever_happens() {
        let everything = json!({ "name": "db-1", "email": "ann@example.com", "site": "https://example.com",
            "day": "2026-02-28", "count": 3, "ratio": 1.5, "agree": true, "size": "small", "color": "red",
            "extras": ["backup"] });
        let script = || Script::new(json!({})).without_effects();
        torture(|_| Tool::new("every_field", every_field), &script().answer("everything", everything)).assert_clean();
        torture(|_| Tool::new("even", even), &script().answer("even", json!({ "number": 4 }))).assert_clean();
        torture(|_| Tool::new("visit", visit), &script()).assert_clean();
        torture(|_| Tool::new("come_back", come_back), &script()).assert_clean();
        let tone = script().answer("tone", json!({ "tone": "kind" }));
        torture(|_| Tool::new("step_by_step", step_by_step), &tone).assert_clean();
    }
}
