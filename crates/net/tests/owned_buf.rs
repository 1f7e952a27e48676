//! Buffers that are given away to a stream.

use std::future::Future;
use std::io::ErrorKind;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Waker};

use blitz_io::io::AsyncWriteExt;

use crate::help::{on_both, pair};

#[test]
fn a_buffer_comes_back_with_what_was_read() {
    on_both(|| async {
        let (client, server) = pair().await;
        let (result, sent) = client.write_owned(b"hello".to_vec()).await;
        assert_eq!((result.unwrap(), sent.as_slice()), (5, &b"hello"[..]));
        // Room for less than there is, then more room than that.
        let (result, read) = server.read_owned(vec![0; 2].into_boxed_slice()).await;
        assert_eq!((result.unwrap(), &*read), (2, &b"he"[..]));
        let (result, read) = server.read_owned(vec![b'.'; 5]).await;
        assert_eq!((result.unwrap(), read.as_slice()), (3, &b"llo.."[..]));
        // No room, and nothing to be written.
        assert_eq!(server.read_owned(Vec::new()).await.0.unwrap(), 0);
        assert_eq!(client.write_owned(Vec::new()).await.0.unwrap(), 0);
        client.write_all_owned(Vec::new()).await.0.unwrap();
        // The end.
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
