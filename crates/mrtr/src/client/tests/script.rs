//! Answers files: what is read, what is played, what is recorded.

use std::time::Duration;

use tokio::time::Instant;

use super::*;
use crate::client::script::{Difference, Misplayed, Player, Recorder, Script};
use crate::client::{Action, Kind};

const GUIDE: &str = include_str!("../../../../../docs/answers.md");

fn player(text: &str) -> Player {
    Player::new(Script::parse("a.yaml", text).unwrap_or_else(|error| panic!("{error}")))
}

/// Calls `deploy` with the questions answered from a file.
async fn play(server: &Playback, player: &Player) -> Result<Output, CallError> {
    let client = server.client(player.responders(Responders::new())).observer(player.clone());
    client.call_tool("deploy", json!({ "service": "api" })).await
}

/// What is sent for a form with this schema when the file says this.
async fn filled(properties: Value, fields: &str) -> Result<Value, String> {
    let mut form = form();
    form["params"]["requestedSchema"] = json!({ "type": "object", "properties": properties });
    let server = Playback::new([asks(&json!({ "k": form }), None), done("")]);
    let player = player(&format!("answers: {{ k: {{ accept: {fields} }} }}"));
    play(&server, &player).await.map_err(|error| error.to_string())?;
    Ok(server.sent_params()[1]["inputResponses"]["k"]["content"].clone())
}

/// The blocks of code of a language in the guide.
fn blocks(language: &str) -> Vec<&'static str> {
    let fence = format!("```{language}\n");
    GUIDE.split(&fence).skip(1).filter_map(|rest| rest.split("```").next()).collect()
}

fn schema() -> jsonschema::Validator {
    let schema: Value = serde_json::from_str(blocks("json")[0]).unwrap();
    jsonschema::validator_for(&schema).unwrap()
}

/// The file as JSON, for the schema.
fn as_json(text: &str) -> Value {
    crate::client::script::as_json(text).unwrap()
}

