// Included twice, with `mpsc` being Tokio's and ours. Both must behave alike.

use std::future::Future;
use std::pin::pin;
use std::task::Poll;

use blitz_io_testing::{Drops, Wakings, poll_once};
use mpsc::error::{SendError, TryRecvError, TrySendError};

fn now<F: Future>(future: F) -> F::Output {
    let (_, waker) = Wakings::new();
    match poll_once(pin!(future), &waker) {
        Poll::Ready(result) => result,
        Poll::Pending => panic!("it should be ready"),
    }
}

fn waits<F: Future>(future: F) -> bool {
    let (_, waker) = Wakings::new();
    poll_once(pin!(future), &waker).is_pending()
}

#[test]
fn values_arrive_in_order() {
    for capacity in [1, 2, 31, 32, 33, 1000, usize::MAX >> 3] {
        let (tx, mut rx) = mpsc::channel(capacity);
        let mut next = 0;
        for round in 0..200 {
            let burst = (round % 70 + 1).min(capacity);
            for n in 0..burst {
                tx.try_send(next + n).unwrap();
            }
            for n in 0..burst {
                assert_eq!(now(rx.recv()), Some(next + n));
            }
            next += burst;
            assert!(waits(rx.recv()));
            assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
        }
    }
}

#[test]
fn a_full_channel_refuses() {
    for capacity in [1, 2, 31, 32, 33, 1000] {
        let (tx, mut rx) = mpsc::channel(capacity);
        for lap in 0..3 {
            for n in 0..capacity {
                assert_eq!(tx.capacity(), capacity - n);
                tx.try_send(lap + n).unwrap();
            }
            assert_eq!(tx.try_send(7), Err(TrySendError::Full(7)));
            assert!(waits(tx.send(7)));
            assert_eq!((rx.len(), rx.capacity()), (capacity, 0));
            for n in 0..capacity {
                assert_eq!(rx.try_recv(), Ok(lap + n));
                assert_eq!(rx.capacity(), n + 1);
            }
            assert!(rx.is_empty());
        }
    }
}

#[test]
fn the_last_sender_ends_the_channel() {
    let (tx, mut rx) = mpsc::channel(4);
    let other = tx.clone();
    let weak = tx.downgrade();
    assert_eq!((tx.strong_count(), tx.weak_count()), (2, 1));
    assert_eq!((rx.sender_strong_count(), rx.sender_weak_count()), (2, 1));
    tx.try_send(1).unwrap();
    drop(tx);
    assert!(!rx.is_closed());
    drop(other);
    assert!(weak.upgrade().is_none());
    assert!(rx.is_closed());
    assert_eq!(now(rx.recv()), Some(1));
    assert_eq!(now(rx.recv()), None);
    assert_eq!(rx.try_recv(), Err(TryRecvError::Disconnected));
    assert_eq!(now(rx.recv()), None);
}

#[test]
fn a_closed_channel_lets_the_rest_through() {
    let (tx, mut rx) = mpsc::channel(3);
    tx.try_send(1).unwrap();
    let permit = tx.try_reserve().unwrap();
    rx.close();
    rx.close();
    assert!(tx.is_closed() && rx.is_closed());
    assert_eq!(tx.try_send(2), Err(TrySendError::Closed(2)));
    assert_eq!(now(tx.send(2)), Err(SendError(2)));
    assert!(matches!(tx.try_reserve(), Err(TrySendError::Closed(()))));
    assert!(now(tx.reserve()).is_err());
    assert_eq!(rx.try_recv(), Ok(1));
    assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
    assert!(waits(rx.recv()));
    permit.send(3);
    assert_eq!(rx.len(), 1);
    assert_eq!(now(rx.recv()), Some(3));
    assert_eq!(rx.try_recv(), Err(TryRecvError::Disconnected));
    assert_eq!(now(rx.recv()), None);
}

