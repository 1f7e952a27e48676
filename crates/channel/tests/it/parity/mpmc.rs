// Scenarios for async-channel and for ours, which must do the same. Included twice,
// with `channel` in scope.

use std::pin::pin;
use std::task::Poll;

use blitz_io_testing::{Wakings, poll_once};
use channel::{
    Receiver, RecvError, SendError, Sender, TryRecvError, TrySendError, bounded, unbounded,
};

fn said<T: std::fmt::Debug + std::fmt::Display>(error: T) -> String {
    format!("{error:?}: {error}")
}

#[test]
fn bounded_and_unbounded() {
    let (sender, receiver) = bounded(2);
    assert_eq!((sender.capacity(), receiver.capacity()), (Some(2), Some(2)));
    assert!(sender.is_empty() && !sender.is_full() && sender.is_empty());
    assert_eq!(sender.try_send(1), Ok(()));
    assert_eq!((sender.len(), receiver.len()), (1, 1));
    assert_eq!(sender.try_send(2), Ok(()));
    assert!(receiver.is_full() && !receiver.is_empty());
    assert_eq!(sender.try_send(3), Err(TrySendError::Full(3)));
    assert_eq!(receiver.try_recv(), Ok(1));
    assert_eq!(receiver.try_recv(), Ok(2));
    assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty));
    let (sender, receiver) = unbounded::<i32>();
    assert_eq!((sender.capacity(), receiver.is_full()), (None, false));
}

#[test]
fn closing() {
    let (sender, receiver) = bounded(4);
    sender.try_send(1).unwrap();
    assert!(!sender.is_closed());
    assert!(receiver.close());
    assert!(!sender.close() && !receiver.close());
    assert!(sender.is_closed() && receiver.is_closed());
    assert_eq!(sender.try_send(2), Err(TrySendError::Closed(2)));
    assert_eq!(sender.send_blocking(2), Err(SendError(2)));
    assert_eq!(receiver.try_recv(), Ok(1));
    assert_eq!(receiver.try_recv(), Err(TryRecvError::Closed));
    assert_eq!(receiver.recv_blocking(), Err(RecvError));
}

#[test]
fn the_last_end_closes() {
    let (sender, receiver) = bounded::<i32>(1);
    let other = sender.clone();
    drop(sender);
    assert!(!receiver.is_closed());
    drop(other);
    assert!(receiver.is_closed());
    let (sender, receiver) = bounded::<i32>(1);
    let other = receiver.clone();
    drop(receiver);
    assert!(!sender.is_closed());
    drop(other);
    assert!(sender.is_closed());
}

#[test]
fn counts_and_clones() {
    let (sender, receiver) = bounded::<i32>(1);
    let (senders, receivers) = ([sender.clone(), sender.clone()], receiver.clone());
    assert_eq!((sender.sender_count(), receiver.receiver_count()), (3, 2));
    assert_eq!((receiver.sender_count(), sender.receiver_count()), (3, 2));
    assert!(sender.same_channel(&senders[0]) && receiver.same_channel(&receivers));
    assert!(!sender.same_channel(&bounded(1).0));
    drop((senders, receivers));
    assert_eq!((sender.sender_count(), receiver.receiver_count()), (1, 1));
}

#[test]
fn weak_ends() {
    let (sender, receiver) = bounded::<i32>(1);
    let (weak_sender, weak_receiver) = (sender.downgrade(), receiver.downgrade());
    assert!(weak_sender.upgrade().is_some() && weak_receiver.upgrade().is_some());
    assert_eq!((sender.sender_count(), sender.receiver_count()), (1, 1));
    drop(sender);
    assert!(weak_sender.upgrade().is_none() && weak_receiver.upgrade().is_none());
    assert!(receiver.is_closed());
    let (sender, receiver) = bounded::<i32>(1);
    let (weak_sender, weak_receiver) = (sender.downgrade(), receiver.downgrade());
    drop(receiver);
    assert!(weak_sender.upgrade().is_none() && weak_receiver.upgrade().is_none());
}

#[test]
fn forcing() {
    let (sender, receiver) = bounded(2);
    assert_eq!(sender.force_send(1), Ok(None));
    assert_eq!(sender.force_send(2), Ok(None));
    assert_eq!(sender.force_send(3), Ok(Some(1)));
    assert_eq!(sender.force_send(4), Ok(Some(2)));
    assert_eq!(receiver.try_recv(), Ok(3));
    assert_eq!(receiver.try_recv(), Ok(4));
    drop(receiver);
    assert_eq!(sender.force_send(5), Err(SendError(5)));
}

