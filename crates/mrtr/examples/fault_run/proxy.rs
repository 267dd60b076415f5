//! The faulty proxy between the clients and nginx: what it forwards is done, but not every reply arrives.
//!
//! In one call of ten it drops the connection once the reply is there, before it or in the middle of it. In one of fifty
//! it hangs up while the server is at work, as clients do that lose patience.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::sleep;

use super::http::Connection;

const CUT: f64 = 0.10;
const HUNG_UP: f64 = 0.02;

/// What it did.
#[derive(Default)]
pub struct Faults {
    pub calls: AtomicU64,
    pub cut: AtomicU64,
    pub hung_up: AtomicU64,
}

pub struct Proxy {
    to: SocketAddr,
    seed: u64,
    pub faults: Faults,
}

impl Proxy {
    /// Opens for the rest of the run.
    pub async fn open(to: SocketAddr, seed: u64) -> io::Result<(Arc<Self>, SocketAddr)> {
        let proxy = Arc::new(Self { to, seed, faults: Faults::default() });
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let (address, serving) = (listener.local_addr()?, Arc::clone(&proxy));
        tokio::spawn(async move {
            let mut number = 0;
            while let Ok((client, _)) = listener.accept().await {
                number += 1;
                let (proxy, seed) = (Arc::clone(&serving), serving.seed.wrapping_add(number));
                // However it ends, the client sees a connection that ended.
                tokio::spawn(async move { proxy.forward(client, StdRng::seed_from_u64(seed)).await });
            }
        });
        Ok((proxy, address))
    }

    async fn forward(&self, client: TcpStream, mut random: StdRng) -> io::Result<()> {
        let mut client = Connection::over(client)?;
        let mut server = Connection::open(self.to).await?;
        while let Some(request) = client.receive().await? {
            self.faults.calls.fetch_add(1, Ordering::Relaxed);
            server.send(&request.bytes).await?;
            if random.random_bool(HUNG_UP) {
                self.faults.hung_up.fetch_add(1, Ordering::Relaxed);
                sleep(Duration::from_millis(random.random_range(0..40))).await;
                return Ok(());
            }
            let Some(reply) = server.receive().await? else { return Ok(()) };
            if random.random_bool(CUT) {
                self.faults.cut.fetch_add(1, Ordering::Relaxed);
                let arrives = if random.random_bool(0.5) { random.random_range(0..reply.bytes.len()) } else { 0 };
                return client.send(&reply.bytes[..arrives]).await;
            }
            client.send(&reply.bytes).await?;
            if reply.is_last() {
                server = Connection::open(self.to).await?;
            }
        }
        Ok(())
    }
}
