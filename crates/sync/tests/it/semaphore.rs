//! `Semaphore`: the methods one by one, and the ways in which permits could get
//! lost or be doubled.

use blitz_io_testing::threads;

use std::error::Error;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use blitz_io_sync::thread::{
    AcquireError, OverRelease, OwnedSemaphorePermit, Semaphore, SemaphorePermit, TryAcquireError,
};
use blitz_io_testing::threads::{A_WHILE, Watchdog, eventually, is_stuck, sleeping};

const MAX: usize = Semaphore::MAX_PERMITS;

fn message(panic: Box<dyn std::any::Any + Send>) -> String {
    match panic.downcast::<String>() {
        Ok(message) => *message,
        Err(panic) => panic.downcast::<&str>().unwrap().to_string(),
    }
}

#[test]
fn bounds_and_texts() {
    fn check<T: Send + Sync>() {}
    check::<Semaphore>();
    check::<SemaphorePermit<'static>>();
    check::<OwnedSemaphorePermit>();
    fn check_error<T: Error + Copy + Eq + Send + Sync + 'static>() {}
    check_error::<AcquireError>();
    check_error::<TryAcquireError>();
    check_error::<OverRelease>();

    static SEMAPHORE: Semaphore = Semaphore::new(3);
    assert_eq!(
        format!("{SEMAPHORE:?}"),
        "Semaphore { permits: 3, closed: false }"
    );
    let permit = SEMAPHORE.acquire_many(2).unwrap();
    assert!(format!("{permit:?}").contains("permits: 2"));
    SEMAPHORE.close();
    assert_eq!(
        format!("{SEMAPHORE:?}"),
        "Semaphore { permits: 1, closed: true }"
    );
    let closed = SEMAPHORE.acquire().unwrap_err();
    assert_eq!(closed.to_string(), "semaphore closed");
    assert_eq!(TryAcquireError::Closed.to_string(), closed.to_string());
    let empty = Semaphore::new(0);
    let none = empty.try_acquire().unwrap_err();
    assert_eq!(none, TryAcquireError::NoPermits);
    assert_eq!(none.to_string(), "no permits available");
    let bounded = Semaphore::new(2);
    assert!(bounded.add_permits_within(1, 2).is_err());
    bounded.acquire_many(2).unwrap().forget();
    assert_eq!(bounded.add_permits_within(2, 2), Ok(()));
    assert_eq!(bounded.add_permits_within(0, 0), Ok(()));
    assert!(bounded.add_permits_within(usize::MAX, usize::MAX).is_err());
    assert_eq!(bounded.available_permits(), 2);
    let over = Semaphore::new(MAX).try_add_permits(1).unwrap_err();
    assert!(over.to_string().contains("MAX_PERMITS"));
}

#[test]
fn permits_go_out_and_come_back() {
    let semaphore = Semaphore::new(5);
    let one = semaphore.acquire().unwrap();
    let two = semaphore.acquire_many(2).unwrap();
    assert_eq!((one.num_permits(), two.num_permits()), (1, 2));
    assert_eq!(semaphore.available_permits(), 2);
    let last = semaphore.try_acquire_many(2).unwrap();
    assert_eq!(semaphore.available_permits(), 0);
    assert_eq!(
        semaphore.try_acquire().unwrap_err(),
        TryAcquireError::NoPermits
    );
    drop(two);
    assert_eq!(
        semaphore.try_acquire_many(3).unwrap_err(),
        TryAcquireError::NoPermits
    );
    assert_eq!(semaphore.available_permits(), 2);
    drop(semaphore.try_acquire().unwrap());
    drop((one, last));
    assert_eq!(semaphore.available_permits(), 5);
}

#[test]
fn none_at_all_is_always_to_be_had() {
    let semaphore = Semaphore::new(0);
    assert_eq!(semaphore.acquire_many(0).unwrap().num_permits(), 0);
    drop(semaphore.try_acquire_many(0).unwrap());
    drop(semaphore.acquire_many_timeout(0, Duration::ZERO).unwrap());
    semaphore.add_permits(0);
    semaphore.try_add_permits(0).unwrap();
    assert_eq!(semaphore.forget_permits(0), 0);
    assert_eq!(semaphore.available_permits(), 0);
    semaphore.close();
    assert!(semaphore.acquire_many(0).is_err());
}

