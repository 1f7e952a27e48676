//! Connections between hosts, and within one.

use std::future::pending;
use std::io::ErrorKind;
use std::time::Duration;

use blitz_io::io::{AsyncReadExt, AsyncWriteExt};
use blitz_io::net::{TcpListener, TcpSocket, TcpStream, lookup_host};
use blitz_io::sim::{self, Link};
use blitz_io::time::{self, Instant, timeout};

use super::builder;

/// Sends back what it gets, on each connection.
async fn echo() {
    let listener = TcpListener::bind("0.0.0.0:7").await.unwrap();
    loop {
        let (mut stream, _) = listener.accept().await.unwrap();
        blitz_io::spawn(async move {
            let (mut reader, mut writer) = stream.split();
            blitz_io::io::copy(&mut reader, &mut writer).await.unwrap();
            writer.shutdown().await.unwrap();
        });
    }
}

#[test]
fn bytes_arrive_in_their_order_and_take_time() {
    builder().run(|| async {
        sim::host("echo", |_| echo());
        let start = Instant::now();
        let mut stream = TcpStream::connect("echo:7").await.unwrap();
        for text in ["one", "two", "three"] {
            stream.write_all(text.as_bytes()).await.unwrap();
        }
        stream.shutdown().await.unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).await.unwrap();
        assert_eq!(text, "onetwothree");
        // There, and back.
        assert!(start.elapsed() >= Duration::from_millis(4));
        assert!(start.elapsed() <= Duration::from_millis(80));
    });
}

#[test]
fn a_writer_waits_for_a_reader_that_is_slow() {
    const LEN: usize = 1 << 20;
    builder().seeds(4).run(|| async {
        sim::host("slow", |_| async {
            let listener = TcpListener::bind("0.0.0.0:1").await.unwrap();
            let (mut stream, _) = listener.accept().await.unwrap();
            time::sleep(Duration::from_secs(10)).await;
            let mut bytes = Vec::new();
            stream.read_to_end(&mut bytes).await.unwrap();
            let sum = bytes.iter().map(|byte| u64::from(*byte)).sum();
            stream.write_u64(sum).await.unwrap();
        });
        let bytes: Vec<u8> = (0..LEN).map(|at| (at % 251) as u8).collect();
        let mut stream = TcpStream::connect("slow:1").await.unwrap();
        let start = Instant::now();
        stream.write_all(&bytes).await.unwrap();
        assert!(start.elapsed() >= Duration::from_secs(9));
        stream.shutdown().await.unwrap();
        let sum: u64 = bytes.iter().map(|byte| u64::from(*byte)).sum();
        assert_eq!(stream.read_u64().await.unwrap(), sum);
    });
}

#[test]
fn addresses_are_those_of_the_hosts() {
    builder().run(|| async {
        let server = sim::host("server", |me| async move {
            let listener = TcpListener::bind("0.0.0.0:80").await.unwrap();
            let (stream, from) = listener.accept().await.unwrap();
            assert_eq!(from.ip(), sim::named("test").address());
            assert_eq!(stream.peer_addr().unwrap(), from);
            assert_eq!(stream.local_addr().unwrap().ip(), me.address());
            assert_eq!((me.name(), sim::Host::current()), ("server", me.clone()));
        });
        let found: Vec<_> = lookup_host("server:80").await.unwrap().collect();
        assert_eq!(found, [(server.address(), 80).into()]);
        let stream = TcpStream::connect(("server", 80)).await.unwrap();
        assert_eq!(stream.peer_addr().unwrap(), found[0]);
        stream.set_nodelay(true).unwrap();
        assert!(stream.nodelay().unwrap());
        time::sleep(Duration::from_secs(1)).await;
        assert!(
            lookup_host("nobody:80").await.is_err()
                || lookup_host("nobody:80").await.unwrap().count() == 0
        );
        assert!(TcpStream::connect("nobody:80").await.is_err());
    });
}

#[test]
fn a_port_without_a_socket_refuses_and_one_with_a_socket_is_taken() {
    builder().run(|| async {
        sim::host("server", |_| async {
            let _one = TcpListener::bind("0.0.0.0:80").await.unwrap();
            let other = TcpListener::bind("0.0.0.0:80").await.unwrap_err();
            assert_eq!(other.kind(), ErrorKind::AddrInUse);
            let foreign = TcpListener::bind((sim::named("test").address(), 80)).await;
            assert_eq!(foreign.unwrap_err().kind(), ErrorKind::AddrNotAvailable);
            pending::<()>().await;
        });
        let refused = TcpStream::connect("server:81").await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
        let one = TcpStream::connect("server:80").await.unwrap();
        let other = TcpStream::connect("server:80").await.unwrap();
        assert_ne!(one.local_addr().unwrap(), other.local_addr().unwrap());
        let nowhere = TcpStream::connect("10.9.9.9:80").await.unwrap_err();
        assert_eq!(nowhere.kind(), ErrorKind::HostUnreachable);
    });
}

