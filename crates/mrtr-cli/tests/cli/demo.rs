//! `mrtr demo` and `mrtr demo-server`: real processes, and none of them left behind.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::person::{CTRL_C, DOWN, ENTER, Person};
use crate::{Ran, mrtr, server};

/// As Linux numbers it on the common architectures.
const O_NOCTTY: i32 = 0o400;
const DAMAGE: &str = "description.description=The lid is cracked, the box was wet.";

/// Runs `mrtr demo` without a terminal, and checks what is true of every run: both servers are gone.
#[track_caller]
fn demo<'a>(args: impl IntoIterator<Item = &'a str>) -> Ran {
    let ran = mrtr(["demo"].into_iter().chain(args));
    for name in ["alpha", "beta"] {
        let line =
            ran.stderr.lines().find_map(|line| line.trim_start().strip_prefix(name)?.trim_start().strip_prefix("pid "));
        if let Some(line) = line {
            let (pid, _) = line.split_once(',').expect("pid, URL");
            assert_eq!(state(pid), None, "{name} is still there");
        }
    }
    ran
}

/// The state of a process, as the system has it; `None` if there is no such process, not even a zombie.
fn state(pid: &str) -> Option<char> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.chars().next()
}

/// Waits for a process to end. Whoever adopted it may take its time to reap it.
#[track_caller]
fn ends(pid: &str) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !matches!(state(pid), None | Some('Z')) {
        assert!(Instant::now() < deadline, "{pid} runs on");
        std::thread::yield_now();
    }
}

fn signal(name: &str, pid: &str) {
    assert!(Command::new("kill").args([name, pid]).status().expect("kill runs").success());
}

impl Ran {
    #[track_caller]
    fn completes(&self, code: i32, result: &str) {
        let Self { stdout, stderr, .. } = self;
        assert_eq!(self.code, code, "{stderr}");
        assert!(stdout.starts_with(result), "{stdout}");
        assert!(stdout.contains("| alpha ") && stdout.contains("| killed ") && stdout.contains("| beta "), "{stdout}");
        let table = stdout.lines().filter(|line| line.starts_with(['+', '|']));
        assert!(table.into_iter().all(|line| line.len() <= 80), "{stdout}");
        assert!(stderr.contains(", and is killed now: pid ") && stderr.contains("\nbeta ends the call"), "{stderr}");
    }

    #[track_caller]
    fn fails(&self, code: i32, texts: &[&str]) {
        assert_eq!((self.code, self.stdout.as_str()), (code, ""), "{}", self.stderr);
        for text in texts {
            assert!(self.stderr.contains(text), "{text:?} is not in {}", self.stderr);
        }
    }
}

#[test]
fn a_release_is_asked_for_by_one_server_and_deployed_by_the_other() {
    demo(["--answer", "confirm_prod.confirm=true"]).completes(0, "Deployed api 4.8.1 to production (api-");
    demo(["deploy_release", "service=web", "--answer", "confirm_prod.confirm=true"])
        .completes(0, "Deployed web 4.8.1 to production (web-");
    demo(["version=5", "--answer", "confirm_prod.confirm=no"]).completes(0, "Nothing was deployed.\n");
}

#[test]
fn a_subscription_is_cancelled_or_stays() {
    let flow = |answer| demo(["cancel_subscription", "--answer", answer]);
    flow("confirmed.confirmed=yes").completes(0, "Pro subscription cancelled.\n");
    flow("confirmed.confirmed=no").completes(0, "Nothing was cancelled. The Pro subscription is still active.\n");
    let unknown = demo(["cancel_subscription", "account_id=acc_1"]);
    assert_eq!((unknown.code, unknown.stdout.lines().next()), (3, Some("There is no account \"acc_1\".")));
}

#[test]
fn a_claim_takes_two_questions_and_the_second_server_asks_the_other_one() {
    let ran = demo(["file_shipping_claim", "--answer", "email.email=ada@example.com", "--answer", DAMAGE]);
    ran.completes(0, "Claim #");
    let beta = ran.stdout.lines().filter(|line| line.contains("| beta ")).count();
    assert_eq!((beta, ran.stdout.matches("| killed").count()), (2, 1), "{}", ran.stdout);
}

