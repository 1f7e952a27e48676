//! Waits for sockets in reports.

use std::time::Duration;

use blitz_io::io::{AsyncReadExt, AsyncWriteExt};
use blitz_io::net::{TcpListener, TcpStream, UdpSocket};
use blitz_io::sim::{self, Builder, Cause, Failure};

/// Returns the text of a failure, without the breaks of its lines.
fn words(failure: &Failure) -> String {
    let text = failure.to_string();
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ")
}

/// The server waits for a request and the client for an answer, although nothing is under way.
async fn both_wait() {
    sim::host("server", |_| async {
        let listener = TcpListener::bind("0.0.0.0:80").await.unwrap();
        let (mut stream, _) = listener.accept().await.unwrap();
        blitz_io::spawn(async move { stream.read_u8().await });
        let socket = UdpSocket::bind("0.0.0.0:53").await.unwrap();
        blitz_io::spawn(async move { socket.recv(&mut [0]).await });
        listener.accept().await.unwrap();
    });
    let mut stream = TcpStream::connect("server:80").await.unwrap();
    stream.read_u8().await.unwrap();
}

#[test]
fn a_report_names_the_sockets_and_their_hosts() {
    let failure = Builder::new().check(both_wait).unwrap_err();
    assert_eq!(failure.cause(), &Cause::Deadlock);
    let text = words(&failure);
    let expected = [
        "socket (read from tcp 10.0.0.2:80 (host server))",
        "socket (read from tcp 10.0.0.1:49152 (the test))",
        "socket (accept at tcp 0.0.0.0:80)",
        "socket (read at udp 0.0.0.0:53)",
        "waits.rs:27",
    ];
    for expected in expected {
        assert!(text.contains(expected), "{expected} is not in {text}");
    }
    assert!(!text.contains("without a record"), "{text}");
}

#[test]
fn a_report_names_what_a_writer_waits_for() {
    let test = || async {
        sim::host("server", |_| async {
            let listener = TcpListener::bind("0.0.0.0:80").await.unwrap();
            let _stream = listener.accept().await.unwrap();
            std::future::pending::<()>().await;
        });
        let mut stream = TcpStream::connect("server:80").await.unwrap();
        stream.write_all(&vec![0; 1 << 20]).await.unwrap();
    };
    let text = words(&Builder::new().check(test).unwrap_err());
    let expected = "socket (write to tcp 10.0.0.2:80 (host server))";
    assert!(text.contains(expected), "{text}");
    let test = || async {
        sim::host("server", |_| std::future::pending::<()>());
        sim::partition("test", "server");
        let attempt = TcpStream::connect("server:80");
        assert!(attempt.await.is_ok());
    };
    let builder = Builder::new().max_time(Duration::from_secs(60));
    let text = words(&builder.check(test).unwrap_err());
    let expected = "socket (connect to tcp 10.0.0.2:80 (host server))";
    assert!(text.contains(expected), "{text}");
}