#[test]
fn a_permit_that_comes_back_to_a_closed_channel_wakes_the_receiver() {
    let (tx, mut rx) = mpsc::channel::<u8>(3);
    let permits = tx.try_reserve_many(2).unwrap();
    let owned = tx.clone().try_reserve_owned().unwrap();
    rx.close();
    let (wakings, waker) = Wakings::new();
    let mut recv = pin!(rx.recv());
    assert!(poll_once(recv.as_mut(), &waker).is_pending());
    drop(permits);
    let before = wakings.count();
    assert!(poll_once(recv.as_mut(), &waker).is_pending());
    drop(owned);
    assert!(wakings.count() > before);
    assert_eq!(poll_once(recv.as_mut(), &waker), Poll::Ready(None));
}

#[test]
fn a_closed_channel_that_is_full_is_closed() {
    let (tx, mut rx) = mpsc::channel(1);
    tx.try_send(1).unwrap();
    rx.close();
    assert_eq!(tx.try_send(2), Err(TrySendError::Closed(2)));
    assert!(matches!(
        tx.try_reserve_many(0),
        Err(TrySendError::Closed(()))
    ));
    assert!(matches!(
        tx.try_reserve_many(2),
        Err(TrySendError::Full(()))
    ));
}

#[test]
fn permits_take_room() {
    let (tx, mut rx) = mpsc::channel(5);
    assert!(matches!(
        tx.try_reserve_many(6),
        Err(TrySendError::Full(()))
    ));
    assert!(now(tx.reserve_many(6)).is_err());
    let mut permits = tx.try_reserve_many(3).unwrap();
    assert_eq!((permits.len(), permits.size_hint()), (3, (3, Some(3))));
    assert_eq!(
        (tx.capacity(), tx.max_capacity(), rx.max_capacity()),
        (2, 5, 5)
    );
    assert_eq!(rx.len(), 0);
    assert!(tx.try_reserve_many(3).is_err());
    permits.next().unwrap().send(1);
    drop(permits.next().unwrap());
    assert_eq!((tx.capacity(), rx.len()), (3, 1));
    drop(permits);
    assert_eq!((tx.capacity(), rx.len()), (4, 1));
    assert_eq!(rx.try_recv(), Ok(1));
    assert_eq!(tx.capacity(), 5);
    assert_eq!(tx.try_reserve_many(0).unwrap().len(), 0);
    assert!(now(tx.reserve_many(0)).unwrap().next().is_none());
    let all = now(tx.reserve_many(5)).unwrap();
    assert_eq!(tx.try_reserve_many(0).unwrap().len(), 0);
    assert!(now(tx.reserve_many(0)).is_ok());
    for (n, permit) in all.enumerate() {
        permit.send(n);
    }
    assert_eq!((0..5).map(|_| rx.try_recv().unwrap()).sum::<usize>(), 10);
}

#[test]
fn an_unused_permit_does_not_hold_up_others() {
    let (tx, mut rx) = mpsc::channel(3);
    let permit = tx.try_reserve().unwrap();
    tx.try_send(1).unwrap();
    assert_eq!(rx.try_recv(), Ok(1));
    tx.try_send(2).unwrap();
    permit.send(3);
    assert_eq!(rx.try_recv(), Ok(2));
    assert_eq!(rx.try_recv(), Ok(3));
}

