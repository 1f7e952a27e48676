//! Receivers as streams and senders as sinks.
#![cfg(all(feature = "stream", feature = "sink"))]

use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use blitz_io_channel::mpmc::{Select, SendError, TryRecvError, bounded, unbounded};
use blitz_io_testing::{Drops, Wakings, everywhere, ms, poll_once, shouting_waker};
use futures_util::stream::FusedStream;
use futures_util::{Sink, SinkExt, Stream, StreamExt};

everywhere! {
    async fn a_sink_feeds_a_stream(rt) {
        for capacity in [0, 1, 1000] {
            let (sender, receiver) = bounded(capacity);
            let task = rt.spawn(async move {
                let mut sink = sender.into_sink();
                for n in 0..100 {
                    sink.feed(n).await.unwrap();
                }
                sink.close().await.unwrap();
                assert_eq!(sink.send(1).await, Err(SendError(1)));
            });
            let received: Vec<_> = receiver.collect().await;
            assert_eq!(received, (0..100).collect::<Vec<_>>());
            task.await;
        }
    }
}

fn next<T>(stream: &mut (impl Stream<Item = T> + Unpin), waker: &Waker) -> Poll<Option<T>> {
    Pin::new(stream).poll_next(&mut Context::from_waker(waker))
}

#[test]
fn a_stream_that_goes_keeps_nothing() {
    let (sender, mut receiver) = unbounded();
    let other = receiver.clone();
    let (wakings, waker) = Wakings::new();
    assert_eq!(next(&mut receiver, &waker), Poll::Pending);
    sender.try_send(1).unwrap();
    assert_eq!(wakings.count(), 1);
    drop(receiver);
    assert_eq!(other.try_recv(), Ok(1));
}

/// A task polls a stream once and then receives in another way, or lets others receive.
#[test]
fn a_stream_that_is_left_alone_takes_nothing() {
    for capacity in [1, 2, 1000] {
        let (sender, mut receiver) = bounded(capacity);
        let other = receiver.clone();
        let (wakings, waker) = Wakings::new();
        for n in 0..3 {
            {
                let mut next = receiver.next();
                assert!(poll_once(Pin::new(&mut next), &waker).is_pending());
            }
            let mut waits = pin!(other.recv());
            let waits_too = n == 2;
            if waits_too {
                assert!(poll_once(waits.as_mut(), Waker::noop()).is_pending());
            }
            sender.try_send(n).unwrap();
            match n {
                0 => assert_eq!(receiver.try_recv(), Ok(0)),
                1 => assert_eq!(pollster::block_on(receiver.recv()), Ok(1)),
                _ => assert_eq!(poll_once(waits, Waker::noop()), Poll::Ready(Ok(2))),
            }
            assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty));
        }
        assert_eq!(wakings.count(), 2);
    }
}

#[test]
fn without_a_buffer_a_stream_comes_for_the_value() {
    let (sender, mut receiver) = bounded(0);
    let other = receiver.clone();
    let (wakings, waker) = Wakings::new();
    assert_eq!(next(&mut receiver, &waker), Poll::Pending);
    let mut send = pin!(sender.send(1));
    assert!(poll_once(send.as_mut(), Waker::noop()).is_pending());
    assert_eq!(wakings.count(), 1);
    assert_eq!(next(&mut receiver, &waker), Poll::Ready(Some(1)));
    assert_eq!(poll_once(send, Waker::noop()), Poll::Ready(Ok(())));

    assert_eq!(next(&mut receiver, &waker), Poll::Pending);
    let mut send = pin!(sender.send(2));
    assert!(poll_once(send.as_mut(), Waker::noop()).is_pending());
    assert_eq!(other.try_recv(), Ok(2));
    assert_eq!(next(&mut receiver, &waker), Poll::Pending);
    assert_eq!(wakings.count(), 2);
}