#[test]
fn a_machine_takes_two_questions_in_one_round() {
    let size = ["provision", "--answer", "size.size=medium", "--answer", "size.features=backups,monitoring"];
    let flow = |budget| demo(size.into_iter().chain(["--answer", budget]));
    flow("budget.monthly=25").completes(0, "Provisioned web-1 as medium-");
    flow("budget.monthly=20").completes(0, "Nothing was provisioned: it would cost 24.5 euros a month, not 20.\n");
}

#[test]
fn refusals_exit_with_4_and_nothing_is_done() {
    demo(["--decline", "confirm_prod"]).completes(4, "The user declined \"confirm_prod\".");
    demo(["--cancel", "confirm_prod"]).completes(4, "The user dismissed \"confirm_prod\"");
    demo(["provision", "--decline", "size", "--answer", "budget.monthly=25"])
        .completes(4, "The user declined \"size\".");
}

#[test]
fn where_nobody_can_be_asked_the_questions_are_named_and_a_full_command_is_shown() {
    demo([]).fails(5, &["confirm_prod: Deploy api", "mrtr demo deploy_release --answer confirm_prod.confirm=yes\n"]);
    let both = ["--answer size.size=VALUE", "--answer budget.monthly=VALUE", "--answer budget.monthly=25\n"];
    demo(["provision"]).fails(5, &both);
    demo(["file_shipping_claim", "--answer", "email.email=ada@example.com"])
        .fails(5, &["description.description=VALUE"]);
}

#[test]
fn what_does_not_fit_is_named_and_exits_with_2() {
    demo(["--answer", "confirm_prod.confirm=perhaps"]).fails(2, &["--answer confirm_prod.confirm: it must be"]);
    demo(["provision", "--answer", "budget.monthly=501"])
        .fails(2, &["--answer budget.monthly: it must be at most 500"]);
    demo(["file_shipping_claim", "--answer", "email.email=ada"])
        .fails(2, &["--answer email.email: it must be an e-mail"]);
    demo(["deploy_releas"]).fails(2, &["did you mean \"deploy_release\"?"]);
    demo(["servise=api"]).fails(2, &["did you mean \"service\"?"]);
}

#[test]
fn two_demos_do_not_get_in_each_others_way() {
    let run = |answer| std::thread::spawn(move || demo(["--answer", answer]));
    let (yes, no) = (run("confirm_prod.confirm=yes"), run("confirm_prod.confirm=no"));
    yes.join().expect("a run").completes(0, "Deployed api 4.8.1");
    no.join().expect("a run").completes(0, "Nothing was deployed.");
}

/// A demo in a terminal, at its first question, with the process ids of its two servers.
fn at_the_question() -> (Person, [String; 2]) {
    let mut person = Person::runs(&["demo"]);
    let pids = ["alpha", "beta"].map(|name| person.reads(&format!(r"{name} +pid (\d+)")));
    let killed = person.reads(r"alpha asked confirm_prod, and is killed now: pid (\d+)");
    assert_eq!(killed, pids[0]);
    (person.sees("Confirm production deploy"), pids)
}

#[test]
fn the_server_that_asked_is_dead_while_the_person_thinks() {
    let (person, [alpha, beta]) = at_the_question();
    assert_eq!(state(&alpha), None, "not even a zombie");
    assert!(state(&beta).is_some_and(|state| state != 'Z'));
    person.types("y").types(ENTER).sees("Deployed api 4.8.1 to production").sees("beta").exits(0);
    assert_eq!(state(&beta), None);
}

#[test]
fn a_person_can_say_no() {
    let (person, _) = at_the_question();
    person.types("\u{1b}").sees("Leave the question?").types(DOWN).types(ENTER).sees("The user declined").exits(4);
}

#[test]
fn ctrl_c_leaves_no_server_behind() {
    let (person, [alpha, beta]) = at_the_question();
    person.types(CTRL_C).sees("stopped").exits(4);
    assert_eq!((state(&alpha), state(&beta)), (None, None));
}

