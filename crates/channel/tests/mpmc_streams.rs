//! Receivers as streams and senders as sinks.
#![cfg(all(not(loom), feature = "stream", feature = "sink"))]

use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use blitz_channel::mpmc::{SendError, TryRecvError, bounded, unbounded};
use blitz_testing::{Drops, Wakings, everywhere};
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
fn a_stream_that_goes_passes_its_value_on() {
    let (sender, mut receiver) = unbounded();
    let other = receiver.clone();
    let (wakings, waker) = Wakings::new();
    assert_eq!(next(&mut receiver, &waker), Poll::Pending);
    sender.try_send(1).unwrap();
    assert_eq!(wakings.count(), 1);
    assert_eq!(other.try_recv(), Err(TryRecvError::Empty));
    drop(receiver);
    assert_eq!(other.try_recv(), Ok(1));
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
