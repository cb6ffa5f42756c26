//! The one way out of a box with [`super::Network::Listed`].
//!
//! The helper opens the listening sockets inside the child's network and hands them to us; a socket belongs for good to
//! the network it was made in. So we accept inside and connect outside, and no byte of the child's passes anything else.
//! Two kinds of sockets: a proxy (`CONNECT`, and requests in absolute form) for everything that honours `HTTPS_PROXY`,
//! and one for each listed port of this machine itself, at the same address, for clients that do not.

mod http;
mod relay;

use super::Endpoint;
use relay::Relay;
use rustix::event::{PollFd, PollFlags, poll};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

/// Where the proxy listens, unless a listed port of this machine needs the number.
const PROXY_PORT: u16 = 3128;
/// More listed ports of this machine than this are not carried into the box: they are passed in one message.
const MOST_PORTS: usize = 16;
/// At most this many places are told apart in the receipt; the rest is counted together.
const MOST_CONTACTS: usize = 256;

/// How often a child asked for one place in the network.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Contact {
    /// Host and port as the child named them; `others` beyond the first 256.
    pub place: String,
    /// False: refused, because it is not listed.
    pub allowed: bool,
    /// Requests and connections.
    pub count: u64,
}

/// What a gateway for these hosts will need inside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::host) struct Plan {
    proxy: SocketAddr,
    forwards: BTreeMap<SocketAddr, Endpoint>,
}

impl Plan {
    /// For these hosts.
    pub(in crate::host) fn of(hosts: &[Endpoint]) -> Self {
        let mut forwards = BTreeMap::new();
        for host in hosts {
            for address in host.loopback() {
                if forwards.len() < MOST_PORTS {
                    forwards.entry(address).or_insert_with(|| host.clone());
                }
            }
        }
        let taken: BTreeSet<u16> = forwards.keys().map(SocketAddr::port).collect();
        let port = (PROXY_PORT..=u16::MAX).find(|port| !taken.contains(port)).unwrap_or(PROXY_PORT);
        Self { proxy: SocketAddr::new(Ipv4Addr::LOCALHOST.into(), port), forwards }
    }

    /// Where the helper is to listen; the proxy first, which must not be missing.
    pub(in crate::host) fn listen(&self) -> Vec<SocketAddr> {
        std::iter::once(self.proxy).chain(self.forwards.keys().copied()).collect()
    }

    /// The variables by which programs find the proxy. What the child itself listens on stays direct.
    pub(in crate::host) fn environment(&self) -> Vec<(OsString, OsString)> {
        let proxy = format!("http://{}", self.proxy);
        let mut env = Vec::new();
        for name in ["HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY"] {
            env.push((name.into(), proxy.clone().into()));
            env.push((name.to_ascii_lowercase().into(), proxy.clone().into()));
        }
        for name in ["NO_PROXY", "no_proxy"] {
            env.push((name.into(), "localhost,127.0.0.1,::1".into()));
        }
        // Node's own `fetch` looks at the variables above only if this one is set.
        env.push(("NODE_USE_ENV_PROXY".into(), "1".into()));
        env
    }
}

/// An open gateway.
pub(in crate::host) struct Gateway {
    shared: Arc<Shared>,
    stop: UnixStream,
    acceptor: JoinHandle<()>,
}

impl Gateway {
    /// Serves these hosts on the sockets that the helper opened, in the order of their addresses.
    ///
    /// # Errors
    /// The system refuses a socket or a thread.
    pub(in crate::host) fn open(
        hosts: &[Endpoint],
        plan: &Plan,
        at: &[SocketAddr],
        sockets: Vec<OwnedFd>,
    ) -> std::io::Result<Self> {
        let mut listeners = Vec::new();
        for (address, socket) in at.iter().zip(sockets) {
            let listener = TcpListener::from(socket);
            listener.set_nonblocking(true)?;
            listeners.push((listener, plan.forwards.get(address).cloned()));
        }
        let shared = Arc::new(Shared { allowed: hosts.iter().cloned().collect(), ..Shared::default() });
        let (stop, stopped) = UnixStream::pair()?;
        let relay = Relay::new(Arc::clone(&shared));
        let acceptor = std::thread::Builder::new()
            .name("gateway".to_owned())
            .spawn(move || accept(&listeners, &stopped, &relay))?;
        Ok(Self { shared, stop, acceptor })
    }

    /// Cuts every connection; what was asked for, refused places first.
    pub(in crate::host) fn close(self) -> Vec<Contact> {
        drop(self.stop);
        let _ = self.acceptor.join();
        let mut open = lock(&self.shared.open);
        open.closed = true;
        for stream in std::mem::take(&mut open.streams).into_values() {
            let _ = stream.shutdown(std::net::Shutdown::Both);
        }
        drop(open);
        let counted = std::mem::take(&mut *lock(&self.shared.contacts));
        let contact = |((allowed, place), count)| Contact { place, allowed, count };
        counted.into_iter().map(contact).collect()
    }
}

fn accept(listeners: &[(TcpListener, Option<Endpoint>)], stopped: &UnixStream, relay: &Relay) {
    loop {
        let mut watched: Vec<_> = listeners.iter().map(|(socket, _)| PollFd::new(socket, PollFlags::IN)).collect();
        watched.push(PollFd::new(stopped, PollFlags::IN));
        match poll(&mut watched, None) {
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => continue,
            Err(_) => return,
        }
        if watched.last().is_none_or(|stop| !stop.revents().is_empty()) {
            return;
        }
        for (listener, forward) in listeners {
            // Never blocks; nobody there, or gone again, is no matter.
            if let Ok((stream, _)) = listener.accept() {
                relay.start(stream, forward.clone());
            }
        }
    }
}

/// What the threads of a gateway share.
#[derive(Default)]
struct Shared {
    allowed: BTreeSet<Endpoint>,
    open: Mutex<Open>,
    contacts: Mutex<BTreeMap<(bool, String), u64>>,
}

/// The connections that stand.
#[derive(Default)]
struct Open {
    closed: bool,
    next: u64,
    streams: BTreeMap<u64, TcpStream>,
}

impl Shared {
    /// Counts a request for a place and says whether it is listed.
    fn admits(&self, place: &Endpoint) -> bool {
        let allowed = self.allowed.contains(place);
        let mut contacts = lock(&self.contacts);
        let key = (allowed, place.to_string());
        let known = contacts.contains_key(&key) || contacts.len() < MOST_CONTACTS;
        let key = if known { key } else { (allowed, "others".to_owned()) };
        *contacts.entry(key).or_default() += 1;
        allowed
    }

    /// Remembers a stream, so that [`Gateway::close`] cuts it. `None` once everything is closed.
    fn remember(&self, stream: &TcpStream) -> Option<u64> {
        let mut open = lock(&self.open);
        if open.closed {
            return None;
        }
        let copy = stream.try_clone().ok()?;
        open.next += 1;
        let number = open.next;
        open.streams.insert(number, copy);
        Some(number)
    }

    fn forget(&self, number: u64) {
        lock(&self.open).streams.remove(&number);
    }
}

/// A thread that panicked leaves counts and streams as they are; they stay true.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
