//! Files over HTTP/1.1, by hand, and over HTTP/2, with hyper's client on blitz-io's
//! runtime.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;

use blitz_io::hyper::BlitzExecutor;
use blitz_io::runtime::Runtime;
use blitz_io::time::timeout;
use bytes::Bytes;
use http_body_util::{BodyExt, Empty};
use hyper::client::conn::{http1, http2};
use hyper::{Method, Request, Response, StatusCode, body::Incoming};

use crate::PATIENCE;
use crate::server::Server;

/// Creates a folder with a page and with a file of many pieces.
fn folder() -> (tempfile::TempDir, Vec<u8>) {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, content: &[u8]| {
        let path = folder.path().join("public").join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    };
    let large: Vec<u8> = (0..1_000_003_u32).map(|n| (n ^ n >> 8) as u8).collect();
    write("index.html", b"<p>first</p>");
    write("part/a b.txt", b"text");
    write("large", &large);
    write("empty", b"");
    write(".hidden", b"hidden");
    std::fs::write(folder.path().join("secret"), b"secret").unwrap();
    (folder, large)
}

fn server(folder: &Path, more: &[&str]) -> Server {
    let public = folder.join("public");
    let arguments = [more, &[public.to_str().unwrap()]].concat();
    Server::start("http_server", &arguments)
}

/// Sends a request and reads its answer. Returns header and body.
fn ask(stream: &mut TcpStream, request: &str) -> (String, Vec<u8>) {
    write!(stream, "{request}\r\nHost: localhost\r\n\r\n").unwrap();
    let (mut header, mut byte) = (Vec::new(), [0]);
    while !header.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).unwrap();
        header.push(byte[0]);
    }
    let header = String::from_utf8(header).unwrap().to_lowercase();
    let len = header.split("content-length: ").nth(1).unwrap();
    let len = len.split("\r\n").next().unwrap().parse().unwrap();
    let mut body = vec![0; if request.starts_with("HEAD") { 0 } else { len }];
    stream.read_exact(&mut body).unwrap();
    (header, body)
}

#[test]
fn many_requests_on_one_connection() {
    let (folder, large) = folder();
    let server = server(folder.path(), &[]);
    let mut stream = server.connect();
    let mut get = |path: &str| ask(&mut stream, &format!("GET {path} HTTP/1.1"));
    let (header, body) = get("/");
    assert!(header.starts_with("http/1.1 200 ok"), "{header}");
    assert!(header.contains("content-type: text/html"), "{header}");
    assert_eq!(body, b"<p>first</p>");
    assert_eq!(get("/part/a%20b.txt?x=1").1, b"text");
    assert!(get("/large").1 == large);
    assert_eq!(get("/empty").1, b"");
    for path in [
        "/none",
        "/part",
        "/index.html/x",
        "/../secret",
        "/%2e%2e/secret",
        "/..%2fsecret",
        "/.hidden",
        "/%00",
        "/%zz",
        "/%f",
    ] {
        let (header, _) = get(path);
        assert!(header.starts_with("http/1.1 404 "), "{path}: {header}");
    }
    let (header, body) = ask(&mut stream, "HEAD /large HTTP/1.1");
    assert!(header.contains("content-length: 1000003\r\n"), "{header}");
    assert_eq!(body, b"");
    let (header, _) = ask(&mut stream, "POST / HTTP/1.1");
    assert!(header.starts_with("http/1.1 405 "), "{header}");
    assert!(header.contains("allow: get, head\r\n"), "{header}");
}

#[test]
fn what_is_no_http_is_refused() {
    let (folder, _) = folder();
    let server = server(folder.path(), &[]);
    let mut stream = server.connect();
    stream.write_all(b"\x16\x03\x01\x00\xff\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    // A reset is also an answer.
    _ = stream.read_to_end(&mut answer);
    assert!(answer.is_empty() || answer.starts_with(b"HTTP/1.1 400"));
    // Other clients are served.
    let (header, _) = ask(&mut server.connect(), "GET / HTTP/1.1");
    assert!(header.starts_with("http/1.1 200"), "{header}");
}

#[cfg(unix)]
#[test]
fn what_was_begun_is_answered_at_the_end() {
    let (folder, large) = folder();
    let server = server(folder.path(), &["--grace", "900"]);
    // One connection is idle, and one has asked for more than its buffers hold.
    let mut idle = server.connect();
    ask(&mut idle, "GET / HTTP/1.1");
    let mut busy = server.connect();
    busy.write_all(b"GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n")
        .unwrap();
    busy.read_exact(&mut [0]).unwrap();
    let finishing = std::thread::spawn(move || {
        let mut rest = Vec::new();
        idle.read_to_end(&mut rest).unwrap();
        assert_eq!(rest, b"");
        busy.read_to_end(&mut rest).unwrap();
        rest
    });
    assert_eq!(server.interrupt(), Some(0));
    assert!(finishing.join().unwrap().ends_with(&large));
}

async fn text(response: Response<Incoming>) -> Bytes {
    response.into_body().collect().await.unwrap().to_bytes()
}

fn get(path: &str) -> Request<Empty<Bytes>> {
    let uri = format!("http://localhost{path}");
    Request::builder().uri(uri).body(Empty::new()).unwrap()
}

#[test]
fn hypers_client_over_http1() {
    let (folder, large) = folder();
    let server = server(folder.path(), &[]);
    let client = async {
        let stream = blitz_io::net::TcpStream::connect(server.address).await;
        let (mut send, connection) = http1::handshake(stream.unwrap()).await.unwrap();
        let connection = blitz_io::spawn(connection);
        let response = send.send_request(get("/large")).await.unwrap();
        assert_eq!(response.status(), StatusCode::OK);
        assert!(text(response).await == large);
        drop(send);
        connection.await.unwrap().unwrap();
    };
    let runtime = Runtime::new().unwrap();
    runtime.block_on(async { timeout(PATIENCE, client).await.unwrap() });
}

#[test]
fn many_requests_at_once_over_http2() {
    let (folder, large) = folder();
    let server = server(folder.path(), &["--http2"]);
    let client = async {
        let stream = blitz_io::net::TcpStream::connect(server.address).await;
        let handshake = http2::handshake(BlitzExecutor::new(), stream.unwrap());
        let (send, connection) = handshake.await.unwrap();
        let connection = blitz_io::spawn(connection);
        let mut requests = blitz_io::task::JoinSet::new();
        for n in 0..16 {
            let mut send = send.clone();
            let large = large.clone();
            requests.spawn(async move {
                let path = ["/large", "/", "/none"][n % 3];
                let response = send.send_request(get(path)).await.unwrap();
                match n % 3 {
                    0 => assert!(text(response).await == large),
                    1 => assert_eq!(text(response).await, "<p>first</p>"),
                    _ => assert_eq!(response.status(), StatusCode::NOT_FOUND),
                }
            });
        }
        requests.join_all().await;
        let mut head = get("/large");
        *head.method_mut() = Method::HEAD;
        let response = send.clone().send_request(head).await.unwrap();
        assert_eq!(response.headers()["content-length"], "1000003");
        assert_eq!(text(response).await, "");
        drop(send);
        connection.await.unwrap().unwrap();
    };
    let runtime = Runtime::new().unwrap();
    runtime.block_on(async { timeout(PATIENCE, client).await.unwrap() });
}
