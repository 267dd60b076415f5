//! Access tokens that are JSON Web Tokens ([RFC 9068](https://www.rfc-editor.org/rfc/rfc9068)), checked here and now.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use http::{HeaderMap, header, request::Parts};
use jsonwebtoken::{Algorithm, dangerous::insecure_decode_claims, decode_header};
use serde::Deserialize;

use super::{AuthError, Authenticator, Jwks, keys::Unverified};
use crate::{
    flow::{Clock, SystemClock},
    seal::Principal,
};

/// Takes bearer tokens that an issuer signed for this server.
///
/// A token must be signed with one of the issuer's keys and an asymmetric algorithm (RS256 to RS512, PS256 to PS512,
/// ES256, ES384, EdDSA), name the issuer (`iss`), this server (`aud`) and a subject (`sub`), and be within its time
/// (`exp`, and `nbf` where it is given). Its type (`typ`) is `at+jwt`, or `JWT` or nothing, as many issuers still have it;
/// what names itself something else, such as a logout token, is refused. Keys or URLs in its header are ignored. The
/// caller is the issuer and the subject.
///
/// # Security
///
/// An ID token is a `JWT` too and meant for the client that got it: do not make a client id one of the audiences.
///
/// ```no_run
/// use mrtr::{Server, http::{Jwks, JwtAuthenticator, McpService, ResourceMetadata}};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let (issuer, resource) = ("https://id.example.com", "https://mcp.example.com/mcp");
/// let keys = Jwks::from_url("https://id.example.com/jwks.json")?;
/// let service = McpService::new(Server::new("releases", "1.0.0").build()?)
///     .authenticator(JwtAuthenticator::new(issuer, resource, keys).require_scopes(["deploy"]))
///     .resource_metadata(ResourceMetadata::new(resource, [issuer])?.scopes(["deploy"]));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct JwtAuthenticator {
    issuer: String,
    audiences: Vec<String>,
    keys: Jwks,
    scopes: Vec<String>,
    leeway: Duration,
    clock: Arc<dyn Clock>,
}

impl JwtAuthenticator {
    /// Takes tokens of this issuer for this audience, signed with these keys.
    ///
    /// Both are compared letter by letter: the issuer as its metadata has it, the audience as clients name the server in
    /// their `resource` parameter, which is its URL ([RFC 8707](https://www.rfc-editor.org/rfc/rfc8707)).
    #[must_use]
    pub fn new(issuer: impl Into<String>, audience: impl Into<String>, keys: Jwks) -> Self {
        Self {
            issuer: issuer.into(),
            audiences: vec![audience.into()],
            keys,
            scopes: Vec::new(),
            leeway: Duration::from_secs(60),
            clock: Arc::new(SystemClock),
        }
    }

    /// Takes tokens for this audience too: another name of this very server, such as one with a slash at its end.
    #[must_use]
    pub fn also_for(mut self, audience: impl Into<String>) -> Self {
        self.audiences.push(audience.into());
        self
    }

    /// Requires all of these scopes, in the token's `scope` or `scp`; without them the answer is 403. Default: none.
    ///
    /// Scopes are compared as they are: one that implies others is for an [`Authenticator`] that knows so.
    #[must_use]
    pub fn require_scopes(mut self, scopes: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.scopes = scopes.into_iter().map(Into::into).collect();
        self
    }

    /// Sets by how much the issuer's clock and ours may differ. Default: 60 seconds.
    #[must_use]
    pub fn leeway(mut self, leeway: Duration) -> Self {
        self.leeway = leeway;
        self
    }

    /// Goes by this clock; tests have one they move by hand. Default: the machine's.
    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    async fn caller(&self, token: &str) -> Result<Principal, AuthError> {
        let now = self.clock.now();
        let Some((message, signature)) = token.rsplit_once('.') else {
            return Err(unauthorized("the access token is not a JWT"));
        };
        // No symmetric algorithm fits a public key, and `none` is no algorithm: both are not in the list.
        let unreadable = |_| unauthorized("the access token is not a JWT signed in a way that is accepted here");
        let header = decode_header(token).map_err(unreadable)?;
        if !ACCEPTED.contains(&header.alg) || header.crit.is_some() || header.extras.inner().contains_key("b64") {
            return Err(unauthorized("the access token is signed in a way that is not accepted here"));
        }
        if header.typ.as_deref().is_some_and(is_something_else) {
            return Err(unauthorized("the token is of another kind than an access token"));
        }
        let id = header.kid.as_deref();
        let signature = URL_SAFE_NO_PAD
            .decode(signature)
            .map_err(|_| unauthorized("the signature of the access token is not readable"))?;
        let keys = self.keys.keys(id, now).await?;
        keys.verify(id, header.alg, message.as_bytes(), &signature).map_err(explain)?;

        // Its name warns of claims that nobody vouches for; these are the issuer's, as the line above made sure.
        let claims: Claims = insecure_decode_claims(token)
            .map_err(|_| unauthorized("the access token lacks a claim or has one of a wrong type"))?;
        self.check(claims, now)
    }