#[test]
fn forgotten_permits_do_not_come_back() {
    let semaphore = Arc::new(Semaphore::new(6));
    semaphore.acquire_many(2).unwrap().forget();
    assert_eq!(semaphore.available_permits(), 4);
    semaphore.clone().acquire_owned().unwrap().forget();
    assert_eq!(semaphore.available_permits(), 3);
    assert_eq!(Arc::strong_count(&semaphore), 1);
    assert_eq!(semaphore.forget_permits(2), 2);
    assert_eq!(semaphore.forget_permits(2), 1);
    assert_eq!(semaphore.forget_permits(usize::MAX), 0);
    semaphore.add_permits(1);
    assert_eq!(semaphore.available_permits(), 1);
}

#[test]
fn permits_can_be_split_and_merged() {
    let semaphore = Semaphore::new(10);
    let mut all = semaphore.acquire_many(5).unwrap();
    let two = all.split(2).unwrap();
    assert_eq!((all.num_permits(), two.num_permits()), (3, 2));
    assert!(all.split(4).is_none());
    assert!(all.split(usize::MAX).is_none());
    assert_eq!(all.num_permits(), 3);
    let rest = all.split(3).unwrap();
    let nothing = all.split(0).unwrap();
    assert_eq!((all.num_permits(), nothing.num_permits()), (0, 0));
    assert_eq!(semaphore.available_permits(), 5);
    all.merge(two);
    all.merge(rest);
    all.merge(nothing);
    assert_eq!(all.num_permits(), 5);
    assert_eq!(semaphore.available_permits(), 5);
    drop(all);
    assert_eq!(semaphore.available_permits(), 10);
}

#[test]
fn owned_permits_can_be_split_and_merged() {
    let semaphore = Arc::new(Semaphore::new(4));
    let mut all = semaphore.clone().try_acquire_many_owned(3).unwrap();
    assert!(Arc::ptr_eq(all.semaphore(), &semaphore));
    assert!(all.split(4).is_none());
    let one = all.split(1).unwrap();
    assert_eq!((all.num_permits(), one.num_permits()), (2, 1));
    drop(one);
    assert_eq!(semaphore.available_permits(), 2);
    all.merge(semaphore.clone().try_acquire_owned().unwrap());
    assert_eq!(all.num_permits(), 3);
    assert!(semaphore.clone().try_acquire_many_owned(2).is_err());
    drop(all);
    assert_eq!(semaphore.available_permits(), 4);
    assert_eq!(Arc::strong_count(&semaphore), 1);
}

#[test]
fn owned_permits_keep_the_semaphore_alive() {
    let semaphore = Arc::new(Semaphore::new(2));
    let weak = Arc::downgrade(&semaphore);
    let permit = semaphore.clone().acquire_many_owned(2).unwrap();
    drop(semaphore);
    assert_eq!(weak.upgrade().unwrap().available_permits(), 0);
    thread::spawn(move || drop(permit)).join().unwrap();
    assert!(weak.upgrade().is_none());
}

/// And nothing is lost in the panic.
#[test]
fn permits_of_two_semaphores_do_not_merge() {
    let (a, b) = (Arc::new(Semaphore::new(2)), Arc::new(Semaphore::new(3)));
    let merged = catch_unwind(AssertUnwindSafe(|| {
        let mut ours = a.acquire().unwrap();
        ours.merge(b.acquire().unwrap());
    }));
    assert!(message(merged.unwrap_err()).contains("different semaphore"));
    let merged = catch_unwind(AssertUnwindSafe(|| {
        let mut ours = a.clone().acquire_owned().unwrap();
        ours.merge(b.clone().acquire_owned().unwrap());
    }));
    assert!(message(merged.unwrap_err()).contains("different semaphore"));
    assert_eq!((a.available_permits(), b.available_permits()), (2, 3));
}

#[test]
fn as_many_as_it_holds_and_no_more() {
    assert_eq!(Semaphore::new(MAX).available_permits(), MAX);
    for permits in [MAX + 1, usize::MAX] {
        let panic = catch_unwind(|| drop(Semaphore::new(permits))).unwrap_err();
        assert!(message(panic).contains("MAX_PERMITS"));
    }
}