#[test]
fn owned_permits_know_their_channel() {
    let (tx, mut rx) = mpsc::channel(2);
    let (other, _other_rx) = mpsc::channel::<i32>(1);
    let permit = now(tx.clone().reserve_owned()).unwrap();
    let second = tx.clone().try_reserve_owned().unwrap();
    let foreign = other.clone().try_reserve_owned().unwrap();
    assert!(permit.same_channel(&second) && !permit.same_channel(&foreign));
    assert!(permit.same_channel_as_sender(&tx) && !permit.same_channel_as_sender(&other));
    assert!(tx.same_channel(&tx.clone()) && !tx.same_channel(&other));
    match tx.clone().try_reserve_owned() {
        Err(TrySendError::Full(back)) => assert!(back.same_channel(&tx)),
        _ => panic!("it is full"),
    }
    assert_eq!(tx.strong_count(), 3);
    drop(permit.release());
    assert_eq!((tx.capacity(), tx.strong_count()), (1, 2));
    assert!(second.send(7).same_channel(&tx));
    assert_eq!(rx.try_recv(), Ok(7));
    drop(tx.clone().try_reserve_owned().unwrap());
    assert_eq!((tx.capacity(), tx.strong_count()), (2, 1));
}

#[test]
fn room_goes_to_the_first_who_waits() {
    let (tx, mut rx) = mpsc::channel(1);
    tx.try_send(0).unwrap();
    let (first, second) = (Wakings::new(), Wakings::new());
    let mut one = pin!(tx.send(1));
    let mut two = pin!(tx.send(2));
    assert!(poll_once(one.as_mut(), &first.1).is_pending());
    assert!(poll_once(two.as_mut(), &second.1).is_pending());
    assert_eq!(rx.try_recv(), Ok(0));
    assert_eq!((first.0.count(), second.0.count()), (1, 0));
    assert_eq!(tx.try_send(9), Err(TrySendError::Full(9)));
    assert_eq!(tx.capacity(), 0);
    assert!(poll_once(two.as_mut(), &second.1).is_pending());
    assert_eq!(poll_once(one.as_mut(), &first.1), Poll::Ready(Ok(())));
    assert_eq!(rx.try_recv(), Ok(1));
    assert_eq!(second.0.count(), 1);
    assert_eq!(poll_once(two.as_mut(), &second.1), Poll::Ready(Ok(())));
    assert_eq!(rx.try_recv(), Ok(2));
}

#[test]
fn many_wait_for_as_much_as_they_want() {
    let (tx, mut rx) = mpsc::channel(3);
    (0..3).for_each(|n| tx.try_send(n).unwrap());
    let (many, one) = (Wakings::new(), Wakings::new());
    let mut three = pin!(tx.reserve_many(3));
    let mut single = pin!(tx.reserve());
    assert!(poll_once(three.as_mut(), &many.1).is_pending());
    assert!(poll_once(single.as_mut(), &one.1).is_pending());
    for n in 0..3 {
        assert_eq!((many.0.count(), one.0.count(), tx.capacity()), (0, 0, 0));
        assert_eq!(rx.try_recv(), Ok(n));
    }
    assert_eq!((many.0.count(), one.0.count()), (1, 0));
    let Poll::Ready(Ok(permits)) = poll_once(three.as_mut(), &many.1) else {
        panic!("it was chosen")
    };
    assert_eq!(permits.len(), 3);
    drop(permits);
    assert_eq!((one.0.count(), tx.capacity()), (1, 2));
    assert!(poll_once(single.as_mut(), &one.1).is_ready());
}

#[test]
fn who_gives_up_lets_the_next_have_the_room() {
    let (tx, mut rx) = mpsc::channel(2);
    tx.try_send(0).unwrap();
    tx.try_send(1).unwrap();
    let (_, waker) = Wakings::new();
    let (wakings, second) = Wakings::new();
    // A waiter that was chosen, and a waiter that stood in the way.
    for chosen in [true, false] {
        let mut greedy = Box::pin(tx.reserve_many(2));
        assert!(poll_once(greedy.as_mut(), &waker).is_pending());
        let mut modest = pin!(tx.reserve());
        assert!(poll_once(modest.as_mut(), &second).is_pending());
        let before = wakings.count();
        let received = if chosen { 2 } else { 1 };
        for _ in 0..received {
            rx.try_recv().unwrap();
        }
        assert_eq!(wakings.count(), before);
        drop(greedy);
        assert_eq!(wakings.count(), before + 1);
        let Poll::Ready(Ok(permit)) = poll_once(modest.as_mut(), &second) else {
            panic!("it was chosen")
        };
        drop(permit);
        assert_eq!(tx.capacity(), received);
        while tx.try_send(7).is_ok() {}
    }
}

