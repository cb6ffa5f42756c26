//! A place in the network that a child may reach: a host and a port.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::str::FromStr;

/// The port of a host that is named without one.
const HTTPS: u16 = 443;
/// A longer name is no host's.
const LONGEST_NAME: usize = 253;

/// A host and a port. Names compare without regard to case and to a final dot; they are resolved outside the box.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct Endpoint {
    host: String,
    port: u16,
}

/// What is no endpoint.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no host and port; write `api.example.com`, `registry.example.com:8443` or `127.0.0.1:8080`")]
pub struct NoEndpoint(String);

impl Endpoint {
    /// A host and a port.
    ///
    /// # Errors
    /// The host is neither a name nor an address, or the port is 0.
    pub fn new(host: &str, port: u16) -> Result<Self, NoEndpoint> {
        let bare = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
        let name = bare.strip_suffix('.').unwrap_or(bare).to_ascii_lowercase();
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
        let is_name = !name.is_empty() && name.len() <= LONGEST_NAME && name.bytes().all(plain);
        let address = name.parse::<IpAddr>().ok();
        if port == 0 || !is_name && address.is_none() {
            return Err(NoEndpoint(format!("{}:{port}", host.escape_default())));
        }
        Ok(Self { host: address.map_or(name, |address| address.to_string()), port })
    }

    /// Its host, in lower case; an IPv6 address without brackets.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Where this machine itself is meant: the addresses at which it must be found inside a network of its own.
    pub(super) fn loopback(&self) -> Vec<SocketAddr> {
        let here: &[IpAddr] = &[IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];
        let means = |address: &&IpAddr| self.host == "localhost" || self.host == address.to_string();
        here.iter().filter(means).map(|address| SocketAddr::new(*address, self.port)).collect()
    }
}

impl FromStr for Endpoint {
    type Err = NoEndpoint;

    fn from_str(text: &str) -> Result<Self, NoEndpoint> {
        let wrong = || NoEndpoint(text.escape_default().to_string());
        let bare_address = text.parse::<Ipv6Addr>().is_ok();
        match text.rsplit_once(':') {
            Some((host, port)) if !bare_address && !host.is_empty() && !text.ends_with(']') => {
                // `u16` would also take `+443`.
                let digits = port.bytes().all(|byte| byte.is_ascii_digit());
                let port = port.parse().ok().filter(|_| digits).ok_or_else(wrong)?;
                Self::new(host, port).map_err(|_| wrong())
            }
            _ => Self::new(text, HTTPS).map_err(|_| wrong()),
        }
    }
}

impl TryFrom<String> for Endpoint {
    type Error = NoEndpoint;

    fn try_from(text: String) -> Result<Self, NoEndpoint> {
        text.parse()
    }
}

impl From<Endpoint> for String {
    fn from(endpoint: Endpoint) -> Self {
        endpoint.to_string()
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            return write!(f, "[{}]:{}", self.host, self.port);
        }
        write!(f, "{}:{}", self.host, self.port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_read_with_its_port_and_printed_the_same_way_back() {
        for (text, shown) in [
            ("api.example.com", "api.example.com:443"),
            ("API.Example.com.:8443", "api.example.com:8443"),
            ("127.0.0.1:80", "127.0.0.1:80"),
            ("::1", "[::1]:443"),
            ("[::1]:8080", "[::1]:8080"),
            ("[0:0:0:0:0:0:0:1]", "[::1]:443"),
            ("localhost:1", "localhost:1"),
        ] {
            let endpoint: Endpoint = text.parse().unwrap();
            assert_eq!(endpoint.to_string(), shown);
            assert_eq!(shown.parse::<Endpoint>().unwrap(), endpoint);
            let json = serde_json::to_string(&endpoint).unwrap();
            assert_eq!(serde_json::from_str::<Endpoint>(&json).unwrap(), endpoint);
        }
    }

    #[test]
    fn what_is_no_host_and_port_is_refused_and_named() {
        for text in [
            "",
            ":",
            ":443",
            "a:",
            "a:0",
            "a:65536",
            "a:+1",
            "a b:1",
            "https://a",
            "a/b",
            "u@a:1",
            "a\n:1",
            "*",
            "[a]b:1",
        ] {
            let error = text.parse::<Endpoint>().unwrap_err().to_string();
            assert!(error.contains(&*text.escape_default().to_string()), "{error}");
        }
        assert!(Endpoint::new(&"a".repeat(254), 1).is_err());
    }

    #[test]
    fn this_machine_is_meant_by_its_loopback_names_only() {
        let at = |text: &str| text.parse::<Endpoint>().unwrap().loopback();
        assert_eq!(at("127.0.0.1:8"), ["127.0.0.1:8".parse().unwrap()]);
        assert_eq!(at("[::1]:8"), ["[::1]:8".parse().unwrap()]);
        assert_eq!(at("localhost:8").len(), 2);
        assert_eq!(at("192.0.2.1:8"), []);
    }
}