/// The settings of the terminal a process is in, as `stty` has them.
fn settings(terminal: &File) -> String {
    let stdin = terminal.try_clone().expect("a descriptor");
    let output = Command::new("stty").arg("-a").stdin(stdin).output().expect("stty runs");
    String::from_utf8(output.stdout).expect("UTF-8")
}

#[track_caller]
fn sigterm_puts_the_terminal_back(person: Person) {
    // Without O_NOCTTY the terminal would become the tests' own.
    let path = std::fs::read_link(format!("/proc/{}/fd/0", person.pid())).expect("a terminal");
    let terminal = File::options().read(true).custom_flags(O_NOCTTY).open(path).expect("a terminal");
    assert!(settings(&terminal).contains(" -icanon"), "the prompt reads key by key");
    signal("-TERM", &person.pid());
    // Said when the terminal is back, so that the words stand where they belong.
    let person = person.sees("stopped; nothing more was sent");
    let settings = settings(&terminal);
    assert!(settings.contains(" icanon"), "{settings}");
    // A terminal that somebody has open does not end.
    drop(terminal);
    person.exits(4);
}

#[test]
fn sigterm_at_a_prompt_puts_the_terminal_back() {
    let person = Person::runs(&["call", &server::start(), "deploy", "service=api"]).sees("Confirm production deploy");
    sigterm_puts_the_terminal_back(person.sees("Enter: pick"));
}

#[test]
fn sigterm_at_a_prompt_of_the_demo_leaves_no_server_behind() {
    let (person, [alpha, beta]) = at_the_question();
    sigterm_puts_the_terminal_back(person.sees("Enter: pick"));
    assert_eq!((state(&alpha), state(&beta)), (None, None));
}

#[test]
fn a_demo_that_is_killed_leaves_no_server_behind() {
    let (person, [_, beta]) = at_the_question();
    signal("-KILL", &person.pid());
    ends(&beta);
}

#[test]
fn with_both_servers_dead_the_call_fails_and_says_so() {
    let (person, [_, beta]) = at_the_question();
    signal("-KILL", &beta);
    ends(&beta);
    // Its port may outlast its first thread by a moment; either way the front has nobody to ask.
    person.types("y").types(ENTER).sees("answered HTTP 502").exits(1);
}

/// A server that runs by itself.
struct Server {
    child: Child,
    url: String,
}

impl Server {
    fn start(name: &str, key: Option<&str>) -> Self {
        Self::start_with(name, key, &[])
    }

    fn start_with(name: &str, key: Option<&str>, more: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mrtr"));
        command.args(["demo-server", "--listen", "127.0.0.1:0", "--name", name, "--until-stdin-closes"]);
        command.args(more);
        command.env_remove("MRTR_KEYS").envs(key.map(|key| ("MRTR_KEYS", key))).env("RUST_LOG", "warn");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut line).expect("a line");
        let url = line.trim_end().strip_prefix("listening on ").expect("where it listens").to_owned();
        Self { child, url }
    }

    /// Waits for its end; the code and the log.
    fn ends(self) -> (Option<i32>, String) {
        let output = self.child.wait_with_output().expect("an end");
        (output.status.code(), String::from_utf8(output.stderr).expect("UTF-8"))
    }
}

#[test]
fn a_server_alone_can_be_called_and_stops_on_sigterm() {
    let server = Server::start("solo", Some(&mrtr::Keyring::generate()));
    let tools = mrtr(["tools", &server.url]);
    for tool in ["deploy_release", "cancel_subscription", "file_shipping_claim", "provision"] {
        assert!(tools.stdout.contains(tool), "{}", tools.stdout);
    }
    let args =
        ["call", &server.url, "deploy_release", "service=api", "version=1", "--answer", "confirm_prod.confirm=y"];
    assert_eq!(mrtr(args).code, 0);
    signal("-TERM", &server.child.id().to_string());
    assert_eq!(server.ends(), (Some(0), String::new()));
}

