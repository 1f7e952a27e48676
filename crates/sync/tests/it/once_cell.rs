//! `OnceCell`.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Waker;
use std::thread;

use blitz_io_observe::IS_ENABLED;
use blitz_io_sync::task::{OnceCell, SetError};
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
    async fn one_of_many_makes_the_value(rt) {
        let cell = Arc::new(OnceCell::new());
        let made = Arc::new(AtomicUsize::new(0));
        let tasks: Vec<_> = (0..100).map(|i| {
            let (cell, made) = (cell.clone(), made.clone());
            rt.spawn(async move {
                *cell.get_or_init(|| async {
                    made.fetch_add(1, Ordering::SeqCst);
                    rt.sleep(ms(5)).await;
                    i
                }).await
            })
        }).collect();
        let value = *soon(rt, cell.wait()).await;
        for task in tasks {
            assert_eq!(soon(rt, task).await, value);
        }
        assert_eq!(made.load(Ordering::SeqCst), 1);
    }

    async fn who_fails_lets_the_next_try(rt) {
        let cell = Arc::new(OnceCell::new());
        let tries = Arc::new(AtomicUsize::new(0));
        let tasks: Vec<_> = (0..20).map(|_| {
            let (cell, tries) = (cell.clone(), tries.clone());
            rt.spawn(async move {
                cell.get_or_try_init(|| async {
                    rt.sleep(ms(1)).await;
                    match tries.fetch_add(1, Ordering::SeqCst) {
                        n if n < 10 => Err(n),
                        n => Ok(n),
                    }
                }).await.copied()
            })
        }).collect();
        let mut failures = Vec::new();
        for task in tasks {
            match soon(rt, task).await {
                Ok(value) => assert_eq!(value, 10),
                Err(n) => failures.push(n),
            }
        }
        failures.sort_unstable();
        assert_eq!(failures, (0..10).collect::<Vec<_>>());
    }

    async fn who_is_dropped_lets_the_next_try(rt) {
        let cell = Arc::new(OnceCell::new());
        let next = {
            let mut never = Box::pin(cell.get_or_init(std::future::pending::<u32>));
            assert!(!poll(never.as_mut()));
            let cell = cell.clone();
            let next = rt.spawn(async move { *cell.get_or_init(|| async { 7 }).await });
            rt.sleep(ms(2)).await;
            next
        };
        assert_eq!(soon(rt, next).await, 7);
    }

    async fn threads_take_part(rt) {
        let cell = Arc::new(OnceCell::new());
        let threads: Vec<_> = (0..4).map(|i| {
            let cell = cell.clone();
            thread::spawn(move || match i % 2 {
                0 => *cell.blocking_get_or_init(|| {
                    thread::sleep(ms(2));
                    i
                }),
                _ => *cell.blocking_wait(),
            })
        }).collect();
        let value = *soon(rt, cell.get_or_init(|| async { 100 })).await;
        for thread in threads {
            assert_eq!(thread.join().unwrap(), value);
        }
    }
}

#[test]
fn turns_are_taken_in_order() {
    let cell = OnceCell::new();
    let make = |i: usize| move || async move { Err::<usize, _>(i) };
    let mut first = Box::pin(cell.get_or_try_init(|| async {
        std::future::poll_fn(|_| std::task::Poll::<()>::Pending).await;
        Err(100)
    }));
    assert!(!poll(first.as_mut()));
    let mut others: Vec<_> = (0..3)
        .map(|i| Box::pin(cell.get_or_try_init(make(i))))
        .collect();
    for other in &mut others {
        assert!(!poll(other.as_mut()));
    }
    drop(first);
    // The turn is the first one's, though it has not been polled.
    assert!(!poll(others[1].as_mut()) && !poll(others[2].as_mut()));
    assert!(cell.set(0).unwrap_err().is_initializing_err());
    // He is dropped, so it is the next one's.
    drop(others.remove(0));
    assert!(!poll(others[1].as_mut()));
    assert!(poll(others[0].as_mut()) && poll(others[1].as_mut()));
    assert_eq!(cell.set(7), Ok(()));
}