#[test]
fn without_a_buffer_a_stream_meets_a_selection() {
    for is_ready in [false, true] {
        let (sender, receiver) = bounded(0);
        let thread = std::thread::spawn(move || {
            for n in 0..100 {
                let mut select = Select::new();
                select.send(&sender);
                if is_ready {
                    select.ready_timeout(ms(900_000)).unwrap();
                }
                let operation = select.select_timeout(ms(900_000)).unwrap();
                operation.send(&sender, n).unwrap();
            }
        });
        let all: Vec<_> = pollster::block_on(receiver.collect());
        assert_eq!(all, (0..100).collect::<Vec<_>>());
        thread.join().unwrap();
    }
}

#[test]
fn all_streams_are_told_even_if_a_waker_panics() {
    let (sender, receiver) = unbounded();
    let (wakings, waker) = Wakings::new();
    let mut streams: Vec<_> = (0..40).map(|_| receiver.clone()).collect();
    for (n, stream) in streams.iter_mut().enumerate() {
        let shouting = shouting_waker();
        let waker = if n == 3 { &shouting } else { &waker };
        assert_eq!(next(stream, waker), Poll::Pending);
    }
    let panics = std::panic::catch_unwind(|| sender.try_send(1));
    assert!(panics.is_err());
    assert_eq!(wakings.count(), 39);
    streams.truncate(10);
    assert_eq!(next(&mut streams[9], &waker), Poll::Ready(Some(1)));
    assert_eq!(next(&mut streams[8], &waker), Poll::Pending);
}

everywhere! {
    async fn streams_share_the_values(rt) {
        for capacity in [0, 1, 1000] {
            let (sender, receiver) = bounded(capacity);
            let tasks: Vec<_> = (0..4).map(|_| {
                let receiver = receiver.clone();
                rt.spawn(receiver.fold(0, |sum, n| std::future::ready(sum + n)))
            }).collect();
            drop(receiver);
            for n in 0..1000 {
                sender.send(n).await.unwrap();
            }
            drop(sender);
            let mut sum = 0;
            for task in tasks {
                sum += task.await;
            }
            assert_eq!(sum, 499_500);
        }
    }
}

#[test]
fn a_stream_ends_after_its_last_value() {
    let (sender, mut receiver) = unbounded();
    let (_, waker) = Wakings::new();
    assert_eq!(next(&mut receiver, &waker), Poll::Pending);
    sender.try_send(1).unwrap();
    drop(sender);
    assert!(!receiver.is_terminated());
    assert_eq!(next(&mut receiver, &waker), Poll::Ready(Some(1)));
    assert!(receiver.is_terminated());
    assert_eq!(next(&mut receiver, &waker), Poll::Ready(None));
    assert_eq!(next(&mut receiver, &waker), Poll::Ready(None));
}

#[test]
fn a_sink_keeps_one_value_back() {
    let drops = Drops::new();
    let (sender, receiver) = bounded(1);
    let mut sink = sender.sink();
    let (wakings, waker) = Wakings::new();
    let mut context = Context::from_waker(&waker);
    for n in 0..2 {
        assert!(sink.poll_ready_unpin(&mut context).is_ready());
        sink.start_send_unpin(drops.counted(n)).unwrap();
    }
    assert!(sink.poll_ready_unpin(&mut context).is_pending());
    assert_eq!(receiver.try_recv().unwrap().value, 0);
    assert_eq!(wakings.count(), 1);
    assert!(Pin::new(&mut sink).poll_flush(&mut context).is_ready());
    sink.start_send_unpin(drops.counted(2)).unwrap();
    assert!(sink.poll_ready_unpin(&mut context).is_pending());
    drop(sink);
    assert_eq!(drops.count(), 2);
    assert_eq!(receiver.try_recv().unwrap().value, 1);
    assert!(receiver.try_recv().is_err());
}

#[test]
fn a_sink_says_what_was_not_sent() {
    let (sender, receiver) = bounded(0);
    let mut sink = sender.sink();
    let mut context = Context::from_waker(Waker::noop());
    sink.start_send_unpin(1).unwrap();
    assert!(sink.poll_ready_unpin(&mut context).is_pending());
    drop(receiver);
    assert_eq!(
        sink.poll_ready_unpin(&mut context),
        Poll::Ready(Err(SendError(1)))
    );
    assert_eq!(sink.start_send_unpin(2), Err(SendError(2)));
}