/// Also not for a moment: a thread that takes and gives back all the time, and
/// would see the damage, does not.
#[test]
fn adding_too_many_leaves_it_as_it_was() {
    for (permits, more) in [
        (MAX, 1),
        (MAX, usize::MAX),
        (1, MAX),
        (1, usize::MAX),
        (0, MAX + 1),
    ] {
        let semaphore = Semaphore::new(permits);
        semaphore.try_add_permits(more).unwrap_err();
        assert_eq!(semaphore.available_permits(), permits);
        let panic = catch_unwind(AssertUnwindSafe(|| semaphore.add_permits(more))).unwrap_err();
        assert!(message(panic).contains("MAX_PERMITS"));
        assert_eq!(semaphore.available_permits(), permits);
        assert!(!semaphore.is_closed());
        semaphore.try_add_permits(MAX - permits).unwrap();
        assert_eq!(semaphore.available_permits(), MAX);
    }
    let semaphore = Semaphore::new(MAX - 1);
    thread::scope(|scope| {
        let adder = scope.spawn(|| {
            for _ in 0..10_000 {
                semaphore.try_add_permits(2).unwrap_err();
            }
        });
        while !adder.is_finished() {
            assert_eq!(semaphore.available_permits(), MAX - 1);
        }
    });
}

/// Permits that come back to a semaphore that others have filled since.
#[test]
fn what_comes_back_always_fits() {
    let semaphore = Semaphore::new(MAX);
    let permits = semaphore.acquire_many(3).unwrap();
    semaphore.add_permits(2);
    drop(permits);
    assert_eq!(semaphore.available_permits(), MAX + 2);
    assert!(!semaphore.is_closed());
    // Above the limit, nothing can be added.
    assert!(semaphore.try_add_permits(1).is_err());
    assert_eq!(semaphore.forget_permits(3), 3);
    semaphore.add_permits(1);
    assert_eq!(semaphore.available_permits(), MAX);
    drop(semaphore.try_acquire().unwrap());
}

#[test]
fn a_deadline_in_the_past_is_one_attempt() {
    let _watchdog = Watchdog::new("deadlines in the past");
    let past = Instant::now();
    thread::sleep(Duration::from_millis(1));
    let semaphore = Semaphore::new(2);
    drop(semaphore.acquire_deadline(past).unwrap());
    drop(semaphore.acquire_timeout(Duration::ZERO).unwrap());
    let both = semaphore.acquire_many_deadline(2, past).unwrap();
    let none = TryAcquireError::NoPermits;
    assert_eq!(semaphore.acquire_deadline(past).unwrap_err(), none);
    assert_eq!(semaphore.acquire_timeout(Duration::ZERO).unwrap_err(), none);
    assert_eq!(semaphore.acquire_many_deadline(2, past).unwrap_err(), none);
    let failed = semaphore.acquire_many_timeout(2, Duration::ZERO);
    assert_eq!(failed.unwrap_err(), none);
    drop(both);
    drop(semaphore.acquire_many_timeout(2, Duration::ZERO).unwrap());
}

/// Also when it is far behind the moment at which a thread loses patience.
#[test]
fn a_timed_wait_lasts_as_long_as_it_says() {
    let semaphore = Semaphore::new(1);
    for timeout in [Duration::from_micros(300), Duration::from_millis(30)] {
        let began = Instant::now();
        let failed = semaphore.acquire_many_timeout(2, timeout);
        assert_eq!(failed.unwrap_err(), TryAcquireError::NoPermits);
        assert!(began.elapsed() >= timeout);
        // A thread that has left keeps no other away.
        drop(semaphore.try_acquire().unwrap());
    }
    assert_eq!(semaphore.available_permits(), 1);
}

#[test]
fn the_longest_time_is_for_ever() {
    let _watchdog = Watchdog::new("the longest time");
    let semaphore = Semaphore::new(0);
    thread::scope(|scope| {
        let waiters = [
            sleeping(scope, || semaphore.acquire_timeout(Duration::MAX).is_ok()),
            sleeping(scope, || {
                semaphore.acquire_many_timeout(2, Duration::MAX).is_ok()
            }),
        ];
        assert!(is_stuck(&waiters[0]) && is_stuck(&waiters[1]));
        semaphore.add_permits(2);
        for waiter in waiters {
            assert!(waiter.join().unwrap());
        }
    });
    assert_eq!(semaphore.available_permits(), 2);
}

