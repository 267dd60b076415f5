//! How HTTP servers are reached: proxy and time limits. One client is built here for all who need one.

use std::ffi::OsStr;
use std::fmt;
use std::time::Duration;

use reqwest::redirect::Policy;
use reqwest::{NoProxy, Proxy};
use url::{Host, Url};

use super::http::innermost;
use crate::tls;

/// How an HTTP server is reached.
///
/// ```
/// use std::time::Duration;
///
/// use mrtr::client::{Client, HttpOptions, HttpTransport};
///
/// # fn build() -> Result<Client, Box<dyn std::error::Error>> {
/// let options = HttpOptions::new().proxy("http://proxy.example:3128").connect_timeout(Duration::from_secs(3));
/// let client = Client::with_transport(HttpTransport::with("https://mcp.example.com/mcp", &options)?);
/// # Ok(client)
/// # }
/// # build().unwrap();
/// ```
///
/// # Security
///
/// A proxy sees which hosts are called, and for `http` URLs everything that is said.
#[derive(Clone)]
pub struct HttpOptions {
    proxy: Via,
    connect_timeout: Duration,
}

#[derive(Clone)]
enum Via {
    Nothing,
    Environment,
    Url(String),
}

impl HttpOptions {
    /// No proxy, and ten seconds to connect.
    pub fn new() -> Self {
        Self { proxy: Via::Nothing, connect_timeout: Duration::from_secs(10) }
    }

    /// Goes through this proxy, an `http` or `https` URL that may carry a user and a password, except to the hosts that
    /// the environment's `NO_PROXY` names. Default: none.
    #[must_use]
    pub fn proxy(mut self, url: impl Into<String>) -> Self {
        self.proxy = Via::Url(url.into());
        self
    }

    /// Goes through the proxy that the environment names: `HTTPS_PROXY` or `HTTP_PROXY`, else `ALL_PROXY`, each also in
    /// lower case, except to the hosts in `NO_PROXY` and to this machine. Default: it is not looked at.
    #[must_use]
    pub fn proxy_from_env(mut self) -> Self {
        self.proxy = Via::Environment;
        self
    }

    /// Limits the time to connect. Default: 10 s.
    #[must_use]
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// Builds a client for this URL. Redirects are not followed.
    pub(super) fn client(&self, url: &Url) -> Result<reqwest::Client, Reason> {
        let tls = tls::config(self.needs_trust(url)).map_err(|error| Reason::Server(error.to_string()))?;
        let builder = reqwest::Client::builder()
            .tls_backend_preconfigured(tls)
            .redirect(Policy::none())
            .referer(false)
            .connect_timeout(self.connect_timeout);
        let builder = match &self.proxy {
            Via::Nothing => builder.no_proxy(),
            // No proxy of a network leads to the caller's own machine.
            Via::Environment if is_loopback(url) => builder.no_proxy(),
            Via::Environment => builder,
            Via::Url(text) => builder.proxy(proxy(text)?),
        };
        builder.build().map_err(|error| Reason::Server(innermost(&error)))
    }

    /// Whether a TLS connection may be made.
    fn needs_trust(&self, url: &Url) -> bool {
        match &self.proxy {
            _ if url.scheme() == "https" => true,
            Via::Nothing => false,
            Via::Environment => {
                !is_loopback(url) && PROXIES.iter().filter_map(std::env::var_os).any(|it| is_secure(&it))
            }
            Via::Url(text) => is_secure(text.as_ref()),
        }
    }
}

impl Default for HttpOptions {
    fn default() -> Self {
        Self::new()
    }
}

/// A proxy's URL may hold a password.
impl fmt::Debug for HttpOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpOptions").field("connect_timeout", &self.connect_timeout).finish_non_exhaustive()
    }
}

/// Why no client can be built.
pub(super) enum Reason {
    Server(String),
    Proxy { url: String, reason: String },
}

fn proxy(text: &str) -> Result<Proxy, Reason> {
    let parsed = Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
    let Some(url) = parsed.filter(Url::has_host) else {
        // It may hold a password, so it is not repeated.
        let reason = "expected the proxy as http://HOST:PORT or https://HOST:PORT".to_owned();
        return Err(Reason::Proxy { url: "the proxy".to_owned(), reason });
    };
    let host = url.host_str().unwrap_or_default().to_owned();
    let proxy = Proxy::all(url).map_err(|error| Reason::Proxy { url: host, reason: innermost(&error) })?;
    Ok(proxy.no_proxy(NoProxy::from_env()))
}

/// Whether a proxy is talked to over TLS.
fn is_secure(url: &OsStr) -> bool {
    url.to_str().and_then(|text| text.get(..6)).is_some_and(|start| start.eq_ignore_ascii_case("https:"))
}

/// The variables that name proxies for `http` URLs.
const PROXIES: [&str; 4] = ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"];

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}
