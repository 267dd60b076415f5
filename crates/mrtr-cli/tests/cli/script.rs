//! `--answers` and `--record`, and what is said when nobody can be asked.

use crate::{Ran, Scratch, mrtr, server};

fn played(url: &str, tool: &str, arguments: &[&str], file: &Scratch) -> Ran {
    mrtr(["call", url, tool].into_iter().chain(arguments.iter().copied()).chain(["--answers", file.path()]))
}

#[test]
fn a_file_answers_forms_and_pages_of_several_rounds_and_shows_the_page() {
    let file = Scratch::holding(
        "answers.yaml",
        "calls:\n- tool: release\n  rounds:\n  - sure: { accept: { ok: yes } }\n    page: accept\n  - last: { accept: { ok: no } }\n",
    );
    let ran = played(&server::start(), "release", &[], &file);
    ran.is(
        0,
        "{\"action\":\"accept\",\"content\":{\"ok\":false}} null\n",
        &format!(
            "{} accepts a page; open it in your browser:\n  URL:  https://status.example/\n  Host: status.example\n",
            file.path()
        ),
    );
}

#[test]
fn a_refusal_of_one_leaves_the_other_answers_be_it_a_form_or_a_page() {
    let url = server::start();
    for (sure, page, said) in [
        ("decline", "accept", r#"{"sure":{"action":"decline"},"page":{"action":"accept"}}"#),
        (
            "{ accept: { ok: yes } }",
            "decline",
            r#"{"sure":{"action":"accept","content":{"ok":true}},"page":{"action":"decline"}}"#,
        ),
    ] {
        let file = Scratch::holding("answers.yaml", &format!("answers: {{ sure: {sure}, page: {page} }}"));
        let ran = played(&url, "release", &[], &file);
        // The next question has them both in it, and is open.
        assert_eq!(ran.code, 5, "{}", ran.stderr);
        assert!(ran.stderr.contains(&format!("\n  last: After {said}?\n")), "{}", ran.stderr);
    }
}

#[cfg(unix)]
#[test]
fn a_recording_takes_no_devices_place_and_goes_where_a_link_leads() {
    let (url, target, link) = (server::start(), Scratch::holding("target.yaml", "old"), Scratch::new("link.yaml"));
    let record = |path: &str| {
        mrtr(["call", &url, "release", "--record", path, "--cancel", "sure", "--cancel", "page", "--cancel", "last"])
    };
    let ran = record("/dev/null");
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("--record /dev/null: it is no file that can be replaced"), "{}", ran.stderr);
    std::os::unix::fs::symlink(target.path(), link.path()).expect("a link");
    record(link.path());
    assert!(std::fs::symlink_metadata(link.path()).expect("a link").is_symlink());
    assert_ne!(target.text(), "old");
}

#[test]
fn a_recorded_run_replays_to_the_same_and_is_private() {
    let (url, file) = (server::start(), Scratch::new("recorded.yaml"));
    let flags = ["--answer", "sure.ok=yes", "--decline", "page", "--answer", "last.ok=no"];
    let record = ["call", &url, "release", "result=4", "--record", file.path()];
    let first = mrtr(record.into_iter().chain(flags));
    assert_eq!(first.code, 4, "{}", first.stderr);
    let again = played(&url, "release", &[], &file);
    assert_eq!((again.code, &again.stdout, &again.stderr), (first.code, &first.stdout, &first.stderr));
    // And again, recorded while it is played.
    let copy = Scratch::new("copy.yaml");
    mrtr(["call", &url, "release", "--answers", file.path(), "--record", copy.path()]);
    assert_eq!(copy.text(), file.text());
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(std::fs::metadata(&file.0).unwrap().permissions().mode() & 0o777, 0o600);
    }
}

#[test]
fn a_changed_server_fails_the_replay_with_what_has_changed() {
    let (url, file) = (server::start(), Scratch::new("recorded.yaml"));
    let flags = ["--answer", "sure.ok=yes", "--answer", "page=accept", "--answer", "last.ok=no"];
    mrtr(["call", &url, "release", "--record", file.path()].into_iter().chain(flags));
    played(&url, "release", &["now=text"], &file).is(
        1,
        "",
        &format!(
            "mrtr: {}:9: the question \"sure\" of round 1 is not what was recorded\n\
             --- recorded\n+++ came\n  kind: form\n- message: Sure?\n+ message: Sure, now?\n  schema: {{\n\
             \x20     \"type\": \"object\",\n      \"required\": [\n",
            file.path()
        ),
    );
    let ran = played(&url, "release", &["now=key"], &file);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.ends_with("  asked: sure\n  asked: page\n+ asked: extra\n"), "{}", ran.stderr);
    let ran = played(&url, "release", &["result=7"], &file);
    assert_eq!(ran.code, 1);
    assert!(ran.stdout.ends_with(" \"7\"\n"), "it is printed all the same: {}", ran.stdout);
    assert!(ran.stderr.contains(": the result is not what was recorded\n"), "{}", ran.stderr);
}

