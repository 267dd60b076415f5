//! `mrtr health`.

use crate::{mrtr, server};

#[test]
fn a_server_that_says_yes_is_healthy() {
    mrtr(["health", &server::start()]).is(0, "", "");
}

#[test]
fn a_server_that_is_not_there_or_does_not_answer_is_not() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("http://{}/livez", listener.local_addr().expect("an address"));
    let silent = mrtr(["health", &url, "--timeout", "1"]);
    silent.is(1, "", &format!("mrtr: {url} is not healthy: no answer within 1 s\n"));
    drop(listener);
    let gone = mrtr(["health", &url]);
    assert_eq!(gone.code, 1);
    assert!(gone.stderr.contains("is not healthy: cannot connect"), "{}", gone.stderr);
}

#[test]
fn what_cannot_be_asked_is_a_usage_error() {
    for url in ["https://127.0.0.1:8080/livez", "127.0.0.1:8080", "livez"] {
        assert_eq!(mrtr(["health", url]).code, 2, "{url}");
    }
}
