//! What is inside a seal, and the checks it must pass before anyone believes it.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use thiserror::Error;

use super::{Binding, Keyring, token};

/// How far the clocks of two instances may be apart.
pub(crate) const CLOCK_SKEW: Duration = Duration::from_secs(60);

/// The payload of a state. `J` is the journal; this module carries it and does not look inside.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Claims<J> {
    /// Stable over all rounds of an operation.
    pub(crate) operation: [u8; 16],
    /// The round that sealed this state, counted from 1.
    pub(crate) round: u32,
    /// How many of those rounds only waited.
    pub(crate) waits: u32,
    /// Milliseconds since the Unix epoch.
    expires: u64,
    binding: Binding,
    pub(crate) journal: J,
}

/// A state whose seal, audience, caller and request are right.
#[derive(Debug, PartialEq)]
pub(crate) enum Opened<J> {
    /// And which is still good.
    Live(Claims<J>),
    /// And which was good until this long ago.
    Expired(Claims<J>, Duration),
}

/// Why a request state was refused. For the log; the peer reads the same sentence for all of them.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub(crate) enum StateError {
    /// No token of this format, perhaps another server's.
    #[error("it does not start like a state of this version")]
    NotOurs,
    /// Longer than this server ever sends.
    #[error("it is longer than the limit for states")]
    TooLong,
    /// Padded, non-canonical or other characters.
    #[error("it is not canonical base64url")]
    NotBase64,
    /// Too short to hold a header.
    #[error("it is cut off")]
    Truncated,
    /// Sealed with a key this ring does not have.
    #[error("its key is not in the keyring; was it rotated out too early?")]
    UnknownKey,
    /// Changed on the way, or never sealed by anyone with the key.
    #[error("its seal is broken")]
    BrokenSeal,
    /// Sealed with the right key by a version with another layout.
    #[error("its content has another layout")]
    Unreadable,
    /// Sealed for another service that shares the key.
    #[error("it was made for another audience")]
    OtherAudience,
    /// Sealed for another caller.
    #[error("it was made for another principal")]
    OtherPrincipal,
    /// Sealed for another method, target or arguments.
    #[error("it was made for another request")]
    OtherRequest,
    /// Too old.
    #[error("it has expired")]
    Expired,
}

impl StateError {
    pub(crate) const ALL: [Self; 11] = [
        Self::NotOurs,
        Self::TooLong,
        Self::NotBase64,
        Self::Truncated,
        Self::UnknownKey,
        Self::BrokenSeal,
        Self::Unreadable,
        Self::OtherAudience,
        Self::OtherPrincipal,
        Self::OtherRequest,
        Self::Expired,
    ];

    /// A short name, for counters.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::NotOurs => "not_ours",
            Self::TooLong => "too_long",
            Self::NotBase64 => "not_base64",
            Self::Truncated => "truncated",
            Self::UnknownKey => "unknown_key",
            Self::BrokenSeal => "broken_seal",
            Self::Unreadable => "unreadable",
            Self::OtherAudience => "other_audience",
            Self::OtherPrincipal => "other_principal",
            Self::OtherRequest => "other_request",
            Self::Expired => "expired",
        }
    }
}

impl<J> Claims<J> {
    /// Starts an operation.
    pub(crate) fn first(operation: [u8; 16], binding: Binding, journal: J) -> Self {
        Self { operation, round: 0, waits: 0, expires: 0, binding, journal }
    }

    /// Seals the claims of a round that ends now.
    pub(crate) fn seal_at(
        &mut self,
        keys: &Keyring,
        nonce: [u8; token::NONCE_LEN],
        now: SystemTime,
        lifetime: Duration,
    ) -> String
    where
        J: Serialize,
    {
        self.expires = millis(now).saturating_add(u64::try_from(lifetime.as_millis()).unwrap_or(u64::MAX));
        // Room for the state of most operations, tag included: what is sealed is written once.
        let payload = Vec::with_capacity(256);
        let payload = postcard::to_extend(self, payload).expect("claims hold nothing postcard cannot write");
        token::encode(keys, token::STATE, nonce, payload)
    }

    /// Opens a state presented with a request bound as `binding`.
    ///
    /// # Errors
    /// The first check that fails. Expiry is not an error here: the caller may have a use for what has expired.
    pub(crate) fn open_at(
        keys: &Keyring,
        token: &str,
        binding: &Binding,
        now: SystemTime,
    ) -> Result<Opened<J>, StateError>
    where
        J: DeserializeOwned,
    {
        let claims = Self::read(&token::decode(keys, token::STATE, token)?)?;
        if claims.binding.audience != binding.audience {
            return Err(StateError::OtherAudience);
        }
        if claims.binding.principal != binding.principal {
            return Err(StateError::OtherPrincipal);
        }
        if claims.binding.request != binding.request {
            return Err(StateError::OtherRequest);
        }
        let latest = claims.expires.saturating_add(millis(UNIX_EPOCH + CLOCK_SKEW));
        match millis(now).checked_sub(latest) {
            None | Some(0) => Ok(Opened::Live(claims)),
            Some(late) => Ok(Opened::Expired(claims, Duration::from_millis(late))),
        }
    }

