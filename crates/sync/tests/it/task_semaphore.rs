//! The semaphore for tasks, beyond the comparison with Tokio's (`task_parity_locks.rs`): several
//! runtimes, threads in the same queue, and wakers that panic or use the semaphore.

use blitz_io_testing::threads;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};

use blitz_io_sync::task::{Semaphore, TryAcquireError};
use blitz_io_testing::threads::{ThreadName, Watchdog, elsewhere};
use blitz_io_testing::{Wakings, everywhere, ms, poll_once, reentrant_waker, shouting_waker};

/// A limit that no wait of these tests reaches.
const LONG: Duration = Duration::from_secs(900);

everywhere! {
    async fn who_finds_no_permit_waits_for_one(rt) {
        let _watchdog = Watchdog::new("who finds no permit waits for one");
        let semaphore = Arc::new(Semaphore::new(1));
        let permit = semaphore.clone().acquire_owned().await.unwrap();
        let other = rt.spawn({
            let semaphore = semaphore.clone();
            async move { semaphore.acquire().await.unwrap().num_permits() }
        });
        rt.sleep(ms(5)).await;
        assert_eq!(semaphore.available_permits(), 0);
        drop(permit);
        assert_eq!(other.await, 1);
        assert_eq!(semaphore.available_permits(), 1);
    }

    async fn never_more_at_once_than_there_are_permits(rt) {
        let _watchdog = Watchdog::new("never more at once than there are permits");
        const PERMITS: usize = 3;
        let semaphore = Arc::new(Semaphore::new(PERMITS));
        let (inside, total) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let tasks: Vec<_> = (0..12).map(|task| {
            let (semaphore, inside, total) = (semaphore.clone(), inside.clone(), total.clone());
            rt.spawn(async move {
                for turn in 0..20 {
                    let n = 1 + (task + turn) % PERMITS;
                    let permit = semaphore.acquire_many(n as u32).await.unwrap();
                    assert!(inside.fetch_add(n, Ordering::SeqCst) + n <= PERMITS);
                    if turn % 8 == 0 {
                        rt.sleep(ms(1)).await;
                    }
                    inside.fetch_sub(n, Ordering::SeqCst);
                    total.fetch_add(n, Ordering::SeqCst);
                    drop(permit);
                }
            })
        }).collect();
        for task in tasks {
            task.await;
        }
        let expected: usize = (0..12 * 20).map(|i| 1 + (i / 20 + i % 20) % PERMITS).sum();
        assert_eq!(total.load(Ordering::SeqCst), expected);
        assert_eq!(semaphore.available_permits(), PERMITS);
    }

    async fn closing_ends_all_waiting(rt) {
        let _watchdog = Watchdog::new("closing ends all waiting");
        let semaphore = Arc::new(Semaphore::new(0));
        // More than are woken at once.
        let tasks: Vec<_> = (0..70).map(|_| {
            let semaphore = semaphore.clone();
            rt.spawn(async move { semaphore.acquire().await.is_err() })
        }).collect();
        rt.sleep(ms(5)).await;
        semaphore.close();
        for task in tasks {
            assert!(task.await);
        }
        assert!(semaphore.acquire().await.is_err());
        assert_eq!(semaphore.try_acquire().unwrap_err(), TryAcquireError::Closed);
    }

    async fn giving_up_while_waiting_takes_nothing(rt) {
        let _watchdog = Watchdog::new("giving up while waiting takes nothing");
        let semaphore = Semaphore::new(1);
        let permit = semaphore.acquire().await.unwrap();
        assert!(rt.timeout(ms(5), semaphore.acquire()).await.is_none());
        drop(permit);
        assert_eq!(semaphore.available_permits(), 1);
        assert!(rt.timeout(ms(2000), semaphore.acquire()).await.is_some());
    }

    async fn a_thread_gives_to_a_task_and_back(rt) {
        let _watchdog = Watchdog::new("a thread gives to a task and back");
        let (ping, pong) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
        let thread = thread::spawn({
            let (ping, pong) = (ping.clone(), pong.clone());
            move || for _ in 0..100 {
                ping.blocking_acquire().unwrap().forget();
                pong.add_permits(1);
            }
        });
        let task = rt.spawn(async move {
            for _ in 0..100 {
                ping.add_permits(1);
                pong.acquire().await.unwrap().forget();
            }
        });
        task.await;
        thread.join().unwrap();
    }
}

