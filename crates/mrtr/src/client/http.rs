//! Streamable HTTP: each request is one POST, its response one JSON text or one event stream.

use std::error::Error as StdError;
use std::fmt;

use ::http::header::CONTENT_TYPE;
use futures_util::{StreamExt, TryStreamExt};
use serde::Deserialize;
use serde_json::value::RawValue;
use sse_stream::SseByteStream;
use thiserror::Error;
use url::Url;

use super::http_options::{HttpOptions, Reason};
use super::{BoxFuture, Incoming, Outgoing, Transport, TransportError};
use crate::wire::Object;

/// A transport over HTTP/1.1, in the clear or over TLS.
///
/// # Security
///
/// Certificates are checked against the platform's trust store. Redirects are not followed: arguments, answers and states
/// go to the server the user named and to nobody else. Proxy settings of the environment are not read, for the same
/// reason, unless [`HttpOptions::proxy_from_env`] says so.
pub struct HttpTransport {
    url: Url,
    client: reqwest::Client,
}

/// Why a URL cannot be called.
#[derive(Debug, Error)]
#[error("cannot call {url:?}: {reason}")]
pub struct InvalidUrl {
    pub(super) url: String,
    pub(super) reason: String,
}

impl HttpTransport {
    /// Creates a transport to the MCP endpoint at this URL.
    ///
    /// # Errors
    ///
    /// When the URL is not an absolute `http` or `https` URL, carries a password, or when no TLS trust store can be loaded.
    pub fn new(url: &str) -> Result<Self, InvalidUrl> {
        Self::with(url, &HttpOptions::new())
    }

    /// Creates a transport to the MCP endpoint at this URL, reached in this way.
    ///
    /// # Errors
    ///
    /// As for [`new`](Self::new), and when the proxy's URL is not an absolute `http` or `https` URL.
    pub fn with(url: &str, options: &HttpOptions) -> Result<Self, InvalidUrl> {
        let invalid = |reason: String| InvalidUrl { url: url.to_owned(), reason };
        let is_http = |scheme: &str| matches!(scheme, "http" | "https");
        let mut parsed = match Url::parse(url) {
            Ok(parsed) if is_http(parsed.scheme()) => parsed,
            Err(error) if url.split_once(':').is_some_and(|(scheme, _)| is_http(&scheme.to_ascii_lowercase())) => {
                return Err(invalid(error.to_string()));
            }
            _ => {
                return Err(invalid(format!(
                    "expected a URL that begins with http:// or https://{}",
                    with_scheme(url)
                )));
            }
        };
        if !parsed.username().is_empty() || parsed.password().is_some() {
            // The URL is shown wherever the server is named; reqwest would turn this part into a header.
            return Err(InvalidUrl {
                url: parsed.host_str().unwrap_or_default().to_owned(),
                reason: "credentials do not belong into the URL, send an Authorization header".to_owned(),
            });
        }
        parsed.set_fragment(None);
        let client = options.client(&parsed).map_err(|reason| match reason {
            Reason::Server(reason) => invalid(reason),
            Reason::Proxy { url, reason } => InvalidUrl { url, reason },
        })?;
        Ok(Self { url: parsed, client })
    }

    async fn post(
        &self,
        request: &Outgoing,
        notify: &(dyn Fn(&str) + Send + Sync),
    ) -> Result<Incoming, TransportError> {
        let post = self.client.post(self.url.clone()).headers(request.headers.clone()).body(request.body.clone());
        let response = post.send().await.map_err(|error| self.broken(&error))?;
        let (status, is_success) = (response.status().as_u16(), response.status().is_success());
        let headers = response.headers().clone();
        let is_stream = headers.get(CONTENT_TYPE).is_some_and(|kind| {
            kind.as_bytes()
                .get(..EVENT_STREAM.len())
                .is_some_and(|kind| kind.eq_ignore_ascii_case(EVENT_STREAM.as_bytes()))
        });
        let bytes = bounded(response, request.max_response_bytes);
        let body = if is_stream {
            self.read_events(bytes, request.max_response_bytes, notify).await?
        } else {
            let body = self.read_body(bytes, request.max_response_bytes).await?;
            match String::from_utf8(body) {
                Ok(body) => body,
                // An error page in another encoding still comes with a status, which says more than its letters.
                Err(body) if !is_success => String::from_utf8_lossy(body.as_bytes()).into_owned(),
                Err(error) => return Err(self.unreadable(error)),
            }
        };
        Ok(Incoming { status, headers, body })
    }

