//! Roots and models that the program lends to servers.

use std::fs;
use std::path::PathBuf;

use crate::{mrtr, mrtr_with, server};

#[test]
fn roots_are_named_as_files_and_have_to_exist() {
    let url = server::start();
    let directory: PathBuf = std::env::temp_dir().join(format!("mrtr-cli-root-{}", std::process::id()));
    fs::create_dir_all(&directory).expect("a directory");
    let ran = mrtr(["call", &url, "where", "--root", &directory.to_string_lossy()]);
    fs::remove_dir(&directory).expect("it is empty");
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    let name = directory.file_name().unwrap_or_default().to_string_lossy();
    assert!(
        ran.stdout.contains(&format!("/{name}\"")) && ran.stdout.contains(&format!(r#""name":"{name}""#)),
        "{}",
        ran.stdout
    );
    assert!(ran.stdout.contains("file:///") && ran.stdout.ends_with(" {}\n"), "{}", ran.stdout);
    let ran = mrtr(["call", &url, "where", "--root", "/no/such"]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.starts_with("mrtr: --root: /no/such cannot be a root: "), "{}", ran.stderr);
}

#[test]
fn what_is_not_lent_is_not_declared() {
    let url = server::start();
    let ran = mrtr(["call", &url, "where"]);
    assert_eq!(ran.code, 5);
    assert!(ran.stderr.contains(r#"asks "roots" by roots, which this client did not declare"#), "{}", ran.stderr);
    let ran = mrtr(["call", &url, "write"]);
    assert!(ran.stderr.contains("by sampling, which this client did not declare"), "{}", ran.stderr);
}

#[cfg(unix)]
#[test]
fn a_command_writes_unattended_and_nothing_is_sent_unseen_without_that_word() {
    let url = server::start();
    let with = ["call", &url, "write", "--sample-with", "echo soft drops"];
    mrtr(with.into_iter().chain(["--sample-unattended"])).is(0, "\"sh\": \"soft drops\"\n", "");
    mrtr(with).is(
        5,
        "",
        "mrtr: input is needed, and there is no terminal to ask in\n\
        \x20 poem: sampling\n\
        \x20   --sample-with CMD --sample-unattended, or --answers FILE with KEY: { sampling: TEXT }\n",
    );
    mrtr(["call", &url, "write", "--sample-with", "echo no >&2; exit 4", "--sample-unattended"]).is(
        1,
        "",
        "mrtr: no answer for \"poem\" in round 1: sh -c 'echo no >&2; exit 4': exit status: 4: no\n",
    );
}

#[test]
fn a_model_behind_a_url_is_told_by_its_path() {
    let url = server::start();
    let model = url.replace("/mcp", "/v1/chat/completions");
    let args = ["call", &url, "write", "--sample-unattended", "--sample-url"];
    let ran = mrtr_with(args.into_iter().chain([model.as_str()]), [("MRTR_SAMPLE_KEY", "s3cret")]);
    // The same server plays the model: it says what it was sent.
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "\"bard\": \"Bearer s3cret\"\n"), "{}", ran.stderr);
    let ran = mrtr(args.into_iter().chain([url.as_str()]));
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("say --sample-api"), "{}", ran.stderr);
    let ran = mrtr(["call", &url, "write", "--sample-unattended"]);
    assert_eq!(ran.stderr, "mrtr: --sample-unattended needs --sample-with or --sample-url\n");
}
