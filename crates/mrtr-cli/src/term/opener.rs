//! Hands a page to the person's browser, and says whether that went well.
//!
//! No shell is involved: the URL is one argument. What happens on the page stays in the browser.

use std::env;
use std::io;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Opens a page that the person agreed to open. The error says why nothing was opened.
pub(super) fn open(url: &str) -> Result<(), String> {
    let commands = commands(url);
    if commands.is_empty() {
        return Err("there is no screen for a browser here, and BROWSER names none".to_owned());
    }
    let mut reasons = Vec::new();
    for command in commands {
        match run(command) {
            Ok(()) => return Ok(()),
            Err(reason) => reasons.push(reason),
        }
    }
    Err(reasons.join("; "))
}

/// The commands to try: those of `BROWSER`, or else the system's own.
fn commands(url: &str) -> Vec<Command> {
    match env::var("BROWSER") {
        Ok(browsers) if !browsers.trim().is_empty() => named(&browsers, url),
        _ => system(url).into_iter().collect(),
    }
}

/// As other programs read it: alternatives with colons between them, words with spaces, and `%s` for the URL.
fn named(browsers: &str, url: &str) -> Vec<Command> {
    let one = |browser: &str| {
        let mut words = browser.split_whitespace();
        let mut command = Command::new(words.next()?);
        let has_place = browser.contains("%s");
        command.args(words.map(|word| word.replace("%s", url)));
        if !has_place {
            command.arg(url);
        }
        Some(command)
    };
    browsers.split(if cfg!(windows) { ';' } else { ':' }).filter_map(one).collect()
}

fn system(url: &str) -> Option<Command> {
    let mut command = if cfg!(target_os = "macos") {
        Command::new("open")
    } else if cfg!(windows) {
        let mut command = Command::new("rundll32.exe");
        command.arg("url.dll,FileProtocolHandler");
        command
    } else {
        // Without a screen it would start a browser for terminals, in a terminal that is in use.
        let has_screen =
            ["DISPLAY", "WAYLAND_DISPLAY", "WSL_DISTRO_NAME"].iter().any(|name| env::var_os(name).is_some());
        Command::new(has_screen.then_some("xdg-open")?)
    };
    command.arg(url);
    Some(command)
}

fn run(mut command: Command) -> Result<(), String> {
    let name = command.get_program().to_string_lossy().into_owned();
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // A page of a server's choice needs none of them.
    for name in crate::child::SECRETS {
        command.env_remove(name);
    }
    // Ctrl-C here is not meant for a browser there.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let mut child = command.spawn().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => format!("there is no {name}"),
        _ => format!("{name} does not start: {error}"),
    })?;
    let start = Instant::now();
    while start.elapsed() < PATIENCE {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(status)) => return Err(format!("{name} failed ({status})")),
            Ok(None) => thread::sleep(STEP),
            Err(error) => return Err(format!("{name}: {error}")),
        }
    }
    // It is the browser itself, and at work. Nobody else would take note of its end.
    thread::spawn(move || drop(child.wait()));
    Ok(())
}

/// How long a command may take to say that it failed.
const PATIENCE: Duration = Duration::from_secs(3);

const STEP: Duration = Duration::from_millis(20);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn browsers_are_named_as_elsewhere_and_the_url_stays_one_word() {
        let url = "https://a.example/?q=$(x)&b=%20;";
        let commands = named("one:two --new %s --quiet: :three -t", url);
        let words = |command: &Command| {
            let arguments = command.get_args().map(|word| word.to_string_lossy().into_owned());
            [command.get_program().to_string_lossy().into_owned()].into_iter().chain(arguments).collect::<Vec<_>>()
        };
        let all: Vec<_> = commands.iter().map(words).collect();
        assert_eq!(all, [vec!["one", url], vec!["two", "--new", url, "--quiet"], vec!["three", "-t", url]]);
    }

    #[test]
    #[cfg(unix)]
    fn what_does_not_start_or_fails_opens_nothing() {
        assert_eq!(run(Command::new("no-such-browser")), Err("there is no no-such-browser".to_owned()));
        assert!(run(Command::new("false")).unwrap_err().starts_with("false failed"));
        assert_eq!(run(Command::new("true")), Ok(()));
    }
}
