//! `mrtr call` without a terminal.

use crate::{mrtr, server};

#[test]
fn answers_complete_the_call() {
    let url = server::start();
    mrtr(["call", &url, "deploy", "service=api", "--answer", "confirm.ok=yes"]).is(0, "Deployed \"api\".\n", "");
    mrtr(["call", &url, "approve", "--answer", "sure=accept"]).is(0, "{\"action\":\"accept\",\"content\":{}}\n", "");
}

#[test]
fn a_page_that_a_flag_accepts_is_shown() {
    mrtr(["call", &server::start(), "pay", "--answer", "page=accept"]).is(
        0,
        "{\"action\":\"accept\"}\n",
        "--answer page=accept accepts a page; open it in your browser:\n\
        \x20 URL:  https://pay.example/7?x=y\n\
        \x20 Host: pay.example\n",
    );
}

#[test]
fn no_flag_accepts_a_page_that_only_a_person_should_judge() {
    let url = server::start();
    for (page, reason) in [
        ("javascript:alert(1)", "it begins with javascript:, not with http: or https:"),
        ("file:///etc/passwd", "it begins with file:, not with http: or https:"),
        ("https://pay.example@evil.example/", "it begins with a user, and leads to evil.example"),
    ] {
        let argument = format!("url={page}");
        mrtr(["call", &url, "pay", &argument, "--answer", "page=accept"]).is(
            1,
            "",
            &format!("mrtr: --answer page=accept does not accept {page}: {reason}\n"),
        );
        let ran = mrtr(["call", &url, "pay", &argument]);
        assert!(ran.stderr.contains(&format!("\n    no flag accepts it: {reason}\n")), "{}", ran.stderr);
    }
}

#[test]
fn answers_are_typed_by_the_form_and_optional_fields_left_out() {
    let url = server::start();
    let args = ["--answer", "trip.city=Bergen", "--answer", "trip.nights=3", "--answer", "trip.class=First"];
    mrtr(["call", &url, "book"].into_iter().chain(args)).is(
        0,
        "{\"action\":\"accept\",\"content\":{\"city\":\"Bergen\",\"nights\":3,\"class\":\"f\"}}\n",
        "",
    );
}

#[test]
fn refusals_exit_with_4() {
    let url = server::start();
    mrtr(["call", &url, "deploy", "service=api", "--decline", "confirm"]).is(
        4,
        "Nothing was deployed.\n",
        "answered \"confirm\" with decline\n",
    );
    mrtr(["call", &url, "deploy", "service=api", "--cancel", "confirm"]).is(
        4,
        "Nothing was deployed.\n",
        "answered \"confirm\" with cancel\n",
    );
}

#[test]
fn questions_nobody_can_answer_are_named() {
    let url = server::start();
    mrtr(["call", &url, "book", "--answer", "trip.nights=2"]).is(
        5,
        "",
        "mrtr: input is needed, and there is no terminal to ask in\n\
        \x20 trip: Where to?\n\
        \x20   still missing: city, class\n\
        \x20   --answer trip.city=VALUE  (text)\n\
        \x20   --answer trip.nights=VALUE  (integer, given)\n\
        \x20   --answer trip.class=VALUE  (e|f)\n\
        \x20   --answer trip.extras=VALUE  (any of wifi|meal, optional)\n\
        \x20   --answer trip.note=VALUE  (text, optional)\n\
        \x20   or --decline trip, or --cancel trip\n",
    );
    mrtr(["call", &url, "pay"]).is(
        5,
        "",
        "mrtr: input is needed, and there is no terminal to ask in\n\
        \x20 page: Pay 7 EUR\n\
        \x20   it asks to open https://pay.example/7?x=y\n\
        \x20   --answer page=accept\n\
        \x20   or --decline page, or --cancel page\n",
    );
}

#[test]
fn what_a_server_says_is_harmless_in_a_message() {
    let url = server::start();
    let ran = mrtr(["call", &url, "hostile"]);
    assert_eq!(ran.code, 5);
    assert!(ran.stderr.contains(r"k: \u{1b}[2J\u{1b}]8;;http://evil\u{7}click\u{d}\u{202e}txt"), "{}", ran.stderr);
    assert!(!ran.stderr.contains('\u{1b}'));
}