#[test]
fn closing_turns_away_those_who_wait() {
    let (tx, mut rx) = mpsc::channel(1);
    tx.try_send(0).unwrap();
    let (wakings, waker) = Wakings::new();
    let mut send = pin!(tx.send(1));
    let mut reserve = pin!(tx.reserve());
    let mut closed = pin!(tx.closed());
    assert!(poll_once(send.as_mut(), &waker).is_pending());
    assert!(poll_once(reserve.as_mut(), &waker).is_pending());
    assert!(poll_once(closed.as_mut(), &waker).is_pending());
    rx.close();
    assert_eq!(wakings.count(), 3);
    assert_eq!(
        poll_once(send.as_mut(), &waker),
        Poll::Ready(Err(SendError(1)))
    );
    assert!(matches!(
        poll_once(reserve.as_mut(), &waker),
        Poll::Ready(Err(_))
    ));
    assert!(poll_once(closed.as_mut(), &waker).is_ready());
    now(tx.closed());
    assert_eq!(rx.capacity(), 0);
    assert_eq!(rx.try_recv(), Ok(0));
    assert_eq!(rx.capacity(), 1);
    assert_eq!(rx.try_recv(), Err(TryRecvError::Disconnected));
}

#[test]
fn who_was_chosen_before_the_close_is_turned_away_all_the_same() {
    let (tx, mut rx) = mpsc::channel(1);
    tx.try_send(0).unwrap();
    let (_, waker) = Wakings::new();
    let mut send = pin!(tx.send(1));
    assert!(poll_once(send.as_mut(), &waker).is_pending());
    assert_eq!(rx.try_recv(), Ok(0));
    rx.close();
    assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
    assert_eq!(
        poll_once(send.as_mut(), &waker),
        Poll::Ready(Err(SendError(1)))
    );
    assert_eq!(rx.try_recv(), Err(TryRecvError::Disconnected));
}

#[test]
fn many_are_received_at_once() {
    let (tx, mut rx) = mpsc::channel(100);
    let mut buffer = vec![99];
    assert_eq!(now(rx.recv_many(&mut buffer, 0)), 0);
    assert!(waits(rx.recv_many(&mut buffer, 1)));
    (0..70).for_each(|n| tx.try_send(n).unwrap());
    assert_eq!(now(rx.recv_many(&mut buffer, 40)), 40);
    assert_eq!((buffer.len(), tx.capacity()), (41, 70));
    assert_eq!(now(rx.recv_many(&mut buffer, 40)), 30);
    assert_eq!(buffer[1..], (0..70).collect::<Vec<_>>());
    drop(tx);
    assert_eq!(now(rx.recv_many(&mut buffer, 40)), 0);
}

#[test]
fn the_newest_waker_is_woken() {
    let (tx, mut rx) = mpsc::unbounded_channel();
    let (old, new) = (Wakings::new(), Wakings::new());
    let mut recv = pin!(rx.recv());
    assert!(poll_once(recv.as_mut(), &old.1).is_pending());
    assert!(poll_once(recv.as_mut(), &new.1).is_pending());
    assert!(poll_once(recv.as_mut(), &new.1).is_pending());
    tx.send(1).unwrap();
    tx.send(2).unwrap();
    assert_eq!((old.0.count(), new.0.count()), (0, 1));
    assert_eq!(poll_once(recv.as_mut(), &new.1), Poll::Ready(Some(1)));
}

