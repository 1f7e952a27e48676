//! Channels of many senders and many receivers, between tasks and threads.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::thread;
use std::time::{Duration, Instant};

use blitz_io_channel::mpmc::{
    Receiver, RecvError, RecvTimeoutError, SendError, SendTimeoutError, Sender, TryRecvError,
    TrySendError, bounded, unbounded,
};
use blitz_io_testing::threads::A_WHILE;
use blitz_io_testing::{
    Drops, Wakings, everywhere, ms, poll_once, reentrant_waker, shouting_waker,
};

const LONG: Duration = Duration::from_secs(900);

/// The capacities that differ in kind. `None`: no limit.
const CAPACITIES: [Option<usize>; 5] = [Some(0), Some(1), Some(2), Some(1000), None];

fn channel<T>(capacity: Option<usize>) -> (Sender<T>, Receiver<T>) {
    capacity.map_or_else(unbounded, bounded)
}

/// A sent value: the number of the sender, and that of the value.
type Stamped = (usize, usize);

/// Checks that the values of each sender came in order, and how many came.
#[derive(Default)]
struct Log(Vec<Option<usize>>, usize);

impl Log {
    fn add(&mut self, (sender, number): Stamped) {
        self.0.resize(self.0.len().max(sender + 1), None);
        assert!(self.0[sender] < Some(number), "out of order");
        self.0[sender] = Some(number);
        self.1 += number + 1;
    }
}

fn sum(senders: usize, each: usize) -> usize {
    senders * each * (each + 1) / 2
}

everywhere! {
    async fn values_arrive_in_order(rt) {
        for capacity in CAPACITIES {
            let (sender, receiver) = channel(capacity);
            let task = rt.spawn(async move {
                for n in 0..100 {
                    sender.send(n).await.unwrap();
                }
            });
            for n in 0..100 {
                assert_eq!(receiver.recv().await, Ok(n));
            }
            assert_eq!(receiver.recv().await, Err(RecvError));
            task.await;
        }
    }

    async fn many_to_many_lose_nothing_and_keep_order(rt) {
        const EACH: usize = 200;
        for capacity in CAPACITIES {
            let (sender, receiver) = channel(capacity);
            let mut tasks = Vec::new();
            for id in 0..4 {
                let sender = sender.clone();
                tasks.push(rt.spawn(async move {
                    for n in 0..EACH {
                        sender.send((id, n)).await.unwrap();
                    }
                    0
                }));
                let receiver = receiver.clone();
                tasks.push(rt.spawn(async move {
                    let mut log = Log::default();
                    while let Ok(value) = receiver.recv().await {
                        log.add(value);
                    }
                    log.1
                }));
            }
            drop((sender, receiver));
            let mut total = 0;
            for task in tasks {
                total += task.await;
            }
            assert_eq!(total, sum(4, EACH));
        }
    }

    async fn tasks_and_threads_share_a_channel(rt) {
        for capacity in CAPACITIES {
            let (sender, receiver) = channel(capacity);
            let (back, answers) = channel(capacity);
            let worker = thread::spawn(move || {
                for n in receiver {
                    back.blocking_send(n * 2).unwrap();
                }
            });
            let task = rt.spawn(async move {
                for n in 0..50 {
                    sender.send(n).await.unwrap();
                }
            });
            for n in 0..50 {
                assert_eq!(answers.recv().await, Ok(n * 2));
            }
            task.await;
            worker.join().unwrap();
        }
    }

    async fn a_cancelled_receive_loses_nothing(rt) {
        for capacity in CAPACITIES {
            let (sender, receiver) = channel(capacity);
            let task = rt.spawn(async move {
                for n in 0..100 {
                    sender.send((0, n)).await.unwrap();
                }
            });
            let mut log = Log::default();
            let mut turn = 0;
            loop {
                turn += 1;
                let received = match turn % 2 {
                    0 => Some(receiver.recv().await),
                    _ => {
                        let mut receive = pin!(receiver.recv());
                        let mut polls = 0;
                        std::future::poll_fn(|context| {
                            polls += 1;
                            match receive.as_mut().poll(context) {
                                Poll::Ready(value) => Poll::Ready(Some(value)),
                                Poll::Pending if polls == 2 => Poll::Ready(None),
                                Poll::Pending => {
                                    context.waker().wake_by_ref();
                                    Poll::Pending
                                }
                            }
                        })
                        .await
                    }
                };
                match received {
                    Some(Ok(value)) => log.add(value),
                    Some(Err(RecvError)) => break,
                    None => {}
                }
            }
            task.await;
            assert_eq!(log.1, sum(1, 100));
        }
    }

    async fn closing_ends_all_waiting(rt) {
        let (sender, receiver) = bounded::<i32>(0);
        let receive = rt.spawn({
            let receiver = receiver.clone();
            async move { receiver.recv().await }
        });
        let closed = rt.spawn({
            let sender = sender.clone();
            async move { sender.closed().await }
        });
        rt.sleep(ms(5)).await;
        assert!(receiver.close());
        assert_eq!(receive.await, Err(RecvError));
        closed.await;
        let (sender, receiver) = bounded(0);
        let send = rt.spawn(async move { sender.send(1).await });
        rt.sleep(ms(5)).await;
        drop(receiver);
        assert_eq!(send.await, Err(SendError(1)));
    }

    async fn dropping_the_last_sender_ends_the_channel(rt) {
        let (sender, receiver) = unbounded();
        sender.send(1).await.unwrap();
        let other = sender.clone();
        drop(sender);
        assert_eq!(receiver.recv().await, Ok(1));
        assert!(!receiver.is_closed());
        let receive = rt.spawn({
            let receiver = receiver.clone();
            async move { receiver.recv().await }
        });
        rt.sleep(ms(5)).await;
        drop(other);
        assert_eq!(receive.await, Err(RecvError));
        assert!(receiver.is_closed());
    }

    async fn who_waits_is_served_in_order(rt) {
        let (sender, receiver) = bounded(1);
        let (_, waker) = Wakings::new();
        let mut first = pin!(receiver.recv());
        let mut second = pin!(receiver.recv());
        assert!(poll_once(first.as_mut(), &waker).is_pending());
        assert!(poll_once(second.as_mut(), &waker).is_pending());
        sender.send(1).await.unwrap();
        assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty));
        sender.send(2).await.unwrap();
        assert_eq!(second.await, Ok(2));
        assert_eq!(first.await, Ok(1));
        rt.sleep(ms(1)).await;
    }
}

