//! Which server is called, and how: the words and flags that say so, made into a client.

use std::env;
use std::time::Duration;

use mrtr::client::{Client, HttpOptions, HttpTransport};

use super::progress::Progress;
use super::trace::Trace;
use crate::args::{Endpoint, Reach, Show};
use crate::child;
use crate::exit::Failure;
use crate::term;

impl Endpoint {
    /// Creates a client that nobody answers for yet.
    pub(crate) fn client(&self, show: Show) -> Result<Client, Failure> {
        let words: Vec<_> = self.url.iter().cloned().collect();
        let (client, _) = self.reach.client(&words, show)?;
        Ok(client)
    }
}

impl Reach {
    /// Creates a client that nobody answers for yet, and returns the words that are not the server.
    pub(crate) fn client<'w>(&self, words: &'w [String], show: Show) -> Result<(Client, &'w [String]), Failure> {
        let (client, rest) = match (words, &*self.command) {
            ([first, ..], [_, ..]) if is_url(first) => {
                return Err(Failure::usage("the server is either a URL or a command after --, not both"));
            }
            (rest, [program, args @ ..]) => {
                self.refuse_http_flags()?;
                (Client::with_transport(child::server(program, args)), rest)
            }
            ([url, rest @ ..], []) => (self.over_http(url)?, rest),
            ([], []) => {
                return Err(Failure::usage("which server? Give its URL, or after -- the command that starts it"));
            }
        };
        let mut client =
            client.name("mrtr-cli", env!("CARGO_PKG_VERSION")).server_timeout(Duration::from_secs(self.timeout));
        if show.trace {
            client = client.observer(Trace);
        } else if term::is_watched() {
            client = client.progress(true).observer(Progress::default());
        }
        Ok((client, rest))
    }

    fn over_http(&self, url: &str) -> Result<Client, Failure> {
        let mut options = HttpOptions::new();
        options = match &self.proxy {
            Some(proxy) => options.proxy(proxy),
            None => options.proxy_from_env(),
        };
        if let Some(seconds) = self.connect_timeout {
            options = options.connect_timeout(Duration::from_secs(seconds));
        }
        let transport = HttpTransport::with(url, &options).map_err(|error| Failure::usage(error.to_string()))?;
        let mut client = Client::with_transport(transport);
        let in_env = env::var(TOKEN).ok().filter(|token| !token.is_empty());
        if let Some(token) = self.token.as_ref().or(in_env.as_ref()) {
            let name = if self.token.is_some() { "--token" } else { TOKEN };
            client = client.token(token).map_err(|error| Failure::usage(format!("{name}: {error}")))?;
        }
        for header in &self.headers {
            let bad = || Failure::usage("--header wants NAME: VALUE, in plain ASCII");
            let (name, value) = header.split_once(':').ok_or_else(bad)?;
            if self.token.is_some() && name.trim().eq_ignore_ascii_case("authorization") {
                return Err(Failure::usage("--token and --header Authorization contradict each other"));
            }
            let name = name.trim().parse().map_err(|_| bad())?;
            let value = value.trim().parse().map_err(|_| bad())?;
            client = client.header(name, value);
        }
        Ok(client)
    }

    fn refuse_http_flags(&self) -> Result<(), Failure> {
        let given = [
            ("--header", !self.headers.is_empty()),
            ("--token", self.token.is_some()),
            ("--proxy", self.proxy.is_some()),
            ("--connect-timeout", self.connect_timeout.is_some()),
        ];
        match given.iter().find(|(_, is_given)| *is_given) {
            Some((flag, _)) => Err(Failure::usage(format!("{flag} is for servers over HTTP, not for a command"))),
            None => Ok(()),
        }
    }
}

/// Takes the first word: what a command is about.
pub(super) fn subject<'w>(words: &'w [String], what: &str) -> Result<(&'w str, &'w [String]), Failure> {
    match words {
        [first, rest @ ..] => Ok((first, rest)),
        [] => Err(Failure::usage(format!("which {what}?"))),
    }
}

fn is_url(word: &str) -> bool {
    ["http://", "https://"]
        .iter()
        .any(|scheme| word.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme)))
}

/// The variable that holds a bearer token.
pub(crate) const TOKEN: &str = "MRTR_TOKEN";