#[test]
fn first_come_first_served_whatever_they_need() {
    let semaphore = Semaphore::new(0);
    let order = Mutex::new(Vec::new());
    let wakers: Vec<_> = (0..5).map(|_| Wakings::new()).collect();
    let mut waiters: Vec<_> = [3, 1, 2, 1, 4]
        .iter()
        .map(|&n| Box::pin(semaphore.acquire_many(n)))
        .collect();
    for (waiter, (_, waker)) in waiters.iter_mut().zip(&wakers) {
        assert!(poll_once(waiter.as_mut(), waker).is_pending());
    }
    for _ in 0..11 {
        semaphore.add_permits(1);
        for (index, (wakings, waker)) in wakers.iter().enumerate() {
            let is_new = wakings.count() == 1 && !order.lock().unwrap().contains(&index);
            if is_new {
                order.lock().unwrap().push(index);
                match poll_once(waiters[index].as_mut(), waker) {
                    Poll::Ready(permit) => permit.unwrap().forget(),
                    Poll::Pending => panic!("woken for nothing"),
                }
            }
        }
    }
    assert_eq!(*order.lock().unwrap(), [0, 1, 2, 3, 4]);
    assert_eq!(semaphore.available_permits(), 0);
}

#[test]
fn nobody_takes_a_permit_past_the_queue() {
    let semaphore = Semaphore::new(1);
    let mut two = Box::pin(semaphore.acquire_many(2));
    assert!(poll_once(two.as_mut(), Waker::noop()).is_pending());
    assert_eq!(
        semaphore.try_acquire().unwrap_err(),
        TryAcquireError::NoPermits
    );
    let mut one = pin!(semaphore.acquire());
    assert!(poll_once(one.as_mut(), Waker::noop()).is_pending());
    drop(two);
    assert!(poll_once(one.as_mut(), Waker::noop()).is_ready());
}

#[test]
fn who_gives_up_at_the_front_lets_all_behind_proceed() {
    // More than are served at once.
    const BEHIND: usize = 50;
    let semaphore = Semaphore::new(BEHIND);
    let mut greedy = Box::pin(semaphore.acquire_many(BEHIND as u32 + 1));
    assert!(poll_once(greedy.as_mut(), Waker::noop()).is_pending());
    let (wakings, waker) = Wakings::new();
    let mut behind: Vec<_> = (0..BEHIND).map(|_| Box::pin(semaphore.acquire())).collect();
    for waiter in &mut behind {
        assert!(poll_once(waiter.as_mut(), &waker).is_pending());
    }
    drop(greedy);
    assert_eq!(wakings.count(), BEHIND);
    let permits: Vec<_> = behind
        .iter_mut()
        .map(|waiter| poll_once(waiter.as_mut(), &waker).map(Result::unwrap))
        .collect();
    assert!(permits.iter().all(Poll::is_ready));
    drop(permits);
    assert_eq!(semaphore.available_permits(), BEHIND);
}

#[test]
fn a_permit_is_not_lost_when_the_chosen_waiter_is_dropped() {
    let semaphore = Semaphore::new(0);
    let mut first = Box::pin(semaphore.acquire_many(2));
    let mut second = pin!(semaphore.acquire());
    let (wakings, waker) = Wakings::new();
    assert!(poll_once(first.as_mut(), Waker::noop()).is_pending());
    assert!(poll_once(second.as_mut(), &waker).is_pending());
    semaphore.add_permits(2);
    assert_eq!(wakings.count(), 0);
    drop(first);
    assert_eq!(wakings.count(), 1);
    assert!(poll_once(second.as_mut(), &waker).is_ready());
    assert_eq!(semaphore.available_permits(), 2);
}

#[test]
fn dropped_before_the_first_poll_it_has_done_nothing() {
    let semaphore = Semaphore::new(1);
    drop(semaphore.acquire());
    assert_eq!(semaphore.available_permits(), 1);
}

