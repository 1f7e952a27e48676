//! One value, under several runtimes and from threads.

use blitz_io_testing::watch_dog;

use std::pin::pin;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use blitz_io_channel::oneshot::{
    self,
    error::{RecvTimeoutError, TryRecvError},
};
use blitz_io_testing::{
    Counted, Drops, Wakings, everywhere, ms, poll_once, reentrant_waker, shouting_waker,
};

everywhere! {
    async fn a_value_arrives(rt) {
        watch_dog::watch();
        for i in 0..100 {
            let (tx, rx) = oneshot::channel();
            let sender = rt.spawn(async move { tx.send(i) });
            assert_eq!(rx.await, Ok(i));
            sender.await.unwrap();
        }
    }

    async fn a_value_that_comes_late_arrives(rt) {
        watch_dog::watch();
        let (tx, rx) = oneshot::channel();
        let receiver = rt.spawn(rx);
        rt.sleep(ms(5)).await;
        tx.send("late").unwrap();
        assert_eq!(receiver.await, Ok("late"));
    }

    async fn a_dropped_sender_ends_the_wait(rt) {
        watch_dog::watch();
        let (tx, rx) = oneshot::channel::<u32>();
        let receiver = rt.spawn(rx);
        rt.sleep(ms(5)).await;
        drop(tx);
        assert!(receiver.await.is_err());
    }

    async fn a_dropped_receiver_ends_the_wait_of_the_sender(rt) {
        watch_dog::watch();
        let (mut tx, rx) = oneshot::channel();
        let sender = rt.spawn(async move {
            tx.closed().await;
            tx.send(5)
        });
        rt.sleep(ms(5)).await;
        drop(rx);
        assert_eq!(sender.await, Err(5));
    }

    async fn a_wait_that_was_given_up_can_be_taken_up_again(rt) {
        watch_dog::watch();
        let (tx, mut rx) = oneshot::channel();
        assert!(rt.timeout(ms(5), &mut rx).await.is_none());
        let receiver = rt.spawn(rx);
        rt.sleep(ms(5)).await;
        tx.send(8).unwrap();
        assert_eq!(receiver.await, Ok(8));
    }

    async fn giving_up_closed_loses_nothing(rt) {
        watch_dog::watch();
        let (mut tx, rx) = oneshot::channel();
        assert!(rt.timeout(ms(5), tx.closed()).await.is_none());
        tx.send(2).unwrap();
        assert_eq!(rx.await, Ok(2));
    }

    async fn a_thread_and_a_task_talk_to_each_other(rt) {
        watch_dog::watch();
        let (to_thread, at_thread) = oneshot::channel::<u32>();
        let (to_task, at_task) = oneshot::channel();
        let thread = thread::spawn(move || to_task.send(at_thread.blocking_recv().unwrap() + 1));
        rt.sleep(ms(2)).await;
        to_thread.send(6).unwrap();
        assert_eq!(at_task.await, Ok(7));
        thread.join().unwrap().unwrap();
    }
}

#[test]
fn a_thread_sleeps_until_the_value_is_there() {
    watch_dog::watch();
    let (tx, rx) = oneshot::channel();
    let receiver = thread::spawn(move || rx.blocking_recv());
    thread::sleep(ms(20));
    tx.send(String::from("here")).unwrap();
    assert_eq!(receiver.join().unwrap().as_deref(), Ok("here"));

    let (tx, rx) = oneshot::channel::<u8>();
    let receiver = thread::spawn(move || rx.blocking_recv());
    thread::sleep(ms(20));
    drop(tx);
    assert!(receiver.join().unwrap().is_err());
}

#[test]
fn a_thread_sleeps_until_the_receiver_closes() {
    watch_dog::watch();
    let (mut tx, mut rx) = oneshot::channel::<u8>();
    assert!(!tx.blocking_closed_timeout(ms(2)));
    let sender = thread::spawn(move || {
        tx.blocking_closed();
        tx.send(1)
    });
    thread::sleep(ms(20));
    rx.close();
    assert_eq!(sender.join().unwrap(), Err(1));
    assert_eq!(rx.try_recv(), Err(TryRecvError::Closed));
}

