//! A URL the server wants opened: shown in full, agreed to by the person or by a flag, and only then opened.
//!
//! Agreeing is not having been there. After consent this waits with the person, and what is sent is the consent: never
//! content, and never before the page was opened by a browser or, as the person says, by hand.

use anstyle::Style;
use mrtr::client::{Answer, Ask};

pub(crate) use super::address::check_unseen;
use super::address::{Page, check};
use super::console::{Console, Left, pick};
use super::layout::{screen, wrap};
use super::prompt::{careful, dimmed, introduce};
use super::{escape, opener};

/// Asks for consent, and waits with the person. The page is never fetched from here.
pub(super) fn ask(console: &mut dyn Console, ask: &Ask) -> Result<Answer, Left> {
    introduce(console, ask)?;
    let text = ask.url().unwrap_or_default();
    let page = match check(&text) {
        Ok(page) => page,
        Err(reason) => return refuse(console, &text, &reason),
    };
    show(&text, Some(&page));
    if ask.consented {
        return wait(console, &page, "The server still waits for this page", "Go on: ask the server again");
    }
    let choices = [
        ("Yes, open it in my browser", Consent::Browser),
        ("Yes, I open it by hand", Consent::Hand),
        ("No: decline", Consent::Decline),
        ("Cancel: leave it undecided", Consent::Cancel),
    ];
    // Nothing is under the cursor: a stray Enter must open nothing.
    match pick(console, "Open this page?", &choices, None)? {
        Consent::Browser => open(console, &page)?,
        Consent::Hand => by_hand(&page),
        Consent::Decline => return Err(Left::Declined),
        Consent::Cancel => return Err(Left::Cancelled),
    }
    wait(console, &page, "Is everything done on the page?", "Done: go on")
}

#[derive(Clone, Copy)]
enum Consent {
    Browser,
    Hand,
    Decline,
    Cancel,
}

/// Nothing can be agreed to; yet it is the person who says no.
fn refuse(console: &mut dyn Console, text: &str, reason: &str) -> Result<Answer, Left> {
    show(text, None);
    careful(&format!("it cannot be agreed to: {}", escape::line(reason)));
    match pick(console, "Answer", &[("Decline: say no", true), ("Cancel: leave it undecided", false)], None)? {
        true => Err(Left::Declined),
        false => Err(Left::Cancelled),
    }
}

/// Has the browser open the page. If it does not, the person says how to go on: a failure agrees to nothing.
fn open(console: &mut dyn Console, page: &Page) -> Result<(), Left> {
    loop {
        let Err(reason) = opener::open(page.as_str()) else {
            anstream::eprintln!("  The page is open in your browser.");
            return Ok(());
        };
        careful(&format!("the page was not opened: {}", escape::line(&reason)));
        by_hand(page);
        let choices = [
            ("I have opened it by hand", Failed::Opened),
            ("Try again", Failed::Again),
            ("Decline: say no", Failed::Decline),
            ("Cancel: leave it undecided", Failed::Cancel),
        ];
        match pick(console, "The page was not opened", &choices, None)? {
            Failed::Opened => return Ok(()),
            Failed::Again => {}
            Failed::Decline => return Err(Left::Declined),
            Failed::Cancel => return Err(Left::Cancelled),
        }
    }
}

#[derive(Clone, Copy)]
enum Failed {
    Opened,
    Again,
    Decline,
    Cancel,
}

/// Waits until the person is done. The server is asked then, and not before: it would only ask again.
fn wait(console: &mut dyn Console, page: &Page, question: &str, done: &str) -> Result<Answer, Left> {
    loop {
        let choices = [
            (done, Wait::Done),
            ("Open it again", Wait::Again),
            ("Decline: say no after all", Wait::Decline),
            ("Cancel: leave it undecided", Wait::Cancel),
        ];
        match pick(console, question, &choices, Some(0))? {
            Wait::Done => return Ok(Answer::accept([])),
            Wait::Again => open(console, page)?,
            Wait::Decline => return Err(Left::Declined),
            Wait::Cancel => return Err(Left::Cancelled),
        }
    }
}

#[derive(Clone, Copy)]
enum Wait {
    Done,
    Again,
    Decline,
    Cancel,
}

/// In one piece, to be copied or clicked.
fn by_hand(page: &Page) {
    anstream::eprintln!("  Open it in your browser:");
    anstream::eprintln!("{}", escape::line(page.as_str()));
}

/// Shows a page that a flag accepts and no person has looked at. The error says why no flag should.
pub(crate) fn announce(flag: &str, text: &str) -> Result<(), String> {
    let page = check_unseen(text)?;
    anstream::eprintln!("{} accepts a page; open it in your browser:", escape::line(flag));
    // In one piece, to be copied out of a log.
    anstream::eprintln!("  URL:  {}", escape::line(text));
    show_host(text, &page);
    Ok(())
}

fn show(text: &str, page: Option<&Page>) {
    let mut lines = wrap(&escape::line(text), screen().0.saturating_sub(9)).into_iter();
    anstream::eprintln!("  URL:  {}", lines.next().unwrap_or_default());
    lines.take(MOST_LINES).for_each(|line| anstream::eprintln!("        {line}"));
    if let Some(page) = page {
        show_host(text, page);
    }
}

fn show_host(text: &str, page: &Page) {
    let bold = Style::new().bold();
    anstream::eprintln!("  Host: {bold}{}{bold:#}", escape::line(&page.host()));
    if let Some(unicode) = page.unicode() {
        anstream::eprintln!("        {} in its own letters", escape::line(unicode));
    }
    page.warnings().iter().for_each(|warning| careful(warning));
    if !page.warnings().is_empty() && page.as_str() != text {
        dimmed(&format!("A browser reads it as {}", escape::line(page.as_str())));
    }
}

/// Most lines of a URL: those of one that is too long to be agreed to anyway.
const MOST_LINES: usize = 400;
