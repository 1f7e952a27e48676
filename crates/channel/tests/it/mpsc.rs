//! `mpsc`: under every runtime, between threads, and when things go wrong.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::thread;
use std::time::{Duration, Instant};

use blitz_io_channel::mpsc;
use blitz_io_channel::mpsc::error::{
    RecvTimeoutError, SendTimeoutError, TryRecvError, TrySendError,
};
use blitz_io_testing::threads::A_WHILE;
use blitz_io_testing::{
    Drops, Wakings, everywhere, ms, poll_once, reentrant_waker, shouting_waker,
};

fn now<F: Future>(future: F) -> F::Output {
    let (_, waker) = Wakings::new();
    match poll_once(pin!(future), &waker) {
        Poll::Ready(result) => result,
        Poll::Pending => panic!("it should be ready"),
    }
}

/// Fails instead of hanging.
fn within<R: Send + 'static>(seconds: u64, run: impl FnOnce() -> R + Send + 'static) -> R {
    let (done, end) = std::sync::mpsc::channel();
    let thread = thread::spawn(move || {
        let result = run();
        let _ = done.send(());
        result
    });
    match end.recv_timeout(Duration::from_secs(seconds)) {
        Err(std::sync::mpsc::RecvTimeoutError::Timeout) => panic!("it hangs"),
        _ => thread.join().unwrap(),
    }
}

everywhere! {
    async fn one_task_sends_to_another(rt) {
        let (tx, mut rx) = mpsc::channel(3);
        let sender = rt.spawn(async move {
            for n in 0..1000 {
                tx.send(n).await.unwrap();
            }
        });
        for n in 0..1000 {
            assert_eq!(rx.recv().await, Some(n));
        }
        assert_eq!(rx.recv().await, None);
        sender.await;
    }

    async fn many_tasks_send_to_one(rt) {
        let (tx, mut rx) = mpsc::channel(2);
        let senders = (0..4).map(|id| {
            let tx = tx.clone();
            rt.spawn(async move {
                for n in 0..500 {
                    tx.send((id, n)).await.unwrap();
                }
            })
        });
        let senders: Vec<_> = senders.collect();
        drop(tx);
        let mut next = [0; 4];
        let mut buffer = Vec::new();
        loop {
            match rx.recv().await {
                Some((id, n)) => {
                    assert_eq!(n, next[id]);
                    next[id] += 1;
                }
                None => break,
            }
            rx.recv_many(&mut buffer, 0).await;
        }
        assert_eq!(next, [500; 4]);
        for sender in senders {
            sender.await;
        }
    }

    async fn a_receiver_that_sleeps_is_woken(rt) {
        let (tx, mut rx) = mpsc::unbounded_channel();
        let receiver = rt.spawn(async move {
            let mut sum = 0;
            while let Some(n) = rx.recv().await {
                sum += n;
            }
            sum
        });
        for n in 0..5 {
            rt.sleep(ms(2)).await;
            tx.send(n).unwrap();
        }
        drop(tx);
        assert_eq!(receiver.await, 10);
    }

    async fn a_wait_that_is_given_up_leaves_everything_as_it_was(rt) {
        let (tx, mut rx) = mpsc::channel(1);
        assert_eq!(rt.timeout(ms(5), rx.recv()).await, None);
        tx.send(1).await.unwrap();
        assert!(rt.timeout(ms(5), tx.send(2)).await.is_none());
        assert!(rt.timeout(ms(5), tx.reserve()).await.is_none());
        assert!(rt.timeout(ms(5), tx.closed()).await.is_none());
        assert_eq!(rx.recv().await, Some(1));
        assert_eq!(tx.capacity(), 1);
        tx.send(3).await.unwrap();
        assert_eq!(rx.recv().await, Some(3));
    }

    async fn a_dropped_receiver_ends_all_waits(rt) {
        let (tx, rx) = mpsc::channel(1);
        tx.send(0).await.unwrap();
        let waits: Vec<_> = (1..4).map(|n| {
            let tx = tx.clone();
            rt.spawn(async move { tx.send(n).await.unwrap_err().0 })
        }).collect();
        let watcher = rt.spawn({
            let tx = tx.clone();
            async move { tx.closed().await }
        });
        rt.sleep(ms(5)).await;
        drop(rx);
        for (wait, n) in waits.into_iter().zip(1..) {
            assert_eq!(wait.await, n);
        }
        watcher.await;
    }
}

