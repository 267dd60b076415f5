//! The real nginx with the configuration this project ships, on other addresses and in the run's directory.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use tokio::process::{Child, Command};

use super::fleet::{Outcome, start};

/// One line of its log for each request: when it ended, how long it took, which leg it was, and where it was sent.
pub const LOG: &str = "nginx.log";

const SHIPPED: &str = include_str!("../../../../deploy/nginx.conf");

/// Around what is shipped: a single process, so that ending it leaves none, and a log that says which leg went where.
const MAIN: &str = r"
daemon off;
master_process off;
pid @directory@/nginx.pid;
error_log @directory@/nginx-error.log warn;
events { worker_connections 4096; }
http {
    client_body_temp_path @directory@/client_body;
    proxy_temp_path @directory@/proxy;
    fastcgi_temp_path @directory@/fastcgi;
    uwsgi_temp_path @directory@/uwsgi;
    scgi_temp_path @directory@/scgi;
    log_format legs '$msec $request_time $http_x_leg $status $upstream_addr';
    include @directory@/shipped.conf;
}
";

/// How long the shipped configuration leaves an instance alone that was down.
pub const LEFT_ALONE: Duration = Duration::from_secs(2);

/// Starts it in front of these instances. Where they die several times a second, one that was down is tried again at
/// once; that is the only setting that is not as shipped.
pub fn start_in_front(directory: &Path, front: SocketAddr, instances: &[SocketAddr], they_die: bool) -> Outcome<Child> {
    let path = directory.to_string_lossy();
    let mut shipped = SHIPPED.replace("/var/log/nginx/mrtr.log mrtr", &format!("{path}/{LOG} legs"));
    shipped = shipped.replace("127.0.0.1:8080", &front.to_string());
    for (instance, port) in instances.iter().zip(8081..) {
        shipped = shipped.replace(&format!("127.0.0.1:{port}"), &instance.to_string());
    }
    if they_die {
        shipped = shipped.replace("max_fails=1 fail_timeout=2s", "max_fails=0");
    }
    if shipped.contains("127.0.0.1:80") || shipped.contains("/var/") || they_die == shipped.contains("max_fails=1") {
        return Err("deploy/nginx.conf is not as the fault run expects it".into());
    }
    std::fs::write(directory.join("shipped.conf"), shipped)?;
    let main = directory.join("nginx.conf");
    std::fs::write(&main, MAIN.replace("@directory@", &path))?;
    let mut command = Command::new("nginx");
    command.arg("-p").arg(directory).arg("-e").arg(directory.join("nginx-error.log")).arg("-c").arg(main);
    start(&mut command, directory, "nginx-output.log")
}

/// How many requests could not be sent to the instance whose turn it was.
pub fn sent_on(directory: &Path) -> Outcome<usize> {
    Ok(std::fs::read_to_string(directory.join(LOG))?.lines().filter(|line| line.contains(", ")).count())
}
