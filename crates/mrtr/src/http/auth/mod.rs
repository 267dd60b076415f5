//! Who the caller is: the authenticator an operator sets, run so that nothing goes wrong silently.
//!
//! This module knows the question and the ways to say no. What a good credential is belongs to the
//! [`Authenticator`]; how a refusal looks on the wire belongs to [`challenge`].

mod challenge;
#[cfg(feature = "jwt")]
mod jwks;
#[cfg(feature = "jwt")]
mod jwt;
#[cfg(feature = "jwt")]
mod keys;
mod metadata;

use std::{
    borrow::Cow,
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::{Pin, pin},
    sync::Arc,
    task::Poll,
    time::Duration,
};

use http::{HeaderMap, header, request::Parts};

pub use self::metadata::{MetadataService, ResourceMetadata, ResourceMetadataError};
#[cfg(feature = "jwt")]
pub use self::{
    jwks::{Jwks, JwksError},
    jwt::JwtAuthenticator,
};
use super::refusal::Refusal;
use crate::seal::Principal;

/// Tells who sent a request, from its headers.
///
/// It is asked once per request, after the `Host` and `Origin` checks and before the body is read. The caller it names
/// is the one every question and state of the request is bound to.
///
/// ```
/// use http::request::Parts;
/// use mrtr::{Principal, Server, http::{AuthError, Authenticator, McpService}};
///
/// /// Trusts the name that the proxy in front puts into a header.
/// struct ProxyUser;
///
/// impl Authenticator for ProxyUser {
///     async fn authenticate(&self, request: &Parts) -> Result<Option<Principal>, AuthError> {
///         match request.headers.get("x-proxy-user").map(|user| user.to_str()) {
///             Some(Ok(user)) => Ok(Some(Principal::new("proxy", user))),
///             Some(Err(_)) => Err(AuthError::malformed("the x-proxy-user header must be plain ASCII")),
///             None => Err(AuthError::Missing),
///         }
///     }
/// }
///
/// let server = Server::new("releases", "1.0.0").build()?;
/// let service = McpService::new(server).authenticator(ProxyUser);
/// # Ok::<(), mrtr::server::BuildError>(())
/// ```
///
/// # Security
///
/// It fails closed: a panic is answered with 500, and one that has not decided after 30 seconds with 503.
/// A [`Principal`] must not be made from the token itself: a token may be refreshed between two rounds, and the user is
/// still the same. Neither this crate's log nor the handler sees the `Authorization` header of an authenticated service.
pub trait Authenticator: Send + Sync + 'static {
    /// Returns the caller, or `None` for one who may stay anonymous.
    ///
    /// # Errors
    ///
    /// When the request must not be served; each error says which response goes back.
    fn authenticate(&self, request: &Parts) -> impl Future<Output = Result<Option<Principal>, AuthError>> + Send;

    /// Returns the scopes a client should ask for when it has no token yet; a 401 names them. Default: none.
    fn scopes(&self) -> &[String] {
        &[]
    }
}