#[test]
fn a_thread_and_a_task() {
    within(60, || {
        let (tx, mut rx) = mpsc::channel(3);
        let (back, mut answers) = mpsc::channel(3);
        let thread = thread::spawn(move || {
            while let Some(n) = rx.blocking_recv() {
                back.blocking_send(n + 1).unwrap();
            }
        });
        pollster::block_on(async {
            for n in 0..2000 {
                tx.send(n).await.unwrap();
                assert_eq!(answers.recv().await, Some(n + 1));
            }
        });
        drop(tx);
        thread.join().unwrap();
        assert_eq!(answers.blocking_recv(), None);
    });
}

/// Sends `each` from as many threads as `capacities` says, and checks order and
/// count.
fn stress(senders: usize, capacity: Option<usize>, each: usize) {
    within(120, move || {
        let mut next = vec![0; senders];
        let mut check = |(id, n): (usize, usize)| {
            assert_eq!(n, next[id], "the order of one sender");
            next[id] += 1;
        };
        match capacity {
            Some(capacity) => {
                let (tx, mut rx) = mpsc::channel(capacity);
                let threads: Vec<_> = (0..senders)
                    .map(|id| {
                        let tx = tx.clone();
                        thread::spawn(move || {
                            (0..each).for_each(|n| match n % 3 {
                                0 => tx.blocking_send((id, n)).unwrap(),
                                1 => pollster::block_on(tx.send((id, n))).unwrap(),
                                _ => pollster::block_on(tx.reserve()).unwrap().send((id, n)),
                            });
                        })
                    })
                    .collect();
                drop(tx);
                while let Some(message) = rx.blocking_recv() {
                    check(message);
                }
                threads
                    .into_iter()
                    .for_each(|thread| thread.join().unwrap());
            }
            None => {
                let (tx, mut rx) = mpsc::unbounded_channel();
                let threads: Vec<_> = (0..senders)
                    .map(|id| {
                        let tx = tx.clone();
                        thread::spawn(move || {
                            (0..each).for_each(|n| tx.send((id, n)).unwrap());
                        })
                    })
                    .collect();
                drop(tx);
                pollster::block_on(async {
                    while let Some(message) = rx.recv().await {
                        check(message);
                    }
                });
                threads
                    .into_iter()
                    .for_each(|thread| thread.join().unwrap());
            }
        }
        assert_eq!(next, vec![each; senders]);
    });
}

#[test]
fn eight_threads_send_through_little_room() {
    stress(8, Some(1), 1_000);
    stress(8, Some(2), 2_000);
}

#[test]
fn eight_threads_send_through_a_block() {
    for capacity in [31, 32, 33] {
        stress(8, Some(capacity), 5_000);
    }
}

#[test]
fn eight_threads_send_through_much_room() {
    stress(8, Some(1_000), 20_000);
    stress(8, None, 20_000);
}

