//! Waits for sockets in reports.

use std::sync::Arc;
use std::time::Duration;

use blitz_io::inspect::Certainty;
use blitz_io::io::{AsyncReadExt, AsyncWriteExt};
use blitz_io::net::{TcpListener, TcpStream, UdpSocket};
use blitz_io::sim::{self, Builder, Cause, Failure};
use blitz_io::sync::{Mutex, oneshot};
use blitz_io::time::sleep;

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

/// A handler takes two locks, while its task also reads from its client.
async fn handler(mut stream: TcpStream, first: Arc<Mutex<()>>, second: Arc<Mutex<()>>) {
    let locks = async {
        let _first = first.lock().await;
        sleep(Duration::from_secs(1)).await;
        let _second = second.lock().await;
    };
    blitz_io::select! {
        _ = locks => {}
        _ = stream.read_u8() => {}
    }
}

/// Two clients wait for handlers that wait for each other.
async fn crossed_handlers() {
    sim::host("server", |_| async {
        let listener = TcpListener::bind("0.0.0.0:80").await.unwrap();
        let (one, other) = (Arc::default(), Arc::default());
        let (first, _) = listener.accept().await.unwrap();
        blitz_io::spawn(handler(first, Arc::clone(&one), Arc::clone(&other)));
        let (second, _) = listener.accept().await.unwrap();
        blitz_io::spawn(handler(second, other, one));
        std::future::pending::<()>().await;
    });
    let mut first = TcpStream::connect("server:80").await.unwrap();
    let _second = TcpStream::connect("server:80").await.unwrap();
    first.read_u8().await.unwrap();
}

/// In a simulation nothing else can end the sockets' waits, so the reason is certain, and comes first.
#[test]
fn handlers_that_wait_for_each_other_come_first_and_are_certain() {
    let failure = Builder::new().check(crossed_handlers).unwrap_err();
    assert_eq!(failure.cause(), &Cause::Deadlock);
    let [finding] = failure.findings() else {
        panic!("one finding is expected: {failure}");
    };
    let kind = (finding.certainty, &*finding.kind);
    assert_eq!(kind, (Certainty::Certain, "deadlock"));
    let text = failure.to_string();
    let (cycle, list) = (
        text.find("certain: deadlock: "),
        text.find("other tasks that have not ended"),
    );
    assert!(cycle.is_some() && cycle < list, "{text}");
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

#[test]
fn a_run_that_does_not_end_says_since_when_the_test_waits() {
    let failure = Builder::new()
        .max_steps(2_000)
        .shrink(false)
        .check(|| async {
            sim::host("ticker", |_me| async {
                loop {
                    sleep(Duration::from_millis(100)).await;
                }
            });
            let (sender, answer) = oneshot::channel::<u32>();
            sleep(Duration::from_secs(1)).await;
            _ = answer.await;
            drop(sender);
        })
        .unwrap_err();
    let text = failure.to_string();
    let has = |what: &str| assert!(text.contains(what), "`{what}`: {text}");
    has("\n  the test has waited since step ");
    has(", 1s for oneshot::Receiver #1\n");
    has("\n  `max_time = \"60s\"` ends it earlier, ");
}