#[test]
fn who_only_waits_is_not_given_the_turn() {
    let cell = OnceCell::new();
    let mut first = Box::pin(cell.get_or_init(std::future::pending::<u32>));
    assert!(!poll(first.as_mut()));
    let mut waits = Box::pin(cell.wait());
    let (wakings, waker) = Wakings::new();
    assert!(poll_once(waits.as_mut(), &waker).is_pending());
    drop(first);
    assert_eq!(wakings.count(), 0);
    assert_eq!(cell.set(7), Ok(()));
    assert_eq!(wakings.count(), 1);
    assert!(poll(waits.as_mut()));
}

#[test]
fn a_panic_lets_the_next_try() {
    let cell = OnceCell::new();
    let make = || async { panic!("on purpose") };
    catch_unwind(AssertUnwindSafe(|| {
        let _ = poll(Box::pin(cell.get_or_init(make)).as_mut());
    }))
    .unwrap_err();
    catch_unwind(AssertUnwindSafe(|| {
        cell.blocking_get_or_init(|| panic!("on purpose"));
    }))
    .unwrap_err();
    assert_eq!(
        cell.blocking_get_or_try_init(|| Err("on purpose")),
        Err("on purpose")
    );
    assert_eq!(cell.blocking_get_or_init(|| 7), &7);
}

#[test]
fn setting_while_somebody_makes_one_is_refused() {
    let cell = OnceCell::new();
    let mut making = Box::pin(cell.get_or_init(std::future::pending));
    assert!(!poll(making.as_mut()));
    assert_eq!(cell.set(1), Err(SetError::InitializingError(1)));
    drop(making);
    assert_eq!(cell.set(2), Ok(()));
    assert_eq!(cell.set(3), Err(SetError::AlreadyInitializedError(3)));
}

#[test]
fn a_waker_that_panics_keeps_nobody_asleep() {
    let cell = OnceCell::new();
    let (wakings, waker) = Wakings::new();
    let mut futures: Vec<_> = (0..80).map(|_| Box::pin(cell.wait())).collect();
    for (i, future) in futures.iter_mut().enumerate() {
        let waker = if i == 3 { &shouting_waker() } else { &waker };
        assert!(poll_once(future.as_mut(), waker).is_pending());
    }
    catch_unwind(AssertUnwindSafe(|| cell.set(7))).unwrap_err();
    assert_eq!((wakings.count(), cell.get()), (79, Some(&7)));
    assert!(futures.iter_mut().all(|future| poll(future.as_mut())));
}

/// Many cells, many threads that set, make and wait: all of one cell see one
/// value.
#[test]
fn all_see_one_value() {
    for round in 0..200 {
        let cell = OnceCell::new();
        let values: Vec<usize> = thread::scope(|scope| {
            let threads: Vec<_> = (0..6)
                .map(|i| {
                    let cell = &cell;
                    scope.spawn(move || match (i + round) % 4 {
                        0 => match cell.set(i) {
                            Ok(()) => i,
                            Err(_) => *cell.blocking_wait(),
                        },
                        1 => *cell.blocking_get_or_init(|| i),
                        2 => *pollster::block_on(cell.get_or_init(|| async { i })),
                        _ => *pollster::block_on(cell.wait()),
                    })
                })
                .collect();
            threads.into_iter().map(|it| it.join().unwrap()).collect()
        });
        assert!(values.iter().all(|value| Some(value) == cell.get()));
    }
}

#[test]
fn it_is_small() {
    // Some fields have 64 bits on every system.
    let word = size_of::<u64>();
    // With the feature `inspect` it also has a pointer to the facts about it.
    let of_value = if IS_ENABLED { 7 } else { 6 };
    assert!(size_of::<OnceCell<u8>>() <= of_value * word);
    assert!(size_of::<OnceCell<[usize; 4]>>() <= (of_value + 4) * word);
}
