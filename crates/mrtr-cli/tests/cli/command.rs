//! Servers that are commands: `mrtr call TOOL -- COMMAND`.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::mrtr;
use crate::person::Person;

const MRTR: &str = env!("CARGO_BIN_EXE_mrtr");

/// A server in a few lines of shell, which answers the probe and the list of tools. `$call` is what it does when called.
fn script(call: &str) -> String {
    format!(
        r#"reply() {{ printf '{{"jsonrpc":"2.0","id":%s,"result":%s}}\n' "$id" "$1"; }}
        while IFS= read -r line; do
            id=${{line#*\"id\":}}; id=${{id%%,*}}
            case $line in
                *server/discover*) reply '{{"supportedVersions":["2026-07-28"]}}';;
                *tools/list*) reply '{{"tools":[{{"name":"t","inputSchema":{{}}}}]}}';;
                *tools/call*) {call};;
            esac
        done"#
    )
}

#[test]
fn a_tool_of_a_command_asks_and_is_answered() {
    let words = ["call", "deploy_release", "service=api", "version=1", "--answer", "confirm_prod.confirm=yes"];
    let ran = mrtr(words.into_iter().chain(["--", MRTR, "demo-server", "--stdio"]));
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stdout.starts_with("Deployed api 1"), "{}", ran.stdout);
    assert!(ran.stderr.contains("server: ") && ran.stderr.contains("no keys given"), "{}", ran.stderr);
}

#[test]
fn a_command_is_listed_and_described_too() {
    let server = ["--", MRTR, "demo-server", "--stdio"];
    let ran = mrtr(["tools"].into_iter().chain(server));
    assert!(ran.code == 0 && ran.stdout.contains("deploy_release"), "{} {}", ran.stdout, ran.stderr);
    let ran = mrtr(["discover"].into_iter().chain(server));
    assert!(ran.code == 0 && ran.stdout.starts_with("Server:"), "{} {}", ran.stdout, ran.stderr);
}

#[test]
fn what_a_server_says_on_stderr_is_shown_harmlessly() {
    let script = script(r#"printf 'log \033[2J\n' >&2; reply '{"content":[{"type":"text","text":"ok"}]}'"#);
    mrtr(["call", "t", "--", "sh", "-c", &script]).is(0, "ok\n", "server: log \\u{1b}[2J\n");
}

#[test]
fn a_server_that_crashes_is_started_again_and_the_user_told() {
    let mark = std::env::temp_dir().join(format!("mrtr-crash-{}", std::process::id()));
    let (mark, text) = (mark.to_string_lossy().into_owned(), r#"{"content":[{"type":"text","text":"ok"}]}"#);
    let script = script(&format!("if [ -e {mark} ]; then rm {mark}; reply '{text}'; else : >{mark}; exit 7; fi"));
    mrtr(["call", "t", "--", "sh", "-c", &script]).is(
        0,
        "ok\n",
        "warning: the server exited (exit status: 7); starting it again in 250 ms\n",
    );
}

#[test]
fn commands_that_are_no_servers_are_told_apart() {
    mrtr(["tools", "--", "/no/such"]).is(
        1,
        "",
        "mrtr: cannot start /no/such: No such file or directory (os error 2)\n",
    );
    let ran = mrtr(["tools", "--", "echo", "hello"]);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("its first line on stdout is no JSON-RPC message (hello)"), "{}", ran.stderr);
    let legacy = r#"read -r line; echo '{"jsonrpc":"2.0","id":"mrtr-discover","error":{"code":-32601,"message":"no"}}'; cat >/dev/null"#;
    let ran = mrtr(["tools", "--", "sh", "-c", legacy]);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("this looks like a legacy server that wants `initialize` first"), "{}", ran.stderr);
}