#[test]
fn a_server_cannot_forge_lines_of_a_message() {
    let ran = mrtr(["call", &server::start(), "forger"]);
    assert_eq!(ran.code, 5);
    assert_eq!(
        ran.stderr,
        "mrtr: input is needed, and there is no terminal to ask in\n\
        \x20 k\\nmrtr: all is well: Sure?\n\
        \x20   | --answer pay=accept\n\
        \x20   --answer 'k\\nmrtr: all is well.f\\n=VALUE'  (one\\n|two)  a\\nb\n\
        \x20   or --decline 'k\\nmrtr: all is well', or --cancel 'k\\nmrtr: all is well'\n"
    );
}

#[test]
fn an_answer_that_does_not_fit_is_a_usage_error_that_names_it() {
    let url = server::start();
    mrtr(["call", &url, "deploy", "service=api", "--answer", "confirm.ok=maybe"]).is(
        2,
        "",
        "mrtr: --answer confirm.ok: it must be yes or no, not \"maybe\"; the question was not answered\n",
    );
    mrtr(["call", &url, "deploy", "service=api", "--answer", "confirm.okay=yes"]).is(
        2,
        "",
        "mrtr: --answer confirm.okay: it is not asked: the form has \"ok\" (did you mean \"ok\"?); the question was not answered\n",
    );
    mrtr(["call", &url, "deploy", "service=api", "--answer", "confirm=yes"]).is(
        2,
        "",
        "mrtr: --answer confirm=yes: expected confirm.FIELD=yes, or confirm=accept\n",
    );
}

#[test]
fn flags_that_contradict_each_other_are_a_usage_error_that_names_both() {
    let call = ["call", "http://127.0.0.1:1/mcp", "deploy", "service=api"];
    for (flags, both) in [
        (["--answer", "confirm.ok=yes", "--decline", "confirm"], "--answer confirm.ok=yes and --decline confirm"),
        (
            ["--answer", "confirm.ok=yes", "--answer", "confirm.ok=no"],
            "--answer confirm.ok=yes and --answer confirm.ok=no",
        ),
    ] {
        mrtr(call.into_iter().chain(flags)).is(2, "", &format!("mrtr: {both} contradict each other\n"));
    }
}

#[test]
fn a_flag_answers_the_question_with_the_longest_key() {
    let args = ["--answer", "a.b.c=1", "--answer", "a.c=2"];
    mrtr(["call", &server::start(), "dots"].into_iter().chain(args)).is(
        0,
        "{\"a\":{\"action\":\"accept\",\"content\":{\"c\":\"2\"}},\
        \"a.b\":{\"action\":\"accept\",\"content\":{\"c\":\"1\"}}}\n",
        "",
    );
}

#[test]
fn flags_that_were_not_needed_are_pointed_out() {
    let url = server::start();
    let args = ["--answer", "confirm.ok=yes", "--answer", "typo.ok=yes", "--decline", "other"];
    mrtr(["call", &url, "deploy", "service=api"].into_iter().chain(args)).is(
        0,
        "Deployed \"api\".\n",
        "warning: --answer typo.ok=yes was not needed: no such question came up\n\
         warning: --decline other was not needed: no such question came up\n",
    );
}

#[test]
fn arguments_are_checked_before_anything_is_called() {
    let url = server::start();
    mrtr(["call", &url, "deploy"]).is(2, "", "mrtr: the tool also needs service=...\n");
    mrtr(["call", &url, "deploy", "service=api", "replicas=many"]).is(
        2,
        "",
        "mrtr: argument \"replicas\" must be a whole number, not \"many\"\n",
    );
    mrtr(["call", &url, "deplay"]).is(
        2,
        "",
        "mrtr: the server has no tool \"deplay\" (did you mean \"deploy\"?); \
         it has deploy, book, stubborn, pay, approve, ask, pair, dots, hostile, forger, blocks, fail, draft, release, model, picky, folders, whoami, write, where\n",
    );
}

