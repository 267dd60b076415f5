//! Prompts: arguments as text, messages of every kind, and questions in the middle as tools have them.

use mrtr::server::{BuildError, Content, Icon, PromptMessage};
use mrtr::{Context, NoArguments, Prompt, Server, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::tools::Confirm;
use crate::world::World;

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Tone {
    Kind,
    Blunt,
}

#[derive(Deserialize, JsonSchema)]
struct Review {
    /// The code to review
    code: String,
    #[schemars(range(min = 1, max = 9))]
    depth: Option<u8>,
    tone: Option<Tone>,
}

async fn review(review: Review, _: Context) -> [PromptMessage; 2] {
    let tone = match review.tone {
        Some(Tone::Blunt) => "Be blunt.",
        Some(Tone::Kind) | None => "Be kind.",
    };
    [
        PromptMessage::user(format!("Review to depth {}: {}", review.depth.unwrap_or(1), review.code)),
        PromptMessage::assistant(tone),
    ]
}

async fn asks(_: NoArguments, cx: Context) -> Result<String, ToolError> {
    let confirm: Confirm = cx.elicit("secrets", "Show secrets too?").await?;
    Ok(if confirm.confirm { "Everything." } else { "The rest." }.to_owned())
}

fn world() -> World {
    World::of(|server| {
        server
            .prompt(
                Prompt::new("review", review).title("Review").icon(Icon::new("https://x.example/i.png").size("48x48")),
            )
            .prompt(Prompt::new("asks", asks))
    })
}

#[test]
fn a_prompt_is_listed_with_its_arguments_and_gives_its_messages() {
    let world = world();
    let list = world.request("prompts/list", json!({}));
    assert_eq!(
        list.result()["prompts"][0],
        json!({
            "name": "review",
            "title": "Review",
            "arguments": [
                { "name": "code", "description": "The code to review", "required": true },
                { "name": "depth", "required": false },
                { "name": "tone", "required": false },
            ],
            "icons": [{ "src": "https://x.example/i.png", "sizes": ["48x48"] }],
        })
    );
    let got = world.request(
        "prompts/get",
        json!({ "name": "review", "arguments": { "code": "x", "depth": "3", "tone": "blunt" } }),
    );
    assert_eq!(
        got.result()["messages"],
        json!([
            { "role": "user", "content": { "type": "text", "text": "Review to depth 3: x" } },
            { "role": "assistant", "content": { "type": "text", "text": "Be blunt." } },
        ])
    );
    assert_eq!(got.reply["result"]["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "test");
    assert!(got.reply["result"].get("ttlMs").is_none(), "prompts are not cacheable: {}", got.reply);
}

#[test]
fn arguments_that_do_not_fit_are_invalid_parameters_that_name_the_argument() {
    let world = world();
    for (arguments, named) in [
        (json!({}), "code"),
        (json!({ "code": "x", "depth": "deep" }), "depth"),
        (json!({ "code": "x", "depth": "10" }), "depth"),
        (json!({ "code": "x", "tone": "rude" }), "tone"),
        (json!({ "code": 5 }), "code"),
        (json!([]), "arguments"),
    ] {
        let reply = world.request("prompts/get", json!({ "name": "review", "arguments": arguments }));
        let message = reply.errors(-32602)["message"].to_string();
        assert!(message.contains(named), "{arguments}: {message}");
    }
    world.request("prompts/get", json!({ "name": "nothing" })).errors(-32602);
    world.request("prompts/get", json!({})).errors(-32602);
}

#[test]
fn a_prompt_asks_and_goes_on_with_the_answer() {
    let world = world();
    let asked = world.request("prompts/get", json!({ "name": "asks" })).asks(&["secrets"]);
    assert!(asked.reply["result"].get("ttlMs").is_none());
    let got = asked.accept("secrets", json!({ "confirm": true }));
    assert_eq!(got.result()["messages"][0]["content"]["text"], "Everything.");
}

#[test]
fn a_refused_question_ends_a_prompt_with_an_error_that_says_so() {
    let asked = world().request("prompts/get", json!({ "name": "asks" })).asks(&["secrets"]).decline("secrets").reply;
    assert_eq!(asked["error"]["code"], -32603, "{asked}");
    assert!(asked["error"]["message"].as_str().expect("a text").contains("declined"), "{asked}");
}

#[test]
fn a_state_of_one_method_opens_on_no_other() {
    let world = World::of(|server| {
        server
            .prompt(Prompt::new("asks", asks))
            .tool(mrtr::Tool::new("asks", asks))
            .tool(mrtr::Tool::new("other", asks))
    });
    let asked = world.request("prompts/get", json!({ "name": "asks" })).asks(&["secrets"]);
    let answers = json!({ "secrets": { "action": "accept", "content": { "confirm": true } } });
    for (method, name) in [("tools/call", "asks"), ("tools/call", "other")] {
        let params = json!({ "name": name, "inputResponses": answers, "requestState": asked.state() });
        world.request(method, params).errors(-32602);
    }
}

#[test]
fn what_cannot_be_a_prompt_is_an_error_of_the_build() {
    #[derive(Deserialize, JsonSchema)]
    struct Nested {
        #[expect(dead_code, reason = "never decoded")]
        tags: Vec<Vec<String>>,
    }
    let build = |prompt: Prompt| Server::new("s", "1").prompt(prompt).build().expect_err("invalid");
    let nested = build(Prompt::new("nested", async |_: Nested, _| ""));
    assert!(
        matches!(&nested, BuildError::Prompt { prompt, problem, .. } if prompt == "nested" && problem.contains("tags")),
        "{nested}"
    );
    let stray = build(Prompt::new("review", review).complete("colour", async |_| Vec::new()));
    assert!(stray.to_string().contains("colour"), "{stray}");
    let twice = Server::new("s", "1").prompt(Prompt::new("p", asks)).prompt(Prompt::new("p", asks)).build();
    assert_eq!(twice.expect_err("twice"), BuildError::DuplicatePrompt("p".into()));
}

#[test]
fn methods_of_what_is_not_offered_do_not_exist() {
    let tools = World::with(mrtr::Tool::new("t", asks));
    for method in ["prompts/list", "prompts/get", "resources/list", "resources/read", "completion/complete"] {
        let reply = tools.request(method, json!({ "name": "x", "uri": "x:y" }));
        assert_eq!((reply.status, reply.errors(-32601)["code"].as_i64()), (404, Some(-32601)), "{method}");
    }
    let prompts = World::of(|server| server.prompt(Prompt::new("asks", asks)));
    prompts.request("tools/list", json!({})).errors(-32601);
    let discovered = prompts.request("server/discover", json!({}));
    assert_eq!(discovered.result()["capabilities"], json!({ "prompts": {} }));
}

#[test]
fn a_prompt_may_hold_any_content() {
    let world = World::of(|server| {
        server.prompt(Prompt::new("p", async |_: NoArguments, _| PromptMessage::user(Content::image([1], "image/png"))))
    });
    let got = world.request("prompts/get", json!({ "name": "p" }));
    let image = json!({ "type": "image", "data": "AQ==", "mimeType": "image/png" });
    assert_eq!(got.result()["messages"], json!([{ "role": "user", "content": image }]));
}