#[test]
fn a_run_that_came_to_nothing_leaves_the_file_as_it_was() {
    let file = Scratch::holding("old.yaml", "version: 1");
    assert_eq!(mrtr(["call", &server::start(), "book", "--record", file.path()]).code, 5);
    assert_eq!(file.text(), "version: 1");
    let name = file.0.file_name().unwrap().to_str().unwrap().to_owned();
    let left = std::fs::read_dir(file.0.parent().unwrap()).unwrap().flatten();
    let left: Vec<_> =
        left.map(|it| it.file_name().into_string().unwrap()).filter(|it| it.starts_with(&name)).collect();
    assert_eq!(left, [name]);
}

#[test]
fn an_unused_answer_is_an_error_that_names_it_below_the_result() {
    let file = Scratch::holding("answers.yaml", "answers:\n  sure: accept\n  shure: accept\n");
    let ran = played(&server::start(), "approve", &[], &file);
    let complaint = format!("mrtr: {}:3: \"shure\" was not asked\n", file.path());
    ran.is(2, "{\"action\":\"accept\",\"content\":{}}\n", &complaint);
}

#[test]
fn a_question_the_file_does_not_answer_is_open_and_named() {
    let file = Scratch::holding("answers.yaml", "answers: { other: decline }");
    let ran = played(&server::start(), "deploy", &["service=api"], &file);
    ran.is(
        5,
        "",
        &format!(
            "mrtr: input is needed, and {} has no answer\n\
             \x20 confirm: Deploy to production?\n\
             \x20   --answer confirm.ok=VALUE  (yes or no)  Confirm production deploy\n\
             \x20   or --decline confirm, or --cancel confirm\n",
            file.path()
        ),
    );
}

#[test]
fn an_answer_that_does_not_fit_is_named_with_its_line() {
    let file = Scratch::holding("answers.yaml", "answers:\n  confirm:\n    accept: { ok: maybe }\n");
    let ran = played(&server::start(), "deploy", &["service=api"], &file);
    let path = file.path();
    ran.is(
        2,
        "",
        &format!(
            "mrtr: {path}:2: the answer to \"confirm\" does not fit: \"ok\" must be yes or no, not \"maybe\"; \
             the question was not answered\n"
        ),
    );
}

#[test]
fn a_file_that_is_none_is_refused_before_anything_is_sent() {
    let file = Scratch::holding("answers.yaml", "answers:\n  k: maybe\n");
    let ran = played("http://127.0.0.1:1/mcp", "t", &[], &file);
    assert_eq!(ran.code, 2);
    assert!(
        ran.stderr.starts_with(&format!("mrtr: --answers {}:2: k: expected accept", file.path())),
        "{}",
        ran.stderr
    );
    mrtr(["call", "http://127.0.0.1:1/mcp", "t", "--answers", "/nowhere.yaml"]).is(
        2,
        "",
        "mrtr: --answers /nowhere.yaml: cannot read it: No such file or directory (os error 2)\n",
    );
}

#[test]
fn flags_come_before_the_file() {
    let file =
        Scratch::holding("answers.yaml", "answers:\n  trip:\n    accept: { city: Oslo, nights: 2, class: First }\n");
    let args = ["--answer", "trip.city=Bergen", "--answers", file.path()];
    mrtr(["call", &server::start(), "book"].into_iter().chain(args)).is(
        0,
        "{\"action\":\"accept\",\"content\":{\"city\":\"Bergen\",\"nights\":2,\"class\":\"f\"}}\n",
        "",
    );
}

#[test]
fn sampling_and_roots_are_answered_from_a_file() {
    let file =
        Scratch::holding("answers.yaml", "answers: { draft: { sampling: Hello }, dirs: { roots: [file:///work] } }");
    let ran = played(&server::start(), "model", &[], &file);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let said: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(said["draft"]["content"]["text"], "Hello");
    assert_eq!(said["dirs"]["roots"][0]["uri"], "file:///work");
}

#[test]
fn what_no_one_here_can_answer_says_which_flags_can() {
    const MODEL: &str = "--sample-with CMD --sample-unattended";
    let url = server::start();
    for (tool, flag) in [("picky", MODEL), ("model", MODEL), ("folders", "--root DIR")] {
        let ran = mrtr(["call", &url, tool]);
        assert_eq!(ran.code, 5, "{}", ran.stderr);
        assert!(ran.stderr.contains(&format!("\n    {flag}, or --answers FILE with KEY: {{ ")), "{}", ran.stderr);
    }
}

#[test]
fn every_open_question_of_a_round_is_named_with_its_flag_and_none_is_declined() {
    let url = server::start();
    let ran = mrtr(["call", &url, "release"]);
    ran.is(
        5,
        "",
        "mrtr: input is needed, and there is no terminal to ask in\n\
         \x20 sure: Sure?\n\
         \x20   --answer sure.ok=VALUE  (yes or no)\n\
         \x20   or --decline sure, or --cancel sure\n\
         \x20 page: Look\n\
         \x20   it asks to open https://status.example/\n\
         \x20   --answer page=accept\n\
         \x20   or --decline page, or --cancel page\n",
    );
    let file = Scratch::holding("answers.yaml", "answers: { draft: { sampling: Hello }, x: { roots: [] } }");
    let ran = played(&url, "model", &[], &file);
    assert_eq!(ran.code, 5);
    assert!(
        ran.stderr.ends_with("  dirs: roots\n    --root DIR, or --answers FILE with KEY: { roots: [file:///DIR] }\n"),
        "{}",
        ran.stderr
    );
}