#[test]
fn a_server_told_to_stop_is_alive_and_not_ready_until_it_is_told_twice() {
    let server = Server::start_with("solo", Some(&mrtr::Keyring::generate()), &["--drain-delay", "600"]);
    let probe = |name| mrtr(["health", &server.url.replace("/mcp", name)]);
    assert_eq!((probe("/livez").code, probe("/readyz").code), (0, 0));
    signal("-TERM", &server.child.id().to_string());
    let leaving = Instant::now();
    while probe("/readyz").code == 0 {
        assert!(leaving.elapsed() < Duration::from_secs(10));
    }
    assert_eq!(probe("/livez").code, 0);
    assert!(probe("/readyz").stderr.contains("HTTP 503"));
    signal("-TERM", &server.child.id().to_string());
    let (code, log) = server.ends();
    assert_eq!(code, Some(0));
    assert!(log.contains("told to stop twice"), "{log}");
}

#[test]
fn keys_come_from_a_file_and_hosts_from_a_flag() {
    let keys = std::env::temp_dir().join(format!("mrtr-keys-{}", std::process::id()));
    std::fs::write(&keys, mrtr::Keyring::generate() + "\n").expect("a file");
    let path = keys.to_str().expect("UTF-8");
    let server = Server::start_with("solo", None, &["--keys", path, "--allow-host", "mcp.example.com"]);
    let address = server.url.replace("http://", "").replace("/mcp", "");
    for (host, status) in [("mcp.example.com", "405"), ("evil.example.com", "403")] {
        let mut stream = std::net::TcpStream::connect(&address).expect("a connection");
        write!(stream, "GET /mcp HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").expect("a request");
        let response = std::io::read_to_string(stream).expect("a response");
        assert!(response.starts_with(&format!("HTTP/1.1 {status} ")), "{response}");
    }
    signal("-TERM", &server.child.id().to_string());
    let (_, log) = server.ends();
    assert!(!log.contains("no keys given"), "{log}");

    std::fs::write(&keys, "short").expect("a file");
    let short = mrtr(["demo-server", "--keys", path]);
    std::fs::remove_file(&keys).expect("removed");
    let missing = mrtr(["demo-server", "--keys", path]);
    for (ran, why) in [(short, "key 1"), (missing, "No such file")] {
        assert_eq!(ran.code, 2);
        assert!(ran.stderr.contains(path) && ran.stderr.contains(why), "{}", ran.stderr);
    }
}

#[test]
fn a_server_says_its_name_in_every_response() {
    let server = Server::start("gamma-7", None);
    let address = server.url.strip_prefix("http://").and_then(|url| url.strip_suffix("/mcp")).expect("a URL");
    let mut stream = std::net::TcpStream::connect(address).expect("a connection");
    write!(stream, "GET /mcp HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").expect("a request");
    let response = std::io::read_to_string(stream).expect("a response");
    assert!(
        response.starts_with("HTTP/1.1 405 ") && response.contains("\r\nx-mrtr-instance: gamma-7\r\n"),
        "{response}"
    );
}

#[test]
fn a_server_without_keys_says_so_and_stops_with_its_parent() {
    let mut server = Server::start("solo", None);
    drop(server.child.stdin.take());
    let (code, log) = server.ends();
    assert_eq!(code, Some(0));
    assert!(log.contains("no keys given"), "{log}");
}

#[test]
fn a_server_that_cannot_start_says_why() {
    let server = Server::start("first", None);
    let address = server.url.trim_start_matches("http://").trim_end_matches("/mcp");
    let taken = mrtr(["demo-server", "--listen", address]);
    assert_eq!(taken.code, 1);
    assert!(taken.stderr.contains(&format!("cannot listen on {address}")), "{}", taken.stderr);
    assert_eq!(mrtr(["demo-server", "--name", "a b"]).code, 2);

    let mut command = Command::new(env!("CARGO_BIN_EXE_mrtr"));
    let output = command.arg("demo-server").env("MRTR_KEYS", "short").output().expect("the program starts");
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("MRTR_KEYS: key 1"));
}
