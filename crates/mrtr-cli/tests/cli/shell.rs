//! `mrtr completions` and `mrtr man`.

use std::io::Write as _;
use std::process::{Command, Stdio};

use crate::mrtr;

/// Feeds this text to a program; `None` if there is no such program here.
fn feed(program: &str, args: &[&str], text: &str) -> Option<(bool, String)> {
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.env("MANWIDTH", "80").env("LC_ALL", "C.UTF-8").spawn().ok()?;
    let mut stdin = child.stdin.take()?;
    let text = text.to_owned();
    let writer = std::thread::spawn(move || stdin.write_all(text.as_bytes()));
    let output = child.wait_with_output().ok()?;
    let _ = writer.join();
    Some((output.status.success(), String::from_utf8_lossy(&output.stdout).into_owned()))
}

#[test]
fn every_shell_gets_a_script_and_those_that_are_here_can_read_it() {
    for (shell, args) in [
        ("bash", Some(&["-n"][..])),
        ("zsh", Some(&["-n"])),
        ("fish", Some(&["--no-execute"])),
        ("elvish", None),
        ("powershell", None),
    ] {
        let ran = mrtr(["completions", shell]);
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
        assert!(ran.stdout.contains("sample-unattended") && ran.stdout.contains("resources"), "{shell}");
        if let Some((is_valid, _)) = args.and_then(|args| feed(shell, args, &ran.stdout)) {
            assert!(is_valid, "{shell} cannot read its script");
        }
    }
}

#[cfg(unix)]
#[test]
fn bash_completes_commands_and_flags() {
    let script = mrtr(["completions", "bash"]).stdout;
    let probe = "\nCOMP_WORDS=(mrtr res); COMP_CWORD=1; _mrtr mrtr res mrtr; echo \"${COMPREPLY[@]}\"\n";
    if let Some((_, completed)) = feed("bash", &[], &(script + probe)) {
        assert_eq!(completed.trim(), "resources");
    }
}

#[test]
fn the_manual_has_a_page_for_the_program_and_for_each_command() {
    let page = mrtr(["man"]).stdout;
    assert!(page.contains(".TH mrtr 1"), "{page}");
    let page = mrtr(["man", "call"]).stdout;
    assert!(page.contains(".TH mrtr-call 1") || page.contains(".TH mrtr\\-call 1"), "{page}");
    for (program, args) in [("man", &["-l", "-"][..]), ("mandoc", &["-T", "utf8"])] {
        if let Some((true, text)) = feed(program, args, &page) {
            assert!(text.contains("sample-unattended") || text.contains("sample‐unattended"), "{text}");
        }
    }
    mrtr(["man", "cal"]).is(
        2,
        "",
        "mrtr: there is no command \"cal\" (did you mean \"call\"?); there are demo, call, get, read, tools, prompts, \
         resources, discover, demo-server, keygen, state, health, completions, man, help\n",
    );
}
