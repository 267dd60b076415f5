//! What there is to know about a URL before anybody goes there.
//!
//! It is read as a browser reads it, and never looked up. Where that is not what a person reads, a warning says so.

use std::net::Ipv4Addr;

use url::{Host, Url};

/// A page, as a browser would find it.
pub(crate) struct Page {
    url: Url,
    host: String,
    /// The host in its own letters, where the URL has to write it in others.
    unicode: Option<String>,
    /// Whether something stands before the host, which may look like one.
    names_user: bool,
    warnings: Vec<String>,
}

impl Page {
    /// The URL as a browser spells it.
    pub(super) fn as_str(&self) -> &str {
        self.url.as_str()
    }

    /// The host in ASCII, with its port where that is not the usual one.
    pub(super) fn host(&self) -> String {
        let port = self.url.port().map(|port| format!(":{port}")).unwrap_or_default();
        format!("{}{port}", self.host)
    }

    pub(super) fn unicode(&self) -> Option<&str> {
        self.unicode.as_deref()
    }

    pub(super) fn warnings(&self) -> &[String] {
        &self.warnings
    }
}

/// Reads a URL that is to be agreed to unseen. The error says why it must not.
pub(crate) fn check_unseen(text: &str) -> Result<Page, String> {
    let page = check(text)?;
    if page.names_user {
        return Err(format!("it begins with a user, and leads to {}", page.host));
    }
    Ok(page)
}

/// Reads the URL as a browser would; the error says why nobody should open it.
pub(super) fn check(text: &str) -> Result<Page, String> {
    if text.len() > LONGEST {
        return Err(format!("it is longer than {LONGEST} bytes, and could not be shown in full"));
    }
    let url = Url::parse(text).map_err(|error| format!("it is no URL ({error})"))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(format!("it begins with {}:, not with http: or https:", url.scheme()));
    }
    let host = url.host_str().unwrap_or_default().to_owned();
    let names_user = !url.username().is_empty() || url.password().is_some();
    let unicode = host.contains("xn--").then(|| url::quirks::domain_to_unicode(&host)).filter(|name| !name.is_empty());
    let warnings = warnings(text, &url, &host, unicode.as_deref(), names_user);
    Ok(Page { url, host, unicode, names_user, warnings })
}

fn warnings(text: &str, url: &Url, host: &str, unicode: Option<&str>, names_user: bool) -> Vec<String> {
    let mut warnings = Vec::new();
    if url.scheme() == "http" && !is_local(url) {
        warnings.push("the connection is not encrypted (http)".to_owned());
    }
    if names_user {
        warnings.push("what comes before @ in the URL is not the host".to_owned());
    }
    if host.contains("xn--") {
        warnings
            .push("the host is written in other than plain letters (punycode), and may look like another".to_owned());
    }
    if unicode.is_some_and(|name| name.split('.').any(mixes_scripts)) {
        warnings.push("a part of the host mixes letters of several scripts, as forgeries of other names do".to_owned());
    }
    match url.host() {
        Some(Host::Ipv4(address)) if !is_spelled(text, &address.to_string()) => {
            warnings.push(format!("the host is the address {address}, written in a way that hides it"));
        }
        Some(Host::Ipv6(address)) if address.to_ipv4_mapped().is_some() => {
            warnings.push("the host is an address of the older kind, written in a way that hides it".to_owned());
        }
        Some(Host::Ipv4(_) | Host::Ipv6(_)) if !is_local(url) => {
            warnings.push("the host is a bare address, which has no name to be recognised by".to_owned());
        }
        _ => {}
    }
    if let Some(Host::Ipv4(address)) = url.host()
        && is_inside(address)
    {
        warnings.push("the page is on this computer or in its own network, as the server sees to it".to_owned());
    }
    if text.contains(['\\', '\t', '\n', '\r']) || text.trim() != text {
        warnings
            .push("the URL has characters a browser changes or leaves out; where it leads is said below".to_owned());
    }
    warnings
}

fn is_local(url: &Url) -> bool {
    matches!(url.host_str(), Some("localhost" | "127.0.0.1" | "[::1]"))
}

/// Whether the host is to be seen in the text as it is.
fn is_spelled(text: &str, host: &str) -> bool {
    let Some((_, after)) = text.split_once("://") else { return false };
    let authority = after.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    let place = authority.rsplit('@').next().unwrap_or_default();
    place.split(':').next() == Some(host)
}

/// Addresses of networks that are not the internet; those of this computer are common in development.
fn is_inside(address: Ipv4Addr) -> bool {
    address.is_private()
        || address.is_link_local()
        || address.is_unspecified()
        || (address.is_loopback() && address != Ipv4Addr::LOCALHOST)
}

/// Whether a label has Latin letters and letters of another alphabet.
fn mixes_scripts(label: &str) -> bool {
    let is_latin = |c: char| matches!(c, 'a'..='z' | 'A'..='Z' | '\u{c0}'..='\u{24f}' | '\u{1e00}'..='\u{1eff}');
    let letters = || label.chars().filter(|c| c.is_alphabetic());
    letters().any(is_latin) && letters().any(|c| !is_latin(c))
}

/// Longest URL that can be agreed to, in bytes: what is agreed to is shown in full.
const LONGEST: usize = 8192;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pages_a_browser_opens_safely_can_be_agreed_to() {
        for text in ["javascript:alert(1)", "file:///etc/passwd", "ftp://host/", "not a url", "", "data:text/html,x"] {
            assert!(check(text).is_err(), "{text}");
        }
        assert!(check(&format!("https://a.example/{}", "x".repeat(LONGEST))).is_err());
    }

    #[test]
    fn hosts_are_what_a_browser_would_go_to_and_tricks_are_pointed_out() {
        for (text, host, warned) in [
            ("https://pay.example/7?a=b", "pay.example", &[] as &[&str]),
            ("http://127.0.0.1:8080/", "127.0.0.1:8080", &[]),
            ("http://pay.example/", "pay.example", &["not encrypted"]),
            ("https://bank.example@evil.example/", "evil.example", &["before @"]),
            ("https://b\u{430}nk.example/", "xn--bnk-6cd.example", &["punycode", "several scripts"]),
            ("https://xn--grn-hoa.example/", "xn--grn-hoa.example", &["punycode"]),
            ("https://0x7f.1/", "127.0.0.1", &["written in a way that hides it"]),
            ("https://2130706433/", "127.0.0.1", &["written in a way that hides it"]),
            ("https://0300.0250.0.1/", "192.168.0.1", &["written in a way that hides it", "its own network"]),
            ("https://[::ffff:7f00:1]/", "[::ffff:7f00:1]", &["of the older kind"]),
            ("https://203.0.113.7/", "203.0.113.7", &["bare address"]),
            ("https://bank.example\\@evil.example/", "bank.example", &["changes or leaves out"]),
            ("https://ev\til.example/", "evil.example", &["changes or leaves out"]),
        ] {
            let page = check(text).map_err(|reason| format!("{text}: {reason}")).unwrap();
            assert_eq!(page.host(), host);
            assert_eq!(page.warnings().len(), warned.len(), "{text}: {:?}", page.warnings());
            for (said, expected) in page.warnings().iter().zip(warned) {
                assert!(said.contains(expected), "{text}: {said}");
            }
        }
        let page = check("https://b\u{430}nk.example/").expect("a page");
        assert_eq!(page.unicode(), Some("b\u{430}nk.example"));
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
