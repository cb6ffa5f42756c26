//! Whether a server takes connections.

use std::net::{TcpStream, ToSocketAddrs};
use std::sync::mpsc;
use std::time::Duration;

/// What came of knocking.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reach {
    /// It took a connection, which was closed again at once.
    Accepted,
    /// It did not, with the reason.
    Unreached(String),
}

/// Connects to a server and hangs up. Waits for its name and for its answer no longer than `within`, each.
pub fn reach(server: &str, port: u16, within: Duration) -> Reach {
    let (send, receive) = mpsc::channel();
    let server = server.to_owned();
    // Asking for a name cannot be given a limit, so it is asked on the side; a straggler ends with our process.
    std::thread::spawn(move || {
        let found = (server.as_str(), port).to_socket_addrs().map(Iterator::collect::<Vec<_>>);
        drop(send.send(found));
    });
    let addresses = match receive.recv_timeout(within) {
        Ok(Ok(addresses)) => addresses,
        Ok(Err(why)) => return Reach::Unreached(format!("its name is not known here ({why})")),
        Err(_) => return Reach::Unreached(format!("its name was not found within {} s", within.as_secs())),
    };
    let mut last = "its name has no address".to_owned();
    // A name may have many addresses; two tell enough.
    for address in addresses.iter().take(2) {
        match TcpStream::connect_timeout(address, within) {
            Ok(_) => return Reach::Accepted,
            Err(why) => last = why.to_string(),
        }
    }
    Reach::Unreached(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_listens_is_reached_and_one_that_is_gone_is_not() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        assert_eq!(reach("127.0.0.1", port, Duration::from_secs(5)), Reach::Accepted);
        drop(listener);
        assert!(matches!(reach("127.0.0.1", port, Duration::from_secs(5)), Reach::Unreached(_)));
    }
}