/// One thread sends most, and others in every other way now and then.
#[test]
fn one_thread_sends_most() {
    within(60, || {
        for capacity in [64, 1_000] {
            const MOST: usize = 200_000;
            let (tx, mut rx) = mpsc::channel(capacity);
            let most = thread::spawn({
                let tx = tx.clone();
                move || (0..MOST).for_each(|n| tx.blocking_send((0, n)).unwrap())
            });
            let others: Vec<_> = (1..4)
                .map(|id| {
                    let tx = tx.clone();
                    thread::spawn(move || {
                        for n in 0..50 {
                            thread::sleep(Duration::from_micros(200));
                            match id {
                                1 => tx.blocking_send((id, n)).unwrap(),
                                2 => pollster::block_on(tx.reserve_many(3))
                                    .unwrap()
                                    .next()
                                    .unwrap()
                                    .send((id, n)),
                                _ => {
                                    assert!(tx.capacity() <= capacity);
                                    while tx.try_send((id, n)).is_err() {
                                        thread::yield_now();
                                    }
                                }
                            }
                        }
                    })
                })
                .collect();
            drop(tx);
            let mut next = [0; 4];
            let mut count = 0;
            while let Some((id, n)) = rx.blocking_recv() {
                assert_eq!(n, next[id]);
                next[id] += 1;
                count += 1;
                if count % 5_000 == 0 {
                    thread::sleep(Duration::from_micros(50));
                }
                assert!(rx.len() <= capacity);
            }
            assert_eq!(next, [MOST, 50, 50, 50]);
            most.join().unwrap();
            others.into_iter().for_each(|other| other.join().unwrap());
        }
    });
}

#[test]
fn counts_are_right_while_one_thread_sends() {
    let (tx, mut rx) = mpsc::channel(200);
    for turn in 0..5_000 {
        let burst = turn % 150 + 1;
        for n in 0..burst {
            tx.try_send((turn, n)).unwrap();
            assert_eq!((rx.len(), tx.capacity()), (n + 1, 199 - n));
        }
        if turn % 40 == 7 {
            let permit = tx.try_reserve().unwrap();
            assert_eq!((rx.len(), tx.capacity()), (burst, 199 - burst));
            permit.send((turn, burst));
            assert_eq!(rx.try_recv(), Ok((turn, 0)));
            tx.try_send((turn, burst + 1)).unwrap();
            assert_eq!(rx.len(), burst + 1);
            (1..burst + 2).for_each(|n| assert_eq!(rx.try_recv(), Ok((turn, n))));
        } else {
            (0..burst).for_each(|n| assert_eq!(rx.try_recv(), Ok((turn, n))));
        }
        assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
    }
}

/// Senders give up again and again, in every state, and nothing gets lost.
#[test]
fn giving_up_loses_no_room() {
    within(60, || {
        let (tx, mut rx) = mpsc::channel(4);
        let threads: Vec<_> = (0..4)
            .map(|id| {
                let tx = tx.clone();
                thread::spawn(move || {
                    let (_, waker) = Wakings::new();
                    let mut sent = 0;
                    for turn in 0..3_000 {
                        let mut reserve = Box::pin(tx.reserve_many(1 + (turn + id) % 3));
                        match poll_once(reserve.as_mut(), &waker) {
                            Poll::Ready(permits) => {
                                let permits = permits.unwrap();
                                for permit in permits.skip(turn % 2) {
                                    permit.send(1);
                                    sent += 1;
                                }
                            }
                            Poll::Pending if turn % 7 == 0 => thread::yield_now(),
                            Poll::Pending => {}
                        }
                    }
                    sent
                })
            })
            .collect();
        let receiver = thread::spawn(move || {
            let mut sum = 0;
            while let Some(n) = rx.blocking_recv() {
                sum += n;
            }
            sum
        });
        let sent: usize = threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .sum();
        let permits = pollster::block_on(tx.reserve_many(4)).unwrap();
        assert_eq!(permits.len(), 4);
        drop(permits);
        assert_eq!(tx.capacity(), 4);
        drop(tx);
        assert_eq!(receiver.join().unwrap(), sent);
    });
}