    async fn read_body(
        &self,
        bytes: impl futures_util::Stream<Item = Result<bytes::Bytes, BodyError>>,
        limit: usize,
    ) -> Result<Vec<u8>, TransportError> {
        let body = bytes.try_fold(Vec::new(), async |mut body: Vec<u8>, chunk| {
            body.extend_from_slice(&chunk);
            Ok(body)
        });
        body.await.map_err(|error| self.unfinished(error, limit))
    }

    /// Reads events up to the response. Dropping the rest of the stream closes it.
    async fn read_events(
        &self,
        bytes: impl futures_util::Stream<Item = Result<bytes::Bytes, BodyError>>,
        limit: usize,
        notify: &(dyn Fn(&str) + Send + Sync),
    ) -> Result<String, TransportError> {
        let bytes = std::pin::pin!(bytes);
        let mut events = SseByteStream::new(bytes);
        while let Some(event) = events.next().await {
            let event = event.map_err(|error| match error {
                sse_stream::Error::Body(error) => match error.downcast::<BodyError>() {
                    Ok(error) => self.unfinished(*error, limit),
                    Err(error) => self.unreadable(error),
                },
                error => self.unreadable(error),
            })?;
            // An event without data is a sign of life. A message with a method is a notification, or else a request
            // as servers of earlier revisions send them here, which cannot be answered.
            match event.data {
                Some(data) if data.is_empty() => {}
                Some(data) if is_response(&data) => return Ok(data),
                Some(data) => notify(&data),
                None => {}
            }
        }
        Err(TransportError::Truncated { server: self.server().to_owned() })
    }

    fn broken(&self, error: &reqwest::Error) -> TransportError {
        let server = self.server().to_owned();
        let cause = if error.is_timeout() { "no answer in time".to_owned() } else { innermost(error) };
        if error.is_connect() {
            TransportError::Connect { server, cause }
        } else {
            TransportError::Lost { server, cause: format!("{cause}; the request may have run") }
        }
    }

    fn unfinished(&self, error: BodyError, limit: usize) -> TransportError {
        match error {
            BodyError::TooLarge => TransportError::TooLarge { server: self.server().to_owned(), limit },
            BodyError::Broken(error) => self.broken(&error),
        }
    }

    fn unreadable(&self, cause: impl fmt::Display) -> TransportError {
        TransportError::Unreadable { server: self.server().to_owned(), cause: cause.to_string() }
    }
}

impl Transport for HttpTransport {
    fn server(&self) -> &str {
        self.url.as_str()
    }

    fn exchange<'a>(
        &'a self,
        request: &'a Outgoing,
        notify: &'a (dyn Fn(&str) + Send + Sync),
    ) -> BoxFuture<'a, Result<Incoming, TransportError>> {
        Box::pin(self.post(request, notify))
    }
}

impl fmt::Debug for HttpTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpTransport").field("url", &self.server()).finish_non_exhaustive()
    }
}

const EVENT_STREAM: &str = "text/event-stream";

/// Why a body ended early.
#[derive(Debug, Error)]
enum BodyError {
    #[error("too large")]
    TooLarge,
    #[error(transparent)]
    Broken(reqwest::Error),
}

/// Reads a body no further than the limit.
fn bounded(
    response: reqwest::Response,
    limit: usize,
) -> impl futures_util::Stream<Item = Result<bytes::Bytes, BodyError>> {
    let mut left = limit;
    response.bytes_stream().map(move |chunk| {
        let chunk = chunk.map_err(BodyError::Broken)?;
        left = left.checked_sub(chunk.len()).ok_or(BodyError::TooLarge)?;
        Ok(chunk)
    })
}

/// Tells a response from a notification or request. What is neither counts as a response: the reader says what is wrong.
fn is_response(message: &str) -> bool {
    #[derive(Deserialize)]
    struct Head<'a> {
        #[serde(borrow)]
        method: Option<&'a RawValue>,
    }
    !matches!(serde_json::from_str(message), Ok(Object(Head { method: Some(_) })))
}

/// The URL that was probably meant by one without a scheme.
fn with_scheme(text: &str) -> String {
    let url = format!("http://{text}");
    let is_meant = !text.contains("://") && !text.contains('@') && Url::parse(&url).is_ok();
    if is_meant { format!(", did you mean {url:?}?") } else { String::new() }
}

/// Returns what the system said, below the layers that pass it on.
pub(super) fn innermost(error: &dyn StdError) -> String {
    let mut error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    error.to_string()
}