#[test]
fn the_examples_of_the_guide_are_answers_files_and_keep_to_its_schema() {
    let examples = blocks("yaml");
    assert_eq!(examples.len(), 2);
    for example in examples {
        let script = Script::parse("guide", example).unwrap();
        assert!(!script.answers.is_empty() || !script.calls.is_empty());
        let errors: Vec<_> = schema().iter_errors(&as_json(example)).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{errors:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_long_example_of_the_guide_plays_as_it_says() {
    let ask = |properties: Value| {
        let mut form = form();
        form["params"]["requestedSchema"] = json!({ "type": "object", "properties": properties });
        form
    };
    let (text, flag) = (|| json!({ "type": "string" }), || json!({ "type": "boolean" }));
    let size = json!({ "size": { "type": "string", "enum": ["small", "large"] }, "backups": flag(), "note": text() });
    let pin = || asks(&json!({ "pin": ask(json!({ "pin": text() })) }), None);
    let server = Playback::new([
        asks(&json!({ "region": ask(json!({ "region": text() })), "size": ask(size) }), Some("s")),
        asks(&json!({ "sure": page() }), Some("s")),
        pin(),
        pin(),
        done("Provisioned db-7 (7)."),
    ]);
    let player = player(blocks("yaml")[1]);
    let client = server.client(player.responders(Responders::new())).observer(player.clone());
    let start = Instant::now();
    let output = client.call_tool("provision", json!({ "name": "db-7", "replicas": 3 })).await.unwrap();
    player.check(&output).unwrap();
    assert_eq!((player.unused(), start.elapsed()), (Vec::new(), Duration::from_millis(1500)));
    let said: Vec<_> = server.sent_params().iter().skip(1).map(|params| params["inputResponses"].clone()).collect();
    let yes = |content: Value| json!({ "action": "accept", "content": content });
    assert_eq!(
        said,
        [
            json!({ "region": yes(json!({ "region": "eu" })), "size": yes(json!({ "size": "large", "backups": false, "note": "yes" })) }),
            json!({ "sure": { "action": "accept" } }),
            json!({ "pin": yes(json!({ "pin": "0000" })) }),
            json!({ "pin": yes(json!({ "pin": "1234" })) }),
        ]
    );
}

#[test]
fn reader_and_schema_agree_and_the_reader_names_line_and_member() {
    for (text, expected) in [
        (
            "calls: []\nanswer: {}",
            r#"a.yaml:2: "answer" does not belong into the file, which takes version, calls, answers"#,
        ),
        ("version: 2", r#"a.yaml:1: version: expected 1, the only one there is, found "2""#),
        ("calls:\n- answers: {}", "a.yaml:2: a call needs one of tool, prompt and resource"),
        ("calls:\n- tool: a\n  prompt: b", "a.yaml:3: a call has one of tool, prompt and resource"),
        (
            "answers:\n  k: yes",
            r#"a.yaml:2: k: expected accept, decline, cancel, or a mapping with one of accept, decline, cancel, sampling and roots, found "yes""#,
        ),
        ("answers:\n  k:\n    ok: yes", r#"a.yaml:3: ok: is not expected for "k"; a field goes into accept: {ok: ..}"#),
        ("answers:\n  k:\n    accept:\n    decline:", r#"a.yaml:4: "k" says both accept and decline"#),
        (
            "answers:\n  k: { after: 2 hours, accept: }",
            "a.yaml:2: after: expected a time such as 500ms, 2s or 1.5s, at most an hour, found \"2 hours\"",
        ),
        (
            "answers:\n  k: { roots: ['http://x'] }",
            "a.yaml:2: roots: expected a URI that starts with file://, or a mapping with uri and name, found \"http://x\"",
        ),
        ("answers:\n  k: []", "a.yaml:2: k: expected an answer, or several, found a list"),
        ("answers:\n  k:\n    accept: yes", "a.yaml:3: accept: expected fields, or nothing, found \"yes\""),
        (
            "calls:\n- tool: t\n  result:\n    text: [a]",
            "a.yaml:4: text: expected a text, or like: and a text with * in it, found a list",
        ),
    ] {
        assert_eq!(Script::parse("a.yaml", text).unwrap_err().to_string(), expected);
        assert!(!schema().is_valid(&as_json(text)), "the schema takes {text}");
    }
}

#[test]
fn what_is_no_clear_tree_is_refused_with_its_line() {
    for (file, text, expected) in [
        ("a.yaml", "answers:\n  k: accept\n  k: decline", r#"a.yaml:3: the key "k" comes twice"#),
        ("a.yaml", "answers:\n  k: &x accept\n  j: *x", "a.yaml:3: aliases (*) are not read here; repeat the value"),
        ("a.yaml", "answers:\n  k: !!str accept", "a.yaml:2: tags (!) are not read here; quotes make text of anything"),
        ("a.yaml", "version: 1\n---\nversion: 1", "a.yaml:2: a second document begins; a file has one"),
        ("a.json", "{\n\"answers\": }", "a.json:2: not JSON: expected value at line 2 column 12"),
        ("a.json", "{\n\"answers\": {\n\"k\": 7}}", "a.json:3: k: expected accept"),
        ("a.yaml", "", "a.yaml:1: the file is empty"),
    ] {
        let error = Script::parse(file, text).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    }
    let error = Script::parse("a.yaml", "answers:\n  k: [").unwrap_err();
    assert!(error.to_string().contains("not YAML") && error.line >= 2, "{error}");
    let deep = format!("answers: {}{}", "[".repeat(500), "]".repeat(500));
    assert!(Script::parse("a.yaml", &deep).is_err());
}

#[tokio::test]
async fn words_are_what_the_field_makes_of_them() {
    let fields = json!({
        "flag": { "type": "boolean" }, "other": { "type": "boolean" }, "country": { "type": "string" },
        "version": { "type": "string" }, "zip": { "type": "string" }, "word": { "type": "string" },
        "big": { "type": "integer" }, "price": { "type": "number" }, "date": { "type": "string", "format": "date" },
        "code": { "type": "string", "enum": ["NO", "SE"] },
        "langs": { "type": "array", "items": { "type": "string", "enum": ["no", "1.10", "sv"] } },
        "gone": { "type": "string", "default": "x" }, "empty": { "type": "string" },
    });
    let given = "{ flag: yes, other: No, country: NO, version: 1.10, zip: 007, word: \"null\", big: 9007199254740993, \
                   price: 1.5, date: 2026-01-31, code: NO, langs: [no, 1.10], gone: ~, empty: \"\" }";
    let expected = json!({
        "flag": true, "other": false, "country": "NO", "version": "1.10", "zip": "007", "word": "null",
        "big": 9007199254740993_u64, "price": 1.5, "date": "2026-01-31", "code": "NO", "langs": ["no", "1.10"],
        "empty": "",
    });
    assert_eq!(filled(fields, given).await.unwrap(), expected);
}

#[tokio::test]
async fn json_and_yaml_say_the_same() {
    let json_text = "{\"answers\": {\"a\": {\"accept\": {\"ok\": true}}}}";
    let server = Playback::new([asks(&json!({ "a": form() }), None), done("")]);
    let player = Player::new(Script::parse("a.json", json_text).unwrap());
    play(&server, &player).await.unwrap();
    assert_eq!(server.sent_params()[1]["inputResponses"]["a"]["content"], json!({ "ok": true }));
}

#[tokio::test]
async fn a_json_field_takes_any_value_and_no_number_loses_digits() {
    let any = json!({ "data": { "type": "object" } });
    assert_eq!(
        filled(any.clone(), "{ data: { a: [1, yes, ~, \"2\"] } }").await.unwrap(),
        json!({ "data": { "a": [1, "yes", null, "2"] } })
    );
    let error = Script::parse("a.yaml", "answers: { k: { accept: { data: { n: 123456789012345678901234567890 } } } }");
    assert_eq!(
        error.unwrap_err().to_string(),
        "a.yaml:1: 123456789012345678901234567890 is too long for a number; put it into quotes if it is text"
    );
}

#[tokio::test]
async fn answers_are_found_by_call_round_and_key_and_lists_by_time() {
    let ask = |keys: &[&str]| asks(&keys.iter().map(|key| ((*key).to_owned(), form())).collect(), Some("s"));
    let server =
        Playback::new([ask(&["a", "b"]), wait("w"), ask(&["a"]), ask(&["a"]), ask(&["pin"]), ask(&["pin"]), done("")]);
    let player = player(
        "calls:
- tool: other
  answers: { a: cancel }
- tool: deploy
  rounds:
  - a: { accept: { ok: yes } }
  - a: decline
  answers:
    a: cancel
    pin: [{ accept: { ok: no } }, decline]
answers: { b: decline }",
    );
    tokio::time::pause();
    play(&server, &player).await.unwrap();
    let said: Vec<_> = server.sent_params().iter().map(|params| params["inputResponses"].to_string()).collect();
    assert_eq!(
        said,
        [
            "null",
            r#"{"a":{"action":"accept","content":{"ok":true}},"b":{"action":"decline"}}"#,
            "null",
            r#"{"a":{"action":"decline"}}"#,
            r#"{"a":{"action":"cancel"}}"#,
            r#"{"pin":{"action":"accept","content":{"ok":false}}}"#,
            r#"{"pin":{"action":"decline"}}"#,
        ]
    );
    assert_eq!(player.unused(), [""; 0], "what another tool has left over is not this run's");
}

#[tokio::test]
async fn an_answer_left_over_is_named_with_its_line() {
    let server = Playback::new([asks(&json!({ "a": form() }), None), done("")]);
    let player = player("answers:\n  a: decline\n  typo: accept\ncalls:\n- tool: deploy\n  rounds:\n  - b: accept\n");
    play(&server, &player).await.unwrap();
    assert_eq!(player.unused(), [r#"a.yaml:7: "b" was not asked by "deploy""#, r#"a.yaml:3: "typo" was not asked"#]);
}

#[tokio::test]
async fn a_call_without_any_question_leaves_its_answers_over_too() {
    let player = player("calls:\n- tool: deploy\n  answers: { a: accept }");
    play(&Playback::new([done("")]), &player).await.unwrap();
    assert_eq!(player.unused(), [r#"a.yaml:3: "a" was not asked by "deploy""#]);
}

#[tokio::test]
async fn questions_without_an_answer_are_all_open_and_nothing_is_sent() {
    let server = Playback::new([asks(&json!({ "a": form(), "b": page(), "c": form() }), None)]);
    let error = play(&server, &player("answers: { a: decline }")).await.unwrap_err();
    let CallError::Unanswered { questions } = error else { panic!("{error}") };
    assert_eq!(questions.iter().map(|ask| ask.key.as_str()).collect::<Vec<_>>(), ["b", "c"]);
    assert_eq!(server.sent().len(), 1);
}

#[tokio::test]
async fn a_question_asked_more_often_than_it_is_answered_is_open() {
    let round = || asks(&json!({ "a": form() }), None);
    let server = Playback::new([round(), round(), done("")]);
    let error = play(&server, &player("answers: { a: { accept: { ok: yes } } }")).await.unwrap_err();
    assert!(matches!(error, CallError::Unanswered { .. }), "{error}");
    assert_eq!(server.sent().len(), 2);
}

#[tokio::test]
async fn an_answer_that_does_not_fit_is_named_with_its_line() {
    let server = Playback::new([asks(&json!({ "a": form() }), None)]);
    let error = play(&server, &player("answers:\n  a:\n    accept: { okay: yes }")).await.unwrap_err();
    let CallError::Responder { cause, .. } = error else { panic!("{error}") };
    let misplayed = cause.downcast::<Misplayed>().unwrap();
    assert_eq!(
        misplayed.to_string(),
        r#"a.yaml:2: the answer to "a" does not fit: "okay" is not asked: the form has "ok"; "ok" is required"#
    );
}

#[tokio::test(start_paused = true)]
async fn an_answer_takes_its_time() {
    let server = Playback::new([asks(&json!({ "a": form() }), None), done("")]);
    let start = Instant::now();
    let output = play(&server, &player("answers: { a: { after: 1.5s, decline: } }")).await.unwrap();
    assert_eq!(start.elapsed(), Duration::from_millis(1500));
    assert_eq!(output.rounds[0].answering, Duration::from_millis(1500));
    assert!(output.rounds[0].elapsed.is_zero());
}

#[tokio::test]
async fn kinds_are_declared_as_there_are_answers() {
    for (text, capabilities) in [
        ("version: 1", json!({})),
        ("answers: { a: accept }", json!({ "elicitation": { "form": {}, "url": {} } })),
        ("answers: { a: { sampling: Hello } }", json!({ "sampling": {} })),
        ("calls: [{ tool: x, rounds: [{ a: { roots: [] } }] }]", json!({ "roots": {} })),
    ] {
        let server = Playback::new([done("")]);
        play(&server, &player(text)).await.unwrap();
        assert_eq!(server.sent_params()[0]["_meta"]["io.modelcontextprotocol/clientCapabilities"], capabilities);
    }
}

fn every_kind() -> Value {
    json!({
        "form": form(), "page": page(), "no": form(), "later": page(),
        "model": { "method": "sampling/createMessage", "params": { "maxTokens": 9, "messages": [] } },
        "dirs": { "method": "roots/list" },
    })
}

/// Answers one of every kind, two of them with a refusal.
fn everybody() -> Responders {
    Responders::new()
        .elicitation(async |ask: Ask| {
            Ok(match ask.key.as_str() {
                "no" => Answer::decline(),
                "later" => Answer::cancel(),
                _ => Answer::accept([("ok".to_owned(), json!(true))]),
            })
        })
        .sampling(async |_: Ask| {
            Ok(Answer::result(
                json!({ "role": "assistant", "content": { "type": "text", "text": "3.0: yes\n" }, "model": "m" }),
            ))
        })
        .roots(async |_: Ask| Ok(Answer::result(json!({ "roots": [{ "uri": "file:///x", "name": "No" }] }))))
}

async fn record(rounds: impl IntoIterator<Item = String>) -> (String, Vec<Value>) {
    let (server, recorder) = (Playback::new(rounds), Recorder::new());
    let client = server.client(everybody()).observer(recorder.clone());
    let output = client
        .call_tool("deploy", json!({ "service": "api", "n": 1.5, "odd": "\u{202e}\u{7f}\u{1f600}# : yes" }))
        .await
        .unwrap();
    recorder.finished(&output);
    (recorder.to_yaml(), server.sent_params())
}

#[tokio::test]
async fn a_recorded_run_replays_to_the_same_requests_and_result() {
    tokio::time::pause();
    let rounds = || {
        [asks(&every_kind(), Some("s")), wait("w"), asks(&json!({ "form": form() }), None), done("Done: \"x\"\n - y")]
    };
    let (file, sent) = record(rounds()).await;
    assert!(schema().is_valid(&as_json(&file)), "{file}");
    let player = player(&file);
    let call = &player.script().calls[0];
    assert_eq!((call.method, call.target.as_str(), call.rounds.len()), ("tools/call", "deploy", 2));
    let server = Playback::new(rounds());
    let client = server.client(player.responders(Responders::new())).observer(player.clone());
    let output = client.call_tool("deploy", Value::Object(call.arguments.clone().unwrap())).await.unwrap();
    player.check(&output).unwrap();
    assert_eq!(player.unused(), [""; 0]);
    assert_eq!(output.refusals, [("no".to_owned(), Action::Decline), ("later".to_owned(), Action::Cancel)]);
    let without_key = |mut params: Value| {
        params["_meta"]["mrtr/idempotencyKey"].take();
        params
    };
    let (again, sent): (Vec<_>, Vec<_>) =
        (server.sent_params().into_iter().map(without_key).collect(), sent.into_iter().map(without_key).collect());
    assert_eq!(again, sent);
}

#[tokio::test]
async fn a_changed_question_fails_the_replay_before_anything_is_sent() {
    let (file, _) = record([asks(&json!({ "form": form() }), None), done("")]).await;
    let mut changed = form();
    changed["params"]["message"] = json!("Really sure? ".repeat(10));
    changed["params"]["requestedSchema"]["properties"]["why\u{1b}[2J"] = json!({ "type": "string" });
    let server = Playback::new([asks(&json!({ "form": changed }), None)]);
    let error = play(&server, &player(&file)).await.unwrap_err();
    let CallError::Responder { cause, .. } = error else { panic!("{error}") };
    let difference = cause.downcast::<Difference>().unwrap().to_string();
    assert!(difference.lines().all(|line| line.chars().count() <= 80), "{difference}");
    assert_eq!(
        difference,
        r#"a.yaml:12: the question "form" of round 1 is not what was recorded
--- recorded
+++ came
  kind: form
- message: Sure?
+ message: Really sure? Really sure? Really sure? Really sure? Really sure? Re
+     ally sure? Really sure? Really sure? Really sure? Really sure? 
  schema: {
      "type": "object",
      "properties": {
        "ok": {
          "type": "boolean"
+       },
+       "why\\u001b[2J": {
+         "type": "string"
        }
      },
      "required": [
"#
        .replace(r"\\u001b", r"\u001b")
    );
    assert_eq!(server.sent().len(), 1);
}

#[tokio::test]
async fn another_spelling_of_a_schema_is_no_change() {
    let (file, _) = record([asks(&json!({ "form": form() }), None), done("")]).await;
    let other = asks(&json!({ "form": form() }), None)
        .replace(r#""type":"object","#, "")
        .replace(r#""required":["ok"]"#, r#""required":["ok"],"type":"object""#);
    play(&Playback::new([other, done("")]), &player(&file)).await.unwrap();
}

#[tokio::test]
async fn a_changed_key_and_a_changed_result_are_differences() {
    let (file, _) = record([asks(&json!({ "form": form() }), None), done("Old\u{7f} text")]).await;
    let server = Playback::new([asks(&json!({ "renamed": form() }), None)]);
    let CallError::Responder { cause, .. } = play(&server, &player(&file)).await.unwrap_err() else { panic!() };
    assert_eq!(
        cause.to_string(),
        "a.yaml:12: what round 1 asks is not what was recorded\n--- recorded\n+++ came\n- asked: form\n+ asked: renamed\n"
    );
    assert_eq!(server.sent().len(), 1);

    let player = player(&file);
    let server = Playback::new([asks(&json!({ "form": form() }), None), done("New text")]);
    let output = play(&server, &player).await.unwrap();
    let difference = player.check(&output).unwrap_err().to_string();
    assert!(difference.starts_with("a.yaml:5: the result is not what was recorded\n"), "{difference}");
    assert!(difference.contains("- text: Old\\u{7f} text\n+ text: New text\n"), "{difference}");
}

#[tokio::test]
async fn what_differs_from_run_to_run_can_be_left_open() {
    for (pattern, is_same) in
        [("Deployed (*).", true), ("*", true), ("D*(a*)*", true), ("Deployed (*)", false), ("*eployed (b*).", false)]
    {
        let player = player(&format!("calls: [{{ tool: deploy, result: {{ text: {{ like: \"{pattern}\" }} }} }}]"));
        let output = play(&Playback::new([done("Deployed (api-1).")]), &player).await.unwrap();
        assert_eq!(player.check(&output).is_ok(), is_same, "{pattern}");
    }
}

#[tokio::test]
async fn one_refusal_leaves_the_other_answers_of_the_round_whatever_their_kind() {
    let round = json!({ "a": form(), "b": page(), "c": form(), "d": page() });
    let server = Playback::new([asks(&round, None), done("")]);
    let player = player("answers: { a: decline, b: accept, c: { accept: { ok: yes } }, d: cancel }");
    let output = play(&server, &player).await.unwrap();
    assert_eq!(
        server.sent_params()[1]["inputResponses"],
        json!({
            "a": { "action": "decline" }, "b": { "action": "accept" },
            "c": { "action": "accept", "content": { "ok": true } }, "d": { "action": "cancel" },
        })
    );
    assert_eq!(output.refusals, [("a".to_owned(), Action::Decline), ("d".to_owned(), Action::Cancel)]);
}

#[tokio::test(start_paused = true)]
async fn a_page_that_is_waited_for_needs_no_second_answer() {
    let pay = || asks(&json!({ "pay": page() }), Some("s"));
    let player = player("answers: { pay: accept }");
    assert!(player.answers(Kind::Url));
    play(&Playback::new([pay(), pay(), pay(), done("Paid.")]), &player).await.unwrap();
}

#[tokio::test]
async fn operations_side_by_side_take_calls_of_their_own() {
    let server = Playback::new([
        asks(&json!({ "a": form() }), Some("same")),
        done(""),
        asks(&json!({ "a": form() }), Some("same")),
        done(""),
    ]);
    let player = player("calls: [{ tool: deploy, answers: { a: decline } }, { tool: deploy, answers: { a: cancel } }]");
    let client = server.client(player.responders(Responders::new())).observer(player.clone());
    let (one, other) = tokio::join!(client.call_tool("deploy", json!({})), client.call_tool("deploy", json!({})));
    let mut actions = [one.unwrap().refusals[0].1.as_str(), other.unwrap().refusals[0].1.as_str()];
    actions.sort_unstable();
    assert_eq!(actions, ["cancel", "decline"]);
}

#[tokio::test]
async fn a_call_that_is_tried_anew_before_anything_was_asked_is_the_same_call() {
    let tools = result(&json!({ "tools": [{ "name": "deploy", "inputSchema": { "type": "object", "properties": {
        "service": { "type": "string", "x-mcp-header": "Service" }
    }}}]}));
    let rounds = || {
        [error(-32020, "header mismatch", &json!({})), tools.clone(), asks(&json!({ "form": form() }), None), done("")]
    };
    let (file, _) = record(rounds()).await;
    assert_eq!(file.matches("- tool:").count(), 1, "{file}");
    let player = player(&file);
    play(&Playback::new(rounds()), &player).await.unwrap();
    assert_eq!(player.unused(), [""; 0]);
}
