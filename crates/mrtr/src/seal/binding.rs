//! What a state belongs to: digests of the request, the caller and the audience.

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::Principal;
use super::ring::hex;

/// SHA-256 cut to 128 bits, to keep states small. Who can choose both sides of a collision is the client, and it gains
/// nothing: it answers for its user either way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Digest([u8; 16]);

impl Digest {
    /// Digests parts so that no two lists of parts share an input; `domain` keeps uses apart.
    pub(crate) fn of(domain: &str, parts: &[&[u8]]) -> Self {
        let mut hasher = Sha256::new();
        for part in std::iter::once(domain.as_bytes()).chain(parts.iter().copied()) {
            hasher.update((part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        let mut cut = [0; 16];
        cut.copy_from_slice(&hasher.finalize()[..16]);
        Self(cut)
    }

    pub(crate) fn bytes(self) -> [u8; 16] {
        self.0
    }

    pub(crate) fn to_hex(self) -> String {
        hex(&self.0)
    }
}

/// What an incoming request is, for comparison with what a state was sealed for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Binding {
    pub(crate) request: Digest,
    pub(crate) principal: Option<Digest>,
    pub(crate) audience: Digest,
}

impl Binding {
    /// `arguments` are in canonical form, `audience` is [`audience`]'s digest. `_meta` is not part of the binding: it may
    /// change between rounds.
    pub(crate) fn new(
        method: &str,
        target: &str,
        arguments: &[u8],
        principal: Option<&Principal>,
        audience: Digest,
    ) -> Self {
        let caller = |who: &Principal| Digest::of("principal", &[who.issuer.as_bytes(), who.subject.as_bytes()]);
        Self {
            request: Digest::of("request", &[method.as_bytes(), target.as_bytes(), arguments]),
            principal: principal.map(caller),
            audience,
        }
    }
}

/// The service a server's states are made for; the same in every request, so digested once.
pub(crate) fn audience(name: &str) -> Digest {
    Digest::of("audience", &[name.as_bytes()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_cannot_be_shifted_into_each_other() {
        assert_ne!(Digest::of("d", &[b"ab", b"c"]), Digest::of("d", &[b"a", b"bc"]));
        assert_ne!(Digest::of("d", &[b"a"]), Digest::of("e", &[b"a"]));
        assert_ne!(Digest::of("d", &[b"a", b""]), Digest::of("d", &[b"a"]));
    }
}