/// Why a request is not served, from the point of view of authentication.
///
/// The texts go to the client: they say what is wrong with a credential and never repeat it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AuthError {
    /// There is no credential: 401, so that the client goes and gets a token.
    #[error("an access token is required: send it as \"Authorization: Bearer <token>\"")]
    Missing,
    /// The credential cannot be read: 400, with `error="invalid_request"`.
    #[error("{0}")]
    Malformed(Cow<'static, str>),
    /// The credential is expired, meant for somebody else or not genuine: 401, with `error="invalid_token"`.
    #[error("{0}; get a new access token for this server and try again")]
    Unauthorized(Cow<'static, str>),
    /// The caller is known and may not do this: 403, with `error="insufficient_scope"`.
    #[error("{}", forbidden(.scopes))]
    Forbidden {
        /// Every scope the request needs; none where no scope would help.
        scopes: Vec<String>,
    },
    /// It cannot be decided now, because what is needed to decide cannot be reached: 503.
    #[error("the server cannot check access tokens right now; try again in a few seconds")]
    Unavailable,
}

impl AuthError {
    /// The credential cannot be read, and this is what the client should know about it.
    pub fn malformed(reason: impl Into<Cow<'static, str>>) -> Self {
        Self::Malformed(reason.into())
    }

    /// The credential is not good, and this is what the client should know about it.
    pub fn unauthorized(reason: impl Into<Cow<'static, str>>) -> Self {
        Self::Unauthorized(reason.into())
    }

    /// The caller's token must have all of these scopes.
    pub fn forbidden(scopes: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self::Forbidden { scopes: scopes.into_iter().map(Into::into).collect() }
    }
}

fn forbidden(scopes: &[String]) -> String {
    match scopes {
        [] => "this caller may not use this server; its operator can say why".to_owned(),
        scopes => format!("the access token lacks a scope; get one with all of: {}", scopes.join(" ")),
    }
}

/// An authenticator may take as long as this, whatever it waits for.
const PATIENCE: Duration = Duration::from_secs(30);

/// What a service knows about authentication.
#[derive(Clone, Debug, Default)]
pub(super) struct Auth {
    authenticator: Option<Arc<dyn Erased>>,
    pub(super) metadata: Option<Arc<ResourceMetadata>>,
}

impl Auth {
    pub(super) fn set_authenticator(&mut self, authenticator: impl Authenticator) {
        self.authenticator = Some(Arc::new(authenticator));
    }

    /// Names the caller, or refuses.
    ///
    /// Without an authenticator that is whom the operator's own middleware put into the extensions.
    pub(super) async fn caller(&self, request: &mut Parts) -> Result<Option<Principal>, Refusal> {
        hide_credentials(&mut request.headers);
        let from_middleware = request.extensions.remove::<Principal>();
        let Some(authenticator) = &self.authenticator else {
            return Ok(from_middleware);
        };
        let decided = guarded(authenticator.authenticate(request)).await;
        // The token was meant for us; nothing behind this line can pass it on.
        request.headers.remove(header::AUTHORIZATION);
        match decided {
            Some(Ok(caller)) => Ok(caller),
            Some(Err(error)) => Err(self.refuse(error, authenticator.scopes())),
            None => Err(Refusal::AuthenticatorFailed),
        }
    }

    fn refuse(&self, error: AuthError, scopes: &[String]) -> Refusal {
        let metadata = self.metadata.as_deref().map(ResourceMetadata::url);
        let challenge = challenge::header(&error, scopes, metadata);
        Refusal::Unauthenticated { error, challenge }
    }
}

/// Makes `Debug` output of the headers silent about credentials.
fn hide_credentials(headers: &mut HeaderMap) {
    for name in [header::AUTHORIZATION, header::PROXY_AUTHORIZATION, header::COOKIE] {
        // `entry` makes room for a header that is not there; most requests have at most one of these.
        if headers.contains_key(&name)
            && let header::Entry::Occupied(mut values) = headers.entry(name)
        {
            values.iter_mut().for_each(|value| value.set_sensitive(true));
        }
    }
}

type Decision<'a> = Pin<Box<dyn Future<Output = Result<Option<Principal>, AuthError>> + Send + 'a>>;

/// [`Authenticator`] behind a pointer.
trait Erased: Send + Sync {
    fn authenticate<'a>(&'a self, request: &'a Parts) -> Decision<'a>;
    fn scopes(&self) -> &[String];
}

impl<A: Authenticator> Erased for A {
    fn authenticate<'a>(&'a self, request: &'a Parts) -> Decision<'a> {
        // In the block, so that an authenticator that panics before its first await panics when it is polled.
        Box::pin(async move { Authenticator::authenticate(self, request).await })
    }

    fn scopes(&self) -> &[String] {
        Authenticator::scopes(self)
    }
}

impl fmt::Debug for dyn Erased {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Authenticator")
    }
}

/// Waits for the decision; `None` stands for a panic.
async fn guarded(decision: Decision<'_>) -> Option<Result<Option<Principal>, AuthError>> {
    let mut decision = pin!(tokio::time::timeout(PATIENCE, decision));
    let polled = std::future::poll_fn(|task| match catch_unwind(AssertUnwindSafe(|| decision.as_mut().poll(task))) {
        Ok(poll) => poll.map(Some),
        Err(_) => Poll::Ready(None),
    });
    let Some(in_time) = polled.await else {
        tracing::error!("the authenticator panicked; the request was refused");
        return None;
    };
    Some(in_time.unwrap_or_else(|_| {
        tracing::error!(after = ?PATIENCE, "the authenticator did not decide in time; the request was refused");
        Err(AuthError::Unavailable)
    }))
}