#[test]
fn a_wait_that_is_given_up_takes_nothing() {
    let (tx, mut rx) = mpsc::channel(1);
    assert!(waits(rx.recv()));
    tx.try_send(1).unwrap();
    assert!(waits(tx.send(2)));
    assert!(waits(tx.reserve()));
    assert_eq!(tx.capacity(), 0);
    assert_eq!(now(rx.recv()), Some(1));
    assert_eq!(tx.capacity(), 1);
    assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
}

#[test]
fn every_value_is_dropped_once() {
    for sent in [0, 1, 31, 32, 33, 100] {
        for received in [0, 1, 31, 32, 33, 100] {
            let received = received.min(sent);
            for receiver_first in [true, false] {
                let drops = Drops::new();
                let (tx, mut rx) = mpsc::channel(200);
                (0..sent).for_each(|n| tx.try_send(drops.counted(n)).unwrap());
                (0..received).for_each(|n| assert_eq!(rx.try_recv().unwrap().value, n));
                assert_eq!(drops.count(), received);
                if receiver_first {
                    let permit = tx.try_reserve().unwrap();
                    drop(rx);
                    assert_eq!(drops.count(), sent);
                    let error = tx.try_send(drops.counted(7)).unwrap_err();
                    assert_eq!(error.into_inner().value, 7);
                    permit.send(drops.counted(8));
                    drop(tx);
                    assert_eq!(drops.count(), sent + 2);
                } else {
                    drop(tx);
                    assert_eq!(drops.count(), received);
                    drop(rx);
                    assert_eq!(drops.count(), sent);
                }
            }
        }
    }
}

#[test]
fn an_unbounded_channel_always_has_room() {
    let (tx, mut rx) = mpsc::unbounded_channel();
    (0..1000).for_each(|n| tx.send(n).unwrap());
    assert_eq!(rx.len(), 1000);
    for n in 0..1000 {
        assert_eq!(rx.try_recv(), Ok(n));
    }
    let weak = tx.downgrade();
    assert!(weak.upgrade().unwrap().same_channel(&tx));
    assert_eq!((weak.clone().weak_count(), weak.strong_count()), (2, 1));
    tx.send(1).unwrap();
    rx.close();
    assert_eq!(tx.send(2), Err(SendError(2)));
    assert!(tx.is_closed() && rx.is_closed());
    now(tx.closed());
    assert_eq!(rx.try_recv(), Ok(1));
    assert_eq!(rx.try_recv(), Err(TryRecvError::Disconnected));
    assert_eq!(now(rx.recv()), None);
}

#[test]
fn values_without_size_are_counted() {
    let (tx, mut rx) = mpsc::channel(50);
    (0..50).for_each(|_| tx.try_send(()).unwrap());
    assert_eq!(tx.try_send(()), Err(TrySendError::Full(())));
    let mut buffer = Vec::new();
    assert_eq!(now(rx.recv_many(&mut buffer, 100)), 50);
}

#[test]
fn blocking_forms_do_the_same() {
    let (tx, mut rx) = mpsc::channel(2);
    tx.blocking_send(1).unwrap();
    tx.blocking_send(2).unwrap();
    assert_eq!(rx.blocking_recv(), Some(1));
    let mut buffer = Vec::new();
    tx.blocking_send(3).unwrap();
    assert_eq!(rx.blocking_recv_many(&mut buffer, 0), 0);
    assert_eq!(rx.blocking_recv_many(&mut buffer, 5), 2);
    let end = tx.clone();
    drop(tx);
    let (sender, receiver) = (
        std::thread::spawn(move || (0..1000).for_each(|n| end.blocking_send(n).unwrap())),
        std::thread::spawn(move || {
            let mut sum = 0;
            while let Some(n) = rx.blocking_recv() {
                sum += n;
            }
            sum
        }),
    );
    sender.join().unwrap();
    assert_eq!(receiver.join().unwrap(), 499_500);
}

#[test]
#[should_panic = "mpsc bounded channel requires buffer > 0"]
fn no_room_at_all() {
    let _ = mpsc::channel::<()>(0);
}

