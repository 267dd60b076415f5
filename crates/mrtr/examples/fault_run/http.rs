//! As much of HTTP/1.1 as the clients and the faulty proxy need: whole messages, as the bytes they came in.

use std::io;
use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// One connection, and what was read from it and not used yet.
pub struct Connection {
    stream: TcpStream,
    read: Vec<u8>,
}

/// A request or a response.
pub struct Message {
    pub bytes: Vec<u8>,
    body_at: usize,
}

impl Connection {
    pub async fn open(address: SocketAddr) -> io::Result<Self> {
        Self::over(TcpStream::connect(address).await?)
    }

    pub fn over(stream: TcpStream) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        Ok(Self { stream, read: Vec::new() })
    }

    pub async fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes).await
    }

    /// Reads the next message; `None` where the other side ended the connection before it.
    pub async fn receive(&mut self) -> io::Result<Option<Message>> {
        let body_at = loop {
            if let Some(at) = self.read.windows(4).position(|window| window == b"\r\n\r\n") {
                break at + 4;
            }
            if self.stream.read_buf(&mut self.read).await? == 0 {
                return if self.read.is_empty() { Ok(None) } else { Err(io::ErrorKind::UnexpectedEof.into()) };
            }
        };
        let head = String::from_utf8_lossy(&self.read[..body_at]).to_ascii_lowercase();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length:"));
        let length: usize = length.and_then(|length| length.trim().parse().ok()).ok_or(io::ErrorKind::InvalidData)?;
        while self.read.len() < body_at + length {
            if self.stream.read_buf(&mut self.read).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        let rest = self.read.split_off(body_at + length);
        Ok(Some(Message { bytes: std::mem::replace(&mut self.read, rest), body_at }))
    }
}

impl Message {
    pub fn body(&self) -> &[u8] {
        &self.bytes[self.body_at..]
    }

    /// The status of a response; zero for anything else.
    pub fn status(&self) -> u16 {
        let status = self.bytes.get(9..12).and_then(|status| std::str::from_utf8(status).ok());
        status.and_then(|status| status.parse().ok()).unwrap_or_default()
    }

    /// Whether the connection ends with this message.
    pub fn is_last(&self) -> bool {
        String::from_utf8_lossy(&self.bytes[..self.body_at]).to_ascii_lowercase().contains("connection: close")
    }
}

/// The bytes of a `tools/call`, with the headers the protocol wants. `leg` travels in a header of its own, which nginx
/// writes into its log.
pub fn request(tool: &str, leg: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!(
        "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
         accept: application/json, text/event-stream\r\nmcp-protocol-version: 2026-07-28\r\nmcp-method: tools/call\r\n\
         mcp-name: {tool}\r\nx-leg: {leg}\r\ncontent-length: {length}\r\n\r\n{body}"
    )
    .into_bytes()
}