#[test]
fn the_newest_waker_is_woken() {
    let semaphore = Semaphore::new(0);
    let mut waiter = pin!(semaphore.acquire());
    let ((old, old_waker), (new, new_waker)) = (Wakings::new(), Wakings::new());
    for waker in [&old_waker, &new_waker, &old_waker, &new_waker, &new_waker] {
        assert!(poll_once(waiter.as_mut(), waker).is_pending());
    }
    drop(old_waker);
    assert_eq!(Arc::strong_count(&old), 1, "the old waker is kept");
    semaphore.add_permits(1);
    assert_eq!((old.count(), new.count()), (0, 1));
    assert!(poll_once(waiter.as_mut(), &new_waker).is_ready());
    drop(new_waker);
    assert_eq!(Arc::strong_count(&new), 1, "the new waker is kept");
}

#[test]
fn a_waker_may_use_the_semaphore() {
    let _watchdog = Watchdog::new("a waker that uses the semaphore");
    let semaphore = Arc::new(Semaphore::new(0));
    let seen = Arc::new(AtomicUsize::new(0));
    let waker = reentrant_waker({
        let (semaphore, seen) = (semaphore.clone(), seen.clone());
        move || {
            let mut nested = pin!(semaphore.acquire());
            assert!(poll_once(nested.as_mut(), Waker::noop()).is_pending());
            semaphore.add_permits(1);
            assert!(poll_once(nested.as_mut(), Waker::noop()).is_ready());
            seen.fetch_add(1, Ordering::SeqCst);
        }
    });
    let mut waiter = pin!(semaphore.acquire());
    assert!(poll_once(waiter.as_mut(), &waker).is_pending());
    semaphore.add_permits(1);
    assert_eq!(seen.load(Ordering::SeqCst), 1);
    assert!(poll_once(waiter.as_mut(), &waker).is_ready());
    assert_eq!(semaphore.available_permits(), 2);
}

#[test]
fn a_waker_that_panics_keeps_nobody_from_being_served() {
    const WAITERS: usize = 60;
    for shouts in [0, 1, 20, 59] {
        let semaphore = Semaphore::new(0);
        let (wakings, waker) = Wakings::new();
        let mut waiters: Vec<_> = (0..WAITERS)
            .map(|_| Box::pin(semaphore.acquire()))
            .collect();
        for (index, waiter) in waiters.iter_mut().enumerate() {
            let shouting = shouting_waker();
            let waker = if index == shouts { &shouting } else { &waker };
            assert!(poll_once(waiter.as_mut(), waker).is_pending());
        }
        let added = catch_unwind(AssertUnwindSafe(|| semaphore.add_permits(WAITERS)));
        assert!(added.is_err());
        assert_eq!(wakings.count(), WAITERS - 1);
        for waiter in &mut waiters {
            assert!(poll_once(waiter.as_mut(), &waker).is_ready());
        }
        assert_eq!(semaphore.available_permits(), WAITERS);
    }
}

#[test]
fn a_waker_that_panics_leaves_the_semaphore_closed() {
    let semaphore = Semaphore::new(0);
    let mut first = pin!(semaphore.acquire());
    let mut second = pin!(semaphore.acquire());
    assert!(poll_once(first.as_mut(), &shouting_waker()).is_pending());
    let (wakings, waker) = Wakings::new();
    assert!(poll_once(second.as_mut(), &waker).is_pending());
    assert!(catch_unwind(AssertUnwindSafe(|| semaphore.close())).is_err());
    assert_eq!(wakings.count(), 1);
    assert!(matches!(
        poll_once(first.as_mut(), &waker),
        Poll::Ready(Err(_))
    ));
    assert!(matches!(
        poll_once(second.as_mut(), &waker),
        Poll::Ready(Err(_))
    ));
}

