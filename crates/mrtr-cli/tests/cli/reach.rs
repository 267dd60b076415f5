//! How a server is reached: tokens, proxies, and the choice between a URL and a command.

use std::net::TcpListener;

use crate::{mrtr, mrtr_with, server};

#[test]
fn a_token_comes_from_the_environment_or_a_flag_and_is_in_no_trace() {
    let url = server::start();
    mrtr(["call", &url, "whoami"]).is(0, "nobody\n", "");
    mrtr_with(["call", &url, "whoami"], [("MRTR_TOKEN", "s3cret")]).is(0, "Bearer s3cret\n", "");
    let ran = mrtr_with(["call", &url, "whoami", "--token", "fl4g", "--trace", "--json"], [("MRTR_TOKEN", "s3cret")]);
    assert!(ran.stdout.contains("Bearer fl4g"), "{}", ran.stdout);
    assert!(ran.stderr.contains("authorization: (not shown)"), "{}", ran.stderr);
    let ran = mrtr_with(["tools", &url], [("MRTR_TOKEN", "two words")]);
    assert_eq!(ran.stderr, "mrtr: MRTR_TOKEN: the token is empty, or has characters no token has\n");
    let ran = mrtr(["tools", &url, "--token", "a", "--header", "authorization: Bearer b"]);
    assert_eq!(ran.stderr, "mrtr: --token and --header Authorization contradict each other\n");
}

#[test]
fn a_proxy_is_used_from_the_flag_or_the_environment_but_not_to_this_machine() {
    // The server answers to any host, as a proxy would.
    let (url, elsewhere) = (server::start(), "http://mcp.invalid/mcp");
    let run = |args: [&str; 2], more: &[&str], proxy: &str, except: &str| {
        let proxies = ["HTTP_PROXY", "http_proxy"].map(|name| (name, proxy));
        let exceptions = ["NO_PROXY", "no_proxy"].map(|name| (name, except));
        let none = ["ALL_PROXY", "all_proxy"].map(|name| (name, ""));
        mrtr_with(args.iter().chain(more).copied(), proxies.into_iter().chain(exceptions).chain(none)).code
    };
    assert_eq!(run(["tools", elsewhere], &[], "", ""), 1);
    assert_eq!(run(["tools", elsewhere], &["--proxy", &url], "", ""), 0);
    assert_eq!(run(["tools", elsewhere], &[], &url, ""), 0);
    assert_eq!(run(["tools", elsewhere], &[], &url, "mcp.invalid"), 1);
    assert_eq!(run(["tools", elsewhere], &["--proxy", &url], "", "mcp.invalid"), 1);
    assert_eq!(run(["tools", &url], &[], "http://127.0.0.1:1", ""), 0);
    mrtr(["tools", &url, "--proxy", "socks5://user:secret@host"]).is(
        2,
        "",
        "mrtr: cannot call \"the proxy\": expected the proxy as http://HOST:PORT or https://HOST:PORT\n",
    );
}

#[test]
fn a_server_that_is_silent_costs_the_timeout() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/mcp", listener.local_addr().expect("an address"));
    mrtr(["tools", &url, "--timeout", "1"]).is(1, "", &format!("mrtr: {url} gave no response within 1 s (round 1)\n"));
}

#[test]
fn a_server_is_a_url_or_a_command() {
    for (args, message) in [
        (&["tools"][..], "which server? Give its URL, or after -- the command that starts it"),
        (&["call"], "which server? Give its URL, or after -- the command that starts it"),
        (&["call", "http://127.0.0.1:1/"], "which tool?"),
        (&["tools", "http://host/", "--", "x"], "the server is either a URL or a command after --, not both"),
        (&["tools", "--token", "x", "--", "x"], "--token is for servers over HTTP, not for a command"),
    ] {
        mrtr(args.iter().copied()).is(2, "", &format!("mrtr: {message}\n"));
    }
}
