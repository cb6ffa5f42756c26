use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

fn main() -> std::io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    std::fs::write("run.pid", std::process::id().to_string())?;
    std::fs::write("run.port.new", listener.local_addr()?.port().to_string())?;
    std::fs::rename("run.port.new", "run.port")?;
    for stream in listener.incoming() {
        // Who goes away without an answer is nobody's concern.
        let _ = stream.and_then(answer);
    }
    Ok(())
}

fn answer(mut stream: TcpStream) -> std::io::Result<()> {
    let (mut asked, mut byte) = (Vec::new(), [0]);
    while !asked.ends_with(b"\r\n\r\n") && stream.read(&mut byte)? == 1 {
        asked.push(byte[0]);
    }
    let body = format!("{{\"total\": {}}}", shop::total(&[60, 60]));
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length";
    write!(stream, "{head}: {}\r\n\r\n{body}", body.len())
}