#[test]
fn threads_many_to_many() {
    const EACH: usize = 2000;
    for capacity in CAPACITIES {
        let (sender, receiver) = channel(capacity);
        let total = thread::scope(|scope| {
            let takers: Vec<_> = (0..4)
                .map(|_| {
                    let receiver = receiver.clone();
                    scope.spawn(move || {
                        let mut log = Log::default();
                        receiver.iter().for_each(|value| log.add(value));
                        log.1
                    })
                })
                .collect();
            for id in 0..4 {
                let sender = sender.clone();
                scope.spawn(move || {
                    for n in 0..EACH {
                        sender.blocking_send((id, n)).unwrap();
                    }
                });
            }
            drop(sender);
            takers
                .into_iter()
                .map(|taker| taker.join().unwrap())
                .sum::<usize>()
        });
        assert_eq!(total, sum(4, EACH));
    }
}

#[test]
fn full_and_empty() {
    let (sender, receiver) = bounded(2);
    assert_eq!((sender.capacity(), sender.len()), (Some(2), 0));
    assert!(sender.is_empty() && !sender.is_full());
    sender.try_send(1).unwrap();
    sender.try_send(2).unwrap();
    assert_eq!(sender.try_send(3), Err(TrySendError::Full(3)));
    assert!(receiver.is_full() && receiver.len() == 2);
    assert_eq!(receiver.try_recv(), Ok(1));
    assert_eq!(receiver.try_iter().collect::<Vec<_>>(), [2]);
    assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty));
    assert_eq!(unbounded::<()>().0.capacity(), None);
    let (sender, _receiver) = bounded::<()>(0);
    assert!(sender.is_empty() && sender.is_full());
}