/// Tasks and threads wait in one queue.
#[test]
fn threads_are_served_in_turn_with_tasks() {
    let _watchdog = Watchdog::new("threads and tasks in one queue");
    let semaphore = Semaphore::new(0);
    let mut before = Box::pin(semaphore.acquire());
    assert!(poll_once(before.as_mut(), Waker::noop()).is_pending());
    thread::scope(|scope| {
        let (name, names) = std::sync::mpsc::channel();
        let semaphore = &semaphore;
        let thread = scope.spawn(move || {
            name.send(ThreadName::current()).unwrap();
            semaphore.blocking_acquire_many(2).unwrap().forget();
        });
        names.recv().unwrap().until_asleep();
        let mut after = Box::pin(semaphore.acquire());
        let (wakings, waker) = Wakings::new();
        assert!(poll_once(after.as_mut(), &waker).is_pending());
        semaphore.add_permits(2);
        let Poll::Ready(Ok(permit)) = poll_once(before.as_mut(), Waker::noop()) else {
            panic!("it came first")
        };
        // One is left: too few for the thread, and reserved from later requests.
        assert_eq!(wakings.count(), 0);
        assert!(!thread.is_finished());
        semaphore.add_permits(1);
        thread.join().unwrap();
        assert_eq!(wakings.count(), 0);
        drop(permit);
        assert_eq!(wakings.count(), 1);
        assert!(poll_once(after.as_mut(), &waker).is_ready());
    });
}

#[test]
fn closing_wakes_threads() {
    let _watchdog = Watchdog::new("closing");
    let semaphore = Arc::new(Semaphore::new(0));
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let semaphore = semaphore.clone();
            thread::spawn(move || semaphore.blocking_acquire_owned().is_err())
        })
        .collect();
    thread::sleep(threads::A_WHILE);
    semaphore.close();
    for thread in threads {
        assert!(thread.join().unwrap());
    }
    assert!(semaphore.clone().blocking_acquire_many_owned(1).is_err());
    assert!(semaphore.blocking_acquire_many(1).is_err());
}

#[test]
fn a_refused_addition_changes_nothing() {
    let semaphore = Semaphore::new(Semaphore::MAX_PERMITS - 1);
    assert!(catch_unwind(AssertUnwindSafe(|| semaphore.add_permits(2))).is_err());
    assert_eq!(semaphore.available_permits(), Semaphore::MAX_PERMITS - 1);
    semaphore.add_permits(1);
    assert_eq!(semaphore.available_permits(), Semaphore::MAX_PERMITS);
}

/// As many as there is room for once the waiters have got theirs.
#[test]
fn an_addition_serves_the_queue_before_it_is_too_much() {
    let semaphore = Semaphore::new(5);
    let mut waiter = pin!(semaphore.acquire_many(7));
    assert!(poll_once(waiter.as_mut(), Waker::noop()).is_pending());
    let too_many = Semaphore::MAX_PERMITS + 3;
    assert!(catch_unwind(AssertUnwindSafe(|| semaphore.add_permits(too_many))).is_err());
    assert!(poll_once(waiter.as_mut(), Waker::noop()).is_pending());
    semaphore.add_permits(Semaphore::MAX_PERMITS);
    let Poll::Ready(Ok(permit)) = poll_once(waiter.as_mut(), Waker::noop()) else {
        panic!("there are enough")
    };
    assert_eq!(semaphore.available_permits(), Semaphore::MAX_PERMITS - 2);
    permit.forget();
}

#[test]
fn a_bound_counts_what_no_waiter_takes() {
    let semaphore = Semaphore::new(2);
    assert!(semaphore.add_permits_within(1, 2).is_err());
    assert!(semaphore.add_permits_within(0, 0).is_ok());
    assert!(
        semaphore
            .add_permits_within(usize::MAX, usize::MAX)
            .is_err()
    );
    assert_eq!(semaphore.available_permits(), 2);
    {
        let mut waiter = pin!(semaphore.acquire_many(5));
        assert!(poll_once(waiter.as_mut(), Waker::noop()).is_pending());
        // Three more go to the waiter, and two are left.
        assert!(semaphore.add_permits_within(6, 2).is_err());
        assert!(semaphore.add_permits_within(5, 2).is_ok());
        let Poll::Ready(Ok(permits)) = poll_once(waiter.as_mut(), Waker::noop()) else {
            panic!("it has its permits");
        };
        assert_eq!(
            (permits.num_permits(), semaphore.available_permits()),
            (5, 2)
        );
    }
    assert_eq!(semaphore.available_permits(), 7);
    assert!(semaphore.add_permits_within(1, 7).is_err());
    assert!(semaphore.add_permits_within(1, 8).is_ok());
}

