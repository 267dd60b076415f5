//! `mrtr prompts`, `resources`, `discover`, `get` and `read`.

use crate::{mrtr, server};

fn words(text: &str) -> Vec<String> {
    text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

#[test]
fn prompts_of_all_pages_are_listed_with_their_arguments() {
    let url = server::start();
    let ran = mrtr(["prompts", &url]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    assert_eq!(
        words(&ran.stdout),
        [
            "PROMPT ARGUMENT REQUIRED DESCRIPTION",
            "review Reviews code",
            "language yes Of the code",
            "focus no",
            "greet Says hello"
        ]
    );
    let json: serde_json::Value = serde_json::from_str(&mrtr(["prompts", &url, "--json"]).stdout).expect("JSON");
    assert_eq!((json[0]["name"].as_str(), json[1]["name"].as_str()), (Some("review"), Some("greet")));
}

#[test]
fn resources_and_templates_are_listed_and_invalid_ones_named() {
    let url = server::start();
    let ran = mrtr(["resources", &url]);
    assert_eq!(ran.code, 0);
    assert_eq!(ran.stderr, "warning: left out \"nowhere\", whose definition is invalid: it has no uri\n");
    assert_eq!(
        words(&ran.stdout),
        ["URI TYPE DESCRIPTION", r"note://1 text/plain The first\u{1b}[2J note", "note://{id} Any note"]
    );
    let json: serde_json::Value = serde_json::from_str(&mrtr(["resources", &url, "--json"]).stdout).expect("JSON");
    assert_eq!(json["resourceTemplates"][0]["uriTemplate"], "note://{id}");
}

#[test]
fn a_server_describes_itself() {
    let url = server::start();
    mrtr(["discover", &url]).is(
        0,
        "Server:       test 1\nRevisions:    2026-07-28\nCapabilities: tools\nInstructions: Be kind.\n",
        "",
    );
    assert!(mrtr(["discover", &url, "--json"]).stdout.contains(r#""supportedVersions":["2026-07-28"]"#));
}

#[test]
fn a_prompt_asks_and_its_messages_are_printed() {
    let url = server::start();
    mrtr(["get", &url, "review", "language=rust", "--answer", "style.tone=kind"]).is(
        0,
        "user:\nReview \"rust\" in a \"kind\" tone.\n\nassistant:\n(content of type image is not shown; --json has it)\n",
        "",
    );
    assert_eq!(mrtr(["get", &url, "review", "language=rust"]).code, 5);
    mrtr(["get", &url, "review"]).is(2, "", "mrtr: the prompt also needs language=...\n");
    mrtr(["get", &url, "review", "langage=x"]).is(
        2,
        "",
        "mrtr: the prompt has no argument \"langage\" (did you mean \"language\"?); it takes language, focus\n",
    );
    mrtr(["get", &url, "revew"]).is(
        2,
        "",
        "mrtr: the server has no prompt \"revew\" (did you mean \"review\"?); it has review, greet\n",
    );
}

#[test]
fn a_resource_is_printed_or_written_as_it_is() {
    let url = server::start();
    mrtr(["read", &url, "note://1"]).is(0, "Buy milk.\n", "");
    mrtr(["read", &url, "note://bytes"]).is(0, "\0\u{1}\u{2}", "");
    mrtr(["read", &url]).is(2, "", "mrtr: which URI?\n");
}
