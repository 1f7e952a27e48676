//! `duplex`, `simplex` and `split` between threads, and with wakers that run arbitrary
//! code.

use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::thread;

use blitz_io_aio::{
    AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream, ReadBuf, duplex, simplex,
    split,
};
use blitz_io_testing::{Wakings, panic_of, poll_once, reentrant_waker};
use pollster::block_on;

/// More threads than cores echo through small buffers, and every byte comes back.
#[test]
fn many_threads_echo() {
    const BYTES: usize = if cfg!(miri) { 200 } else { 20_000 };
    thread::scope(|scope| {
        for size in [1, 7, 64, 5000] {
            let (client, server) = duplex(size);
            scope.spawn(move || {
                let (mut reader, mut writer) = split(server);
                assert_eq!(
                    block_on(blitz_io_aio::copy(&mut reader, &mut writer)).unwrap(),
                    BYTES as u64
                );
                block_on(writer.shutdown()).unwrap();
            });
            let (mut reader, mut writer) = split(client);
            scope.spawn(move || {
                let bytes: Vec<u8> = (0..BYTES).map(|n| n as u8).collect();
                block_on(async {
                    writer.write_all(&bytes).await.unwrap();
                    writer.shutdown().await.unwrap();
                });
            });
            scope.spawn(move || {
                let mut bytes = Vec::new();
                block_on(reader.read_to_end(&mut bytes)).unwrap();
                assert!(bytes.iter().enumerate().all(|(n, byte)| *byte == n as u8));
                assert_eq!(bytes.len(), BYTES);
            });
        }
    });
}

#[test]
fn a_waker_may_poll_the_other_end_at_once() {
    let (near, mut far) = duplex(1);
    let near = Arc::new(Mutex::new(near));
    let got = Arc::new(Mutex::new(Vec::<u8>::new()));
    let (end, bytes) = (near.clone(), got.clone());
    let waker = reentrant_waker(move || {
        let mut byte = [0];
        let mut buf = ReadBuf::new(&mut byte);
        let mut cx = Context::from_waker(std::task::Waker::noop());
        let mut end = end.lock().unwrap();
        assert!(Pin::new(&mut *end).poll_read(&mut cx, &mut buf).is_ready());
        bytes.lock().unwrap().extend(buf.filled());
    });
    let mut byte = [0];
    {
        let mut end = near.lock().unwrap();
        assert!(poll_once(pin!(end.read(&mut byte)), &waker).is_pending());
    }
    assert_eq!(block_on(far.write(b"x")).unwrap(), 1);
    assert_eq!(*got.lock().unwrap(), b"x");
}

#[test]
fn a_dropped_end_is_the_end() {
    let (mut near, mut far) = duplex(4);
    let (wakings, waker) = Wakings::new();
    block_on(near.write_all(b"last")).unwrap();
    assert!(poll_once(pin!(near.write(b"more")), &waker).is_pending());
    let mut room = [0; 8];
    assert!(poll_once(pin!(near.read(&mut room)), &waker).is_pending());
    // It wakes the reader and the writer.
    block_on(far.read_u8()).unwrap();
    assert_eq!(wakings.count(), 1);
    block_on(near.write_all(b"!")).unwrap();
    assert!(poll_once(pin!(near.write(b"more")), &waker).is_pending());
    drop(far);
    assert_eq!(wakings.count(), 3);
    assert_eq!(block_on(near.read(&mut room)).unwrap(), 0);
    let error = block_on(near.write(b"x")).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::BrokenPipe);
}

#[test]
fn nothing_to_read_or_to_write_is_ready_at_once() {
    let (mut near, _far) = duplex(1);
    assert_eq!(block_on(near.read(&mut [])).unwrap(), 0);
    assert_eq!(block_on(near.write(&[])).unwrap(), 0);
    block_on(near.write(b"x")).unwrap();
    assert_eq!(block_on(near.write(&[])).unwrap(), 0);
}

#[test]
fn no_room_at_all_is_refused() {
    let message = "literally: `max_buf_size` must be greater than 0";
    assert_eq!(panic_of(|| duplex(0)), message);
    assert_eq!(panic_of(|| simplex(0)), message);
}

#[test]
fn only_halves_of_one_stream_are_put_together() {
    let (near, far) = duplex(4);
    let ((reader, writer), (other, _writer)) = (split(near), split(far));
    assert!(reader.is_pair_of(&writer) && !writer.is_pair_of(&other));
    assert_eq!(
        format!("{reader:?} {writer:?}"),
        "split::ReadHalf split::WriteHalf"
    );
    let stream: DuplexStream = reader.unsplit(writer);
    let (reader, _) = split(stream);
    assert_eq!(
        panic_of(|| reader.unsplit(_writer)),
        "literally: Unrelated `split::Write` passed to `split::Read::unsplit`."
    );
}

/// A stream whose poll panics leaves the other half usable.
#[test]
fn a_panic_in_one_half_does_not_take_the_other() {
    struct Panics;
    impl AsyncRead for Panics {
        fn poll_read(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
            _: &mut ReadBuf<'_>,
        ) -> Poll<std::io::Result<()>> {
            panic!("on purpose")
        }
    }
    impl AsyncWrite for Panics {
        fn poll_write(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
            buf: &[u8],
        ) -> Poll<std::io::Result<usize>> {
            Poll::Ready(Ok(buf.len()))
        }
        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
            Poll::Ready(Ok(()))
        }
        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }
    let (mut reader, mut writer) = split(Panics);
    assert_eq!(
        panic_of(|| block_on(reader.read_u8())),
        "literally: on purpose"
    );
    assert_eq!(block_on(writer.write(b"abc")).unwrap(), 3);
}