#[test]
fn deadlines() {
    let (sender, receiver) = bounded(1);
    let began = Instant::now();
    let past = began.checked_sub(ms(10)).unwrap_or(began);
    assert_eq!(
        receiver.blocking_recv_deadline(past),
        Err(RecvTimeoutError::Timeout)
    );
    assert_eq!(
        receiver.blocking_recv_timeout(ms(0)),
        Err(RecvTimeoutError::Timeout)
    );
    sender.try_send(1).unwrap();
    assert_eq!(
        sender.blocking_send_deadline(2, past),
        Err(SendTimeoutError::Timeout(2))
    );
    let began = Instant::now();
    assert_eq!(
        sender.blocking_send_timeout(2, ms(10)),
        Err(SendTimeoutError::Timeout(2))
    );
    assert!(began.elapsed() >= ms(10));
    assert_eq!(receiver.blocking_recv_deadline(past), Ok(1));
    let began = Instant::now();
    assert_eq!(
        receiver.blocking_recv_timeout(ms(10)),
        Err(RecvTimeoutError::Timeout)
    );
    assert!(began.elapsed() >= ms(10));
    drop(sender);
    assert_eq!(
        receiver.blocking_recv_timeout(LONG),
        Err(RecvTimeoutError::Closed)
    );
}

#[test]
fn a_rendezvous_that_nobody_comes_to_leaves_nothing_behind() {
    let (sender, receiver) = bounded(0);
    assert_eq!(sender.try_send(1), Err(TrySendError::Full(1)));
    assert_eq!(
        sender.blocking_send_timeout(2, ms(5)),
        Err(SendTimeoutError::Timeout(2))
    );
    assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty));
    assert_eq!(
        receiver.blocking_recv_timeout(ms(5)),
        Err(RecvTimeoutError::Timeout)
    );
    assert_eq!(sender.try_send(3), Err(TrySendError::Full(3)));
    assert_eq!(sender.force_send(4), Ok(Some(4)));
}

#[test]
fn a_rendezvous_takes_place() {
    let (sender, receiver) = bounded(0);
    let thread = thread::spawn(move || {
        let value = receiver.blocking_recv_timeout(LONG);
        thread::sleep(ms(20));
        let comes = Instant::now();
        (comes, value, receiver.blocking_recv_timeout(LONG))
    });
    sender.blocking_send_timeout(1, LONG).unwrap();
    sender.blocking_send_timeout(2, LONG).unwrap();
    let sent = Instant::now();
    let (comes, first, second) = thread.join().unwrap();
    assert!(sent >= comes, "the sender did not wait");
    assert_eq!((first, second), (Ok(1), Ok(2)));
}

#[test]
fn values_that_come_back_keep_their_order() {
    let (sender, receiver) = unbounded();
    let (_, waker) = Wakings::new();
    {
        let mut first = Box::pin(receiver.recv());
        let mut second = Box::pin(receiver.recv());
        assert!(poll_once(first.as_mut(), &waker).is_pending());
        assert!(poll_once(second.as_mut(), &waker).is_pending());
        for n in 1..=3 {
            sender.try_send(n).unwrap();
        }
        assert_eq!(receiver.len(), 1);
        drop(first);
        drop(second);
    }
    assert_eq!(receiver.try_iter().collect::<Vec<_>>(), [1, 2, 3]);
}

#[test]
fn a_value_that_comes_back_reaches_the_next_receiver() {
    let (sender, receiver) = unbounded();
    let (wakings, waker) = Wakings::new();
    let mut first = Box::pin(receiver.recv());
    let mut second = pin!(receiver.recv());
    assert!(poll_once(first.as_mut(), &waker).is_pending());
    assert!(poll_once(second.as_mut(), &waker).is_pending());
    sender.try_send(7).unwrap();
    assert_eq!(wakings.count(), 1);
    drop(first);
    assert_eq!(wakings.count(), 2);
    assert_eq!(poll_once(second, &waker), Poll::Ready(Ok(7)));
}

#[test]
fn a_dropped_send_was_not_sent() {
    let drops = Drops::new();
    let (sender, receiver) = bounded(1);
    sender.try_send(drops.counted(1)).unwrap();
    let (_, waker) = Wakings::new();
    let mut waiting = Box::pin(sender.send(drops.counted(2)));
    let mut next = pin!(sender.send(drops.counted(3)));
    assert!(poll_once(waiting.as_mut(), &waker).is_pending());
    assert!(poll_once(next.as_mut(), &waker).is_pending());
    drop(waiting);
    assert_eq!(drops.count(), 1);
    assert_eq!(receiver.try_recv().unwrap().value, 1);
    assert_eq!(receiver.try_recv().unwrap().value, 3);
    assert!(poll_once(next, &waker).is_ready());
    assert_eq!(drops.count(), 3);
}

