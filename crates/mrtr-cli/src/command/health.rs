//! `mrtr health`: one look at a probe, for supervisors that run a command, in images that hold nothing but this program.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::Empty;
use hyper::header::HOST;
use hyper::{Request, StatusCode, client};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use url::{Position, Url};

use crate::args::HealthArgs;
use crate::exit::{Exit, Failure};

/// Runs the command.
pub(crate) async fn run(args: HealthArgs) -> Result<Exit, Failure> {
    let url = Url::parse(&args.url).ok().filter(|url| url.scheme() == "http" && url.has_host());
    let url = url.ok_or_else(|| Failure::usage("expected a URL such as http://127.0.0.1:8080/readyz; http only"))?;
    let patience = Duration::from_secs(args.timeout);
    let answered = tokio::time::timeout(patience, ask(&url)).await;
    match answered.unwrap_or_else(|_| Err(format!("no answer within {} s", args.timeout))) {
        Ok(status) if status.is_success() => Ok(Exit::Completed),
        Ok(status) => Err(unhealthy(&url, &format!("HTTP {}", status.as_u16()))),
        Err(why) => Err(unhealthy(&url, &why)),
    }
}

async fn ask(url: &Url) -> Result<StatusCode, String> {
    let addresses = url.socket_addrs(|| None).map_err(|error| format!("no such host: {error}"))?;
    let stream = TcpStream::connect(&*addresses).await.map_err(|error| format!("cannot connect: {error}"))?;
    let lost = |error: hyper::Error| format!("no proper answer: {error}");
    let (mut sender, connection) = client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(lost)?;
    let mut driver = JoinSet::new();
    driver.spawn(connection);
    let request = Request::get(&url[Position::BeforePath..Position::AfterQuery])
        .header(HOST, &url[Position::BeforeHost..Position::AfterPort])
        .body(Empty::<Bytes>::new())
        .map_err(|error| format!("cannot ask: {error}"))?;
    Ok(sender.send_request(request).await.map_err(lost)?.status())
}

fn unhealthy(url: &Url, why: &str) -> Failure {
    Failure::new(Exit::Failed, format!("{url} is not healthy: {why}"))
}
