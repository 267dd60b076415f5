//! Listing tools, and the headers a listed tool wants.

use super::*;

fn list(tools: &Value, cursor: Option<&str>) -> String {
    result(&json!({ "resultType": "complete", "tools": tools, "nextCursor": cursor }))
}

fn mirrored(header: &str) -> Value {
    json!({ "name": "query", "inputSchema": { "type": "object", "properties": {
        "region": { "type": "string", "x-mcp-header": header }
    }}})
}

#[tokio::test]
async fn all_pages_are_read_and_invalid_tools_left_out() {
    let server = Playback::new([
        list(
            &json!([{ "name": "a", "title": "A", "inputSchema": { "type": "object" } }, mirrored("b a d")]),
            Some("next"),
        ),
        list(&json!([{ "name": "b", "description": 7 }, { "title": "nameless" }]), None),
    ]);
    let list = server.client(yes()).list_tools().await.unwrap();
    let names: Vec<_> = list.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["a", "b"]);
    let rejected: Vec<_> = list.rejected.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(rejected, ["query", "tool 4"]);
    assert_eq!(server.sent_params()[1]["cursor"], "next");
}

#[tokio::test]
async fn pages_without_end_are_stopped() {
    let server = Playback::new([list(&json!([]), Some("a")), list(&json!([]), Some("a"))]);
    let error = server.client(yes()).list_tools().await.unwrap_err();
    assert!(error.to_string().ends_with("tools/list repeats a nextCursor"));
    let pages = (0..).map(|page: u32| list(&json!([]), Some(&page.to_string())));
    let server = Playback::new(pages.take(200));
    let error = server.client(yes()).list_tools().await.unwrap_err();
    assert!(error.to_string().ends_with("tools/list has more than 100 pages"));
}

#[tokio::test]
async fn pages_that_add_up_to_too_much_are_stopped() {
    let many = Value::Array(vec![json!({ "name": "a" }); 6_000]);
    let server = Playback::new([list(&many, Some("a")), list(&many, None)]);
    let error = server.client(yes()).list_tools().await.unwrap_err();
    assert!(error.to_string().ends_with("tools/list has more than 10000 tools"), "{error}");
    let long = json!([{ "name": "a", "description": "x".repeat(8 << 20) }]);
    let server = Playback::new((0..9).map(|page: u32| list(&long, Some(&page.to_string()))));
    let error = server.client(yes()).list_tools().await.unwrap_err();
    assert!(error.to_string().ends_with("tools/list is longer than 64 MiB"), "{error}");
}

#[tokio::test]
async fn tools_and_pages_written_as_arrays_are_refused() {
    let server = Playback::new([list(&json!([["a", "A", "d", {}], { "name": "b" }]), None)]);
    let list = server.client(yes()).list_tools().await.unwrap();
    assert_eq!((list.tools.len(), list.rejected.len()), (1, 1));
    assert_eq!(list.rejected[0].reason, "invalid type: sequence, expected an object at line 1 column 0");
}

#[tokio::test]
async fn a_listed_tool_gets_its_headers_in_every_round() {
    let server =
        Playback::new([list(&json!([mirrored("Region")]), None), asks(&json!({ "confirm": form() }), None), done("")]);
    let client = server.client(yes());
    client.list_tools().await.unwrap();
    client.call_tool("query", json!({ "region": "eu" })).await.unwrap();
    let eu = Some("eu".to_owned());
    assert_eq!(server.sent_header("mcp-param-region"), [None, eu.clone(), eu]);
    assert_eq!(server.sent_header("mcp-name")[2].as_deref(), Some("query"));
    assert_eq!(server.sent_header("mcp-method")[0].as_deref(), Some("tools/list"));
}

#[tokio::test]
async fn a_complaint_about_headers_makes_the_client_look_up_the_tool() {
    let server = Playback::new([
        error(-32020, "Header mismatch", &Value::Null),
        list(&json!([mirrored("Region")]), None),
        done("found"),
    ]);
    let output = server.client(yes()).call_tool("query", json!({ "region": "eu" })).await.unwrap();
    assert_eq!(output.text(), "found");
    assert_eq!(server.sent_header("mcp-param-region")[2].as_deref(), Some("eu"));
}

#[tokio::test]
async fn a_complaint_about_headers_that_cannot_be_helped_is_reported() {
    let server = Playback::new([error(-32020, "Header mismatch", &Value::Null), list(&json!([]), None)]);
    let error = call(&server, yes()).await.unwrap_err();
    assert!(error.to_string().starts_with("server error -32020: Header mismatch"));
    assert_eq!(server.sent().len(), 2);
}
