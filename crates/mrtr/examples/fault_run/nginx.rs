//! The real nginx, round robin, with a configuration of its own in the run's directory.

use std::net::SocketAddr;
use std::path::Path;

use tokio::process::{Child, Command};

use super::fleet::{Outcome, start};

/// One line of its log for each request: when it ended, how long it took, which leg it was, and where it was sent.
pub const LOG: &str = "nginx.log";

/// As in `deploy/nginx.conf`, but for two things: here instances die several times a second, so one that is down is asked
/// again at once (`max_fails=0`), and there is a log that says which leg went where.
const CONFIGURATION: &str = r"
daemon off;
# One process, so that ending it leaves none.
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
    access_log @directory@/nginx.log legs;
    upstream mrtr {
        zone mrtr 64k;
@servers@    }
    server {
        listen @front@;
        location / {
            proxy_pass http://mrtr;
            proxy_http_version 1.1;
            proxy_set_header Connection close;
            proxy_set_header Host $http_host;
            proxy_buffering off;
            proxy_request_buffering on;
            proxy_read_timeout 75s;
            proxy_send_timeout 30s;
            proxy_connect_timeout 2s;
            # Only what could not be sent goes to the next: POST is not idempotent.
            proxy_next_upstream error timeout;
            proxy_next_upstream_tries 3;
        }
    }
}
";

/// Starts it in front of these instances.
pub fn start_in_front(directory: &Path, front: SocketAddr, instances: &[SocketAddr]) -> Outcome<Child> {
    let servers: String = instances.iter().map(|address| format!("        server {address} max_fails=0;\n")).collect();
    let configuration = CONFIGURATION
        .replace("@directory@", &directory.to_string_lossy())
        .replace("@front@", &front.to_string())
        .replace("@servers@", &servers);
    let file = directory.join("nginx.conf");
    std::fs::write(&file, configuration)?;
    let mut command = Command::new("nginx");
    command.arg("-p").arg(directory).arg("-e").arg(directory.join("nginx-error.log")).arg("-c").arg(file);
    start(&mut command, directory, "nginx-output.log")
}
