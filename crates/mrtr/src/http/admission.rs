//! Who may talk to the endpoint: the `Host` and `Origin` checks against DNS rebinding.
//!
//! A page on the web can make its visitor's browser call `http://its.own.name:8080`, with that name made to
//! resolve to 127.0.0.1. The request then reaches a local server, but it still carries the page's name in
//! `Host` and `Origin`: answering only to names we know ends the attack.
//! ([Security & Endpoint](https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#security--endpoint))

use std::net::{IpAddr, Ipv6Addr};

use http::{HeaderMap, HeaderName, header, request::Parts};

use super::refusal::Refusal;

/// The names that always mean this machine.
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// The hosts and origins a server answers to; loopback is always among them.
#[derive(Clone, Debug, Default)]
pub(super) struct Admission {
    hosts: Vec<Host>,
    any_host: bool,
    origins: Vec<Origin>,
}

#[derive(Clone, Debug)]
struct Host {
    name: String,
    /// `None` stands for every port.
    port: Option<u16>,
}

#[derive(Clone, Debug)]
struct Origin {
    scheme: String,
    name: String,
    port: Option<u16>,
}

impl Admission {
    /// Adds a host, with or without a port.
    pub(super) fn allow_host(&mut self, host: &str) {
        let bare_v6 = host.parse::<Ipv6Addr>().ok().map(|ip| format!("[{ip}]"));
        match split_port(bare_v6.as_deref().unwrap_or(host)) {
            Some((name, port)) => self.hosts.push(Host { name: name.to_owned(), port }),
            None => tracing::warn!(host, "ignoring an allowed host that is not a host name"),
        }
    }

    /// Adds the address a listener is bound to.
    pub(super) fn allow_ip(&mut self, ip: IpAddr) {
        self.allow_host(&ip.to_string());
    }

    pub(super) fn allow_any_host(&mut self) {
        self.any_host = true;
    }

    /// Adds an origin as browsers spell it: scheme, host and, unless it is the scheme's own, port.
    pub(super) fn allow_origin(&mut self, origin: &str) {
        match split_origin(origin.trim_end_matches('/')) {
            Some((scheme, name, port)) => {
                self.origins.push(Origin { scheme: scheme.to_owned(), name: name.to_owned(), port });
            }
            None => tracing::warn!(origin, "ignoring an allowed origin that is not scheme://host"),
        }
    }

    /// Whether only loopback names are answered to.
    pub(super) fn is_loopback_only(&self) -> bool {
        self.hosts.is_empty() && !self.any_host
    }

    /// Refuses a request that was meant for somebody else or sent by a page we do not serve.
    pub(super) fn check(&self, request: &Parts) -> Result<(), Refusal> {
        if !self.any_host {
            self.check_host(request)?;
        }
        self.check_origin(&request.headers)
    }

    /// Where both are given, the target's authority (HTTP/2, absolute form) and the `Host` header must pass.
    fn check_host(&self, request: &Parts) -> Result<(), Refusal> {
        let header = only_text(&request.headers, &header::HOST).map_err(|Unclear| Refusal::HostUnclear)?;
        let target = request.uri.authority().map(http::uri::Authority::as_str);
        if header.is_none() && target.is_none() {
            return Err(Refusal::HostUnclear);
        }
        for host in [header, target].into_iter().flatten() {
            if !self.admits_host(host) {
                tracing::warn!(?host, "refused a request for a host that is not allowed; see allow_host");
                return Err(Refusal::HostNotAllowed);
            }
        }
        Ok(())
    }

    fn check_origin(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        match only_text(headers, &header::ORIGIN) {
            Ok(None) => Ok(()),
            Ok(Some(origin)) if self.admits_origin(origin) => Ok(()),
            origin => {
                tracing::warn!(?origin, "refused a request from an origin that is not allowed; see allow_origin");
                Err(Refusal::OriginNotAllowed)
            }
        }
    }

    fn admits_host(&self, text: &str) -> bool {
        split_port(text).is_some_and(|(name, port)| {
            is_loopback(name)
                || self
                    .hosts
                    .iter()
                    .any(|host| host.name.eq_ignore_ascii_case(name) && (host.port.is_none() || host.port == port))
        })
    }

