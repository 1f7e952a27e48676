//! Buffers that an operation of a socket owns.

use std::future::Future;
use std::io::ErrorKind;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Waker};

use blitz_io::io::AsyncWriteExt;
use blitz_io::net::UdpSocket;
#[cfg(unix)]
use blitz_io::net::UnixDatagram;

use crate::help::{on_both, pair};

#[test]
fn a_buffer_comes_back_with_what_was_read() {
    on_both(|| async {
        let (client, server) = pair().await;
        let (result, sent) = client.write_owned(b"hello".to_vec()).await;
        let written = result.unwrap();
        assert_eq!(sent.as_slice(), b"hello");
        // Room for less than there is, then more room than that. A system may transfer less than it could.
        let (result, read) = server.read_owned(vec![b'.'; 2].into_boxed_slice()).await;
        let mut seen = result.unwrap();
        assert!(seen > 0);
        assert_eq!(read[..seen], b"hello"[..seen]);
        while seen < written {
            let (result, read) = server.read_owned(vec![b'.'; 5]).await;
            let more = result.unwrap();
            assert!(more > 0);
            assert_eq!(read[..more], b"hello"[seen..seen + more]);
            assert_eq!(read[more..], b"....."[more..]);
            seen += more;
        }
        // No room, and nothing to write.
        assert_eq!(server.read_owned(Vec::new()).await.0.unwrap(), 0);
        assert_eq!(client.write_owned(Vec::new()).await.0.unwrap(), 0);
        client.write_all_owned(Vec::new()).await.0.unwrap();
        // The end of the stream.
        drop(client);
        assert_eq!(server.read_owned(vec![0; 5]).await.0.unwrap(), 0);
    });
}

#[test]
fn more_than_the_system_takes_at_once_arrives() {
    on_both(|| async {
        let (client, server) = pair().await;
        let all: Vec<u8> = (0..4_000_000_usize).map(|at| (at * 7 / 3) as u8).collect();
        let expected = all.clone();
        let writer = blitz_io::spawn(async move { client.write_all_owned(all).await });
        let (mut received, mut buf) = (Vec::new(), Vec::with_capacity(60_000));
        while received.len() < expected.len() {
            buf.clear();
            let (result, back) = server.read_owned(buf).await;
            assert_eq!(result.unwrap(), back.len());
            assert!(!back.is_empty(), "ended early");
            received.extend_from_slice(&back);
            buf = back;
        }
        let (result, sent) = writer.await.unwrap();
        result.unwrap();
        assert!(received == expected && sent == expected);
    });
}

#[test]
fn several_can_wait_at_a_time() {
    on_both(|| async {
        let (mut client, server) = pair().await;
        let server = Arc::new(server);
        let reads = [(); 3].map(|()| {
            let server = server.clone();
            blitz_io::spawn(async move {
                let (result, read) = server.read_owned(vec![0; 1]).await;
                assert_eq!(result.unwrap(), 1);
                read[0]
            })
        });
        blitz_io::task::yield_now().await;
        client.write_all(b"abc").await.unwrap();
        let mut read = Vec::new();
        for reader in reads {
            read.push(reader.await.unwrap());
        }
        read.sort_unstable();
        assert_eq!(read, b"abc");
    });
}

#[test]
fn a_dropped_future_has_read_nothing() {
    on_both(|| async {
        let (mut client, server) = pair().await;
        for round in 0..10 {
            {
                let mut read = pin!(server.read_owned(vec![0; 8]));
                let polled = read.as_mut().poll(&mut Context::from_waker(Waker::noop()));
                assert!(polled.is_pending());
                client.write_all(&[round; 3]).await.unwrap();
            }
            let (result, read) = server.read_owned(Vec::with_capacity(8)).await;
            assert_eq!((result.unwrap(), read.as_slice()), (3, &[round; 3][..]));
        }
    });
}

