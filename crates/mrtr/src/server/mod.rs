//! The server: builder, registry, dispatch.
use std::time::{Duration, SystemTime};
use std::pin::Pin;
use std::future::Future;
use std::sync::Arc;

/// A future that ends when the time is over.
pub type Sleep = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Where the server's time comes from.
pub trait Clock: Send + Sync + 'static {
    /// The time of day.
    fn now(&self) -> SystemTime;
    /// A timer, or `None` where there are none.
    fn sleep(&self, duration: Duration) -> Option<Sleep>;
}

/// Who the caller is: issuer and subject, never the access token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Principal { /// issuer
    pub issuer: String, /// subject
    pub subject: String }

/// One header as a transport found it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Header<'a> { /// Not there.
    Absent, /// Once, in visible ASCII.
    Value(&'a str), /// Repeated, or not visible ASCII.
    Invalid }

/// Where dispatch looks up the request's headers; names are lower case.
pub trait HeaderSource: Sync {
    /// The header of this name.
    fn get(&self, name: &str) -> Header<'_>;
}

/// One message as a transport received it.
#[allow(missing_debug_implementations)]
pub struct Incoming<'a> { /// The JSON text.
    pub body: &'a [u8], /// `None` on transports without headers.
    pub headers: Option<&'a dyn HeaderSource>, /// The authenticated caller.
    pub principal: Option<Principal> }

/// What goes back: an HTTP status and a JSON body (empty for an accepted notification).
#[derive(Debug)]
pub struct Reply { /// HTTP status.
    pub status: u16, /// JSON text.
    pub body: Vec<u8> }

/// Why a server could not be built.
#[derive(Debug, thiserror::Error)]
#[error("the server's definition is wrong")]
pub struct BuildError;

/// A built server.
#[derive(Debug)]
pub struct Dispatch {}

impl Dispatch {
    /// Answers one message.
    pub async fn handle(&self, _incoming: Incoming<'_>) -> Reply { Reply { status: 200, body: b"{}".to_vec() } }
}

/// The builder.
#[derive(Debug)]
pub struct Server {}
impl Server {
    /// Starts a server of this name and version.
    pub fn new(_name: impl Into<String>, _version: impl Into<String>) -> Self { Self {} }
    /// Replaces the clock.
    #[must_use]
    pub fn clock(self, _clock: Arc<dyn Clock>) -> Self { self }
    /// Checks everything and freezes it.
    pub fn build(self) -> Result<Arc<Dispatch>, BuildError> { Ok(Arc::new(Dispatch {})) }
}
