//! A model behind an HTTP endpoint.

use std::fmt;
use std::time::Duration;

use ::http::HeaderValue;
use ::http::header::{AUTHORIZATION, CONTENT_TYPE, HeaderName};
use futures_util::StreamExt as _;
use serde_json::Value;
use tokio::time::timeout;
use url::Url;

use super::{anthropic, openai, params};
use crate::client::failure::printable;
use crate::client::http::innermost;
use crate::client::http_options::Reason;
use crate::client::{Answer, Ask, BoxFuture, HttpOptions, InvalidUrl, NotAnswered, Responder};

/// Answers sampling requests with what a model behind an HTTP endpoint writes.
///
/// ```no_run
/// use mrtr::client::{HttpSampler, Responders, SamplingApi};
///
/// # fn build() -> Result<(), Box<dyn std::error::Error>> {
/// let key = std::env::var("MRTR_SAMPLE_KEY")?;
/// let model = HttpSampler::new("http://127.0.0.1:11434/v1/chat/completions", SamplingApi::OpenAi)?.model("qwen3").key(&key);
/// let responders = Responders::new().sampling_with_tools(model);
/// # Ok(())
/// # }
/// ```
///
/// # Security
///
/// What the server wrote goes to the endpoint, and what the model writes to the server, and nobody is asked in between: that
/// is up to whoever puts this behind a responder of its own. The key goes to the endpoint alone, redirects are not followed.
pub struct HttpSampler {
    url: Url,
    api: SamplingApi,
    client: reqwest::Client,
    key: Option<String>,
    model: Option<String>,
    timeout: Duration,
}

/// How to talk to an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SamplingApi {
    /// Chat completions, as OpenAI and most servers of open models have them.
    OpenAi,
    /// Messages, as Anthropic has them.
    Anthropic,
}

impl SamplingApi {
    /// Tells from the path of a URL, which ends in `/chat/completions` or in `/messages`.
    pub fn of(url: &str) -> Option<Self> {
        let url = Url::parse(url).ok()?;
        let path = url.path().trim_end_matches('/');
        if path.ends_with("/chat/completions") {
            return Some(Self::OpenAi);
        }
        path.ends_with("/messages").then_some(Self::Anthropic)
    }
}

impl HttpSampler {
    /// Creates a sampler for the endpoint at this URL.
    ///
    /// # Errors
    ///
    /// When the URL is not an absolute `http` or `https` URL, or when no TLS trust store can be loaded for `https`.
    pub fn new(url: &str, api: SamplingApi) -> Result<Self, InvalidUrl> {
        Self::with(url, api, &HttpOptions::new())
    }

    /// Creates a sampler for the endpoint at this URL, reached in this way.
    ///
    /// # Errors
    ///
    /// As for [`new`](Self::new), and when the proxy's URL is not an absolute `http` or `https` URL.
    pub fn with(url: &str, api: SamplingApi, options: &HttpOptions) -> Result<Self, InvalidUrl> {
        let parsed = Url::parse(url).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
        let Some(parsed) = parsed.filter(|url| url.username().is_empty() && url.password().is_none()) else {
            let reason = "expected a URL that begins with http:// or https://, without a password".to_owned();
            return Err(InvalidUrl { url: "the model".to_owned(), reason });
        };
        let client = options.client(&parsed).map_err(|reason| match reason {
            Reason::Server(reason) => InvalidUrl { url: url.to_owned(), reason },
            Reason::Proxy { url, reason } => InvalidUrl { url, reason },
        })?;
        Ok(Self { url: parsed, api, client, key: None, model: None, timeout: Duration::from_secs(120) })
    }

    /// Sends this key with every request. Default: none.
    #[must_use]
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// Uses this model. Default: the first that the server hints at.
    #[must_use]
    pub fn model(mut self, model: impl Into<String>) -> Self {
        self.model = Some(model.into());
        self
    }

    /// Limits the time of one request. Default: 120 s.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    async fn sample(&self, ask: &Ask) -> Result<Answer, NotAnswered> {
        let params = params(ask);
        let hint = params.get("modelPreferences").and_then(|it| it["hints"].get(0)?["name"].as_str());
        let model = self.model.as_deref().or(hint).ok_or_else(|| {
            NotAnswered::failed("which model? The server hints at none, and none is set (--sample-model)")
        })?;
        let request = match self.api {
            SamplingApi::OpenAi => openai::request(&params, model),
            SamplingApi::Anthropic => anthropic::request(&params, model),
        };
        let reply = timeout(self.timeout, self.post(request.map_err(NotAnswered::failed)?.to_string())).await;
        let reply = reply.map_err(|_| {
            NotAnswered::failed(format!("{} gave no answer within {} s", self.url, self.timeout.as_secs_f32()))
        })??;
        let result = match self.api {
            SamplingApi::OpenAi => openai::response(&reply, model),
            SamplingApi::Anthropic => anthropic::response(&reply, model),
        };
        let odd = || NotAnswered::failed(format!("{} sent no answer of a model; is the API another one?", self.url));
        Ok(Answer::result(result.ok_or_else(odd)?))
    }

    async fn post(&self, body: String) -> Result<Value, NotAnswered> {
        let mut request = self.client.post(self.url.clone()).header(CONTENT_TYPE, "application/json").body(body);
        if self.api == SamplingApi::Anthropic {
            request = request.header("anthropic-version", ANTHROPIC_VERSION);
        }
        if let Some(key) = &self.key {
            let (name, value) = match self.api {
                SamplingApi::OpenAi => (AUTHORIZATION, format!("Bearer {key}")),
                SamplingApi::Anthropic => (HeaderName::from_static("x-api-key"), key.clone()),
            };
            let mut value = HeaderValue::try_from(value)
                .map_err(|_| NotAnswered::failed("the key of the model has characters no key has"))?;
            value.set_sensitive(true);
            request = request.header(name, value);
        }
        let broken =
            |error: reqwest::Error| NotAnswered::failed(format!("cannot ask {}: {}", self.url, innermost(&error)));
        let response = request.send().await.map_err(broken)?;
        let status = response.status();
        let mut bytes = Vec::new();
        let mut stream = response.bytes_stream();
        while let Some(chunk) = stream.next().await {
            bytes.extend_from_slice(&chunk.map_err(broken)?);
            if bytes.len() > LONGEST {
                return Err(NotAnswered::failed(format!("the answer of {} is longer than {LONGEST} bytes", self.url)));
            }
        }
        let text = String::from_utf8_lossy(&bytes);
        let value: Value = serde_json::from_str(&text).unwrap_or_default();
        if !status.is_success() {
            let said = value["error"]["message"].as_str().or_else(|| value["error"].as_str()).unwrap_or(&text);
            return Err(NotAnswered::failed(format!("{} answered HTTP {status}: {}", self.url, printable(said))));
        }
        Ok(value)
    }
}

impl Responder for HttpSampler {
    fn respond<'a>(&'a self, ask: &'a Ask) -> BoxFuture<'a, Result<Answer, NotAnswered>> {
        Box::pin(self.sample(ask))
    }
}

impl fmt::Debug for HttpSampler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpSampler").field("url", &self.url.as_str()).field("api", &self.api).finish_non_exhaustive()
    }
}

const ANTHROPIC_VERSION: &str = "2023-06-01";
/// Longest answer, in bytes.
const LONGEST: usize = 4 * 1024 * 1024;