#[test]
fn a_thread_that_gives_up_can_come_back() {
    watch_dog::watch();
    let (tx, mut rx) = oneshot::channel();
    for _ in 0..3 {
        assert_eq!(
            rx.blocking_recv_timeout(ms(1)),
            Err(RecvTimeoutError::Timeout)
        );
    }
    assert_eq!(
        rx.blocking_recv_timeout(Duration::ZERO),
        Err(RecvTimeoutError::Timeout)
    );
    let (wakings, waker) = Wakings::new();
    assert!(poll_once(pin!(&mut rx), &waker).is_pending());
    assert_eq!(
        rx.blocking_recv_timeout(ms(1)),
        Err(RecvTimeoutError::Timeout)
    );
    tx.send(1).unwrap();
    assert_eq!(rx.blocking_recv_timeout(ms(1)), Ok(1));
    assert_eq!(
        rx.blocking_recv_timeout(ms(1)),
        Err(RecvTimeoutError::Closed)
    );
    // The thread took the place of the task.
    assert_eq!(wakings.count(), 0);
}

#[test]
fn the_waker_of_the_last_poll_is_woken() {
    let (tx, rx) = oneshot::channel();
    let mut rx = pin!(rx);
    let (first, waker) = Wakings::new();
    assert!(poll_once(rx.as_mut(), &waker).is_pending());
    assert!(poll_once(rx.as_mut(), &waker).is_pending());
    let (second, waker) = Wakings::new();
    assert!(poll_once(rx.as_mut(), &waker).is_pending());
    tx.send(1).unwrap();
    assert_eq!((first.count(), second.count()), (0, 1));
    assert!(poll_once(rx, &waker).is_ready());
}

#[test]
fn the_sender_has_one_waker_too() {
    let (mut tx, rx) = oneshot::channel::<u8>();
    let (first, waker) = Wakings::new();
    assert!(poll_once(pin!(tx.closed()), &waker).is_pending());
    let (second, waker) = Wakings::new();
    assert!(poll_once(pin!(tx.closed()), &waker).is_pending());
    drop(rx);
    assert_eq!((first.count(), second.count()), (0, 1));
    assert!(poll_once(pin!(tx.closed()), &waker).is_ready());
}

#[test]
fn a_value_is_dropped_once_whatever_happens() {
    type Ends = (oneshot::Sender<Counted>, oneshot::Receiver<Counted>);
    let scenarios: [fn(Ends, Counted); 6] = [
        |(tx, rx), value| {
            tx.send(value).unwrap();
            drop(rx);
        },
        |(tx, rx), value| {
            drop(rx);
            drop(tx.send(value).unwrap_err());
        },
        |(tx, mut rx), value| {
            tx.send(value).unwrap();
            rx.close();
            drop(rx.try_recv().unwrap());
            drop(rx);
        },
        |(tx, mut rx), value| {
            rx.close();
            drop(rx);
            drop(tx.send(value).unwrap_err());
        },
        |(tx, mut rx), value| {
            rx.close();
            drop(tx.send(value).unwrap_err());
            assert!(rx.try_recv().is_err());
        },
        |(tx, rx), value| {
            drop(tx);
            drop(rx);
            drop(value);
        },
    ];
    for scenario in scenarios {
        // No end waits, the receiver does, the sender does, both do.
        for waiting in 0..4 {
            let drops = Drops::new();
            let wakers = Drops::new();
            let (mut tx, mut rx) = oneshot::channel();
            let waker = || {
                let counted = wakers.counted(());
                reentrant_waker(move || _ = &counted)
            };
            if waiting & 1 != 0 {
                assert!(poll_once(pin!(&mut rx), &waker()).is_pending());
            }
            if waiting & 2 != 0 {
                assert!(poll_once(pin!(tx.closed()), &waker()).is_pending());
            }
            scenario((tx, rx), drops.counted(()));
            assert_eq!(drops.count(), 1);
            assert_eq!(wakers.count(), [0, 1, 1, 2][waiting]);
        }
    }
}

