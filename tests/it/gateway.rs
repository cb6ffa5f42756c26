//! `Network::Listed`: what an agent in its box reaches, and what it does not.

use crate::stand::Stand;
use countersign::host::process::{Ended, Launch};
use countersign::host::sandbox::{Contact, Endpoint, Network, Profile};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::mpsc::{Receiver, channel};

/// A server outside every box. Each request it hears, up to the end of its head, is sent on.
fn outside(at: &str) -> (SocketAddr, Receiver<String>) {
    let listener = TcpListener::bind(at).unwrap();
    let at = listener.local_addr().unwrap();
    let (send, heard) = channel();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let mut bytes = Vec::new();
            while !bytes.ends_with(b"\r\n\r\n") {
                let mut chunk = [0_u8; 4096];
                match stream.read(&mut chunk).unwrap_or(0) {
                    0 => break,
                    length => bytes.extend_from_slice(&chunk[..length]),
                }
            }
            if send.send(String::from_utf8_lossy(&bytes).into_owned()).is_err() {
                return;
            }
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\nConnection: close\r\n\r\noutside");
        }
    });
    (at, heard)
}

fn listed(hosts: &[String]) -> Vec<Endpoint> {
    hosts.iter().map(|host| host.parse().unwrap()).collect()
}

/// Runs it; `None`, said aloud, where a network of one's own is impossible.
fn reaching(stand: &Stand, mut launch: Launch, hosts: &[String]) -> Option<Ended> {
    launch.profile = Profile::worker(&stand.inside(), &stand.inside()).reaching(listed(hosts));
    let ended = stand.run(&launch);
    if ended.level.network != Network::Listed {
        assert!(ended.level.why.iter().any(|why| why.contains("the network stays open")), "{:?}", ended.level);
        println!("skipped: a network of its own is impossible here: {}", ended.level.sentence());
        return None;
    }
    Some(ended)
}

/// A client in the box, as a program with no libraries: asks the proxy, or a place directly.
const CLIENT: &str = r#"
import http.client, os, socket, sys, urllib.request
def tell(what, ask):
    try:
        print(what, ask())
    except Exception as error:
        print(what, type(error).__name__, error, getattr(error, "read", lambda: b"")().decode().strip())
def direct(host, port):
    with socket.create_connection((host, int(port)), 20) as s:
        s.sendall(b"GET /direct HTTP/1.1\r\n\r\n")
        return s.makefile("rb").read().split(b"\r\n\r\n")[1].decode()
def tunnel(host, port):
    proxy = os.environ["HTTPS_PROXY"].removeprefix("http://")
    c = http.client.HTTPConnection(proxy, timeout=20)
    c.set_tunnel(host, int(port))
    c.request("GET", "/tunnel")
    return c.getresponse().read().decode()
for word in sys.argv[1:]:
    how, host, port = word.split(",")
    ways = {"direct": direct, "tunnel": tunnel, "plain": lambda h, p: urllib.request.urlopen(f"http://{h}:{p}/plain", timeout=20).read().decode()}
    tell(word, lambda: ways[how](host, port))
"#;

fn client(stand: &Stand, asks: &[String]) -> Launch {
    std::fs::write(stand.inside().join("client.py"), CLIENT).unwrap();
    stand.launch(["python3", "client.py"].into_iter().map(str::to_owned).chain(asks.iter().cloned()))
}

