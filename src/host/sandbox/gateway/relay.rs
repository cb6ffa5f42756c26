//! One connection of a child to the outside.

use super::super::Endpoint;
use super::Shared;
use super::http::{LONGEST_HEAD, Request, end_of_head, parse};
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// More connections at once are closed as they come.
const MOST_CONNECTIONS: usize = 128;
/// How long a head may take.
const ASKING: Duration = Duration::from_secs(30);
/// How long one address may take to answer.
const CONNECTING: Duration = Duration::from_secs(10);
/// Two of these for each connection; nothing deep happens on them.
const STACK: usize = 256 << 10;

/// Starts and counts connections.
pub(super) struct Relay {
    shared: Arc<Shared>,
    open: Arc<AtomicUsize>,
}

/// One of the connections that may be open at once; given back when dropped.
struct Seat(Arc<AtomicUsize>);

impl Drop for Seat {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Relay {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self { shared, open: Arc::default() }
    }

    /// Serves a connection on a thread of its own: to this place, or to the one it asks the proxy for.
    pub(super) fn start(&self, stream: TcpStream, forward: Option<Endpoint>) {
        let seat = Seat(Arc::clone(&self.open));
        if self.open.fetch_add(1, Ordering::SeqCst) >= MOST_CONNECTIONS || stream.set_nonblocking(false).is_err() {
            return;
        }
        let shared = Arc::clone(&self.shared);
        let serve = move || {
            let _seat = seat;
            let Some(number) = shared.remember(&stream) else { return };
            // A connection that breaks is the two ends' business; both see it closed.
            let _ = match forward {
                Some(place) => direct(&shared, &stream, &place),
                None => proxied(&shared, &stream),
            };
            let _ = stream.shutdown(Shutdown::Both);
            shared.forget(number);
        };
        // Without a thread the stream is dropped, and so closed.
        let _ = std::thread::Builder::new().name("gateway".to_owned()).stack_size(STACK).spawn(serve);
    }
}

fn direct(shared: &Arc<Shared>, stream: &TcpStream, place: &Endpoint) -> io::Result<()> {
    if !shared.admits(place) {
        return Ok(());
    }
    join(shared, stream, &connect(place)?, b"")
}

fn proxied(shared: &Arc<Shared>, mut stream: &TcpStream) -> io::Result<()> {
    stream.set_read_timeout(Some(ASKING))?;
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(end) = end_of_head(&bytes) {
            break end;
        }
        if bytes.len() > LONGEST_HEAD {
            return answer(stream, "431 Request Header Fields Too Large", "the head of the request is too long");
        }
        let mut chunk = [0_u8; 4096];
        let length = stream.read(&mut chunk)?;
        if length == 0 {
            return Ok(());
        }
        bytes.extend_from_slice(&chunk[..length]);
    };
    stream.set_read_timeout(None)?;
    let rest = bytes.split_off(end);
    let (place, head) = match parse(&bytes) {
        Ok(Request::Tunnel(place)) => (place, None),
        Ok(Request::Forward(place, head)) => (place, Some(head)),
        Err(why) => return answer(stream, "400 Bad Request", why),
    };
    if !shared.admits(&place) {
        let why = format!("{place} is not among the hosts that this run may reach; list it under sandbox.allow-hosts");
        return answer(stream, "403 Forbidden", &why);
    }
    let server = match connect(&place) {
        Ok(server) => server,
        Err(error) => return answer(stream, "502 Bad Gateway", &format!("failed to reach {place}: {error}")),
    };
    if let Some(head) = head {
        return join(shared, stream, &server, &[head, rest].concat());
    }
    stream.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")?;
    join(shared, stream, &server, &rest)
}

fn answer(mut stream: &TcpStream, status: &str, why: &str) -> io::Result<()> {
    let body = format!("countersign: {why}\n");
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(body.as_bytes())?;
    // Closed with unread bytes, the system would take the answer back.
    stream.shutdown(Shutdown::Write)?;
    stream.set_read_timeout(Some(Duration::from_secs(1)))?;
    io::copy(&mut stream.take(1 << 20), &mut io::sink()).map(|_| ())
}

/// Names are resolved here, outside.
fn connect(place: &Endpoint) -> io::Result<TcpStream> {
    let mut last = io::Error::other("its name has no address");
    for address in (place.host(), place.port()).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, CONNECTING) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Carries bytes both ways until both directions have ended. `first` goes to the server before everything else.
fn join(shared: &Arc<Shared>, client: &TcpStream, server: &TcpStream, first: &[u8]) -> io::Result<()> {
    let Some(number) = shared.remember(server) else { return Ok(()) };
    let _ = (client.set_nodelay(true), server.set_nodelay(true));
    let carried = both_ways(client, server, first);
    let _ = server.shutdown(Shutdown::Both);
    shared.forget(number);
    carried
}

fn both_ways(client: &TcpStream, mut server: &TcpStream, first: &[u8]) -> io::Result<()> {
    server.write_all(first)?;
    let (client_in, server_out) = (client.try_clone()?, server.try_clone()?);
    let up = std::thread::Builder::new()
        .name("gateway".to_owned())
        .stack_size(STACK)
        .spawn(move || carry(&client_in, &server_out))?;
    carry(server, client);
    let _ = up.join();
    Ok(())
}

/// Carries one direction, and tells the receiver that it has ended. A broken receiver stops the sender.
fn carry(mut from: &TcpStream, mut to: &TcpStream) {
    if io::copy(&mut from, &mut to).is_err() {
        let _ = from.shutdown(Shutdown::Both);
    }
    let _ = to.shutdown(Shutdown::Write);
}