#[test]
fn a_receive_waits_and_is_woken() {
    let (sender, receiver) = bounded(1);
    let (wakings, waker) = Wakings::new();
    let mut receive = pin!(receiver.recv());
    assert!(poll_once(receive.as_mut(), &waker).is_pending());
    assert_eq!(wakings.count(), 0);
    sender.try_send(1).unwrap();
    assert_eq!(wakings.count(), 1);
    assert_eq!(poll_once(receive, &waker), Poll::Ready(Ok(1)));
}

#[test]
fn a_send_waits_and_is_woken() {
    let (sender, receiver) = bounded(1);
    let (wakings, waker) = Wakings::new();
    sender.try_send(1).unwrap();
    let mut send = pin!(sender.send(2));
    assert!(poll_once(send.as_mut(), &waker).is_pending());
    assert_eq!(receiver.try_recv(), Ok(1));
    assert_eq!(wakings.count(), 1);
    assert_eq!(poll_once(send, &waker), Poll::Ready(Ok(())));
    assert_eq!(receiver.try_recv(), Ok(2));
}

#[test]
fn the_end_wakes_those_who_wait() {
    let (sender, receiver) = bounded::<i32>(1);
    let (wakings, waker) = Wakings::new();
    let (mut receive, mut closed) = (pin!(receiver.recv()), pin!(sender.closed()));
    assert!(poll_once(receive.as_mut(), &waker).is_pending());
    assert!(poll_once(closed.as_mut(), &waker).is_pending());
    sender.close();
    assert_eq!(wakings.count(), 2);
    assert_eq!(poll_once(receive, &waker), Poll::Ready(Err(RecvError)));
    assert_eq!(poll_once(closed, &waker), Poll::Ready(()));

    let (sender, receiver) = bounded(1);
    sender.try_send(1).unwrap();
    let mut send = pin!(sender.send(2));
    assert!(poll_once(send.as_mut(), &waker).is_pending());
    receiver.close();
    assert_eq!(poll_once(send, &waker), Poll::Ready(Err(SendError(2))));
    assert_eq!(receiver.try_recv(), Ok(1));
}

#[test]
fn a_dropped_receive_lets_another_one_have_the_value() {
    let (sender, receiver) = bounded(1);
    let (_, first_waker) = Wakings::new();
    let (wakings, waker) = Wakings::new();
    let mut first = Box::pin(receiver.recv());
    let mut second = pin!(receiver.recv());
    assert!(poll_once(first.as_mut(), &first_waker).is_pending());
    assert!(poll_once(second.as_mut(), &waker).is_pending());
    sender.try_send(1).unwrap();
    drop(first);
    assert_eq!(wakings.count(), 1);
    assert_eq!(poll_once(second, &waker), Poll::Ready(Ok(1)));
}

#[test]
fn a_receive_that_comes_late_finds_what_was_sent() {
    let (sender, receiver) = unbounded();
    pollster::block_on(async {
        for n in 0..3 {
            sender.send(n).await.unwrap();
        }
        drop(sender);
        for n in 0..3 {
            assert_eq!(receiver.recv().await, Ok(n));
        }
        assert_eq!(receiver.recv().await, Err(RecvError));
    });
}

#[test]
fn what_errors_say() {
    assert_eq!(said(SendError(1)), "SendError(..): sending into a closed channel");
    assert_eq!(said(TrySendError::Full(1)), "Full(..): sending into a full channel");
    assert_eq!(
        said(TrySendError::Closed(1)),
        "Closed(..): sending into a closed channel"
    );
    assert_eq!(
        said(RecvError),
        "RecvError: receiving from an empty and closed channel"
    );
    assert_eq!(
        said(TryRecvError::Empty),
        "Empty: receiving from an empty channel"
    );
    assert_eq!(
        said(TryRecvError::Closed),
        "Closed: receiving from an empty and closed channel"
    );
    assert_eq!(TrySendError::Full(7).into_inner(), 7);
    assert!(TrySendError::Full(7).is_full() && TrySendError::Closed(7).is_closed());
    assert!(TryRecvError::Empty.is_empty() && TryRecvError::Closed.is_closed());
}

#[test]
fn what_ends_are() {
    fn good<T: Send + Sync>() {}
    good::<Sender<std::cell::Cell<i32>>>();
    good::<Receiver<std::cell::Cell<i32>>>();
    let (sender, receiver) = bounded::<i32>(1);
    assert_eq!(
        format!("{:?} {:?}", sender.downgrade(), receiver.downgrade()),
        "WeakSender { .. } WeakReceiver { .. }"
    );
}