#[test]
fn an_agent_reaches_what_is_listed_and_nothing_else_and_both_are_in_the_receipt() {
    let stand = Stand::new();
    let (model, heard) = outside("127.0.0.2:0");
    let (other, unheard) = outside("127.0.0.2:0");
    let launch = client(
        &stand,
        &[
            format!("tunnel,127.0.0.2,{}", model.port()),
            format!("plain,127.0.0.2,{}", model.port()),
            format!("tunnel,127.0.0.2,{}", other.port()),
            format!("plain,127.0.0.2,{}", other.port()),
            format!("direct,127.0.0.2,{}", other.port()),
            "plain,evil.example,80".to_owned(),
            "direct,192.0.2.1,80".to_owned(),
        ],
    );
    let Some(ended) = reaching(&stand, launch, &[model.to_string()]) else { return };
    let said = String::from_utf8(ended.stdout).unwrap();
    let line = |start: &str| said.lines().find(|line| line.starts_with(start)).unwrap_or_else(|| panic!("{said}"));
    assert!(line(&format!("tunnel,127.0.0.2,{}", model.port())).ends_with(" outside"), "{said}");
    assert!(line(&format!("plain,127.0.0.2,{}", model.port())).ends_with(" outside"), "{said}");
    assert!(line(&format!("tunnel,127.0.0.2,{}", other.port())).contains("403"), "{said}");
    assert!(line(&format!("direct,127.0.0.2,{}", other.port())).contains("ConnectionRefused"), "{said}");
    let refused = line("plain,evil.example,80");
    assert!(refused.contains("403") && refused.contains("evil.example:80 is not among the hosts"), "{said}");
    assert!(line("direct,192.0.2.1,80").contains("OSError"), "{said}");
    let requests: Vec<String> = heard.try_iter().collect();
    assert!(requests[0].starts_with("GET /tunnel HTTP/1.1\r\n"), "{requests:?}");
    assert!(requests[1].starts_with("GET /plain HTTP/1.1\r\n"), "a server is not a proxy: {requests:?}");
    assert_eq!((requests.len(), unheard.try_iter().count()), (2, 0));
    let contact = |place: String, allowed, count| Contact { place, allowed, count };
    assert_eq!(
        ended.contacts,
        [
            contact(other.to_string(), false, 2),
            contact("evil.example:80".to_owned(), false, 1),
            contact(model.to_string(), true, 2),
        ]
    );
}

/// A stub model server on this machine's own loopback, and clients that use no proxy for such an address.
#[test]
fn a_listed_port_of_this_machine_is_found_at_its_own_address() {
    let stand = Stand::new();
    let (model, heard) = outside("127.0.0.1:0");
    let (other, unheard) = outside("127.0.0.1:0");
    let launch = client(
        &stand,
        &[
            format!("direct,127.0.0.1,{}", model.port()),
            format!("plain,127.0.0.1,{}", model.port()),
            format!("tunnel,127.0.0.1,{}", model.port()),
            format!("direct,127.0.0.1,{}", other.port()),
        ],
    );
    let Some(ended) = reaching(&stand, launch, &[model.to_string()]) else { return };
    let said = String::from_utf8(ended.stdout).unwrap();
    assert_eq!(said.lines().filter(|line| line.ends_with(" outside")).count(), 3, "{said}");
    assert!(said.lines().last().unwrap().contains("ConnectionRefused"), "{said}");
    assert_eq!((heard.try_iter().count(), unheard.try_iter().count()), (3, 0));
    assert_eq!(ended.contacts, [Contact { place: model.to_string(), allowed: true, count: 3 }]);
}

#[test]
fn an_agents_own_servers_stay_its_own() {
    let stand = Stand::new();
    let launch = stand.launch([
        "python3",
        "-c",
        "import socket, urllib.request, threading, http.server
s = http.server.HTTPServer(('127.0.0.1', 0), http.server.SimpleHTTPRequestHandler)
threading.Thread(target=s.serve_forever, daemon=True).start()
print(urllib.request.urlopen('http://127.0.0.1:%d/' % s.server_port, timeout=20).status)",
    ]);
    let Some(ended) = reaching(&stand, launch, &["api.example.com".to_owned()]) else { return };
    assert_eq!(String::from_utf8_lossy(&ended.stdout), "200\n", "{}", stand.log());
    assert_eq!(ended.contacts, []);
}

#[test]
fn connections_end_with_the_program_that_made_them() {
    let stand = Stand::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap();
    // Its child holds a connection and leaves its group; nothing of it may outlast the run.
    let script = format!(
        "python3 -c 'import os, socket, time
s = socket.create_connection((\"127.0.0.1\", {}))
if os.fork() == 0:
    os.setsid(); time.sleep(300)'",
        at.port()
    );
    let Some(ended) = reaching(&stand, stand.shell(&script), &[at.to_string()]) else { return };
    assert!(ended.ending.is_success(), "{}", stand.log());
    assert_eq!(ended.strays, 1);
    let (mut arrived, _) = listener.accept().unwrap();
    assert_eq!(arrived.read(&mut [0; 8]).unwrap_or(0), 0, "closed with the run");
}