#[test]
fn an_error_gives_the_buffer_back() {
    on_both(|| async {
        let (client, server) = pair().await;
        client.set_zero_linger().unwrap();
        drop(client);
        let (result, buf) = server.read_owned(vec![7; 3]).await;
        assert_eq!(result.unwrap_err().kind(), ErrorKind::ConnectionReset);
        assert_eq!(buf, [7; 3]);
        let (result, buf) = server.write_all_owned(vec![7; 3]).await;
        assert_eq!(result.unwrap_err().kind(), ErrorKind::BrokenPipe);
        assert_eq!(buf, [7; 3]);
    });
}

#[test]
fn a_datagram_comes_with_its_buffer_and_its_sender() {
    on_both(|| async {
        let server = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let client = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let (to, from) = (server.local_addr().unwrap(), client.local_addr().unwrap());
        let (sent, text) = client.send_to_owned(String::from("hello"), to).await;
        assert_eq!((sent.unwrap(), text.as_str()), (5, "hello"));
        // Bytes that do not fit are lost.
        let buf = vec![0; 2].into_boxed_slice();
        let (received, bytes) = server.recv_from_owned(buf).await;
        if cfg!(not(windows)) {
            assert_eq!((received.unwrap(), &*bytes), ((2, from), &b"he"[..]));
        }
        client.connect(to).await.unwrap();
        server.connect(from).await.unwrap();
        // An empty datagram is a datagram, too.
        assert_eq!(client.send_owned(Vec::new()).await.0.unwrap(), 0);
        assert_eq!(client.send_owned("again").await.0.unwrap(), 5);
        let (received, bytes) = server.recv_owned(Vec::with_capacity(8)).await;
        assert_eq!((received.unwrap(), bytes), (0, Vec::new()));
        let (received, bytes) = server.recv_owned(vec![b'.'; 8]).await;
        assert_eq!((received.unwrap(), &bytes[..]), (5, &b"again..."[..]));
    });
}

#[test]
fn a_dropped_future_has_received_nothing() {
    on_both(|| async {
        let server = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let client = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        client.connect(server.local_addr().unwrap()).await.unwrap();
        {
            let mut receive = pin!(server.recv_from_owned(vec![0; 8]));
            let mut cx = Context::from_waker(Waker::noop());
            assert!(receive.as_mut().poll(&mut cx).is_pending());
            client.send(b"kept").await.unwrap();
        }
        let (received, bytes) = server.recv_owned(Vec::with_capacity(8)).await;
        assert_eq!((received.unwrap(), &bytes[..]), (4, &b"kept"[..]));
    });
}

#[test]
fn a_datagram_that_is_too_long_comes_back() {
    on_both(|| async {
        let server = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let client = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let to = server.local_addr().unwrap();
        let (sent, buf) = client.send_to_owned(vec![7; 70_000], to).await;
        assert!(sent.is_err());
        assert_eq!(buf.len(), 70_000);
    });
}

#[cfg(unix)]
#[test]
fn datagrams_between_paths_come_with_their_buffers() {
    on_both(|| async {
        let name = format!("blitz-io-net-datagrams-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        _ = std::fs::remove_file(&path);
        let server = UnixDatagram::bind(&path).unwrap();
        let client = UnixDatagram::unbound().unwrap();
        let (sent, _) = client.send_to_owned("hello", &path).await;
        assert_eq!(sent.unwrap(), 5);
        let (received, bytes) = server.recv_from_owned(Vec::with_capacity(8)).await;
        let (count, from) = received.unwrap();
        assert_eq!((count, &bytes[..]), (5, &b"hello"[..]));
        assert!(from.is_unnamed());
        // Without a receiver, the buffer is returned.
        std::fs::remove_file(&path).unwrap();
        let (sent, text) = client.send_to_owned("hello", &path).await;
        assert_eq!(sent.unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(text, "hello");

        let (one, other) = UnixDatagram::pair().unwrap();
        assert_eq!(one.send_owned(vec![1, 2, 3]).await.0.unwrap(), 3);
        let (received, bytes) = other.recv_owned(vec![0; 4]).await;
        assert_eq!((received.unwrap(), &bytes[..]), (3, &[1, 2, 3, 0][..]));
    });
}
