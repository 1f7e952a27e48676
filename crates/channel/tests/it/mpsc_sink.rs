//! `mpsc::PollSender`.
#![cfg(feature = "sink")]

use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

use blitz_io_channel::mpsc::{self, PollSender};
use blitz_io_testing::Wakings;
use futures_util::{Sink, SinkExt, StreamExt, stream};

#[test]
fn values_are_forwarded_in_order_and_the_end_closes_the_channel() {
    let (tx, mut rx) = mpsc::channel(2);
    let receiver = thread::spawn(move || {
        let mut got = Vec::new();
        while let Some(n) = rx.blocking_recv() {
            got.push(n);
        }
        got
    });
    pollster::block_on(async {
        let values = stream::iter((0..1000).map(Ok));
        values.forward(PollSender::new(tx)).await.unwrap();
    });
    assert_eq!(receiver.join().unwrap(), (0..1000).collect::<Vec<_>>());
}

#[test]
fn it_waits_for_room_and_is_woken() {
    let (tx, mut rx) = mpsc::channel(1);
    let mut sink = PollSender::new(tx);
    let (wakings, waker) = Wakings::new();
    let mut cx = Context::from_waker(&waker);
    assert_eq!(sink.poll_reserve(&mut cx), Poll::Ready(Ok(())));
    sink.send_item(1).unwrap();
    assert!(sink.poll_reserve(&mut cx).is_pending());
    assert_eq!(rx.try_recv(), Ok(1));
    assert_eq!(wakings.count(), 1);
    assert_eq!(Pin::new(&mut sink).poll_ready(&mut cx), Poll::Ready(Ok(())));
    // Reserved room can be used after the close, once.
    sink.close();
    assert!(sink.is_closed() && sink.get_ref().is_none());
    sink.send_item(2).unwrap();
    assert_eq!(sink.send_item(3).unwrap_err().into_inner(), Some(3));
    assert_eq!(rx.try_recv(), Ok(2));
    assert_eq!(pollster::block_on(rx.recv()), None);
}

#[test]
fn what_is_given_up_is_free_again() {
    let (tx, rx) = mpsc::channel::<u8>(1);
    let mut sink = PollSender::new(tx.clone());
    let mut cx = Context::from_waker(Waker::noop());
    assert!(!sink.abort_send());
    assert!(sink.poll_reserve(&mut cx).is_ready());
    assert_eq!(tx.capacity(), 0);
    let mut other = sink.clone();
    assert!(other.poll_reserve(&mut cx).is_pending());
    assert!(other.abort_send() && sink.abort_send());
    assert_eq!(tx.capacity(), 1);
    drop(rx);
    assert!(sink.is_closed());
    assert!(
        matches!(sink.poll_reserve(&mut cx), Poll::Ready(Err(error)) if error.into_inner().is_none())
    );
    assert_eq!(
        pollster::block_on(sink.send(1)).unwrap_err().into_inner(),
        None
    );
}

#[test]
#[should_panic(expected = "without first calling `poll_reserve`")]
fn sending_without_room_panics() {
    let (tx, _rx) = mpsc::channel(1);
    let _ = PollSender::new(tx).send_item(1);
}

#[test]
fn a_wait_that_ends_with_the_channel_fails() {
    let (tx, rx) = mpsc::channel(1);
    let mut sink = PollSender::new(tx);
    pollster::block_on(sink.send(1)).unwrap();
    let closer = thread::spawn(move || {
        thread::sleep(Duration::from_millis(10));
        drop(rx);
    });
    assert!(pollster::block_on(sink.send(2)).is_err());
    closer.join().unwrap();
}
