//! A URL the server wants opened: shown in full, agreed to by the person, opened by nobody else.

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

/// What there is to know about a page before going there.
struct Page {
    host: String,
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
    if !url.username().is_empty() || url.password().is_some() {
        warnings.push("what comes before @ in the URL is not the host");
    }
    if host.split('.').any(|label| label.starts_with("xn--")) {
        warnings.push("the host is written in other than plain letters, and may look like another");
    }
    Ok(Page { host, warnings })
}

fn consent(ask: &Ask, text: &str, page: &Page) -> Result<Answer, Left> {
    show(text, Some(page));
    let (question, yes) = if ask.asked_before == 0 {
        ("Open this page?", "Yes, I will open it")
    } else {
        ("The server still waits for this page", "Go on: ask the server again")
    };
    let choices = [(yes, Said::Accept), ("No: decline", Said::Decline), ("Cancel: leave it undecided", Said::Cancel)];
    let start = if ask.asked_before == 0 { 1 } else { 0 };
    match pick(question, &choices, start)? {
        Said::Decline => Err(Left::Declined),
        Said::Cancel => Err(Left::Cancelled),
        Said::Accept => {
            if ask.asked_before == 0 {
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
    let bold = Style::new().bold();
    let mut lines = wrap(&escape::line(text), screen().0.saturating_sub(8)).into_iter();
    anstream::eprintln!("  URL:  {}", lines.next().unwrap_or_default());
    lines.for_each(|line| anstream::eprintln!("        {line}"));
    if let Some(page) = page {
        anstream::eprintln!("  Host: {bold}{}{bold:#}", escape::line(&page.host));
        let width = screen().0.saturating_sub(2);
        for warning in &page.warnings {
            let lines = wrap(&format!("Careful: {warning}."), width);
            lines.iter().for_each(|line| anstream::eprintln!("  {line}"));
        }
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
}