    /// `null`, which every sandboxed page sends, is no origin and never passes.
    fn admits_origin(&self, text: &str) -> bool {
        split_origin(text).is_some_and(|(scheme, name, port)| {
            (is_web(scheme) && is_loopback(name))
                || self.origins.iter().any(|origin| {
                    origin.scheme.eq_ignore_ascii_case(scheme)
                        && origin.name.eq_ignore_ascii_case(name)
                        && origin.port == port
                })
        })
    }
}

/// A header that is repeated or not plain ASCII.
#[derive(Debug)]
struct Unclear;

fn only_text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a str>, Unclear> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(only), None) => only.to_str().map(Some).map_err(|_| Unclear),
        (Some(_), Some(_)) => Err(Unclear),
    }
}

fn is_loopback(name: &str) -> bool {
    LOOPBACK.iter().any(|loopback| loopback.eq_ignore_ascii_case(name))
}

fn is_web(scheme: &str) -> bool {
    scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https")
}

/// Splits `scheme://host[:port]`; the scheme's own port is filled in.
fn split_origin(text: &str) -> Option<(&str, &str, Option<u16>)> {
    let (scheme, authority) = text.split_once("://")?;
    let (name, port) = split_port(authority)?;
    let own_port = match scheme {
        _ if scheme.eq_ignore_ascii_case("https") => Some(443),
        _ if scheme.eq_ignore_ascii_case("http") => Some(80),
        _ => None,
    };
    Some((scheme, name, port.or(own_port)))
}

/// Splits `host[:port]`; an IPv6 address keeps its brackets.
fn split_port(text: &str) -> Option<(&str, Option<u16>)> {
    let name_end = match text.strip_prefix('[') {
        Some(_) => text.find(']')? + 1,
        None => text.find(':').unwrap_or(text.len()),
    };
    let (name, rest) = text.split_at_checked(name_end)?;
    let is_name = !name.is_empty() && !name.contains(['/', '@', '?', '#', ' ', ',']);
    let port = match rest.strip_prefix(':') {
        None if rest.is_empty() => None,
        Some("") => None,
        Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => Some(digits.parse().ok()?),
        _ => return None,
    };
    is_name.then_some((name, port))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admission() -> Admission {
        let mut admission = Admission::default();
        admission.allow_host("api.example.com");
        admission.allow_host("Internal:8443");
        admission.allow_ip(IpAddr::V6("2001:db8::7".parse().unwrap()));
        admission.allow_origin("https://app.example.com/");
        admission.allow_origin("vscode-webview://panel");
        admission
    }

    #[test]
    fn hosts_are_loopback_or_listed() {
        for (host, expected) in [
            ("localhost", true),
            ("LocalHost:65535", true),
            ("127.0.0.1:80", true),
            ("[::1]:8080", true),
            ("localhost:", true),
            ("API.example.com:1", true),
            ("internal:8443", true),
            ("[2001:db8::7]:80", true),
            ("internal", false),
            ("internal:80", false),
            ("evil.example", false),
            ("localhost.evil.example", false),
            ("localhost@evil.example", false),
            ("evil.example@localhost", false),
            ("localhost:80@evil.example", false),
            ("localhost:+80", false),
            ("localhost:65536", false),
            ("127.0.0.1.nip.io", false),
            ("[::1", false),
            ("[::1]x", false),
            ("::1", false),
            (":80", false),
            ("", false),
        ] {
            assert_eq!(admission().admits_host(host), expected, "{host}");
        }
    }

    #[test]
    fn origins_are_loopback_pages_or_listed() {
        for (origin, expected) in [
            ("http://localhost:5173", true),
            ("https://127.0.0.1", true),
            ("http://[::1]:3000", true),
            ("https://app.example.com", true),
            ("https://app.example.com:443", true),
            ("HTTPS://APP.example.com", true),
            ("vscode-webview://panel", true),
            ("http://app.example.com", false),
            ("https://app.example.com:8443", false),
            ("https://app.example.com.evil.example", false),
            ("https://localhost.evil.example", false),
            ("ftp://localhost", false),
            ("http://localhost/", false),
            ("http://evil.example", false),
            ("localhost", false),
            ("null", false),
            ("", false),
        ] {
            assert_eq!(admission().admits_origin(origin), expected, "{origin}");
        }
    }

    #[test]
    fn null_cannot_be_allowed() {
        let mut admission = Admission::default();
        admission.allow_origin("null");
        assert!(!admission.admits_origin("null"));
    }
}
