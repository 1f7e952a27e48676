//! One value that changes, under several runtimes and from threads.

use blitz_io_testing::watch_dog;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use blitz_io_channel::watch::{self, error::RecvTimeoutError};
use blitz_io_testing::{
    Drops, Wakings, everywhere, ms, poll_once, reentrant_waker, shouting_waker,
};

everywhere! {
    async fn every_receiver_sees_the_last_value(rt) {
        watch_dog::watch();
        let (tx, rx) = watch::channel(0);
        let receivers: Vec<_> = (0..5)
            .map(|_| {
                let mut rx = rx.clone();
                rt.spawn(async move {
                    let mut last = 0;
                    while rx.changed().await.is_ok() {
                        let value = *rx.borrow_and_update();
                        assert!(value >= last);
                        last = value;
                    }
                    last
                })
            })
            .collect();
        for i in 1..=100 {
            tx.send(i).unwrap();
            if i % 10 == 0 {
                rt.sleep(ms(1)).await;
            }
        }
        drop(tx);
        for receiver in receivers {
            assert_eq!(receiver.await, 100);
        }
    }

    async fn it_waits_until_the_value_is_as_wanted(rt) {
        watch_dog::watch();
        let (tx, mut rx) = watch::channel(0);
        let waiter = rt.spawn(async move {
            let value = *rx.wait_for(|&value| value >= 50).await.unwrap();
            (value, rx.wait_for(|&value| value < 0).await.is_err())
        });
        for i in 0..=50 {
            tx.send(i).unwrap();
            rt.sleep(Duration::ZERO).await;
        }
        drop(tx);
        assert_eq!(waiter.await, (50, true));
    }

    async fn a_sender_waits_until_nobody_watches(rt) {
        watch_dog::watch();
        let (tx, rx) = watch::channel(());
        let other = rx.clone();
        let sender = rt.spawn(async move {
            tx.closed().await;
            tx.receiver_count()
        });
        rt.sleep(ms(3)).await;
        drop(rx);
        rt.sleep(ms(3)).await;
        drop(other);
        assert_eq!(sender.await, 0);
    }

    async fn giving_up_sees_nothing(rt) {
        watch_dog::watch();
        let (tx, mut rx) = watch::channel(1);
        assert!(rt.timeout(ms(3), rx.changed()).await.is_none());
        assert!(rt.timeout(ms(3), tx.closed()).await.is_none());
        tx.send(2).unwrap();
        assert!(rx.has_changed().unwrap());
        rx.changed().await.unwrap();
    }

    async fn a_channel_can_be_opened_again(rt) {
        watch_dog::watch();
        let (tx, rx) = watch::channel(1);
        drop(rx);
        assert!(tx.send(2).is_err());
        tx.closed().await;
        let mut rx = tx.subscribe();
        let receiver = rt.spawn(async move {
            rx.changed().await.unwrap();
            *rx.borrow()
        });
        rt.sleep(ms(1)).await;
        tx.send(3).unwrap();
        assert_eq!(receiver.await, 3);
    }
}

#[test]
fn threads_wait_too() {
    watch_dog::watch();
    let (tx, mut rx) = watch::channel(0);
    let soon = ms(2);
    assert_eq!(
        rx.blocking_changed_timeout(soon),
        Err(RecvTimeoutError::Timeout)
    );
    assert_eq!(
        rx.blocking_changed_timeout(Duration::ZERO),
        Err(RecvTimeoutError::Timeout)
    );
    let late = rx.blocking_wait_for_timeout(|&v| v > 0, soon);
    assert!(late.unwrap_err().is_timeout());
    assert!(!tx.blocking_closed_timeout(soon));
    let receiver = thread::spawn(move || {
        rx.blocking_changed().unwrap();
        let wanted = *rx.blocking_wait_for(|&value| value == 2).unwrap();
        (wanted, rx.blocking_changed().is_err())
    });
    thread::sleep(ms(10));
    tx.send(1).unwrap();
    thread::sleep(ms(10));
    tx.send(2).unwrap();
    thread::sleep(ms(10));
    drop(tx);
    assert_eq!(receiver.join().unwrap(), (2, true));

    let (tx, rx) = watch::channel(0);
    let sender = thread::spawn(move || tx.blocking_closed());
    thread::sleep(ms(10));
    drop(rx);
    sender.join().unwrap();
}

