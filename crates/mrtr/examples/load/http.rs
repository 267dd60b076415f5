//! As much of HTTP/1.1 as a client needs that wants to break off anywhere.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// Longer than any call of the load takes.
const PATIENCE: Duration = Duration::from_secs(30);

/// One connection, and what was read from it and not used yet.
pub struct Connection {
    stream: TcpStream,
    read: Vec<u8>,
}

/// How a response begins.
pub struct Head {
    pub status: u16,
    length: Option<usize>,
}

impl Head {
    pub fn is_stream(&self) -> bool {
        self.length.is_none()
    }
}

impl Connection {
    pub async fn open(address: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, read: Vec::new() })
    }

    pub async fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes).await
    }

    /// Reads up to the headers' end.
    pub async fn head(&mut self) -> io::Result<Head> {
        let end = self.find(b"\r\n\r\n").await?;
        let head = String::from_utf8_lossy(&self.read[..end]).to_ascii_lowercase();
        self.read.drain(..end + 4);
        let status = head.get(9..12).and_then(|status| status.parse().ok()).ok_or(io::ErrorKind::InvalidData)?;
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        Ok(Head { status, length: length.and_then(|length| length.parse().ok()) })
    }

    /// Reads the body of a response that has a length.
    pub async fn body(&mut self, head: &Head) -> io::Result<Value> {
        let length = head.length.ok_or(io::ErrorKind::InvalidData)?;
        while self.read.len() < length {
            self.fill().await?;
        }
        let body: Vec<u8> = self.read.drain(..length).collect();
        Ok(serde_json::from_slice(&body).unwrap_or(Value::Null))
    }

    /// The messages in the next piece of a stream; `None` at its end.
    pub async fn events(&mut self) -> io::Result<Option<Vec<Value>>> {
        let end = self.find(b"\r\n").await?;
        let size = std::str::from_utf8(&self.read[..end]).ok().and_then(|size| usize::from_str_radix(size, 16).ok());
        let size = size.ok_or(io::ErrorKind::InvalidData)?;
        while self.read.len() < end + 2 + size + 2 {
            self.fill().await?;
        }
        let chunk: Vec<u8> = self.read.drain(..end + 2 + size + 2).skip(end + 2).take(size).collect();
        let text = String::from_utf8_lossy(&chunk);
        let data = text.lines().filter_map(|line| line.strip_prefix("data: "));
        Ok((size > 0).then(|| data.map(|data| serde_json::from_str(data).unwrap_or(Value::Null)).collect()))
    }

    async fn find(&mut self, mark: &[u8]) -> io::Result<usize> {
        loop {
            if let Some(at) = self.read.windows(mark.len()).position(|window| window == mark) {
                return Ok(at);
            }
            self.fill().await?;
        }
    }

    async fn fill(&mut self) -> io::Result<()> {
        match timeout(PATIENCE, self.stream.read_buf(&mut self.read)).await {
            Ok(Ok(0)) => Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(read) => read.map(drop),
            Err(_) => Err(io::ErrorKind::TimedOut.into()),
        }
    }
}

/// A request of this protocol: headers that a test may replace or leave out, and a body.
#[derive(Clone)]
pub struct Post {
    pub method: &'static str,
    pub path: &'static str,
    pub headers: Vec<(&'static str, String)>,
    pub body: Value,
    /// Sent instead of the body, if it is there.
    pub raw: Option<Vec<u8>>,
}

impl Post {
    pub fn new(method: &str, name: Option<&str>, params: Value) -> Self {
        let mut params = params;
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": { "elicitation": {} },
        });
        let mut headers = vec![
            ("host", "localhost".to_owned()),
            ("content-type", "application/json".to_owned()),
            ("accept", "application/json, text/event-stream".to_owned()),
            ("mcp-protocol-version", "2026-07-28".to_owned()),
            ("mcp-method", method.to_owned()),
        ];
        headers.extend(name.map(|name| ("mcp-name", name.to_owned())));
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        Self { method: "POST", path: "/mcp", headers, body, raw: None }
    }

    pub fn call(tool: &str, arguments: Value) -> Self {
        Self::new("tools/call", Some(tool), json!({ "name": tool, "arguments": arguments }))
    }

    /// With another header; without it, if the value is empty.
    pub fn header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.retain(|(known, _)| *known != name);
        if !value.is_empty() {
            self.headers.push((name, value.to_owned()));
        }
        self
    }

    /// With another value at this place of the body; without it, if the value is null.
    pub fn set(mut self, pointer: &str, value: Value) -> Self {
        let (parent, name) = pointer.rsplit_once('/').expect("a pointer");
        let members = self.body.pointer_mut(parent).and_then(Value::as_object_mut).expect("an object");
        match value {
            Value::Null => drop(members.remove(name)),
            value => drop(members.insert(name.to_owned(), value)),
        }
        self
    }

    /// With these bytes as its body.
    pub fn raw(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.raw = Some(body.into());
        self
    }

    pub fn bytes(&self) -> Vec<u8> {
        let body = self.raw.clone().unwrap_or_else(|| self.body.to_string().into_bytes());
        let mut head = format!("{} {} HTTP/1.1\r\ncontent-length: {}\r\n", self.method, self.path, body.len());
        self.headers.iter().for_each(|(name, value)| head.extend([name, ": ", value, "\r\n"]));
        [(head + "\r\n").as_bytes(), &body].concat()
    }
}