    /// Reads what was sealed, whoever presents it: for the key's owner to look at, and no ground to act on.
    pub(crate) fn read(payload: &[u8]) -> Result<Self, StateError>
    where
        J: DeserializeOwned,
    {
        match postcard::take_from_bytes(payload) {
            Ok((claims, [])) => Ok(claims),
            Ok(_) | Err(_) => Err(StateError::Unreadable),
        }
    }

    /// When it expires by the clock of who sealed it, in milliseconds since the Unix epoch.
    pub(crate) fn expires(&self) -> u64 {
        self.expires
    }

    /// What it was sealed for.
    pub(crate) fn binding(&self) -> &Binding {
        &self.binding
    }
}

fn millis(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seal::{Principal, audience};
    use proptest::prelude::*;

    const NOW: Duration = Duration::from_secs(1_800_000_000);

    fn ring() -> Keyring {
        Keyring::new([[1; 32]]).expect("one key")
    }

    fn binding() -> Binding {
        Binding::new("tools/call", "deploy", b"{}", Some(&Principal::new("iss", "ann")), audience("releases"))
    }

    fn sealed(lifetime: Duration) -> String {
        let mut claims = Claims::first([5; 16], binding(), vec!["answer".to_owned()]);
        claims.seal_at(&ring(), [0; 12], UNIX_EPOCH + NOW, lifetime)
    }

    fn open(token: &str, binding: &Binding, after: Duration) -> Result<Opened<Vec<String>>, StateError> {
        Claims::open_at(&ring(), token, binding, UNIX_EPOCH + NOW + after)
    }

    #[test]
    fn a_state_lives_for_its_lifetime_and_the_skew_of_clocks() {
        let token = sealed(Duration::from_millis(500));
        for (after, live) in [(0, true), (500, true), (60_500, true), (60_501, false), (600_000, false)] {
            let opened = open(&token, &binding(), Duration::from_millis(after)).expect("the seal is right");
            assert_eq!(matches!(opened, Opened::Live(_)), live, "after {after} ms");
        }
    }

    #[test]
    fn each_part_of_the_binding_is_checked() {
        let token = sealed(Duration::from_secs(600));
        let ann = Principal::new("iss", "ann");
        let bind = |method, target, arguments: &str, who, service| {
            Binding::new(method, target, arguments.as_bytes(), who, audience(service))
        };
        let bob = Principal::new("iss", "bob");
        for (other, expected) in [
            (bind("prompts/get", "deploy", "{}", Some(&ann), "releases"), StateError::OtherRequest),
            (bind("tools/call", "remove", "{}", Some(&ann), "releases"), StateError::OtherRequest),
            (bind("tools/call", "deploy", "{\"a\":1}", Some(&ann), "releases"), StateError::OtherRequest),
            (bind("tools/call", "deploy", "{}", Some(&bob), "releases"), StateError::OtherPrincipal),
            (bind("tools/call", "deploy", "{}", None, "releases"), StateError::OtherPrincipal),
            (bind("tools/call", "deploy", "{}", Some(&ann), "billing"), StateError::OtherAudience),
        ] {
            assert_eq!(open(&token, &other, Duration::ZERO), Err(expected));
        }
    }

    #[test]
    fn a_payload_of_another_layout_is_unreadable() {
        let token = token::encode(&ring(), token::STATE, [0; 12], b"short".to_vec());
        assert_eq!(open(&token, &binding(), Duration::ZERO), Err(StateError::Unreadable));
    }

    proptest! {
        #[test]
        fn what_is_sealed_opens_as_it_was(
            journal in prop::collection::vec(any::<String>(), 0..8),
            operation in any::<[u8; 16]>(),
            nonce in any::<[u8; token::NONCE_LEN]>(),
            (round, waits) in any::<(u32, u32)>(),
            lifetime in 0..=u64::MAX,
        ) {
            let mut claims = Claims { round, waits, ..Claims::first(operation, binding(), journal) };
            let token = claims.seal_at(&ring(), nonce, UNIX_EPOCH + NOW, Duration::from_millis(lifetime));
            prop_assert_eq!(open(&token, &binding(), Duration::ZERO), Ok(Opened::Live(claims)));
        }

        #[test]
        fn any_payload_sealed_with_the_right_key_is_read_or_refused(payload in prop::collection::vec(any::<u8>(), 0..200)) {
            let token = token::encode(&ring(), token::STATE, [0; 12], payload);
            let opened = open(&token, &binding(), Duration::ZERO);
            prop_assert!(opened.is_err(), "{:?}", opened);
        }
    }
}