#[test]
fn every_value_is_dropped_once() {
    let drops = Drops::new();
    let (sender, receiver) = unbounded();
    for n in 0..10 {
        sender.try_send(drops.counted(n)).unwrap();
    }
    drop(receiver.try_recv());
    assert_eq!(drops.count(), 1);
    let other = receiver.clone();
    drop(receiver);
    assert_eq!(drops.count(), 1);
    drop(other);
    assert_eq!(drops.count(), 10);
    drop(sender.try_send(drops.counted(10)));
    assert_eq!(drops.count(), 11);
    drop(sender);
    assert_eq!(drops.count(), 11);
}

#[test]
fn a_value_whose_drop_panics_corrupts_nothing() {
    struct Bomb(bool, #[allow(dead_code)] blitz_io_testing::Counted);
    impl Drop for Bomb {
        fn drop(&mut self) {
            assert!(!self.0, "boom");
        }
    }
    let drops = Drops::new();
    let (sender, receiver) = unbounded();
    for n in 0..5 {
        sender
            .try_send(Bomb(n == 2, drops.counted(())))
            .unwrap_or_else(|_| panic!("closed"));
    }
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(receiver)));
    assert!(result.is_err());
    assert_eq!(drops.count(), 5);
    assert!(sender.is_closed());
    let error = sender.try_send(Bomb(false, drops.counted(())));
    assert!(matches!(&error, Err(TrySendError::Closed(_))));
}

#[test]
fn wakers_may_use_the_channel() {
    let (sender, receiver) = unbounded();
    let (echo, echoed) = unbounded();
    let waker = {
        let (sender, receiver) = (sender.clone(), receiver.clone());
        reentrant_waker(move || {
            sender.try_send(2).unwrap();
            echo.try_send((receiver.len(), receiver.try_recv()))
                .unwrap();
        })
    };
    let mut receive = pin!(receiver.recv());
    assert!(poll_once(receive.as_mut(), &waker).is_pending());
    sender.try_send(1).unwrap();
    assert_eq!(echoed.try_recv(), Ok((1, Ok(2))));
    assert_eq!(poll_once(receive, &waker), Poll::Ready(Ok(1)));
}

#[test]
fn a_waker_that_panics_corrupts_nothing() {
    let (sender, receiver) = unbounded();
    let (wakings, counting) = Wakings::new();
    let mut shouting = Box::pin(receiver.recv());
    let mut quiet = pin!(receiver.recv());
    assert!(poll_once(shouting.as_mut(), &shouting_waker()).is_pending());
    assert!(poll_once(quiet.as_mut(), &counting).is_pending());
    let panics = std::panic::catch_unwind(|| sender.try_send(1));
    assert!(panics.is_err());
    sender.try_send(2).unwrap();
    assert_eq!(wakings.count(), 1);
    assert_eq!(poll_once(shouting.as_mut(), &counting), Poll::Ready(Ok(1)));
    assert_eq!(poll_once(quiet, &counting), Poll::Ready(Ok(2)));
    let mut shouting = Box::pin(receiver.recv());
    let mut quiet = pin!(receiver.recv());
    assert!(poll_once(shouting.as_mut(), &shouting_waker()).is_pending());
    assert!(poll_once(quiet.as_mut(), &counting).is_pending());
    let panics = std::panic::catch_unwind(|| receiver.close());
    assert!(panics.is_err());
    assert_eq!(poll_once(quiet, &counting), Poll::Ready(Err(RecvError)));
}