#[test]
fn secrets_of_the_client_do_not_reach_the_command() {
    let script = script(r#"reply "{\"content\":[{\"type\":\"text\",\"text\":\"[$MRTR_TOKEN]\"}]}""#);
    crate::mrtr_with(["call", "t", "--", "sh", "-c", &script], [("MRTR_TOKEN", "s3cret")]).is(0, "[]\n", "");
}

fn is_alive(pid: &str) -> bool {
    let stat = Command::new("ps").args(["-o", "stat=", "-p", pid]).output().expect("ps runs");
    let stat = String::from_utf8_lossy(&stat.stdout).trim().to_owned();
    !stat.is_empty() && !stat.starts_with('Z')
}

#[track_caller]
fn dies(pid: &str) {
    let start = Instant::now();
    while is_alive(pid) {
        assert!(start.elapsed() < Duration::from_secs(10), "{pid} is still there");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_signal_leaves_no_server_behind_however_stubborn() {
    // It says who it and its child are, and ignores the end of its stdin and SIGTERM.
    let stubborn = script("trap '' TERM; sleep 60 & echo \"$$ $!\" >&2; while :; do sleep 1; done");
    for signal in ["-INT", "-TERM"] {
        let mut command = Command::new(MRTR);
        command.args(["call", "t", "--", "sh", "-c", &stubborn]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program starts");
        let mut stderr = BufReader::new(child.stderr.take().expect("a pipe"));
        let mut line = String::new();
        stderr.read_line(&mut line).expect("a line");
        let pids: Vec<_> = line.trim().trim_start_matches("server: ").split(' ').map(str::to_owned).collect();
        assert!(pids.len() == 2 && pids.iter().all(|pid| is_alive(pid)), "{line}");
        let status = Command::new("kill").args([signal, &child.id().to_string()]).status();
        assert!(status.expect("kill runs").success());
        let mut rest = String::new();
        stderr.read_to_string(&mut rest).expect("an end");
        assert_eq!(child.wait().expect("an end").code(), Some(4), "{rest}");
        pids.iter().for_each(|pid| dies(pid));
    }
}

#[test]
fn ctrl_c_in_a_terminal_ends_the_server_too() {
    let script = script("echo \"pid $$\" >&2; sleep 60");
    let mut person = Person::runs(&["call", "t", "--", "sh", "-c", &script]);
    let pid = person.reads("server: pid ([0-9]+)");
    person.types("\u{3}").sees("stopped; nothing more was sent").exits(4);
    dies(&pid);
}

#[test]
fn progress_is_shown_to_whoever_watches() {
    let script = script(
        r#"token=${line#*\"progressToken\":}; token=${token%%[,\}]*}
        [ "$token" = "${line%%[,\}]*}" ] || printf '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":1,"total":4,"message":"warm"}}\n' "$token"
        reply '{"content":[{"type":"text","text":"ok"}]}'"#,
    );
    Person::runs(&["call", "t", "--", "sh", "-c", &script]).sees(" 25 % warm").sees("ok").exits(0);
    mrtr(["call", "t", "--", "sh", "-c", &script]).is(0, "ok\n", "");
}

#[test]
fn a_person_writes_for_the_model() {
    let url = crate::server::start();
    Person::runs(&["call", &url, "write"])
        .sees("[system] You are a poet.")
        .sees(r"[user] A line\u{1b}[2J about rain")
        .sees("(at most 50 tokens; model bard)")
        .sees("Your answer")
        .types("soft drops\r")
        .sees("Send this answer?")
        .types("\r")
        .sees("\"person\": \"soft drops\"")
        .exits(0);
}

#[test]
fn a_person_edits_what_the_model_is_asked_and_what_it_says() {
    let url = crate::server::start();
    // It answers with the request's first message.
    let model = r#"grep -o '"text":"[^"]*"' | head -1"#;
    Person::runs(&["call", &url, "write", "--sample-with", model])
        .sees("Ask the model?")
        .types("\u{1b}[B\r")
        .sees("Which text?")
        .types("\u{1b}[B\r")
        .sees("Text")
        .types(" and snow\r")
        .sees("about rain and snow")
        .sees("Ask the model?")
        .types("\r")
        .sees("Send this answer?")
        .types("\r")
        .sees("about rain and snow")
        .exits(0);
}

#[test]
fn a_person_refuses_the_model() {
    let url = crate::server::start();
    Person::runs(&["call", &url, "write", "--sample-with", "echo never"])
        .sees("Ask the model?")
        .types("\u{1b}[B\u{1b}[B\r")
        .sees("stopped; nothing more was sent")
        .exits(4);
}
