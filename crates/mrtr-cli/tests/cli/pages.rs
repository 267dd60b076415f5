//! Pages a server wants opened: consent, a browser that may fail, and the wait.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use crate::person::{DOWN, ENTER, Person};
use crate::server;

/// A browser that notes what it is asked to open.
fn browser(name: &str) -> (PathBuf, PathBuf) {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("browser-{name}-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    let (program, seen) = (folder.join("browser"), folder.join("seen"));
    let _ = fs::remove_file(&seen);
    fs::write(&program, format!("#!/bin/sh\nprintf '%s\\n' \"$@\" >>{}\n", seen.display())).expect("a file");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("permissions");
    (program, seen)
}

fn visits(words: &[&str], browser: &str) -> Person {
    let url = server::start();
    let words = [&["call", &url, "pay"], words].concat();
    Person::runs_at(&words, 80, &[("BROWSER", browser)])
}

#[test]
fn a_page_is_shown_in_full_and_opened_with_consent_only() {
    let (program, seen) = browser("consent");
    let person = visits(&[], program.to_str().expect("UTF-8"))
        .sees("Pay 7 EUR")
        .sees("URL:  https://pay.example/7?x=y")
        .sees("Host: pay.example")
        .sees("Open this page?")
        .types(ENTER)
        .sees("! pick one with the arrows")
        .shows("Esc: more", "page_consent");
    assert!(!seen.exists(), "opened without consent");
    let person = person.types(DOWN).types(ENTER).sees("open in your browser").sees("Is everything done");
    assert_eq!(fs::read_to_string(&seen).expect("a visit"), "https://pay.example/7?x=y\n");
    // Neither content nor anything else goes with the consent.
    person.sees("Esc: more").types(ENTER).sees(r#"{"action":"accept"}"#).exits(0);
}

#[test]
fn a_browser_that_fails_agrees_to_nothing() {
    visits(&[], "false")
        .sees("Open this page?")
        .types("yes, open it in")
        .types(ENTER)
        .sees("Careful: the page was not opened")
        .sees("I have opened it by hand")
        .shows("Esc: more", "page_not_opened")
        .types(ENTER)
        .sees("! pick one")
        .types("canc")
        .types(ENTER)
        .sees(r#"{"action":"cancel"}"#)
        .exits(4);
    visits(&[], "no-such-browser")
        .sees("Open this page?")
        .types("yes, open it in")
        .types(ENTER)
        .sees("there is no no-such-browser")
        .sees("by hand")
        .types("I have")
        .types(ENTER)
        .sees("Is everything done")
        .types(ENTER)
        .sees(r#"{"action":"accept"}"#)
        .exits(0);
}

#[test]
fn a_page_the_server_still_waits_for_can_be_opened_again_and_given_up() {
    let (program, seen) = browser("waits");
    let waiting = || {
        visits(&["waits:=true"], program.to_str().expect("UTF-8"))
            .sees("Open this page?")
            .types("yes, I open it by hand")
            .types(ENTER)
            .sees("Is everything done")
            .types(ENTER)
            .sees("round 2")
            .sees("The server still waits for this page")
            .sees("Esc: more")
    };
    assert!(!seen.exists());
    let person = waiting().shows("Esc: more", "page_wait").types("open").types(ENTER).sees("open in your browser");
    assert!(seen.exists());
    person.sees("The server still waits").sees("Esc: more").types(ENTER).sees(r#"{"action":"accept"}"#).exits(0);
    waiting().types("canc").types(ENTER).sees(r#"{"action":"cancel"}"#).exits(4);
}

#[test]
fn what_hides_where_a_page_is_gets_a_warning() {
    visits(&["url=http://bank.example@0x7f.1/"], "")
        .sees("URL:  http://bank.example@0x7f.1/")
        .sees("Host: 127.0.0.1")
        .sees("what comes before @ in the URL is not the host")
        .sees("the host is the address 127.0.0.1, written in a way that hides it")
        .sees("Open this page?")
        .types("no")
        .types(ENTER)
        .sees(r#"{"action":"decline"}"#)
        .exits(4);
    visits(&["url=https://b\u{430}nk.example/"], "")
        .sees("Host: xn--bnk-6cd.example")
        .sees("b\u{430}nk.example in its own letters")
        .sees("punycode")
        .sees("several scripts")
        .shows("Esc: more", "page_punycode")
        .types("no")
        .types(ENTER)
        .exits(4);
}

#[test]
fn only_web_pages_can_be_agreed_to() {
    visits(&["url=javascript:alert(1)"], "")
        .sees("URL:  javascript:alert(1)")
        .sees("it cannot be agreed to")
        .sees("Esc: more")
        .types("decl")
        .types(ENTER)
        .sees(r#"{"action":"decline"}"#)
        .exits(4);
}