/// A closed channel that permits are out for ends when the last one is back.
#[test]
fn the_end_comes_whoever_is_last() {
    within(60, || {
        for turn in 0..500 {
            let (tx, mut rx) = mpsc::channel(8);
            let threads: Vec<_> = (0..4)
                .map(|id| {
                    let tx = tx.clone();
                    thread::spawn(move || {
                        let permits = tx.try_reserve_many(2).unwrap();
                        for (n, permit) in permits.enumerate() {
                            if (id + n + turn) % 2 == 0 {
                                permit.send(());
                            }
                        }
                    })
                })
                .collect();
            if turn % 2 == 0 {
                drop(tx);
            } else {
                thread::yield_now();
            }
            let mut count = 0;
            while count < 4 {
                count += usize::from(rx.blocking_recv().is_some());
            }
            rx.close();
            assert_eq!(rx.blocking_recv(), None);
            threads
                .into_iter()
                .for_each(|thread| thread.join().unwrap());
        }
    });
}

#[test]
fn a_thread_waits_no_longer_than_it_wants() {
    let (tx, mut rx) = mpsc::channel(1);
    let began = Instant::now();
    assert_eq!(
        rx.blocking_recv_timeout(ms(20)),
        Err(RecvTimeoutError::Timeout)
    );
    tx.blocking_send_timeout(1, ms(20)).unwrap();
    assert_eq!(
        tx.blocking_send_timeout(2, ms(20)),
        Err(SendTimeoutError::Timeout(2))
    );
    assert!(began.elapsed() >= ms(40));
    assert_eq!(rx.blocking_recv_timeout(Duration::MAX), Ok(1));
    assert_eq!(tx.capacity(), 1);
    let sender = thread::spawn(move || {
        thread::sleep(ms(5));
        tx.blocking_send(3).unwrap();
        tx.blocking_send_timeout(4, Duration::MAX).unwrap();
    });
    assert_eq!(rx.blocking_recv_timeout(Duration::from_secs(900)), Ok(3));
    assert_eq!(rx.blocking_recv_timeout(Duration::from_secs(900)), Ok(4));
    sender.join().unwrap();
    assert_eq!(
        rx.blocking_recv_timeout(ms(20)),
        Err(RecvTimeoutError::Closed)
    );
    let (tx, rx) = mpsc::channel(1);
    drop(rx);
    assert_eq!(
        tx.blocking_send_timeout(2, ms(1)),
        Err(SendTimeoutError::Closed(2))
    );
}

#[test]
fn a_sleeping_thread_is_woken_by_the_end() {
    let (tx, mut rx) = mpsc::channel::<u8>(1);
    let receiver = thread::spawn(move || rx.blocking_recv());
    thread::sleep(ms(5));
    drop(tx);
    assert_eq!(receiver.join().unwrap(), None);

    let (tx, rx) = mpsc::channel(1);
    tx.blocking_send(1).unwrap();
    let sender = thread::spawn(move || tx.blocking_send(2).unwrap_err().0);
    thread::sleep(ms(5));
    drop(rx);
    assert_eq!(sender.join().unwrap(), 2);
}

/// 256 receives without a waiting sender end contended mode; see `wait.rs`.
#[test]
fn contended_mode_begins_and_ends() {
    let (tx, mut rx) = mpsc::channel(1);
    let (wakings, waker) = Wakings::new();
    for turn in 1..=3 {
        tx.try_send(0).unwrap();
        let mut send = pin!(tx.send(1));
        assert!(poll_once(send.as_mut(), &waker).is_pending());
        assert_eq!(rx.try_recv(), Ok(0));
        assert_eq!(wakings.count(), turn);
        assert!(poll_once(send.as_mut(), &waker).is_ready());
        assert_eq!(rx.try_recv(), Ok(1));
        for n in 0..1_000 {
            tx.try_send(n).unwrap();
            assert_eq!(rx.try_recv(), Ok(n));
        }
    }
}