#[test]
#[should_panic = "a semaphore may not have more than MAX_PERMITS permits (2305843009213693951)"]
#[cfg(target_pointer_width = "64")]
fn too_much_room() {
    let _ = mpsc::channel::<()>((usize::MAX >> 3) + 1);
}

#[test]
fn errors_say_the_same() {
    let full = TrySendError::Full(1);
    assert_eq!(
        format!("{full} {full:?}"),
        r#"no available capacity "Full(..)""#
    );
    let closed = TrySendError::from(SendError(1));
    assert_eq!(
        format!("{closed} {closed:?}"),
        r#"channel closed "Closed(..)""#
    );
    assert_eq!((full.into_inner(), closed.into_inner()), (1, 1));
    let error = SendError(1);
    assert_eq!(
        format!("{error} {error:?}"),
        "channel closed SendError { .. }"
    );
    let (empty, gone) = (TryRecvError::Empty, TryRecvError::Disconnected);
    assert_eq!(
        format!("{empty} {empty:?}"),
        "receiving on an empty channel Empty"
    );
    assert_eq!(format!("{gone:>30}."), " receiving on a closed channel.");
    use mpsc::error::SendTimeoutError;
    let (late, shut) = (SendTimeoutError::Timeout(1), SendTimeoutError::Closed(2));
    assert_eq!(
        format!("{late} {late:?}"),
        r#"timed out waiting on send operation "Timeout(..)""#
    );
    assert_eq!(format!("{shut} {shut:?}"), r#"channel closed "Closed(..)""#);
    assert_eq!(shut.into_inner(), 2);
    fn is_error<E: std::error::Error + Copy + Send + Sync + 'static>(_: E) {}
    is_error(full);
    is_error(error);
    is_error(empty);
    is_error(late);
    let (tx, _rx) = mpsc::channel::<u8>(1);
    assert_eq!(format!("{:?}", tx.downgrade()), "WeakSender");
    assert!(format!("{tx:?}").starts_with("Sender { chan: "));
    assert!(format!("{_rx:?}").starts_with("Receiver { chan: "));
    assert!(format!("{:?}", tx.try_reserve().unwrap()).starts_with("Permit { chan: "));
}

#[test]
fn everything_is_as_mobile_as_its_values() {
    use std::cell::Cell;
    use std::panic::{RefUnwindSafe, UnwindSafe};
    use std::rc::Rc;
    fn mobile<T: Send + Sync + Unpin + UnwindSafe + RefUnwindSafe>() {}
    fn sends<T: Send>(_: T) {}
    fn unpinned<T: Unpin>() {}
    mobile::<mpsc::Sender<Cell<u8>>>();
    mobile::<mpsc::Receiver<Cell<u8>>>();
    mobile::<mpsc::WeakSender<Cell<u8>>>();
    mobile::<mpsc::OwnedPermit<Cell<u8>>>();
    mobile::<mpsc::Permit<'static, Cell<u8>>>();
    mobile::<mpsc::PermitIterator<'static, Cell<u8>>>();
    mobile::<mpsc::UnboundedSender<Cell<u8>>>();
    mobile::<mpsc::UnboundedReceiver<Cell<u8>>>();
    mobile::<mpsc::WeakUnboundedSender<Cell<u8>>>();
    unpinned::<mpsc::Receiver<std::marker::PhantomPinned>>();
    let (tx, mut rx) = mpsc::channel(1);
    sends(tx.send(Cell::new(1)));
    sends(tx.reserve());
    sends(tx.reserve_many(1));
    sends(tx.closed());
    sends(rx.recv());
    sends(rx.recv_many(&mut Vec::new(), 1));
    sends(tx.clone().reserve_owned());
    // A value that is not `Send` can be sent within one thread.
    let (tx, mut rx) = mpsc::unbounded_channel();
    tx.send(Rc::new(7)).unwrap();
    assert_eq!(*rx.try_recv().unwrap(), 7);
}
