use std::{net::SocketAddr, time::Duration};

use blitz_io::runtime::{Builder, Runtime};
use blitz_io_inspect::trace::{Node, Recording, judge};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

/// More requests than any test has.
const ALL: usize = 100_000;

/// Runs a test on a runtime with two workers, which records.
pub fn run(test: impl Future<Output = ()>) {
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(2).enable_all().trace(true);
    let runtime: Runtime = builder.build().unwrap();
    runtime.block_on(async {
        let ended = tokio::time::timeout(Duration::from_secs(120), test).await;
        ended.expect("the test hangs");
    });
}

/// Returns the requests with this name that have ended.
pub fn requests(name: &str) -> Vec<Node> {
    let text = blitz_io_observe::trace::recording();
    let recording = Recording::parse(text.as_bytes()).unwrap();
    let title = format!("{name} (request ");
    let all = judge(&recording, ALL).paths.into_iter();
    all.filter(|node| node.what.starts_with(&title)).collect()
}

pub fn count(name: &str) -> usize {
    requests(name).len()
}

/// Waits until as many requests with this name have ended.
pub async fn ended(name: &str, wanted: usize) {
    while count(name) != wanted {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

pub async fn listener() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

/// Sends a request. The server waits for the next one, and so learns that the client is gone.
pub async fn ask(address: SocketAddr, path: &str) -> TcpStream {
    send(address, path, "keep-alive").await
}

async fn send(address: SocketAddr, path: &str, connection: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nhost: test\r\nconnection: {connection}\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    stream
}

/// Returns the whole answer to a request.
pub async fn get(address: SocketAddr, path: &str) -> String {
    let mut answer = String::new();
    let mut stream = send(address, path, "close").await;
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

/// Reads until the answer contains this text.
pub async fn read_until(stream: &mut TcpStream, text: &str) {
    let mut answer = vec![];
    while !String::from_utf8_lossy(&answer).contains(text) {
        answer.push(stream.read_u8().await.unwrap());
    }
}
