//! The head of a request to a proxy.

use super::super::Endpoint;

/// A longer head is no request.
pub(super) const LONGEST_HEAD: usize = 16 << 10;

/// What a client asks of the proxy.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Request {
    /// A tunnel to a place.
    Tunnel(Endpoint),
    /// One request to a place; the head as its server must see it.
    Forward(Endpoint, Vec<u8>),
}

/// Reads a complete head, with its final empty line. `Err` says what is wrong with it.
pub(super) fn parse(head: &[u8]) -> Result<Request, &'static str> {
    let head = std::str::from_utf8(head).map_err(|_| "the request is not text")?;
    let mut lines = head.split("\r\n");
    let mut words = lines.next().unwrap_or_default().split(' ');
    let (Some(method), Some(target), Some(version), None) = (words.next(), words.next(), words.next(), words.next())
    else {
        return Err("the first line is no request");
    };
    if !version.starts_with("HTTP/1.") {
        return Err("only HTTP/1 is spoken here");
    }
    if method == "CONNECT" {
        let port = target.rsplit_once(':').is_some_and(|(_, port)| port.bytes().all(|byte| byte.is_ascii_digit()));
        return match target.parse() {
            Ok(place) if port => Ok(Request::Tunnel(place)),
            _ => Err("CONNECT needs host:port"),
        };
    }
    let rest = target.get(..7).filter(|scheme| scheme.eq_ignore_ascii_case("http://")).and(target.get(7..));
    let rest = rest.ok_or("this is a proxy: ask with CONNECT, or with a whole http:// address")?;
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let slash = if path.starts_with('/') { "" } else { "/" };
    let place = place(authority).ok_or("the address names no host")?;
    let mut out = format!("{method} {slash}{path} HTTP/1.1\r\n");
    for line in lines.take_while(|line| !line.is_empty()) {
        let name = line.split(':').next().unwrap_or_default().to_ascii_lowercase();
        if !matches!(name.as_str(), "connection" | "proxy-connection" | "proxy-authorization" | "keep-alive") {
            out.push_str(line);
            out.push_str("\r\n");
        }
    }
    // One request a connection: the next one may be for another place, and is asked anew.
    out.push_str("Connection: close\r\n\r\n");
    Ok(Request::Forward(place, out.into_bytes()))
}

fn place(authority: &str) -> Option<Endpoint> {
    let has_port = authority.rsplit_once(':').is_some_and(|(_, port)| !port.is_empty() && !port.ends_with(']'));
    if has_port {
        authority.parse().ok()
    } else {
        Endpoint::new(authority.strip_suffix(':').unwrap_or(authority), 80).ok()
    }
}

/// Where a head ends, if it does.
pub(super) fn end_of_head(bytes: &[u8]) -> Option<usize> {
    bytes.windows(4).position(|window| window == b"\r\n\r\n").map(|at| at + 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tunnel_and_a_whole_address_are_understood() {
        let tunnel = parse(b"CONNECT Api.Example.com:443 HTTP/1.1\r\nHost: whatever\r\n\r\n");
        assert_eq!(tunnel, Ok(Request::Tunnel("api.example.com:443".parse().unwrap())));
        for (target, place, path) in [
            ("http://a.example/x?y", "a.example:80", "/x?y"),
            ("HTTP://a.example:8080", "a.example:8080", "/"),
            ("http://a.example?q", "a.example:80", "/?q"),
            ("http://[::1]/x", "[::1]:80", "/x"),
            ("http://[::1]:8/x", "[::1]:8", "/x"),
        ] {
            let head = format!(
                "GET {target} HTTP/1.1\r\nHost: a\r\nProxy-Connection: keep-alive\r\nProxy-Authorization: Basic x\r\nConnection: keep-alive\r\nA: b\r\n\r\n"
            );
            let asked = format!("GET {path} HTTP/1.1\r\nHost: a\r\nA: b\r\nConnection: close\r\n\r\n").into_bytes();
            assert_eq!(parse(head.as_bytes()), Ok(Request::Forward(place.parse().unwrap(), asked)), "{target}");
        }
    }

    #[test]
    fn anything_else_is_refused_with_its_reason() {
        for (line, why) in [
            ("GET / HTTP/1.1", "proxy"),
            ("GET https://a/ HTTP/1.1", "proxy"),
            ("CONNECT a.example HTTP/1.1", "host:port"),
            ("CONNECT a.example:x HTTP/1.1", "host:port"),
            ("CONNECT u@a:443 HTTP/1.1", "host:port"),
            ("CONNECT a:443 HTTP/2", "HTTP/1"),
            ("GET http://u:p@a/ HTTP/1.1", "no host"),
            ("GET http:/// HTTP/1.1", "no host"),
            ("GET http://a b/ HTTP/1.1", "no request"),
            ("", "no request"),
        ] {
            let error = parse(format!("{line}\r\n\r\n").as_bytes()).unwrap_err();
            assert!(error.contains(why), "{line}: {error}");
        }
        assert!(parse(b"\xff\r\n\r\n").is_err());
    }
}