#[test]
fn the_waker_of_a_closed_receiver_is_dropped_at_once() {
    let wakers = Drops::new();
    let counted = wakers.counted(());
    let (tx, mut rx) = oneshot::channel::<u8>();
    let waker = reentrant_waker(move || _ = &counted);
    assert!(poll_once(pin!(&mut rx), &waker).is_pending());
    drop(waker);
    assert_eq!(wakers.count(), 0);
    rx.close();
    assert_eq!(wakers.count(), 1);
    drop(tx);
}

#[test]
fn a_waker_may_use_the_channel_that_wakes_it() {
    use std::sync::{Arc, Mutex};

    let (tx, rx) = oneshot::channel();
    let rx = Arc::new(Mutex::new(Some(rx)));
    let got = Arc::new(Mutex::new(None));
    let waker = reentrant_waker({
        let (rx, got) = (rx.clone(), got.clone());
        move || *got.lock().unwrap() = rx.lock().unwrap().take().unwrap().try_recv().ok()
    });
    let mut taken = rx.lock().unwrap();
    assert!(poll_once(pin!(taken.as_mut().unwrap()), &waker).is_pending());
    drop(taken);
    tx.send(11).unwrap();
    assert_eq!(*got.lock().unwrap(), Some(11));
}

#[test]
fn a_waker_that_panics_does_no_harm() {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    let (tx, mut rx) = oneshot::channel();
    assert!(poll_once(pin!(&mut rx), &shouting_waker()).is_pending());
    assert!(catch_unwind(AssertUnwindSafe(|| tx.send(4))).is_err());
    assert_eq!(rx.try_recv(), Ok(4));

    let (mut tx, rx) = oneshot::channel::<u8>();
    assert!(poll_once(pin!(tx.closed()), &shouting_waker()).is_pending());
    assert!(catch_unwind(AssertUnwindSafe(|| drop(rx))).is_err());
    assert_eq!(tx.send(4), Err(4));
}

/// More pairs of threads than processors, with each order of events. Every value
/// that was made is dropped once, wherever it ended.
#[test]
fn nothing_is_lost_among_many_threads() {
    watch_dog::watch();
    const PAIRS: u32 = 8;
    const ROUNDS: u32 = 2_000;
    let drops = Drops::new();
    let receive = |to_sender: mpsc::SyncSender<oneshot::Sender<Counted<u32>>>| {
        for i in 0..ROUNDS {
            let (tx, mut rx) = oneshot::channel();
            to_sender.send(tx).unwrap();
            let (certain, value) = match i % 4 {
                0 => (true, rx.blocking_recv().ok()),
                1 => (true, pollster::block_on(rx).ok()),
                2 => {
                    let soon = Duration::from_micros(20);
                    (false, rx.blocking_recv_timeout(soon).ok())
                }
                _ => {
                    rx.close();
                    (false, rx.try_recv().ok())
                }
            };
            match value {
                Some(value) => assert_eq!(value.value, i),
                None => assert!(!certain || i % 7 == 6),
            }
        }
    };
    let send = |senders: mpsc::Receiver<oneshot::Sender<Counted<u32>>>| {
        for (tx, i) in senders.into_iter().zip(0..) {
            if i % 7 == 6 {
                continue;
            }
            if let Err(value) = tx.send(drops.counted(i)) {
                assert!(i % 4 > 1 && value.value == i);
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..PAIRS {
            let (to_sender, senders) = mpsc::sync_channel(4);
            scope.spawn(move || receive(to_sender));
            scope.spawn(move || send(senders));
        }
    });
    let sent = (0..ROUNDS).filter(|i| i % 7 != 6).count();
    assert_eq!(drops.count(), PAIRS as usize * sent);
}
