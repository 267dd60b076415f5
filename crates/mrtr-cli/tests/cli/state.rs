//! `mrtr state inspect`.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::{Ran, mrtr};

const TOKEN: &str = include_str!("../../../../fixtures/state/m1.txt");
/// The key of the fixtures, used nowhere but in tests.
const KEY: &str = "BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc";

fn token() -> &'static str {
    TOKEN.trim_end()
}

/// A file of keys, gone with the test.
struct KeysFile(PathBuf);

impl KeysFile {
    fn of(test: &str, text: &str) -> Self {
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{test}-{}.keys", std::process::id()));
        std::fs::write(&path, text).expect("a file");
        Self(path)
    }

    fn path(&self) -> &str {
        self.0.to_str().expect("a path of text")
    }
}

impl Drop for KeysFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Runs the program with this on its stdin and these keys in `MRTR_KEYS`.
fn run<'a>(args: impl IntoIterator<Item = &'a str>, stdin: &str, keys: Option<&str>) -> Ran {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mrtr"));
    command.args(["state", "inspect"]).args(args).env_remove("MRTR_KEYS");
    if let Some(keys) = keys {
        command.env("MRTR_KEYS", keys);
    }
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program starts");
    // It may end without reading.
    let _ = child.stdin.take().expect("a pipe").write_all(stdin.as_bytes());
    let output = child.wait_with_output().expect("an end");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    Ran { stdout: text(output.stdout), stderr: text(output.stderr), code: output.status.code().unwrap_or(-1) }
}

/// Leaves out what depends on the time of day.
fn timeless(text: &str) -> String {
    let line = |line: &str| match line.split_once(" UTC (") {
        Some((when, how_long)) => format!("{when} UTC ({}", if how_long.ends_with(')') { "...)" } else { "?" }),
        None => line.to_owned(),
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_state_is_shown_without_its_values() {
    let file = KeysFile::of("shown", &format!("# of the fixtures\n{KEY}\n"));
    let ran = mrtr(["state", "inspect", token(), "--keys", file.path()]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    insta::assert_snapshot!(timeless(&ran.stdout));
}

#[test]
fn values_are_shown_when_asked_for() {
    let ran = run([token(), "--reveal"], "", Some(KEY));
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    insta::assert_snapshot!(timeless(&ran.stdout));
}

#[test]
fn programs_get_json() {
    let plain = run([token(), "--json"], "", Some(KEY));
    let shown: serde_json::Value = serde_json::from_str(&plain.stdout).expect("JSON");
    assert_eq!(shown["expires"], "2027-01-15T08:10:00.000Z");
    assert_eq!(shown["binding"]["request"], "20e20897b38284da4ee774b29fdd4778");
    assert_eq!(shown["journal"].as_array().expect("entries").len(), 11);
    assert!(shown["journal"].as_array().expect("entries").iter().all(|entry| entry.get("value").is_none()));
    let revealed: serde_json::Value =
        serde_json::from_str(&run([token(), "--json", "--reveal"], "", Some(KEY)).stdout).expect("JSON");
    assert_eq!(revealed["journal"][0]["value"], serde_json::json!({ "confirm": true }));
    assert_eq!(revealed["journal"][3]["value"], r#""count" must be at least 1"#);
}

#[test]
fn token_and_keys_come_from_wherever_is_safe() {
    let expected = run([token()], "", Some(KEY)).stdout;
    assert!(expected.starts_with("token      state\n"), "{expected}");
    let file = KeysFile::of("wherever", KEY);
    for ran in [
        run(["-"], TOKEN, Some(KEY)),
        run(["-", "--keys", file.path()], TOKEN, None),
        run([token(), "--keys", "-"], &format!("{KEY}\n"), None),
        run([token(), "--keys-env", "MRTR_KEYS"], "", Some(KEY)),
    ] {
        assert_eq!((ran.code, timeless(&ran.stdout)), (0, timeless(&expected)), "{}", ran.stderr);
    }
    let both = run(["-", "--keys", "-"], KEY, None);
    both.is(2, "", "mrtr: stdin can bring the token or the keys, not both\n");
}

#[test]
fn a_token_of_another_key_names_both() {
    let keys = mrtr::Keyring::generate();
    let other = mrtr::Keyring::parse(&keys).expect("a key").fingerprints().remove(0);
    let own = mrtr::Keyring::parse(KEY).expect("a key").fingerprints().remove(0);
    run([token()], "", Some(&keys)).is(
        1,
        "",
        &format!(
            "mrtr: cannot open the token: it is sealed with key {own}, and the keyring has {other}: give the keys of the \
             servers that made it, or those from before a rotation\n"
        ),
    );
}

#[test]
fn what_cannot_be_shown_says_what_to_do() {
    let missing = KeysFile::of("missing", "");
    std::fs::remove_file(&missing.0).expect("removed");
    for (args, keys, code, said) in [
        (vec![token()], None, 2, "no keys: give --keys FILE, or set MRTR_KEYS to the keys of the servers"),
        (vec![token(), "--keys-env", "NOT_SET_HERE"], None, 2, "or set NOT_SET_HERE to"),
        (vec![token()], Some("short"), 2, "MRTR_KEYS: key 1 is not unpadded base64url"),
        (vec![token(), "--keys", missing.path()], None, 2, missing.path()),
        (vec!["eyJhbGciOi"], Some(KEY), 2, "a token starts with m1. or s1. or c1., and this starts with \"eyJ\""),
        (vec!["m1.AA+A"], Some(KEY), 1, "not canonical base64url: it was cut off or changed where it was copied"),
        (vec!["m1.AAAA"], Some(KEY), 1, "it is cut off"),
        (vec![&*token().replace("m1.", "c1.")], Some(KEY), 1, "its seal is broken: it was cut off or changed"),
    ] {
        let ran = run(args, "", keys);
        assert_eq!((ran.code, ran.stdout.as_str()), (code, ""), "{}", ran.stderr);
        assert!(ran.stderr.contains(said), "{}", ran.stderr);
    }
}

/// Text of a tool's author, or of whom they took it from, cannot pass for a line of the program.
#[test]
fn text_of_a_server_stays_on_its_line() {
    let keys = mrtr::Keyring::parse(KEY).expect("a key");
    let cursor = listed(keys);
    let ran = run([cursor.as_str()], "", Some(KEY));
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert_eq!(lines.len(), 5, "{}", ran.stdout);
    assert_eq!((lines[0], lines[2]), ("token      cursor", "list       resources/list"));
    assert_eq!(lines[3], "behind     test://a\\u{202e}b");
}

/// The cursor behind the first resource of a server, whose URI turns text around.
fn listed(keys: mrtr::Keyring) -> String {
    use mrtr::server::Incoming;
    use mrtr::{Context, NoArguments, Resource, Server, ToolError};

    let resource = |uri: &str| Resource::new(uri, "r", |_: NoArguments, _: Context| async { Ok::<_, ToolError>("") });
    let server = Server::new("test", "1").keys(keys).page_size(1);
    let server =
        server.resource(resource("test://a\u{202e}b")).resource(resource("test://z")).build().expect("a server");
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"resources/list","params":{"_meta":{
        "io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let reply = runtime.block_on(server.handle(Incoming::new(body.as_bytes())));
    let reply: serde_json::Value = serde_json::from_slice(&reply.body).expect("JSON");
    reply["result"]["nextCursor"].as_str().unwrap_or_else(|| panic!("{reply}")).to_owned()
}