#[test]
fn a_release_reaches_a_sleeper() {
    let _watchdog = Watchdog::new("one sleeper");
    let semaphore = Semaphore::new(1);
    thread::scope(|scope| {
        for _ in 0..20 {
            let permit = semaphore.acquire().unwrap();
            let sleeper = sleeping(scope, || drop(semaphore.acquire().unwrap()));
            assert!(!sleeper.is_finished());
            drop(permit);
            sleeper.join().unwrap();
        }
    });
    assert_eq!(semaphore.available_permits(), 1);
}

#[test]
fn closing_wakes_all_sleepers() {
    let _watchdog = Watchdog::new("closing");
    let semaphore = Arc::new(Semaphore::new(2));
    let permit = semaphore.acquire().unwrap();
    thread::scope(|scope| {
        let sleepers: Vec<_> = (0..8u32)
            .map(|i| {
                let semaphore = semaphore.clone();
                sleeping(scope, move || match i % 4 {
                    0 => semaphore.acquire_many(2 + i).map(drop).is_err(),
                    1 => semaphore.acquire_many_owned(2 + i).is_err(),
                    2 => {
                        semaphore.acquire_many_timeout(2, Duration::MAX).map(drop)
                            == Err(TryAcquireError::Closed)
                    }
                    _ => {
                        let deadline = Instant::now() + Duration::from_secs(3600);
                        semaphore.acquire_many_deadline(2, deadline).map(drop)
                            == Err(TryAcquireError::Closed)
                    }
                })
            })
            .collect();
        semaphore.close();
        for sleeper in sleepers {
            assert!(sleeper.join().unwrap());
        }
    });
    assert!(semaphore.is_closed());
    drop(permit);
    assert_eq!(semaphore.available_permits(), 2);
}

#[test]
fn a_closed_one_gives_nothing_and_takes_all_back() {
    let semaphore = Arc::new(Semaphore::new(3));
    let out = semaphore.acquire_many(2).unwrap();
    assert!(!semaphore.is_closed());
    semaphore.close();
    semaphore.close();
    let closed = TryAcquireError::Closed;
    assert_eq!(semaphore.try_acquire().unwrap_err(), closed);
    assert_eq!(semaphore.try_acquire_many(9).unwrap_err(), closed);
    assert_eq!(semaphore.acquire_timeout(A_WHILE).unwrap_err(), closed);
    let past = Instant::now();
    assert_eq!(semaphore.acquire_deadline(past).unwrap_err(), closed);
    assert_eq!(semaphore.clone().try_acquire_owned().unwrap_err(), closed);
    assert!(semaphore.acquire().is_err());
    assert!(semaphore.clone().acquire_owned().is_err());
    drop(out);
    assert_eq!(semaphore.available_permits(), 3);
    semaphore.add_permits(2);
    assert_eq!(semaphore.forget_permits(9), 5);
    assert!(semaphore.is_closed());
}

/// Sleepers that want different amounts, in each order, and permits that come in portions of each
/// size. When there are as many as all want together, no thread may be left sleeping. A release
/// that wakes one sleeper for each permit, or always the first, leaves some.
#[test]
fn sleepers_that_want_different_amounts() {
    let _watchdog = Watchdog::new("different amounts");
    let requests = (1..=3).flat_map(|a| (1..=3).flat_map(move |b| (1..=3).map(move |c| [a, b, c])));
    for (round, requests) in requests.enumerate() {
        let semaphore = Semaphore::new(0);
        let portion = 1 + round % 3;
        let total = requests.iter().sum::<u32>() as usize;
        thread::scope(|scope| {
            for request in requests {
                sleeping(scope, {
                    let semaphore = &semaphore;
                    move || semaphore.acquire_many(request).unwrap().forget()
                });
            }
            let mut added = 0;
            while added < total {
                let n = portion.min(total - added);
                semaphore.add_permits(n);
                added += n;
            }
        });
        assert_eq!(semaphore.available_permits(), 0, "{requests:?}");
    }
}

