//! As much of HTTP/1.1 as the agents use.

use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

/// Far more than any agent sends.
const LARGEST_BODY: usize = 64 << 20;

#[derive(Debug)]
pub(super) struct Request {
    pub(super) method: String,
    pub(super) path: String,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
}

/// What is sent back.
#[derive(Debug)]
pub(super) enum Response {
    /// A whole answer; the connection stays open.
    Whole { status: u16, headers: Vec<(&'static str, String)>, body: Vec<u8> },
    /// Server-sent events to their end.
    Stream(Vec<String>),
    /// These events, then a reset connection. None: not even a status line.
    Cut { before: Vec<String> },
    /// These events, then nothing for as long as the server lives.
    Silence { before: Vec<String> },
}

impl Response {
    pub(super) fn whole(status: u16, body: &Value) -> Self {
        let headers = vec![("content-type", "application/json".to_owned())];
        Self::Whole { status, headers, body: body.to_string().into_bytes() }
    }
}

impl Request {
    fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The body as characters and as a value; `null` if there is none.
    pub(super) fn json(&self) -> Result<(String, Value), String> {
        if let Some(encoding) = self.header("content-encoding") {
            return Err(format!("its body is encoded ({encoding}), which is not read here"));
        }
        let text = String::from_utf8(self.body.clone()).map_err(|why| why.to_string())?;
        let body = if text.is_empty() { Ok(Value::Null) } else { serde_json::from_str(&text) };
        body.map(|body| (text, body)).map_err(|why| why.to_string())
    }
}

/// The next request; `None` once the client has closed.
pub(super) fn read(connection: &TcpStream) -> Result<Option<Request>, String> {
    // What it reads ahead is lost; but no agent sends a second request before it has the answer to the first.
    let mut reader = BufReader::new(connection);
    let mut line = String::new();
    if reader.read_line(&mut line).unwrap_or(0) == 0 {
        return Ok(None);
    }
    let mut words = line.split_whitespace().map(str::to_owned);
    let (Some(method), Some(path)) = (words.next(), words.next()) else { return Err(format!("no request: {line:?}")) };
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).map_err(|why| why.to_string())?;
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        let (name, value) = line.split_once(':').ok_or_else(|| format!("no header: {line:?}"))?;
        headers.push((name.trim().to_ascii_lowercase(), value.trim().to_owned()));
    }
    let mut request = Request { method, path, headers, body: Vec::new() };
    if request.header("expect").is_some_and(|value| value.eq_ignore_ascii_case("100-continue")) {
        let mut answers = connection;
        answers.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").map_err(|why| why.to_string())?;
    }
    let chunked = request.header("transfer-encoding").is_some_and(|value| value.eq_ignore_ascii_case("chunked"));
    let length = request.header("content-length").map_or(Ok(0), str::parse).map_err(|_| "no content-length")?;
    let body = if chunked { read_chunks(&mut reader) } else { read_exactly(&mut reader, length) };
    match body {
        Ok(body) => request.body = body,
        // It left before it had said everything, as a killed program does.
        Err(_) => return Ok(None),
    }
    Ok(Some(request))
}

fn read_exactly(reader: &mut impl Read, length: usize) -> std::io::Result<Vec<u8>> {
    assert!(length <= LARGEST_BODY, "a request of {length} bytes");
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(body)
}

fn read_chunks(reader: &mut impl BufRead) -> std::io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let digits = line.split(';').next().unwrap_or_default().trim();
        let length = usize::from_str_radix(digits, 16).map_err(std::io::Error::other)?;
        body.extend(read_exactly(reader, length)?);
        reader.read_line(&mut line)?;
        if length == 0 {
            return Ok(body);
        }
    }
}

/// Sends events; without any not even a status line.
pub(super) fn stream(mut connection: &TcpStream, frames: &[String]) -> std::io::Result<()> {
    if frames.is_empty() {
        return Ok(());
    }
    let head =
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncache-control: no-cache\r\nconnection: close\r\n\r\n";
    connection.write_all(head.as_bytes())?;
    for frame in frames {
        connection.write_all(frame.as_bytes())?;
    }
    connection.flush()
}

pub(super) fn whole(
    mut connection: &TcpStream,
    status: u16,
    headers: &[(&str, String)],
    body: &[u8],
) -> std::io::Result<()> {
    let mut head = format!("HTTP/1.1 {status} Planned\r\ncontent-length: {}\r\n", body.len());
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    connection.write_all(head.as_bytes())?;
    connection.write_all(body)?;
    connection.flush()
}

/// Closes a connection so that the client sees a fault and not an end.
pub(super) fn reset(connection: TcpStream) {
    let linger = Some(std::time::Duration::ZERO);
    rustix::net::sockopt::set_socket_linger(&connection, linger).unwrap();
    drop(connection);
}