#[test]
fn a_socket_at_a_loopback_address_is_for_its_host_only() {
    builder().run(|| async {
        sim::host("server", |_| async {
            let listener = TcpListener::bind("127.0.0.1:80").await.unwrap();
            let start = Instant::now();
            let client = TcpStream::connect("localhost:80").await.unwrap();
            let (_stream, from) = listener.accept().await.unwrap();
            assert_eq!(client.local_addr().unwrap(), from);
            assert_eq!(start.elapsed(), Duration::ZERO);
            pending::<()>().await;
        });
        let refused = TcpStream::connect("server:80").await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
        let refused = TcpStream::connect("127.0.0.1:80").await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
    });
}

#[test]
fn a_socket_that_is_dropped_with_unread_bytes_resets() {
    builder().run(|| async {
        sim::host("server", |_| async {
            let listener = TcpListener::bind("0.0.0.0:80").await.unwrap();
            let (stream, _) = listener.accept().await.unwrap();
            stream.peek(&mut [0]).await.unwrap();
            drop(stream);
            let (stream, _) = listener.accept().await.unwrap();
            stream.set_zero_linger().unwrap();
            time::sleep(Duration::from_secs(1)).await;
        });
        let mut stream = TcpStream::connect("server:80").await.unwrap();
        stream.write_all(b"hello").await.unwrap();
        let reset = stream.read_u8().await.unwrap_err();
        assert_eq!(reset.kind(), ErrorKind::ConnectionReset);
        let broken = stream.write_all(b"hello").await.unwrap_err();
        assert_eq!(broken.kind(), ErrorKind::BrokenPipe);

        let mut stream = TcpStream::connect("server:80").await.unwrap();
        let reset = stream.read_u8().await.unwrap_err();
        assert_eq!(reset.kind(), ErrorKind::ConnectionReset);
    });
}

#[test]
fn links_split_lose_and_reset() {
    let report = builder().run(|| async {
        sim::host("server", |_| async {
            let listener = TcpListener::bind("0.0.0.0:80").await.unwrap();
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                blitz_io::spawn(async move { _ = stream.write_all(b"0123456789").await });
            }
        });
        let bad = Link::new().splits(0.3).loss(0.1).resets(0.1);
        sim::set_link("test", "server", bad);
        let start = Instant::now();
        let mut bytes = [0; 10];
        let read = async {
            let mut stream = TcpStream::connect("server:80").await?;
            stream.read(&mut bytes).await
        };
        match read.await {
            Ok(0) => sim::sometimes("a reset before the first byte", true),
            Ok(n) => {
                sim::sometimes("a short read", n < 10);
                assert_eq!(&bytes[..n], &b"0123456789"[..n]);
            }
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::ConnectionReset);
                sim::sometimes("a reset", true);
            }
        }
        let is_late = start.elapsed() > Duration::from_millis(200);
        sim::sometimes("a retransmission", is_late);
    });
    for name in ["a short read", "a reset", "a retransmission"] {
        assert!(report.happened(name) > 0, "{name}");
    }
}

#[test]
fn a_socket_with_options_connects_and_listens() {
    builder().run(|| async {
        sim::host("server", |_| async {
            let socket = TcpSocket::new_v4().unwrap();
            socket.set_reuseaddr(true).unwrap();
            socket.bind("0.0.0.0:80".parse().unwrap()).unwrap();
            let listener = socket.listen(16).unwrap();
            let (mut stream, from) = listener.accept().await.unwrap();
            assert_eq!(from.port(), 1234);
            stream.write_all(b"hello").await.unwrap();
        });
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind("0.0.0.0:1234".parse().unwrap()).unwrap();
        let server = sim::named("server").address();
        let mut stream = socket.connect((server, 80).into()).await.unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).await.unwrap();
        assert_eq!(text, "hello");
    });
}

#[test]
fn peeks_and_vectored_operations_see_the_same_bytes() {
    use std::io::{IoSlice, IoSliceMut};

    builder().run(|| async {
        sim::host("echo", |_| echo());
        let stream = TcpStream::connect("echo:7").await.unwrap();
        let parts = [IoSlice::new(b"he"), IoSlice::new(b"llo")];
        stream.writable().await.unwrap();
        assert_eq!(stream.try_write_vectored(&parts).unwrap(), 5);
        let mut bytes = [0; 9];
        assert_eq!(stream.peek(&mut bytes).await.unwrap(), 5);
        let (mut one, mut other) = ([0; 3], [0; 3]);
        let mut bufs = [IoSliceMut::new(&mut one), IoSliceMut::new(&mut other)];
        assert_eq!(stream.try_read_vectored(&mut bufs).unwrap(), 5);
        assert_eq!((&one, &other[..2]), (b"hel", &b"lo"[..]));
        let nothing = stream.try_read(&mut bytes).unwrap_err();
        assert_eq!(nothing.kind(), ErrorKind::WouldBlock);
        let wait = timeout(Duration::from_secs(1), stream.readable());
        assert!(wait.await.is_err());
    });
}