#[test]
fn a_waker_that_panics_keeps_the_end_from_nobody() {
    for drops in [false, true] {
        let (sender, receiver) = bounded(1);
        sender.try_send(0).unwrap();
        let (wakings, waker) = Wakings::new();
        let mut waiting: Vec<_> = (0..40).map(|n| Box::pin(sender.send(n))).collect();
        for (n, send) in waiting.iter_mut().enumerate() {
            let shouting = shouting_waker();
            let waker = if n == 5 { &shouting } else { &waker };
            assert!(poll_once(send.as_mut(), waker).is_pending());
        }
        let mut last = Some(receiver);
        let panics = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            if drops {
                drop(last.take());
            } else {
                assert!(last.as_ref().is_some_and(Receiver::close));
            }
        }));
        assert!(panics.is_err());
        assert_eq!(wakings.count(), 39);
        for (n, send) in waiting.iter_mut().enumerate() {
            assert_eq!(
                poll_once(send.as_mut(), &waker),
                Poll::Ready(Err(SendError(n)))
            );
        }
        assert_eq!(sender.is_empty(), drops);
    }
}

#[test]
fn closing_wakes_all_waiters() {
    let (sender, receiver) = unbounded::<()>();
    let (wakings, waker) = Wakings::new();
    let mut waiting: Vec<_> = (0..100).map(|_| Box::pin(receiver.recv())).collect();
    for receive in &mut waiting {
        assert!(poll_once(receive.as_mut(), &waker).is_pending());
    }
    drop(sender);
    assert_eq!(wakings.count(), 100);
    for receive in &mut waiting {
        assert_eq!(
            poll_once(receive.as_mut(), &waker),
            Poll::Ready(Err(RecvError))
        );
    }
}

#[test]
fn the_newest_waker_is_woken() {
    let (sender, receiver) = unbounded();
    let (old, old_waker) = Wakings::new();
    let (new, new_waker) = Wakings::new();
    let mut receive = pin!(receiver.recv());
    assert!(poll_once(receive.as_mut(), &old_waker).is_pending());
    assert!(poll_once(receive.as_mut(), &new_waker).is_pending());
    sender.try_send(1).unwrap();
    assert_eq!((old.count(), new.count()), (0, 1));
    assert_eq!(Arc::strong_count(&old), 2);
}

#[test]
fn weak_ends() {
    let (sender, receiver) = unbounded();
    let (weak_sender, weak_receiver) = (sender.downgrade(), receiver.downgrade());
    assert_eq!((sender.sender_count(), sender.receiver_count()), (1, 1));
    let other = weak_sender.upgrade().unwrap();
    assert!(other.same_channel(&sender));
    assert_eq!(receiver.sender_count(), 2);
    drop(sender);
    other.try_send(1).unwrap();
    let second = weak_receiver.clone().upgrade().unwrap();
    assert!(second.same_channel(&receiver));
    drop(other);
    assert!(weak_sender.upgrade().is_none() && weak_receiver.upgrade().is_none());
    assert_eq!(second.blocking_recv(), Ok(1));
    assert_eq!(second.blocking_recv(), Err(RecvError));
}

#[test]
fn force_send_replaces_the_oldest() {
    let (sender, receiver) = bounded(2);
    assert_eq!(sender.force_send(1), Ok(None));
    assert_eq!(sender.force_send(2), Ok(None));
    assert_eq!(sender.force_send(3), Ok(Some(1)));
    let (_, waker) = Wakings::new();
    assert_eq!(receiver.try_iter().collect::<Vec<_>>(), [2, 3]);
    let mut receive = pin!(receiver.recv());
    assert!(poll_once(receive.as_mut(), &waker).is_pending());
    assert_eq!(sender.force_send(4), Ok(None));
    assert_eq!(poll_once(receive, &waker), Poll::Ready(Ok(4)));
    receiver.close();
    assert_eq!(sender.force_send(5), Err(SendError(5)));
}

#[test]
fn time_outs_between_threads_lose_nothing() {
    const EACH: usize = 300;
    for capacity in CAPACITIES {
        let (sender, receiver) = channel(capacity);
        let received = AtomicUsize::new(0);
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    loop {
                        match receiver.blocking_recv_timeout(Duration::from_micros(100)) {
                            Ok(n) => received.fetch_add(n, Ordering::Relaxed),
                            Err(RecvTimeoutError::Timeout) => continue,
                            Err(RecvTimeoutError::Closed) => break,
                        };
                    }
                });
            }
            for _ in 0..2 {
                let sender = sender.clone();
                scope.spawn(move || {
                    for n in 1..=EACH {
                        let mut value = n;
                        while let Err(error) =
                            sender.blocking_send_timeout(value, Duration::from_micros(50))
                        {
                            assert!(error.is_timeout());
                            value = error.into_inner();
                        }
                    }
                });
            }
            drop(sender);
        });
        assert_eq!(received.into_inner(), EACH * (EACH + 1));
    }
}

