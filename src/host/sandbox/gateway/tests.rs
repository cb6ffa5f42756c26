use super::*;
use std::io::{Read, Write};
use std::time::Duration;

fn place(text: &str) -> Endpoint {
    text.parse().unwrap()
}

/// A server that answers every connection with this and closes it.
fn server(answer: &'static str) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let (mut stream, mut heard) = (stream, [0_u8; 1024]);
            let _ = stream.read(&mut heard).unwrap();
            stream.write_all(answer.as_bytes()).unwrap();
        }
    });
    at
}

/// A gateway in our own network: its proxy, and one forward to the place.
fn gateway(hosts: &[Endpoint], forward: Option<&Endpoint>) -> (Gateway, SocketAddr, SocketAddr) {
    let (proxy, direct) = (TcpListener::bind("127.0.0.1:0").unwrap(), TcpListener::bind("127.0.0.1:0").unwrap());
    let at = [proxy.local_addr().unwrap(), direct.local_addr().unwrap()];
    let forwards = forward.map(|place| (at[1], place.clone())).into_iter().collect();
    let plan = Plan { proxy: at[0], forwards };
    let gateway = Gateway::open(hosts, &plan, &at, vec![proxy.into(), direct.into()]).unwrap();
    (gateway, at[0], at[1])
}

fn ask(at: SocketAddr, request: &str) -> String {
    let mut stream = TcpStream::connect(at).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut heard = String::new();
    stream.read_to_string(&mut heard).unwrap();
    heard
}

#[test]
fn a_listed_place_is_reached_in_every_way_and_another_is_refused_by_name() {
    let outside = server("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello");
    let listed = place(&outside.to_string());
    let (gateway, proxy, direct) = gateway(std::slice::from_ref(&listed), Some(&listed));
    let tunnelled = ask(proxy, &format!("CONNECT {listed} HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\n\r\n"));
    assert!(
        tunnelled.starts_with("HTTP/1.1 200 Connection established") && tunnelled.ends_with("hello"),
        "{tunnelled}"
    );
    assert!(ask(proxy, &format!("GET http://{listed}/x HTTP/1.1\r\n\r\n")).ends_with("hello"));
    assert!(ask(direct, "GET / HTTP/1.1\r\n\r\n").ends_with("hello"));
    for request in ["CONNECT evil.example:443 HTTP/1.1\r\n\r\n", "GET http://evil.example:443/ HTTP/1.1\r\n\r\n"] {
        let refused = ask(proxy, request);
        assert!(refused.starts_with("HTTP/1.1 403 ") && refused.contains("evil.example:443 is not among"), "{refused}");
    }
    assert!(ask(proxy, "GET / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 400 "));
    assert!(ask(proxy, &"x".repeat(20_000)).starts_with("HTTP/1.1 431 "));
    let contact = |place: String, allowed, count| Contact { place, allowed, count };
    assert_eq!(
        gateway.close(),
        [contact("evil.example:443".to_owned(), false, 2), contact(listed.to_string(), true, 3)]
    );
}

#[test]
fn a_listed_place_that_is_not_there_is_a_named_failure() {
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let (gateway, proxy, _) = gateway(&[place(&nobody.to_string())], None);
    let heard = ask(proxy, &format!("CONNECT {nobody} HTTP/1.1\r\n\r\n"));
    assert!(heard.starts_with("HTTP/1.1 502 ") && heard.contains(&nobody.to_string()), "{heard}");
    gateway.close();
}

#[test]
fn closing_cuts_what_stands_and_lets_nobody_in() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let listed = place(&silent.local_addr().unwrap().to_string());
    let (gateway, proxy, _) = gateway(std::slice::from_ref(&listed), None);
    let mut stream = TcpStream::connect(proxy).unwrap();
    stream.write_all(format!("CONNECT {listed} HTTP/1.1\r\n\r\n").as_bytes()).unwrap();
    let (mut arrived, _) = silent.accept().unwrap();
    let mut head = [0_u8; 39];
    stream.read_exact(&mut head).unwrap();
    gateway.close();
    assert_eq!(stream.read(&mut head).unwrap_or(0), 0);
    assert_eq!(arrived.read(&mut head).unwrap_or(0), 0);
    assert!(TcpStream::connect(proxy).is_err());
}

#[test]
fn the_receipt_is_bounded() {
    let shared = Shared::default();
    for number in 0..1000 {
        assert!(!shared.admits(&place(&format!("h{number}.example"))));
    }
    let contacts = lock(&shared.contacts);
    assert_eq!(contacts.len(), MOST_CONTACTS + 1);
    assert_eq!(contacts[&(false, "others".to_owned())], 1000 - MOST_CONTACTS as u64);
}

#[test]
fn the_proxy_gives_way_to_a_listed_port_of_this_machine() {
    let plan = Plan::of(&[place("api.example.com"), place("127.0.0.1:3128"), place("localhost:8080")]);
    let at: Vec<String> = plan.listen().iter().map(ToString::to_string).collect();
    assert_eq!(at, ["127.0.0.1:3129", "127.0.0.1:3128", "127.0.0.1:8080", "[::1]:8080"]);
    let env = plan.environment();
    assert!(env.contains(&("HTTPS_PROXY".into(), "http://127.0.0.1:3129".into())));
    assert!(env.contains(&("no_proxy".into(), "localhost,127.0.0.1,::1".into())));
}