#[test]
fn a_forgotten_permit_only_costs_its_room() {
    let (tx, mut rx) = mpsc::channel(2);
    std::mem::forget(tx.try_reserve().unwrap());
    assert_eq!(tx.capacity(), 1);
    tx.try_send(1).unwrap();
    assert!(tx.try_send(2).is_err());
    assert_eq!(rx.try_recv(), Ok(1));
    drop(tx);
    assert_eq!(now(rx.recv()), None);
}

#[test]
fn a_receiver_that_nobody_uses_keeps_what_was_sent() {
    let drops = Drops::new();
    let (tx, rx) = mpsc::channel(40);
    (0..36).for_each(|n| tx.try_send(drops.counted(n)).unwrap());
    drop(tx);
    assert_eq!(drops.count(), 0);
    drop(rx);
    assert_eq!(drops.count(), 36);
}

#[test]
fn too_many_permits_are_refused() {
    let capacity = usize::MAX >> 3;
    let (tx, _rx) = mpsc::channel::<()>(capacity);
    let most = (1 << 29) - 1;
    assert!(matches!(
        tx.try_reserve_many(most + 1),
        Err(TrySendError::Full(()))
    ));
    let all = tx.try_reserve_many(most).unwrap();
    assert!(matches!(tx.try_reserve(), Err(TrySendError::Full(()))));
    // With 32 bits, the permits are the whole capacity.
    assert_eq!(tx.try_send(()).is_ok(), capacity > most);
    drop(all);
    assert!(tx.try_reserve().is_ok());
}

#[test]
fn a_waker_may_use_the_channel() {
    let (tx, rx) = mpsc::channel(1);
    let rx = Arc::new(Mutex::new(rx));
    let received = Arc::new(AtomicUsize::new(0));
    let waker = reentrant_waker({
        let (rx, received, tx) = (rx.clone(), received.clone(), tx.clone());
        move || {
            if let Ok(mut rx) = rx.try_lock() {
                while let Ok(n) = rx.try_recv() {
                    received.fetch_add(n, Ordering::Relaxed);
                }
                let _ = tx.try_send(100);
            }
        }
    });
    assert!(poll_once(pin!(rx.lock().unwrap().recv()), &waker).is_pending());
    tx.try_send(1).unwrap();
    assert_eq!(received.load(Ordering::Relaxed), 1);
    assert_eq!(rx.lock().unwrap().try_recv(), Ok(100));

    // The waker of a sender, which the receiver calls.
    tx.try_send(1).unwrap();
    let sender = reentrant_waker({
        let tx = tx.clone();
        move || assert!(tx.try_send(5).is_err() && tx.capacity() == 0)
    });
    let mut send = Box::pin(tx.send(2));
    assert!(poll_once(send.as_mut(), &sender).is_pending());
    assert_eq!(rx.lock().unwrap().try_recv(), Ok(1));
    assert!(poll_once(send.as_mut(), &sender).is_ready());
    assert_eq!(rx.lock().unwrap().try_recv(), Ok(2));
}

