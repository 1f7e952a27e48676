//! `Barrier` for tasks.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Waker;
use std::thread;

use blitz_io_sync::task::Barrier;
use blitz_io_testing::{Runtime, Wakings, everywhere, ms, poll_once, shouting_waker};

fn poll<F: Future>(future: Pin<&mut F>) -> bool {
    poll_once(future, Waker::noop()).is_ready()
}

/// A future that fails if it takes far too long.
async fn soon<R: Runtime, F: Future<Output: Send> + Send>(rt: R, future: F) -> F::Output {
    rt.timeout(ms(900_000), future)
        .await
        .expect("a lost wake-up")
}

everywhere! {
    async fn all_meet_and_one_leads(rt) {
        const TASKS: usize = 10;
        const ROUNDS: usize = 50;
        let barrier = Arc::new(Barrier::new(TASKS));
        let arrived = Arc::new(AtomicUsize::new(0));
        let tasks: Vec<_> = (0..TASKS).map(|_| {
            let (barrier, arrived) = (barrier.clone(), arrived.clone());
            rt.spawn(async move {
                let mut led = 0;
                for round in 1..=ROUNDS {
                    arrived.fetch_add(1, Ordering::SeqCst);
                    led += usize::from(barrier.wait().await.is_leader());
                    assert!(arrived.load(Ordering::SeqCst) >= round * TASKS);
                }
                led
            })
        }).collect();
        let mut led = 0;
        for task in tasks {
            led += soon(rt, task).await;
        }
        assert_eq!((led, arrived.load(Ordering::SeqCst)), (ROUNDS, ROUNDS * TASKS));
    }

    async fn more_tasks_than_the_number_take_turns(rt) {
        let barrier = Arc::new(Barrier::new(3));
        let tasks: Vec<_> = (0..60).map(|_| {
            let barrier = barrier.clone();
            rt.spawn(async move { barrier.wait().await.is_leader() })
        }).collect();
        let mut led = 0;
        for task in tasks {
            led += usize::from(soon(rt, task).await);
        }
        assert_eq!(led, 20);
    }

    async fn threads_and_tasks_meet(rt) {
        let barrier = Arc::new(Barrier::new(4));
        let threads: Vec<_> = (0..2).map(|_| {
            let barrier = barrier.clone();
            thread::spawn(move || (0..50).filter(|_| barrier.blocking_wait().is_leader()).count())
        }).collect();
        let tasks: Vec<_> = (0..2).map(|_| {
            let barrier = barrier.clone();
            rt.spawn(async move {
                let mut led = 0;
                for _ in 0..50 {
                    led += usize::from(barrier.wait().await.is_leader());
                }
                led
            })
        }).collect();
        let mut led = 0;
        for task in tasks {
            led += soon(rt, task).await;
        }
        for thread in threads {
            led += thread.join().unwrap();
        }
        assert_eq!(led, 50);
    }

    async fn one_alone_need_not_wait(rt) {
        for n in [0, 1] {
            let barrier = Barrier::new(n);
            assert!(soon(rt, barrier.wait()).await.is_leader());
            assert!(barrier.blocking_wait().is_leader());
        }
    }
}

#[test]
fn an_arrival_counts_when_its_future_is_dropped() {
    let barrier = Barrier::new(3);
    let mut dropped = Box::pin(barrier.wait());
    assert!(!poll(dropped.as_mut()));
    drop(dropped);
    let mut waits = Box::pin(barrier.wait());
    assert!(!poll(waits.as_mut()));
    let mut last = Box::pin(barrier.wait());
    assert!(poll(last.as_mut()) && poll(waits.as_mut()));
}

#[test]
fn a_future_that_was_never_polled_has_not_arrived() {
    let barrier = Barrier::new(2);
    drop(barrier.wait());
    let mut waits = Box::pin(barrier.wait());
    assert!(!poll(waits.as_mut()));
}

#[test]
fn all_are_woken_once_also_those_beyond_the_first_batch() {
    let barrier = Barrier::new(101);
    let (wakings, waker) = Wakings::new();
    let mut futures: Vec<_> = (0..100).map(|_| Box::pin(barrier.wait())).collect();
    for future in &mut futures {
        assert!(poll_once(future.as_mut(), &waker).is_pending());
    }
    assert_eq!(wakings.count(), 0);
    assert!(poll(Box::pin(barrier.wait()).as_mut()));
    assert_eq!(wakings.count(), 100);
    assert!(futures.iter_mut().all(|future| poll(future.as_mut())));
}

#[test]
fn a_waker_that_panics_keeps_nobody_asleep() {
    let barrier = Barrier::new(81);
    let (wakings, waker) = Wakings::new();
    let mut futures: Vec<_> = (0..80).map(|_| Box::pin(barrier.wait())).collect();
    for (i, future) in futures.iter_mut().enumerate() {
        let waker = if i == 3 { &shouting_waker() } else { &waker };
        assert!(poll_once(future.as_mut(), waker).is_pending());
    }
    let mut last = Box::pin(barrier.wait());
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| poll(last.as_mut()))).unwrap_err();
    assert_eq!(wakings.count(), 79);
    assert!(futures.iter_mut().all(|future| poll(future.as_mut())));
}

#[test]
fn the_newest_waker_is_woken() {
    let barrier = Barrier::new(2);
    let mut waits = Box::pin(barrier.wait());
    let wakers = [(); 3].map(|()| Wakings::new());
    for (_, waker) in &wakers {
        assert!(poll_once(waits.as_mut(), waker).is_pending());
    }
    assert!(poll(Box::pin(barrier.wait()).as_mut()));
    assert_eq!(wakers.map(|(wakings, _)| wakings.count()), [0, 0, 1]);
}