    /// Whether what the issuer says lets this caller in.
    fn check(&self, claims: Claims, now: SystemTime) -> Result<Principal, AuthError> {
        let now = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs_f64();
        let leeway = self.leeway.as_secs_f64();
        if claims.iss != self.issuer {
            return Err(unauthorized("the access token is from another issuer"));
        }
        if !self.audiences.iter().any(|audience| claims.aud.contains(audience)) {
            return Err(unauthorized("the access token is meant for another server"));
        }
        if now >= claims.exp + leeway {
            return Err(unauthorized("the access token has expired"));
        }
        if claims.nbf.is_some_and(|begin| now + leeway < begin) {
            return Err(unauthorized("the access token is not valid yet"));
        }
        if claims.sub.is_empty() {
            return Err(unauthorized("the access token names no subject"));
        }
        if !self.scopes.iter().all(|scope| claims.has_scope(scope)) {
            return Err(AuthError::forbidden(self.scopes.iter().map(String::as_str)));
        }
        Ok(Principal::new(claims.iss, claims.sub))
    }
}

impl Authenticator for JwtAuthenticator {
    async fn authenticate(&self, request: &Parts) -> Result<Option<Principal>, AuthError> {
        self.caller(bearer(&request.headers)?).await.map(Some)
    }

    fn scopes(&self) -> &[String] {
        &self.scopes
    }
}

/// The algorithms a token may be signed with.
const ACCEPTED: [Algorithm; 9] = [
    Algorithm::RS256,
    Algorithm::RS384,
    Algorithm::RS512,
    Algorithm::PS256,
    Algorithm::PS384,
    Algorithm::PS512,
    Algorithm::ES256,
    Algorithm::ES384,
    Algorithm::EdDSA,
];

/// Whether a header says that this is a token for another purpose (RFC 8725, section 3.11; RFC 9068, section 2.1).
fn is_something_else(typ: &str) -> bool {
    !["JWT", "at+jwt", "application/at+jwt"].iter().any(|known| typ.eq_ignore_ascii_case(known))
}

/// The largest token that is looked at.
const MAX_TOKEN: usize = 16 * 1024;

/// The token of the only `Authorization` header. One in the URL is not looked for: it would end up in logs.
fn bearer(headers: &HeaderMap) -> Result<&str, AuthError> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let Some(value) = values.next() else {
        return Err(AuthError::Missing);
    };
    if values.next().is_some() {
        return Err(AuthError::malformed("there are two Authorization headers; send one"));
    }
    if value.len() > "Bearer ".len() + MAX_TOKEN {
        return Err(unauthorized("the access token is larger than 16 KiB"));
    }
    let text = value.to_str().map_err(|_| AuthError::malformed("the Authorization header must be plain ASCII"))?;
    let (scheme, token) = text.split_once(' ').unwrap_or((text, ""));
    match token.trim_matches(' ') {
        "" => Err(AuthError::Missing),
        _ if !scheme.eq_ignore_ascii_case("Bearer") => Err(AuthError::Missing),
        token => Ok(token),
    }
}

/// What a token says. A claim that is missing or named twice makes it unreadable.
#[derive(Deserialize)]
struct Claims {
    iss: String,
    aud: OneOrMore,
    sub: String,
    /// Seconds, with fractions where the issuer has them.
    exp: f64,
    nbf: Option<f64>,
    /// Words with spaces between them (RFC 9068).
    scope: Option<String>,
    /// The same or a list, as some issuers have it.
    scp: Option<OneOrMore>,
}

impl Claims {
    fn has_scope(&self, scope: &str) -> bool {
        let is_in = |words: &str| words.split(' ').any(|word| word == scope);
        self.scope.as_deref().is_some_and(is_in)
            || match &self.scp {
                Some(OneOrMore::One(words)) => is_in(words),
                Some(OneOrMore::More(words)) => words.iter().any(|word| word == scope),
                None => false,
            }
    }
}

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMore {
    One(String),
    More(Vec<String>),
}

impl OneOrMore {
    fn contains(&self, text: &str) -> bool {
        match self {
            Self::One(one) => one == text,
            Self::More(more) => more.iter().any(|one| one == text),
        }
    }
}

fn explain(unverified: Unverified) -> AuthError {
    unauthorized(match unverified {
        Unverified::Ambiguous => "the access token does not name its key (kid)",
        Unverified::NoKey => "the access token is signed with a key that is not one of its issuer's",
        Unverified::Signature => "the signature of the access token is wrong",
    })
}

fn unauthorized(reason: &'static str) -> AuthError {
    AuthError::unauthorized(reason)
}