#[test]
fn the_waker_of_the_last_poll_is_woken() {
    let (tx, mut rx) = watch::channel(0);
    let mut changed = pin!(rx.changed());
    let (first, waker) = Wakings::new();
    assert!(poll_once(changed.as_mut(), &waker).is_pending());
    assert!(poll_once(changed.as_mut(), &waker).is_pending());
    let (second, waker) = Wakings::new();
    assert!(poll_once(changed.as_mut(), &waker).is_pending());
    tx.send(1).unwrap();
    tx.send(2).unwrap();
    assert_eq!((first.count(), second.count()), (0, 1));
    assert!(poll_once(changed, &waker).is_ready());
}

#[test]
fn a_value_that_is_not_modified_wakes_nobody() {
    let (tx, mut rx) = watch::channel(0);
    let mut changed = pin!(rx.changed());
    let (wakings, waker) = Wakings::new();
    assert!(poll_once(changed.as_mut(), &waker).is_pending());
    assert!(!tx.send_if_modified(|_| false));
    assert_eq!(wakings.count(), 0);
    assert!(tx.send_if_modified(|value| {
        *value = 1;
        true
    }));
    assert_eq!(wakings.count(), 1);
    assert!(poll_once(changed, &waker).is_ready());
}

#[test]
fn a_receiver_that_left_is_not_woken() {
    let (tx, mut rx) = watch::channel(0);
    let (wakings, waker) = Wakings::new();
    {
        let mut changed = pin!(rx.changed());
        assert!(poll_once(changed.as_mut(), &waker).is_pending());
    }
    tx.send(1).unwrap();
    assert_eq!(wakings.count(), 0);
    assert!(poll_once(pin!(rx.changed()), &waker).is_ready());
}

#[test]
fn a_panic_in_a_closure_poisons_nothing() {
    watch_dog::watch();
    let (tx, mut rx) = watch::channel(0);
    let modify = AssertUnwindSafe(|| tx.send_modify(|_| panic!("modify")));
    assert!(catch_unwind(modify).is_err());
    assert!(!rx.has_changed().unwrap());
    tx.send(1).unwrap();
    let wait = AssertUnwindSafe(|| {
        _ = pollster::block_on(rx.wait_for(|_| panic!("wait")));
    });
    assert!(catch_unwind(wait).is_err());
    assert_eq!(*rx.borrow(), 1);
    tx.send(2).unwrap();
    assert_eq!(*rx.borrow_and_update(), 2);
}

#[test]
fn a_waker_may_use_the_channel_that_wakes_it() {
    let (tx, mut rx) = watch::channel(0);
    let other = rx.clone();
    let sender = tx.clone();
    let waker = reentrant_waker(move || {
        if *other.borrow() < 3 {
            sender.send_modify(|value| *value += 1);
        }
    });
    let mut changed = pin!(rx.changed());
    assert!(poll_once(changed.as_mut(), &waker).is_pending());
    tx.send(1).unwrap();
    assert_eq!(*tx.borrow(), 2);
    assert!(poll_once(changed, &waker).is_ready());
}

#[test]
fn a_waker_that_panics_keeps_nobody_from_being_woken() {
    let (tx, rx) = watch::channel(0);
    let (mut first, mut second) = (rx.clone(), rx.clone());
    let (mut first, mut second) = (pin!(first.changed()), pin!(second.changed()));
    assert!(poll_once(first.as_mut(), &shouting_waker()).is_pending());
    let (wakings, waker) = Wakings::new();
    assert!(poll_once(second.as_mut(), &waker).is_pending());
    assert!(catch_unwind(AssertUnwindSafe(|| tx.send(1))).is_err());
    assert_eq!(wakings.count(), 1);
    assert_eq!(*rx.borrow(), 1);
    assert!(poll_once(first, &waker).is_ready());
    assert!(poll_once(second, &waker).is_ready());
}