/// A guard that brings too many back says so, and the surplus is dropped.
#[test]
fn what_comes_back_to_a_full_semaphore_is_dropped() {
    for n in [1, 1 << 20] {
        let semaphore = Semaphore::new(Semaphore::MAX_PERMITS);
        let permit = semaphore.try_acquire_many(n).unwrap();
        semaphore.add_permits(n as usize);
        assert!(catch_unwind(AssertUnwindSafe(|| drop(permit))).is_err());
        assert_eq!(semaphore.available_permits(), Semaphore::MAX_PERMITS);
        assert!(!semaphore.is_closed());
    }
}

#[test]
fn the_last_owner_may_be_a_permit() {
    let permit = Arc::new(Semaphore::new(1)).try_acquire_owned().unwrap();
    elsewhere(move || drop(permit));
}

/// The sizes of the locks and of their futures, where a pointer has 64 bits. Records and spans make
/// them larger.
#[test]
#[cfg(target_pointer_width = "64")]
fn sizes() {
    use blitz_io_observe::{IS_ENABLED, IS_TRACED};

    if IS_ENABLED || IS_TRACED {
        return;
    }
    use std::mem::{size_of, size_of_val};

    use blitz_io_sync::task::{Mutex, RwLock};

    assert_eq!(size_of::<Semaphore>(), 48);
    assert_eq!(size_of::<Mutex<()>>(), 48);
    assert_eq!(size_of::<RwLock<()>>(), 56);
    let (semaphore, mutex, lock) = (Semaphore::new(1), Mutex::new(()), RwLock::new(()));
    assert!(size_of_val(&semaphore.acquire()) <= 112);
    assert!(size_of_val(&mutex.lock()) <= 112);
    assert!(size_of_val(&lock.read()) <= 112);
    assert!(size_of_val(&lock.write()) <= 112);
}

#[test]
fn a_thread_waits_for_a_permit_no_longer_than_it_wants() {
    let _watchdog = Watchdog::new("a thread waits no longer than it wants");
    let semaphore = Semaphore::new(1);
    let past = Instant::now();
    // A permit that is free is had after the deadline, too.
    let permit = semaphore.blocking_acquire_deadline(past).unwrap();
    let refused = Err(TryAcquireError::NoPermits);
    assert_eq!(semaphore.blocking_acquire_deadline(past).map(drop), refused);
    let none = semaphore.blocking_acquire_timeout(Duration::ZERO);
    assert_eq!(none.map(drop), refused);
    let began = Instant::now();
    assert_eq!(
        semaphore.blocking_acquire_timeout(ms(20)).map(drop),
        refused
    );
    assert!(began.elapsed() >= ms(20));
    thread::scope(|scope| {
        let waiters = [Duration::MAX, LONG].map(|timeout| {
            let semaphore = &semaphore;
            scope.spawn(move || semaphore.blocking_acquire_timeout(timeout).map(drop))
        });
        thread::sleep(threads::A_WHILE);
        drop(permit);
        assert_eq!(
            waiters.map(|waiter| waiter.join().unwrap()),
            [Ok(()), Ok(())]
        );
    });
    // Those that gave up have left the queue.
    assert_eq!(semaphore.available_permits(), 1);
    thread::scope(|scope| {
        let waiter = scope.spawn(|| semaphore.blocking_acquire_many_timeout(2, LONG).map(drop));
        thread::sleep(threads::A_WHILE);
        semaphore.close();
        assert_eq!(waiter.join().unwrap(), Err(TryAcquireError::Closed));
    });
    let closed = semaphore.blocking_acquire_many_deadline(1, past);
    assert_eq!(closed.map(drop), Err(TryAcquireError::Closed));
}

/// It wants more than there is, and the one behind it less.
#[test]
fn a_thread_that_gives_up_lets_those_behind_it_proceed() {
    let _watchdog = Watchdog::new("a thread that gives up");
    let semaphore = Semaphore::new(1);
    thread::scope(|scope| {
        let greedy = scope.spawn(|| semaphore.blocking_acquire_many_timeout(2, ms(50)).map(drop));
        while semaphore.available_permits() == 1 && !greedy.is_finished() {
            thread::yield_now();
        }
        let modest = semaphore.blocking_acquire().unwrap();
        assert_eq!(greedy.join().unwrap(), Err(TryAcquireError::NoPermits));
        drop(modest);
    });
    assert_eq!(semaphore.available_permits(), 1);
}
