//! `SetOnce`.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Waker;
use std::thread;
use std::time::{Duration, Instant};

use blitz_io_sync::task::{SetOnce, SetOnceError};
use blitz_io_testing::threads::A_WHILE;
use blitz_io_testing::{Runtime, Wakings, everywhere, ms, poll_once, reentrant_waker};

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
    async fn all_who_wait_get_the_value(rt) {
        let cell = Arc::new(SetOnce::new());
        let tasks: Vec<_> = (0..100).map(|_| {
            let cell = cell.clone();
            rt.spawn(async move { *cell.wait().await })
        }).collect();
        let thread = thread::spawn({
            let cell = cell.clone();
            move || *cell.blocking_wait()
        });
        rt.sleep(ms(2)).await;
        assert_eq!(cell.set(7), Ok(()));
        for task in tasks {
            assert_eq!(soon(rt, task).await, 7);
        }
        assert_eq!(thread.join().unwrap(), 7);
    }

    async fn who_gives_up_misses_nothing_but_the_value(rt) {
        let cell = SetOnce::new();
        assert!(rt.timeout(ms(2), cell.wait()).await.is_none());
        assert_eq!(cell.set("value"), Ok(()));
        assert_eq!(soon(rt, cell.wait()).await, &"value");
    }
}

#[test]
fn one_of_many_sets_it() {
    for _ in 0..100 {
        let cell = SetOnce::new();
        let set = thread::scope(|scope| {
            let setters: Vec<_> = (0..4)
                .map(|i| {
                    let cell = &cell;
                    scope.spawn(move || match cell.set(i) {
                        Ok(()) => true,
                        Err(SetOnceError(value)) => {
                            assert_eq!(value, i);
                            assert!(cell.get().is_some());
                            false
                        }
                    })
                })
                .collect();
            let seen = *cell.blocking_wait();
            let set = setters.into_iter().map(|setter| setter.join().unwrap());
            let set: Vec<_> = set.collect();
            assert!(set[seen]);
            set
        });
        assert_eq!(set.into_iter().filter(|set| *set).count(), 1);
    }
}

#[test]
fn a_waker_may_look_at_the_value() {
    let cell = Arc::new(SetOnce::new());
    let (wakings, waker) = Wakings::new();
    let looks = {
        let (cell, waker) = (cell.clone(), waker.clone());
        reentrant_waker(move || {
            assert_eq!(cell.get(), Some(&7));
            assert_eq!(cell.set(8), Err(SetOnceError(8)));
            waker.wake_by_ref();
        })
    };
    let mut futures = [(); 2].map(|()| Box::pin(cell.wait()));
    assert!(poll_once(futures[0].as_mut(), &looks).is_pending());
    assert!(poll_once(futures[1].as_mut(), &waker).is_pending());
    assert_eq!(cell.set(7), Ok(()));
    assert_eq!(wakings.count(), 2);
    assert!(futures.iter_mut().all(|future| poll(future.as_mut())));
}

#[test]
fn a_thread_waits_for_the_value_no_longer_than_it_wants() {
    let cell = SetOnce::new();
    let past = Instant::now();
    assert_eq!(cell.blocking_wait_deadline(past), None);
    assert_eq!(cell.blocking_wait_timeout(ms(5)), None);
    assert!(past.elapsed() >= ms(5));
    thread::scope(|scope| {
        let waiters = [Duration::MAX, Duration::from_secs(900)].map(|timeout| {
            let cell = &cell;
            scope.spawn(move || cell.blocking_wait_timeout(timeout).copied())
        });
        thread::sleep(A_WHILE);
        cell.set(7).unwrap();
        assert_eq!(waiters.map(|waiter| waiter.join().unwrap()), [Some(7); 2]);
    });
    assert_eq!(cell.blocking_wait_deadline(past), Some(&7));
}