#[test]
fn values_are_dropped_once_and_outside_of_the_lock() {
    /// Looks at the channel when it is dropped.
    struct Looks(Option<watch::Receiver<Option<Looks>>>);

    impl Drop for Looks {
        fn drop(&mut self) {
            if let Some(rx) = &self.0 {
                assert!(rx.borrow().is_none());
            }
        }
    }

    let (tx, rx) = watch::channel(None);
    tx.send(Some(Looks(Some(rx.clone())))).unwrap();
    tx.send(None).unwrap();
    drop((tx, rx));

    let drops = Drops::new();
    let (tx, rx) = watch::channel(drops.counted(0));
    tx.send(drops.counted(1)).unwrap();
    assert_eq!(drops.count(), 1);
    drop(tx.send_replace(drops.counted(2)));
    assert_eq!(drops.count(), 2);
    drop(rx);
    assert_eq!(tx.send(drops.counted(3)).unwrap_err().0.value, 3);
    assert_eq!(drops.count(), 3);
    drop(tx);
    assert_eq!(drops.count(), 4);
}

/// More threads than processors; every receiver must see the end, each value in
/// order, and never one that is torn.
#[test]
fn nothing_is_missed_among_many_threads() {
    watch_dog::watch();
    const SENDERS: u64 = 3;
    const ROUNDS: u64 = 3_000;
    let (tx, rx) = watch::channel([0_u64; 4]);
    let looks = AtomicU64::new(0);
    let (end, looks) = (SENDERS * ROUNDS, &looks);
    let check = |value: &[u64; 4], last: &mut u64| {
        assert!(value.iter().all(|part| part == &value[0]) && value[0] >= *last);
        *last = value[0];
        looks.fetch_add(1, Ordering::Relaxed);
    };
    let late = thread::scope(|scope| {
        for number in 0..8 {
            let mut rx = rx.clone();
            scope.spawn(move || {
                let mut last = 0;
                while last < end {
                    match number % 4 {
                        0 => rx.blocking_changed().unwrap(),
                        1 => pollster::block_on(rx.changed()).unwrap(),
                        2 => _ = rx.blocking_changed_timeout(Duration::from_micros(30)),
                        _ => {
                            let more = |value: &[u64; 4]| value[0] > last;
                            _ = pollster::block_on(rx.wait_for(more)).unwrap();
                        }
                    }
                    check(&rx.borrow_and_update(), &mut last);
                }
            });
        }
        for _ in 0..SENDERS {
            let tx = tx.clone();
            scope.spawn(move || {
                for _ in 0..ROUNDS {
                    tx.send_modify(|value| value.iter_mut().for_each(|part| *part += 1));
                }
            });
        }
        scope
            .spawn(move || {
                let mut rx = rx;
                drop(tx);
                let mut last = 0;
                while rx.blocking_changed().is_ok() {
                    check(&rx.borrow_and_update(), &mut last);
                }
                last
            })
            .join()
            .unwrap()
    });
    assert_eq!(late, end);
    assert!(looks.load(Ordering::Relaxed) >= 8);
}

/// Receivers come and go on several threads; when the last has gone, the sender
/// learns of it, as a thread and as a task.
#[test]
fn a_sender_always_learns_that_nobody_watches() {
    watch_dog::watch();
    let tx = watch::Sender::new(0);
    for round in 0..1_000 {
        let receivers = [(); 3].map(|()| tx.subscribe());
        thread::scope(|scope| {
            for (rx, number) in receivers.into_iter().zip(0..) {
                scope.spawn(move || {
                    if number == round % 3 {
                        drop(rx.clone());
                    }
                    drop(rx);
                });
            }
            match round % 2 {
                0 => tx.blocking_closed(),
                _ => pollster::block_on(tx.closed()),
            }
            assert_eq!(tx.receiver_count(), 0);
        });
    }
}
