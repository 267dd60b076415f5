//! A URL the server wants opened: shown in full, agreed to by the person or by a flag, opened by nobody else.

use anstyle::Style;
use mrtr::client::{Answer, Ask};
use url::Url;

use super::escape;
use super::layout::{screen, wrap};
use super::prompt::{Left, introduce, pick};

/// Asks for consent. The page is never fetched or opened from here.
pub(super) fn ask(ask: &Ask) -> Result<Answer, Left> {
    introduce(ask)?;
    let text = ask.url().unwrap_or_default();
    match check(&text) {
        Ok(page) => consent(ask, &text, &page),
        Err(reason) => {
            show(&text, None);
            anstream::eprintln!("  It cannot be agreed to: {}.", escape::line(&reason));
            match pick("Answer", &[("Decline: say no", true), ("Cancel: leave it undecided", false)], 0)? {
                true => Err(Left::Declined),
                false => Err(Left::Cancelled),
            }
        }
    }
}

/// Shows a page that a flag accepts and no person has looked at. The error says why no flag should.
pub(crate) fn announce(flag: &str, text: &str) -> Result<(), String> {
    let page = check_unseen(text)?;
    anstream::eprintln!("{} accepts a page; open it in your browser:", escape::line(flag));
    // In one piece, to be copied out of a log.
    anstream::eprintln!("  URL:  {}", escape::line(text));
    show_host(&page);
    Ok(())
}

/// Reads a URL that is to be agreed to unseen. The error says why it must not.
pub(crate) fn check_unseen(text: &str) -> Result<Page, String> {
    let page = check(text)?;
    if page.names_user {
        return Err(format!("it begins with a user, and leads to {}", page.host));
    }
    Ok(page)
}

/// What there is to know about a page before going there.
pub(crate) struct Page {
    host: String,
    /// Whether something stands before the host, which may look like one.
    names_user: bool,
    warnings: Vec<&'static str>,
}

/// Reads the URL as a browser would; the error says why nobody should open it.
fn check(text: &str) -> Result<Page, String> {
    let url = Url::parse(text).map_err(|error| format!("it is no URL ({error})"))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(format!("it begins with {}:, not with http: or https:", url.scheme()));
    }
    let host = url.host_str().unwrap_or_default().to_owned();
    let is_local = matches!(host.as_str(), "localhost" | "127.0.0.1" | "[::1]");
    let mut warnings = Vec::new();
    if url.scheme() == "http" && !is_local {
        warnings.push("the connection is not encrypted");
    }
    let names_user = !url.username().is_empty() || url.password().is_some();
    if names_user {
        warnings.push("what comes before @ in the URL is not the host");
    }
    if host.split('.').any(|label| label.starts_with("xn--")) {
        warnings.push("the host is written in other than plain letters, and may look like another");
    }
    Ok(Page { host, names_user, warnings })
}

fn consent(ask: &Ask, text: &str, page: &Page) -> Result<Answer, Left> {
    show(text, Some(page));
    let (question, yes, start) = if ask.consented {
        ("The server still waits for this page", "Go on: ask the server again", 0)
    } else {
        ("Open this page?", "Yes, I will open it", 1)
    };
    let choices = [(yes, Said::Accept), ("No: decline", Said::Decline), ("Cancel: leave it undecided", Said::Cancel)];
    match pick(question, &choices, start)? {
        Said::Decline => Err(Left::Declined),
        Said::Cancel => Err(Left::Cancelled),
        Said::Accept => {
            if !ask.consented {
                anstream::eprintln!("Open it in your browser:");
                anstream::eprintln!("{}", escape::line(text));
            }
            Ok(Answer::accept([]))
        }
    }
}

#[derive(Clone, Copy)]
enum Said {
    Accept,
    Decline,
    Cancel,
}

fn show(text: &str, page: Option<&Page>) {
    let mut lines = wrap(&escape::line(text), screen().0.saturating_sub(8)).into_iter();
    anstream::eprintln!("  URL:  {}", lines.next().unwrap_or_default());
    lines.for_each(|line| anstream::eprintln!("        {line}"));
    if let Some(page) = page {
        show_host(page);
    }
}

fn show_host(page: &Page) {
    let bold = Style::new().bold();
    anstream::eprintln!("  Host: {bold}{}{bold:#}", escape::line(&page.host));
    let width = screen().0.saturating_sub(2);
    for warning in &page.warnings {
        let lines = wrap(&format!("Careful: {warning}."), width);
        lines.iter().for_each(|line| anstream::eprintln!("  {line}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pages_a_browser_opens_safely_can_be_agreed_to() {
        for text in ["javascript:alert(1)", "file:///etc/passwd", "ftp://host/", "not a url", "", "data:text/html,x"] {
            assert!(check(text).is_err(), "{text}");
        }
    }

    #[test]
    fn hosts_are_what_a_browser_would_go_to_and_tricks_are_pointed_out() {
        for (text, host, warnings) in [
            ("https://pay.example/7?a=b", "pay.example", 0),
            ("http://127.0.0.1:8080/", "127.0.0.1", 0),
            ("http://pay.example/", "pay.example", 1),
            ("https://bank.example@evil.example/", "evil.example", 1),
            ("https://b\u{430}nk.example/", "xn--bnk-6cd.example", 1),
        ] {
            let page = check(text).map_err(|reason| format!("{text}: {reason}")).unwrap();
            assert_eq!((page.host.as_str(), page.warnings.len()), (host, warnings));
        }
    }

    #[test]
    fn what_looks_like_another_host_is_not_agreed_to_unseen() {
        for text in
            ["https://bank.example@evil.example/", "https://bank.example:443@evil.example/", "https://:@e.example"]
        {
            let refused = check_unseen(text).err();
            assert_eq!(refused.is_some(), text.contains("evil"), "{text}: {refused:?}");
        }
        assert!(check_unseen("https://pay.example/7").is_ok());
    }
}