#[test]
fn a_tool_that_fails_exits_with_3() {
    mrtr(["call", &server::start(), "fail"]).is(3, "Disk full.\n", "the tool reported an error\n");
}

#[test]
fn json_prints_the_result_and_nothing_else() {
    mrtr(["call", &server::start(), "fail", "--json"]).is(
        3,
        "{\"content\":[{\"type\":\"text\",\"text\":\"Disk full.\"}],\"isError\":true}\n",
        "the tool reported an error\n",
    );
}

#[test]
fn no_content_block_vanishes_silently() {
    mrtr(["call", &server::start(), "blocks"]).is(
        0,
        "shown\n",
        "(a block of type image is not shown; --json has it)\n\
         (a block of type text is not shown; --json has it)\n\
         (a block of type unknown is not shown; --json has it)\n\
         (a block of type a\\nb is not shown; --json has it)\n",
    );
}

#[test]
fn servers_that_cannot_be_called_exit_with_1() {
    mrtr(["call", "http://127.0.0.1:1/mcp", "t"]).is(
        1,
        "",
        "mrtr: cannot connect to http://127.0.0.1:1/mcp: Connection refused (os error 111)\n",
    );
    let ran = mrtr(["call", &server::start(), "draft"]);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("is an early draft of the pattern"), "{}", ran.stderr);
}

#[test]
fn urls_that_cannot_be_called_exit_with_2() {
    mrtr(["call", "ftp://host/", "t"]).is(
        2,
        "",
        "mrtr: cannot call \"ftp://host/\": expected a URL that begins with http:// or https://\n",
    );
}

#[test]
fn urls_without_a_scheme_are_named_and_what_was_probably_meant() {
    for url in ["127.0.0.1:8877/mcp", "localhost:8877/mcp", "nonsense"] {
        mrtr(["tools", url]).is(
            2,
            "",
            &format!(
                "mrtr: cannot call {url:?}: expected a URL that begins with http:// or https://, \
                 did you mean \"http://{url}\"?\n"
            ),
        );
    }
}

#[test]
fn an_accept_that_is_not_enough_says_why() {
    let ran = mrtr(["call", &server::start(), "book", "--answer", "trip=accept"]);
    assert_eq!(ran.code, 5);
    let expected = "\n    --answer trip=accept is not enough, these fields are required too: city, nights, class\n";
    assert!(ran.stderr.contains(expected), "{}", ran.stderr);
}

#[test]
fn a_mistyped_key_is_pointed_out_with_the_keys_there_are() {
    let ran = mrtr(["call", &server::start(), "book", "--answer", "tripp.city=Oslo", "--decline", "other"]);
    assert_eq!(ran.code, 5);
    for expected in [
        "warning: --answer tripp.city=Oslo: no question has the key \"tripp\" (did you mean \"trip\"?); the questions are: trip\n",
        "warning: --decline other: no question has the key \"other\"; the questions are: trip\n",
    ] {
        assert!(ran.stderr.contains(expected), "{}", ran.stderr);
    }
}

#[test]
fn all_answers_that_do_not_fit_are_named_at_once() {
    let args = ["--answer", "trip.city=X", "--answer", "trip.nights=many", "--answer", "trip.clas=e"];
    mrtr(["call", &server::start(), "book"].into_iter().chain(args)).is(
        2,
        "",
        "mrtr: --answer trip.city: it must have at least 2 characters (it has 1)\n\
         --answer trip.clas: it is not asked: the form has \"city\", \"nights\", \"class\", \"extras\", \"note\" (did you mean \"class\"?)\n\
         --answer trip.nights: it must be a whole number, not \"many\"; the question was not answered\n",
    );
}

#[test]
fn an_answer_the_server_does_not_take_is_not_sent_again() {
    mrtr(["call", &server::start(), "stubborn", "--answer", "code.pin=1234"]).is(
        2,
        "",
        "mrtr: --answer code.pin=1234: the server did not take this answer and asks again; nothing more was sent\n\
        \x20 code: Wrong pin.\n",
    );
}

#[test]
fn an_address_that_is_none_is_a_usage_error() {
    let ran = mrtr(["demo-server", "--listen", "foo"]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("expected HOST:PORT"), "{}", ran.stderr);
}