#[test]
fn a_waker_that_panics_breaks_nothing() {
    let drops = Drops::new();
    let (tx, mut rx) = mpsc::channel(1);
    assert!(poll_once(pin!(rx.recv()), &shouting_waker()).is_pending());
    let send = catch_unwind(AssertUnwindSafe(|| tx.try_send(drops.counted(1))));
    assert!(send.is_err());
    assert_eq!(rx.try_recv().unwrap().value, 1);

    tx.try_send(drops.counted(2)).unwrap();
    let (wakings, waker) = Wakings::new();
    let mut first = Box::pin(tx.reserve());
    let mut second = Box::pin(tx.reserve());
    assert!(poll_once(first.as_mut(), &shouting_waker()).is_pending());
    assert!(poll_once(second.as_mut(), &waker).is_pending());
    assert!(catch_unwind(AssertUnwindSafe(|| drop(rx.try_recv()))).is_err());
    assert_eq!(drops.count(), 2);
    drop(first);
    assert_eq!(wakings.count(), 1);
    let Poll::Ready(Ok(permit)) = poll_once(second.as_mut(), &waker) else {
        panic!("it was chosen")
    };
    permit.send(drops.counted(3));
    drop(second);

    let mut first = Box::pin(tx.reserve());
    let mut second = Box::pin(tx.reserve());
    let mut third = Box::pin(tx.closed());
    assert!(poll_once(first.as_mut(), &shouting_waker()).is_pending());
    assert!(poll_once(second.as_mut(), &waker).is_pending());
    assert!(poll_once(third.as_mut(), &waker).is_pending());
    assert!(catch_unwind(AssertUnwindSafe(|| drop(rx))).is_err());
    assert_eq!(drops.count(), 3);
    assert_eq!(wakings.count(), 3);
    assert!(matches!(
        poll_once(first.as_mut(), &waker),
        Poll::Ready(Err(_))
    ));
    assert!(matches!(
        poll_once(second.as_mut(), &waker),
        Poll::Ready(Err(_))
    ));
}

/// Panics when it is dropped, if its flag is set.
struct Bomb(
    bool,
    #[allow(dead_code, reason = "it counts its drop")] blitz_io_testing::Counted<()>,
);

impl Drop for Bomb {
    fn drop(&mut self) {
        assert!(!self.0, "a drop that panics");
    }
}

#[test]
fn a_drop_that_panics_drops_nothing_twice() {
    for bomb in [0, 5, 31, 32, 69] {
        for late in [false, true] {
            let drops = Drops::new();
            let (tx, rx) = mpsc::channel(100);
            let mut permits = tx.try_reserve_many(70).unwrap();
            if late {
                // The values are sent when the receiver has gone, and dropped
                // with the channel.
                drop(rx);
                permits.by_ref().enumerate().for_each(|(n, permit)| {
                    permit.send(Bomb(n == bomb, drops.counted(())));
                });
                drop(permits);
                assert!(catch_unwind(AssertUnwindSafe(|| drop(tx))).is_err());
            } else {
                permits.by_ref().enumerate().for_each(|(n, permit)| {
                    permit.send(Bomb(n == bomb, drops.counted(())));
                });
                drop(permits);
                assert!(catch_unwind(AssertUnwindSafe(|| drop(rx))).is_err());
                assert!(tx.is_closed());
                drop(tx);
            }
            assert_eq!(drops.count(), 70);
        }
    }
}

#[test]
fn large_values_and_aligned_ones_arrive() {
    #[repr(align(64))]
    struct Large([u64; 512]);
    let (tx, mut rx) = mpsc::unbounded_channel();
    for n in 0..100 {
        tx.send(Large([n; 512])).unwrap();
    }
    for n in 0..100 {
        let value = rx.try_recv().unwrap_or_else(|_| panic!("it is there"));
        assert!(value.0.iter().all(|&word| word == n));
        assert_eq!((&raw const value).addr() % 64, 0);
    }
    assert!(matches!(rx.try_recv(), Err(TryRecvError::Empty)));
}

#[test]
fn a_thread_waits_for_the_end() {
    let (tx, rx) = mpsc::channel::<()>(1);
    let past = Instant::now();
    assert!(!tx.blocking_closed_deadline(past));
    assert!(!tx.blocking_closed_timeout(ms(5)));
    assert!(past.elapsed() >= ms(5));
    let waiters = [None, Some(Duration::MAX), Some(Duration::from_secs(900))].map(|limit| {
        let tx = tx.clone();
        thread::spawn(move || match limit {
            Some(timeout) => assert!(tx.blocking_closed_timeout(timeout)),
            None => tx.blocking_closed(),
        })
    });
    thread::sleep(A_WHILE);
    drop(rx);
    waiters
        .into_iter()
        .for_each(|waiter| waiter.join().unwrap());
    assert!(tx.blocking_closed_deadline(past));
}
