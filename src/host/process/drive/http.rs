//! As much of HTTP/1.1 as a probe needs: one request, one bounded response, no redirect followed.

use super::{Ask, Heard};
use crate::host::clock::Clock;
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

/// A response whose head is longer is no answer.
const LARGEST_HEAD: usize = 64 << 10;
/// How much of one body is kept.
const LARGEST_BODY: usize = 1 << 20;
/// All of an answer: interim responses and the lines between chunks count too.
const LARGEST_ANSWER: usize = 4 << 20;

/// True if something accepts connections on this port of 127.0.0.1.
pub(super) fn listens(port: u16, patience: Duration) -> bool {
    TcpStream::connect_timeout(&address(port), patience).is_ok()
}

/// Asks once. At most `left` bytes of the body are kept.
pub(super) fn ask(port: u16, ask: &Ask, limit: Duration, left: usize) -> Heard {
    let keep = left.min(LARGEST_BODY);
    converse(port, ask, limit, keep).unwrap_or_else(|why| Heard::Nothing { why })
}

fn address(port: u16) -> SocketAddr {
    SocketAddr::from((Ipv4Addr::LOCALHOST, port))
}

fn converse(port: u16, ask: &Ask, limit: Duration, keep: usize) -> Result<Heard, String> {
    let clock = Clock::System.stopwatch();
    let mut stream =
        TcpStream::connect_timeout(&address(port), limit).map_err(|why| format!("no connection: {why}"))?;
    stream.set_write_timeout(Some(limit)).map_err(|why| why.to_string())?;
    stream.write_all(request(port, ask).as_bytes()).map_err(|why| format!("the request cannot be sent: {why}"))?;
    let mut bytes = Vec::new();
    let mut chunk = vec![0_u8; 64 << 10];
    loop {
        let rest = limit.saturating_sub(clock.elapsed());
        if rest.is_zero() {
            return Err(format!("no complete answer within {} s", limit.as_secs()));
        }
        stream.set_read_timeout(Some(rest)).map_err(|why| why.to_string())?;
        let length = match stream.read(&mut chunk) {
            Ok(length) => length,
            Err(why) if why.kind() == ErrorKind::Interrupted => continue,
            Err(why) if matches!(why.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => continue,
            Err(why) => return Err(format!("the connection broke: {why}")),
        };
        bytes.extend_from_slice(&chunk[..length]);
        if bytes.len() > LARGEST_ANSWER {
            return Err(format!("its answer has more than {LARGEST_ANSWER} bytes"));
        }
        if let Some(response) = read(&bytes, length == 0, ask.method == "HEAD", keep)? {
            return Ok(response.heard());
        }
    }
}

fn request(port: u16, ask: &Ask) -> String {
    let Ask { method, path } = ask;
    let length = if matches!(method.as_str(), "GET" | "HEAD") { "" } else { "Content-Length: 0\r\n" };
    format!("{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAccept: */*\r\n{length}Connection: close\r\n\r\n")
}

#[derive(Debug, PartialEq, Eq)]
struct Response {
    status: u16,
    body: Vec<u8>,
    whole: bool,
}

impl Response {
    fn heard(self) -> Heard {
        let Self { status, mut body, whole } = self;
        if let Err(why) = std::str::from_utf8(&body)
            && !whole
            && why.error_len().is_none()
        {
            // Cut in the middle of a character.
            body.truncate(why.valid_up_to());
        }
        Heard::Answer { status, body: String::from_utf8(body).ok(), whole }
    }
}

/// The response in these bytes, or `None` if more must come. `over`: nothing more will.
fn read(mut bytes: &[u8], over: bool, bodiless: bool, keep: usize) -> Result<Option<Response>, String> {
    let (head, status, rest) = loop {
        let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else {
            return headless(bytes, over).map(|()| None);
        };
        let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
        let status = status(&head)?;
        bytes = &bytes[end + 4..];
        // `100 Continue` and its like announce the answer.
        if !(100..200).contains(&status) || status == 101 {
            break (head, status, bytes);
        }
    };
    if bodiless || matches!(status, 204 | 304) {
        return Ok(Some(Response { status, body: Vec::new(), whole: true }));
    }
    let header = |name: &str| {
        head.lines().skip(1).find_map(|line| {
            let (found, value) = line.split_once(':')?;
            found.trim().eq_ignore_ascii_case(name).then(|| value.trim().to_ascii_lowercase())
        })
    };
    let (body, complete) = if header("transfer-encoding").is_some_and(|coding| coding.contains("chunked")) {
        chunks(rest)?
    } else if let Some(length) = header("content-length") {
        let length = length.parse::<usize>().map_err(|_| format!("its Content-Length is {length:?}"))?;
        (rest[..rest.len().min(length)].to_vec(), rest.len() >= length)
    } else {
        (rest.to_vec(), over)
    };
    let whole = complete && body.len() <= keep;
    if body.len() > keep {
        return Ok(Some(Response { status, body: body[..keep].to_vec(), whole }));
    }
    match (complete, over) {
        (true, _) => Ok(Some(Response { status, body, whole })),
        (false, true) => Err(format!("it closed the connection after {} bytes of its body", body.len())),
        (false, false) => Ok(None),
    }
}

/// What a head without its end means.
fn headless(bytes: &[u8], over: bool) -> Result<(), String> {
    match (over, bytes.len() > LARGEST_HEAD) {
        (_, true) => Err(format!("the head of its answer has more than {LARGEST_HEAD} bytes")),
        (true, _) if bytes.is_empty() => Err("it closed the connection without an answer".to_owned()),
        (true, _) => Err("it closed the connection within the head of its answer".to_owned()),
        (false, _) => Ok(()),
    }
}

fn status(head: &str) -> Result<u16, String> {
    let line = head.lines().next().unwrap_or_default();
    let mut words = line.split(' ');
    let is_http = words.next().is_some_and(|version| version.starts_with("HTTP/1."));
    let code = words.next().filter(|word| word.len() == 3).and_then(|word| word.parse::<u16>().ok());
    match code {
        Some(code) if is_http && (100..600).contains(&code) => Ok(code),
        _ => Err(format!("its answer is not HTTP/1: {:?}", line.chars().take(60).collect::<String>())),
    }
}

/// The body so far, and whether its last chunk is there.
fn chunks(mut rest: &[u8]) -> Result<(Vec<u8>, bool), String> {
    let mut body = Vec::new();
    loop {
        let Some(end) = rest.windows(2).position(|two| two == b"\r\n") else { return Ok((body, false)) };
        let size = String::from_utf8_lossy(&rest[..end]).into_owned();
        let digits = size.split(';').next().unwrap_or_default().trim();
        let size = usize::from_str_radix(digits, 16).map_err(|_| format!("a chunk's size is {digits:?}"))?;
        rest = &rest[end + 2..];
        if size == 0 {
            return Ok((body, true));
        }
        if rest.len() < size.saturating_add(2) {
            body.extend_from_slice(&rest[..rest.len().min(size)]);
            return Ok((body, false));
        }
        body.extend_from_slice(&rest[..size]);
        rest = &rest[size + 2..];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(text: &str) -> Response {
        Response { status: 200, body: text.as_bytes().to_vec(), whole: true }
    }

    #[test]
    fn a_response_ends_where_its_head_says() {
        for (bytes, over, expected) in [
            ("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi and more", false, Some(body("hi"))),
            ("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nhi", false, None),
            ("HTTP/1.1 200 OK\r\n\r\nhi", false, None),
            ("HTTP/1.0 200 OK\r\n\r\nhi", true, Some(body("hi"))),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;x=y\r\nhi\r\n1\r\n!\r\n0\r\n\r\n",
                false,
                Some(body("hi!")),
            ),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhi", false, None),
            ("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", false, Some(body(""))),
            ("HTTP/1.1 200", false, None),
        ] {
            assert_eq!(read(bytes.as_bytes(), over, false, 100), Ok(expected), "{bytes:?}");
        }
        let no_content = read(b"HTTP/1.1 204 No\r\n\r\n", false, false, 9).unwrap().unwrap();
        assert_eq!((no_content.status, no_content.whole), (204, true));
        let head = read(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", false, true, 9).unwrap().unwrap();
        assert!(head.body.is_empty() && head.whole);
    }

    #[test]
    fn what_is_no_answer_says_why() {
        for (bytes, words) in [
            ("", "without an answer"),
            ("HTTP/1.1 2", "within the head"),
            ("SSH-2.0-x\r\n\r\n", "not HTTP/1"),
            ("HTTP/1.1 99999 x\r\n\r\n", "not HTTP/1"),
            ("HTTP/1.1 200 OK\r\nContent-Length: -3\r\n\r\n", "Content-Length"),
            ("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhi", "after 2 bytes"),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "chunk"),
        ] {
            let why = read(bytes.as_bytes(), true, false, 100).unwrap_err();
            assert!(why.contains(words), "{bytes:?}: {why}");
        }
        assert!(read(&vec![b'x'; LARGEST_HEAD + 1], false, false, 1).is_err());
    }

    #[test]
    fn a_long_body_is_cut_between_characters() {
        let long = "HTTP/1.1 200 OK\r\n\r\n\u{e4}\u{e4}";
        let cut = read(long.as_bytes(), false, false, 3).unwrap().unwrap();
        assert_eq!(cut.heard(), Heard::Answer { status: 200, body: Some("\u{e4}".to_owned()), whole: false });
    }
}
