//! `--trace`, `--trace-file` and `--har`.

use serde_json::Value;

use crate::{Ran, Scratch, mrtr, server};

const SECRET: &str = "Authorization: Bearer s3cret-token";

fn traced(flags: &[&str]) -> Ran {
    let call = ["deploy", "service=api", "--answer", "confirm.ok=yes", "--header", SECRET];
    let ran = mrtr(["call", &server::start()].into_iter().chain(call).chain(flags.iter().copied()));
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "Deployed \"api\".\n"), "{}", ran.stderr);
    ran
}

#[test]
fn a_trace_has_each_message_under_its_operation_and_round_and_sums_up() {
    let stderr = traced(&["--trace"]).stderr;
    let heads: Vec<_> = stderr.lines().filter(|line| !line.starts_with(' ')).collect();
    let id = |line: &str| line.strip_prefix("=== operation ").map(|rest| rest[..16].to_owned());
    let (list, call) = (id(heads[0]).unwrap(), id(heads[4]).unwrap());
    assert_ne!(list, call);
    let is = |line: &str, start: &str| assert!(line.starts_with(start), "{line} is not {start}");
    is(heads[0], &format!("=== operation {list}: tools/list, round 1"));
    is(heads[3], &format!("=== operation {list}: 1 round, "));
    is(heads[4], &format!("=== operation {call}: tools/call deploy, round 1"));
    is(heads[5], "--> ");
    is(heads[6], "<-- HTTP 200, ");
    is(heads[7], &format!("=== operation {call}: tools/call deploy, round 2"));
    is(heads[10], &format!("=== operation {call}: 2 rounds, "));
    assert_eq!(heads.len(), 11);
    for line in [
        "    mcp-method: tools/call",
        "    mcp-name: deploy",
        "    authorization: (not shown)",
        "      \"method\": \"tools/call\",",
        "            \"action\": \"accept\",",
        "        \"requestState\": \"s1\"",
        "    confirm answered with accept, after ",
        "    in sum:  ",
    ] {
        assert!(stderr.contains(&format!("\n{line}")), "{line} is not in {stderr}");
    }
    assert!(!stderr.contains("s3cret"), "{stderr}");
}

#[test]
fn files_of_a_trace_have_no_secrets_and_are_private() {
    let (lines, har) = (Scratch::new("run.jsonl"), Scratch::new("run.har"));
    let stderr = traced(&["--trace-file", lines.path(), "--har", har.path()]).stderr;
    assert_eq!(stderr, "");
    let (lines_text, har_text) = (lines.text(), har.text());
    assert!(!lines_text.contains("s3cret") && !har_text.contains("s3cret"));
    let event = |line: &str| serde_json::from_str::<Value>(line).unwrap()["event"].as_str().unwrap().to_owned();
    let events: Vec<_> = lines_text.lines().map(event).collect();
    let call = ["start", "request", "response", "asked", "answered", "request", "response"];
    assert_eq!(events, [&["start", "request", "response"][..], &call].concat());
    let archive: Value = serde_json::from_str(&har_text).unwrap();
    assert_eq!(archive["log"]["entries"].as_array().unwrap().len(), 3);
    #[cfg(unix)]
    for file in [&lines, &har] {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(std::fs::metadata(&file.0).unwrap().permissions().mode() & 0o777, 0o600);
    }
}

#[test]
fn an_archive_is_written_also_when_the_call_fails() {
    let har = Scratch::new("failed.har");
    let ran = mrtr(["call", &server::start(), "book", "--har", har.path()]);
    assert_eq!(ran.code, 5);
    let archive: Value = serde_json::from_str(&har.text()).unwrap();
    assert_eq!(archive["log"]["entries"].as_array().unwrap().len(), 2);
}

#[test]
fn a_file_that_cannot_be_written_is_named_with_its_flag_before_anything_is_sent() {
    for flag in ["--trace-file", "--har", "--record"] {
        let ran = mrtr(["call", "http://127.0.0.1:1/mcp", "t", flag, "/nowhere/x"]);
        if flag == "--record" {
            // It is opened when the tool is known.
            continue;
        }
        ran.is(2, "", &format!("mrtr: {flag} /nowhere/x: cannot write it: No such file or directory (os error 2)\n"));
    }
    let ran = mrtr(["call", &server::start(), "approve", "--record", "/nowhere/x"]);
    ran.is(2, "", "mrtr: --record /nowhere/x: cannot write it: No such file or directory (os error 2)\n");
}