#[test]
fn ends_are_what_they_should_be() {
    fn is_good<T: Send + Sync + Unpin + std::panic::UnwindSafe + std::panic::RefUnwindSafe>() {}
    fn is_shared<T: Send + Sync>(_: &T) {}
    is_good::<Sender<std::cell::Cell<i32>>>();
    is_good::<Receiver<std::cell::Cell<i32>>>();
    let (sender, receiver) = bounded::<i32>(1);
    is_shared(&sender.send(1));
    is_shared(&receiver.recv());
    is_shared(&sender.closed());
    sender.try_send(1).unwrap();
    let shown = "{ capacity: Some(1), len: 1, senders: 1, receivers: 1, closed: false, .. }";
    assert_eq!(
        format!("{sender:?} {receiver:?}"),
        format!("Sender {shown} Receiver {shown}")
    );
    assert_eq!(format!("{:?}", sender.downgrade()), "WeakSender { .. }");
}

#[test]
fn errors_say_what_happened() {
    assert_eq!(format!("{:?}", SendError(1)), "SendError(..)");
    assert_eq!(SendError(1).to_string(), "sending into a closed channel");
    assert_eq!(
        TrySendError::Full(1).to_string(),
        "sending into a full channel"
    );
    assert_eq!(format!("{:?}", TrySendError::Closed(1)), "Closed(..)");
    assert_eq!(TrySendError::from(SendError(1)), TrySendError::Closed(1));
    assert_eq!(
        SendTimeoutError::from(SendError(1)),
        SendTimeoutError::Closed(1)
    );
    assert_eq!(TryRecvError::from(RecvError), TryRecvError::Closed);
    assert_eq!(RecvTimeoutError::from(RecvError), RecvTimeoutError::Closed);
    assert_eq!(
        RecvError.to_string(),
        "receiving from an empty and closed channel"
    );
    assert_eq!(
        TryRecvError::Empty.to_string(),
        "receiving from an empty channel"
    );
}

#[test]
fn a_thread_waits_for_the_end_no_longer_than_it_wants() {
    let (sender, receiver) = bounded::<()>(1);
    let past = Instant::now();
    assert!(!sender.blocking_closed_deadline(past));
    assert!(!sender.blocking_closed_timeout(ms(5)));
    assert!(past.elapsed() >= ms(5));
    let waiters = [Duration::MAX, LONG].map(|timeout| {
        let sender = sender.clone();
        thread::spawn(move || sender.blocking_closed_timeout(timeout))
    });
    thread::sleep(A_WHILE);
    // One that has given up is not in the list any more.
    drop(receiver);
    assert_eq!(waiters.map(|waiter| waiter.join().unwrap()), [true; 2]);
    assert!(sender.blocking_closed_deadline(past));
}

/// The names by the rule, beside crossbeam's.
#[test]
fn a_thread_sends_and_receives_until_its_deadline() {
    let (sender, receiver) = bounded(1);
    let past = Instant::now();
    let timeout = Err(RecvTimeoutError::Timeout);
    assert_eq!(receiver.blocking_recv_deadline(past), timeout);
    assert_eq!(receiver.blocking_recv_timeout(ms(1)), timeout);
    assert_eq!(sender.blocking_send_deadline(1, past), Ok(()));
    let full = Err(SendTimeoutError::Timeout(2));
    assert_eq!(sender.blocking_send_deadline(2, past), full);
    assert_eq!(sender.blocking_send_timeout(2, ms(1)), full);
    thread::scope(|scope| {
        let waits = scope.spawn(|| sender.blocking_send_timeout(2, LONG));
        assert_eq!(receiver.blocking_recv_timeout(LONG), Ok(1));
        assert_eq!(receiver.blocking_recv_deadline(past + LONG), Ok(2));
        assert_eq!(waits.join().unwrap(), Ok(()));
    });
    drop(receiver);
    let closed = sender.blocking_send_timeout(3, LONG);
    assert_eq!(closed, Err(SendTimeoutError::Closed(3)));
}
