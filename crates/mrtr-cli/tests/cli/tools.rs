//! `mrtr tools`.

use crate::{mrtr, server};

#[test]
fn tools_and_their_arguments_are_listed() {
    let ran = mrtr(["tools", &server::start()]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let lines: Vec<_> = ran.stdout.lines().take(5).map(words).collect();
    assert_eq!(
        lines,
        [
            "TOOL ARGUMENT TYPE REQUIRED DESCRIPTION",
            "deploy Deploy a release, after the user confirms",
            "service text yes What to deploy",
            "replicas integer no",
            "book",
        ]
    );
}

#[test]
fn json_is_the_definitions_as_sent() {
    let ran = mrtr(["tools", &server::start(), "--json"]);
    let tools: serde_json::Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!(tools[0]["inputSchema"]["properties"]["replicas"]["minimum"], 1);
    assert_eq!(tools.as_array().map(Vec::len), Some(20));
}
