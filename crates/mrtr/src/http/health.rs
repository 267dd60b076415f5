//! Whether a server is alive, and whether it should be sent requests: two documents for supervisors and load balancers.
//!
//! They are answered before it is known who asks, since what asks is a machine that knows an address and no name. So they
//! tell one bit and no cause, are never stored on the way, and asking often costs no more than asking now and then.

use std::{
    fmt::{self, Display},
    pin::Pin,
    sync::Arc,
    time::Duration,
};

use bytes::Bytes;
use http::{HeaderValue, Method, Response, StatusCode, header};
use tokio::{
    sync::Mutex,
    time::{Instant, timeout_at},
};

use super::{
    body::{ResponseBody, text_response},
    drain::Drain,
    serve::HttpServer,
};

/// How long all readiness checks may take together.
const PATIENCE: Duration = Duration::from_secs(1);

/// For how long what they found holds.
const FRESH: Duration = Duration::from_secs(1);

impl HttpServer {
    /// Sets the path that says whether this process serves at all. Default: `/livez`.
    ///
    /// It answers 200 for as long as the process can answer, while it drains too: a supervisor that gets no such
    /// answer should start the process anew. `GET` and `HEAD` only; the body is a fixed word.
    ///
    /// # Security
    ///
    /// The two probes are answered whatever `Host` and `Origin` say and whoever asks. They tell that there is a server and
    /// its one bit, nothing of its state, load or version.
    #[must_use]
    pub fn live_path(mut self, path: impl Into<Arc<str>>) -> Self {
        self.options_mut().probes.live = Some(path.into());
        self
    }

    /// Sets the path that says whether this process should be sent requests. Default: `/readyz`.
    ///
    /// It answers 200, or 503 while a check of [`ready_when`](Self::ready_when) fails and from the moment the server is
    /// told to stop: a load balancer should then go elsewhere, and nothing needs to be restarted.
    #[must_use]
    pub fn ready_path(mut self, path: impl Into<Arc<str>>) -> Self {
        self.options_mut().probes.ready = Some(path.into());
        self
    }

    /// Serves no probes: their paths are answered with 404 like any other.
    #[must_use]
    pub fn without_probes(mut self) -> Self {
        let probes = &mut self.options_mut().probes;
        (probes.live, probes.ready) = (None, None);
        self
    }

    /// Calls the server ready only while this check succeeds; given several times, while all of them do.
    ///
    /// For what every call needs, such as a store: an instance that has lost it is better not sent requests. All checks
    /// have one second together, and one that takes longer has failed. They run when somebody asks, once a second at most
    /// however many ask. Why one fails is for the log, once per change; who asked is told 503.
    ///
    /// ```
    /// use mrtr::{Server, http::{HttpServer, McpService}};
    ///
    /// # async fn ping() -> Result<(), std::io::Error> { Ok(()) }
    /// let service = McpService::new(Server::new("releases", "1.0.0").build()?);
    /// let server = HttpServer::new(service).ready_when(|| async { ping().await });
    /// # Ok::<(), mrtr::server::BuildError>(())
    /// ```
    ///
    /// What all instances lose at the same moment makes all of them not ready, and the load balancer refuses
    /// every call. That is right only where no call could succeed.
    #[must_use]
    pub fn ready_when<F, R, E>(mut self, check: F) -> Self
    where
        F: Fn() -> R + Send + Sync + 'static,
        R: Future<Output = Result<(), E>> + Send + 'static,
        E: Display,
    {
        let check = move || -> Checked {
            let checked = check();
            Box::pin(async move { checked.await.map_err(|error| error.to_string()) })
        };
        self.options_mut().probes.checks.push(Arc::new(check));
        self
    }
}

type Checked = Pin<Box<dyn Future<Output = Result<(), String>> + Send>>;

/// Which probes there are, and what readiness depends on.
#[derive(Clone)]
pub(super) struct Probes {
    live: Option<Arc<str>>,
    ready: Option<Arc<str>>,
    checks: Vec<Arc<dyn Fn() -> Checked + Send + Sync>>,
}

impl Default for Probes {
    fn default() -> Self {
        Self { live: Some(Arc::from("/livez")), ready: Some(Arc::from("/readyz")), checks: Vec::new() }
    }
}

impl fmt::Debug for Probes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { live, ready, checks } = self;
        let checks = checks.len();
        f.debug_struct("Probes").field("live", live).field("ready", ready).field("checks", &checks).finish()
    }
}

impl Probes {
    /// Runs the checks, all within their time.
    async fn check(&self) -> Result<(), String> {
        let until = Instant::now() + PATIENCE;
        for check in &self.checks {
            timeout_at(until, check())
                .await
                .unwrap_or_else(|_| Err(format!("the readiness checks took longer than {} s", PATIENCE.as_secs())))?;
        }
        Ok(())
    }
}

/// The health of a running server, shared by its connections.
#[derive(Debug)]
pub(super) struct Health {
    probes: Probes,
    pub(super) drain: Drain,
    /// Held while the checks run: who asks meanwhile waits for what they find.
    found: Mutex<Option<Found>>,
}

#[derive(Clone, Copy, Debug)]
struct Found {
    is_ready: bool,
    at: Instant,
}

impl Health {
    pub(super) fn new(probes: Probes) -> Self {
        Self { probes, drain: Drain::default(), found: Mutex::default() }
    }

    /// Answers a probe; `None` when there is none at this path.
    pub(super) async fn answer(&self, method: &Method, path: &str) -> Option<Response<ResponseBody>> {
        let is_at = |probe: &Option<Arc<str>>| probe.as_deref() == Some(path);
        let (is_live, is_ready) = (is_at(&self.probes.live), is_at(&self.probes.ready));
        if !is_live && !is_ready {
            return None;
        }
        if !matches!(*method, Method::GET | Method::HEAD) {
            return Some(not_allowed());
        }
        Some(if is_live || self.is_ready().await {
            document(StatusCode::OK, "ok\n")
        } else {
            document(StatusCode::SERVICE_UNAVAILABLE, "not ready\n")
        })
    }

    async fn is_ready(&self) -> bool {
        if self.drain.is_leaving() {
            return false;
        }
        if self.probes.checks.is_empty() {
            return true;
        }
        let mut found = self.found.lock().await;
        if let Some(Found { is_ready, at }) = *found
            && at.elapsed() < FRESH
        {
            return is_ready;
        }
        let was_ready = found.is_none_or(|found| found.is_ready);
        let checked = self.probes.check().await;
        let is_ready = checked.is_ok();
        match checked {
            Err(why) if was_ready => tracing::warn!(%why, "not ready"),
            Ok(()) if !was_ready => tracing::info!("ready again"),
            _ => {}
        }
        *found = Some(Found { is_ready, at: Instant::now() });
        // It may have been told to stop meanwhile.
        is_ready && !self.drain.is_leaving()
    }
}

fn not_allowed() -> Response<ResponseBody> {
    let mut response = document(StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD are served here\n");
    response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("GET, HEAD"));
    response
}

fn document(status: StatusCode, text: &'static str) -> Response<ResponseBody> {
    let mut response = text_response(status, Bytes::from_static(text.as_bytes()));
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
