//! What the benches of this crate measure apart from a whole leg; there only with the feature `__bench`.
//!
//! No part of the API: it may change in any release.

use std::time::{Duration, SystemTime};

use crate::flow::Journal;
use crate::seal::{Binding, Claims, Keyring, NONCE_LEN, Opened, audience};
use crate::wire::{Message, json};

/// The state of an operation, with all it takes to seal and open it.
#[derive(Debug)]
pub struct State {
    keys: Keyring,
    binding: Binding,
    claims: Claims<Journal>,
}

impl State {
    /// Opens a state a server of this name returned for a tool call.
    ///
    /// # Panics
    /// When it does not open.
    pub fn of(keys: Keyring, server: &str, tool: &str, arguments: &str, token: &str) -> Self {
        let canonical = json::canonical(arguments).expect("arguments are JSON");
        let binding = Binding::new("tools/call", tool, &canonical, None, audience(server));
        match Claims::open_at(&keys, token, &binding, SystemTime::now()) {
            Ok(Opened::Live(claims)) => Self { keys, binding, claims },
            other => panic!("the state does not open: {other:?}"),
        }
    }

    /// Seals it again.
    pub fn seal(&mut self) -> String {
        let nonce: [u8; NONCE_LEN] = rand::random();
        self.claims.seal_at(&self.keys, nonce, SystemTime::now(), Duration::from_secs(600))
    }

    /// Whether a token of it opens.
    pub fn opens(&self, token: &str) -> bool {
        Claims::<Journal>::open_at(&self.keys, token, &self.binding, SystemTime::now()).is_ok()
    }
}

/// Whether a body parses as a request.
pub fn parses(body: &[u8]) -> bool {
    matches!(Message::parse(body), Ok(Message::Request(_)))
}