/// Newcomers before any thread has waited too long, at random moments.
#[test]
fn newcomers_that_want_different_amounts() {
    let _watchdog = Watchdog::new("newcomers");
    let mut random = threads::Random::new(11);
    let semaphore = Semaphore::new(0);
    for _ in 0..300 {
        let requests = [(); 3].map(|()| 1 + random.below(3) as u32);
        thread::scope(|scope| {
            for request in requests {
                let semaphore = &semaphore;
                scope.spawn(move || semaphore.acquire_many(request).unwrap().forget());
            }
            for _ in 0..requests.iter().sum() {
                threads::work(Duration::from_micros(random.below(100)));
                semaphore.add_permits(1);
            }
        });
        assert_eq!(semaphore.available_permits(), 0);
    }
}

/// A sleeper that has been chosen and gives up at the same moment passes the
/// permit on: whatever the hasty ones do, the patient one gets it.
#[test]
fn giving_up_passes_the_permit_on() {
    let _watchdog = Watchdog::new("giving up");
    let mut random = threads::Random::new(3);
    for _ in 0..300 {
        let semaphore = Semaphore::new(0);
        let delay = Duration::from_micros(900 + random.below(400));
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| drop(semaphore.acquire_timeout(Duration::from_millis(1))));
            }
            scope.spawn(|| drop(semaphore.acquire().unwrap()));
            threads::work(delay);
            semaphore.add_permits(1);
        });
        assert_eq!(semaphore.available_permits(), 1);
        drop(semaphore.try_acquire().unwrap());
    }
}

/// After a thread that has waited too long has left, in whatever way, newcomers may take permits
/// past sleepers again.
#[test]
fn patience_comes_back() {
    let _watchdog = Watchdog::new("patience");
    let semaphore = Semaphore::new(1);
    let wait = || semaphore.acquire_many_timeout(2, Duration::from_millis(20));
    thread::scope(|scope| {
        let waiters = [scope.spawn(wait), scope.spawn(wait)];
        for waiter in waiters {
            assert!(waiter.join().unwrap().is_err());
        }
    });
    drop(semaphore.try_acquire().unwrap());

    thread::scope(|scope| {
        let sleeper = sleeping(scope, || drop(semaphore.acquire_many(2).unwrap()));
        // When it has been waiting for too long, no thread gets past it.
        let failed = Err(TryAcquireError::NoPermits);
        eventually(|| semaphore.try_acquire().map(drop) == failed);
        semaphore.add_permits(1);
        sleeper.join().unwrap();
    });
    drop(semaphore.try_acquire_many(2).unwrap());
}

/// Threads that have waited for long are served in the order in which they came.
#[test]
fn the_late_are_served_in_turn() {
    let _watchdog = Watchdog::new("in turn");
    let semaphore = Semaphore::new(0);
    let turn = AtomicUsize::new(0);
    thread::scope(|scope| {
        let sleepers: Vec<_> = (0..5u32)
            .map(|i| {
                let (semaphore, turn) = (&semaphore, &turn);
                let sleeper = sleeping(scope, move || {
                    let permits = semaphore.acquire_many(1 + i % 2).unwrap();
                    let mine = turn.fetch_add(1, Ordering::Relaxed);
                    permits.forget();
                    mine
                });
                thread::sleep(Duration::from_millis(3));
                sleeper
            })
            .collect();
        for (i, _) in sleepers.iter().enumerate() {
            semaphore.add_permits(1 + i % 2);
            eventually(|| turn.load(Ordering::Relaxed) > i);
        }
        for (i, sleeper) in sleepers.into_iter().enumerate() {
            assert_eq!(sleeper.join().unwrap(), i);
        }
    });
}

/// A thread that takes a permit sees the work before its return.
#[test]
fn permits_carry_news() {
    let _watchdog = Watchdog::new("news");
    let (full, empty) = (Semaphore::new(0), Semaphore::new(1));
    let slot = AtomicUsize::new(0);
    thread::scope(|scope| {
        scope.spawn(|| {
            for i in 0..20_000 {
                empty.acquire().unwrap().forget();
                slot.store(i, Ordering::Relaxed);
                full.add_permits(1);
            }
        });
        for i in 0..20_000 {
            full.acquire().unwrap().forget();
            assert_eq!(slot.load(Ordering::Relaxed), i);
            empty.add_permits(1);
        }
    });
    assert_eq!(slot.into_inner(), 19_999);
}
