//! `Parker`: one token, however many hands give it.

use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use blitz_io_sync::thread::{Parker, Unparker};
use blitz_io_testing::threads::{
    A_WHILE, PATIENCE, Stop, StopAtEnd, ThreadName, Watchdog, is_stuck,
};

#[test]
fn bounds_and_texts() {
    fn check<T: Send + UnwindSafe>() {}
    check::<Parker>();
    check::<Unparker>();
    fn check_shared<T: Send + Sync + UnwindSafe + RefUnwindSafe + Clone>() {}
    check_shared::<Unparker>();
    let parker = Parker::default();
    assert_eq!(format!("{parker:?}"), "Parker { .. }");
    assert_eq!(format!("{:?}", parker.unparker()), "Unparker { .. }");
}

#[test]
fn a_token_waits_for_the_park() {
    let parker = Parker::new();
    parker.unparker().unpark();
    parker.park();
    parker.unparker().unpark();
    assert!(parker.park_timeout(PATIENCE));
    parker.unparker().unpark();
    assert!(parker.park_deadline(Instant::now() + PATIENCE));
    assert!(!parker.park_timeout(Duration::ZERO));
}

/// However many: also a power of two, whose low bits are all zero.
#[test]
fn many_unparks_are_one_token() {
    let parker = Parker::new();
    for unparks in (0..18).map(|k| 1 << k).chain([3, 7, 255, 257]) {
        for _ in 0..unparks {
            parker.unparker().unpark();
        }
        assert!(parker.park_timeout(Duration::ZERO), "{unparks}");
        assert!(!parker.park_timeout(Duration::ZERO), "{unparks}");
    }
}

#[test]
fn a_deadline_in_the_past_takes_a_token_that_is_there() {
    let parker = Parker::new();
    let past = Instant::now();
    assert!(!parker.park_deadline(past));
    assert!(!parker.park_timeout(Duration::ZERO));
    parker.unparker().unpark();
    assert!(parker.park_deadline(past));
    assert!(!parker.park_deadline(past));
    parker.unparker().unpark();
    assert!(parker.park_timeout(Duration::ZERO));
    assert!(!parker.park_timeout(Duration::ZERO));
}

#[test]
fn a_timed_park_lasts_as_long_as_it_says() {
    let parker = Parker::new();
    for timeout in [Duration::from_micros(20), Duration::from_millis(10)] {
        let began = Instant::now();
        assert!(!parker.park_timeout(timeout));
        assert!(began.elapsed() >= timeout);
        let began = Instant::now();
        assert!(!parker.park_deadline(began + timeout));
        assert!(began.elapsed() >= timeout);
    }
    // A time-out takes no token from the next park.
    parker.unparker().unpark();
    parker.park();
}

/// Each kind of park, asleep, is woken.
#[test]
fn sleeping_threads_are_woken() {
    let _watchdog = Watchdog::new("sleeping parkers");
    let kinds: [fn(&Parker) -> bool; 3] = [
        |parker| {
            parker.park();
            true
        },
        |parker| parker.park_timeout(Duration::MAX),
        |parker| parker.park_deadline(Instant::now() + Duration::from_secs(3600)),
    ];
    for kind in kinds {
        for _ in 0..10 {
            let parker = Parker::new();
            let unparker = parker.unparker().clone();
            let (name, told) = mpsc::channel();
            let thread = thread::spawn(move || {
                name.send(ThreadName::current()).unwrap();
                kind(&parker) && !parker.park_timeout(Duration::ZERO)
            });
            told.recv().unwrap().until_asleep();
            assert!(!thread.is_finished());
            unparker.unpark();
            assert!(thread.join().unwrap());
        }
    }
}

#[test]
fn it_can_be_moved_between_threads() {
    let _watchdog = Watchdog::new("moved parker");
    let mut parker = Parker::new();
    let unparker = parker.unparker().clone();
    for i in 0..50 {
        let before = i % 2 == 0;
        if before {
            unparker.unpark();
        }
        let thread = thread::spawn(move || {
            parker.park();
            parker
        });
        if !before {
            unparker.unpark();
        }
        parker = thread.join().unwrap();
        assert!(!parker.park_timeout(Duration::ZERO));
    }
}

#[test]
fn either_end_may_go_first() {
    let _watchdog = Watchdog::new("either end");
    let parker = Parker::new();
    let unparkers = [parker.unparker().clone(), parker.unparker().clone()];
    drop(parker);
    unparkers[0].unpark();
    drop(unparkers);

    let parker = Parker::new();
    let unparker = parker.unparker().clone();
    thread::spawn(move || unparker.unpark()).join().unwrap();
    parker.park();
    assert!(!parker.park_timeout(Duration::ZERO));

    // Or both at once: the parker goes as soon as it has the token.
    for _ in 0..300 {
        let parker = Parker::new();
        let unparker = parker.unparker().clone();
        let thread = thread::spawn(move || parker.park());
        unparker.unpark();
        drop(unparker);
        thread.join().unwrap();
    }
}

/// Each of two threads answers each token with one: none is lost, and none is
/// made up.
#[test]
fn ping_pong() {
    const ROUNDS: usize = 100_000;
    let _watchdog = Watchdog::new("ping-pong");
    let (ping, pong) = (Parker::new(), Parker::new());
    let (to_ping, to_pong) = (ping.unparker().clone(), pong.unparker().clone());
    let ball = AtomicUsize::new(0);
    thread::scope(|scope| {
        let ball = &ball;
        scope.spawn(move || {
            for i in 0..ROUNDS {
                pong.park();
                assert_eq!(ball.load(Ordering::Relaxed), 2 * i + 1);
                ball.store(2 * i + 2, Ordering::Relaxed);
                to_ping.unpark();
            }
            assert!(!pong.park_timeout(Duration::ZERO));
        });
        for i in 0..ROUNDS {
            ball.store(2 * i + 1, Ordering::Relaxed);
            to_pong.unpark();
            ping.park();
            assert_eq!(ball.load(Ordering::Relaxed), 2 * i + 2);
        }
    });
    assert_eq!(ball.into_inner(), 2 * ROUNDS);
}

/// Plays `ping_pong` with pauses, so that the threads fall asleep.
#[test]
fn slow_ping_pong() {
    let _watchdog = Watchdog::new("slow ping-pong");
    let (ping, pong) = (Parker::new(), Parker::new());
    let (to_ping, to_pong) = (ping.unparker().clone(), pong.unparker().clone());
    thread::scope(|scope| {
        scope.spawn(move || {
            for _ in 0..500 {
                pong.park();
                thread::sleep(Duration::from_micros(100));
                to_ping.unpark();
            }
        });
        for _ in 0..500 {
            to_pong.unpark();
            ping.park();
        }
        assert!(!ping.park_timeout(Duration::ZERO));
    });
}

/// Eight threads count up and unpark; the waiting thread parks until it sees the sum. Each token
/// brings the work of its giver, also a token that finds another one stored.
#[test]
fn every_token_brings_its_news() {
    const THREADS: usize = 8;
    let _watchdog = Watchdog::new("news");
    for _ in 0..200 {
        let parker = Parker::new();
        let sum = AtomicUsize::new(0);
        thread::scope(|scope| {
            for _ in 0..THREADS {
                let unparker = parker.unparker().clone();
                let sum = &sum;
                scope.spawn(move || {
                    sum.fetch_add(1, Ordering::Relaxed);
                    unparker.unpark();
                });
            }
            while sum.load(Ordering::Relaxed) < THREADS {
                parker.park();
            }
        });
        // One token at most is left of all of them.
        parker.park_timeout(Duration::ZERO);
        assert!(!parker.park_timeout(Duration::ZERO));
    }
}

/// A value that is no atomic of its own is seen by the thread that parked.
#[test]
fn a_token_publishes_what_was_written_before() {
    let _watchdog = Watchdog::new("publication");
    struct Cell(std::cell::UnsafeCell<usize>);
    // SAFETY: it is written before the token is given, read after it has been taken, and written
    // again only after the answer. The test checks that.
    unsafe impl Sync for Cell {}

    let (there, back) = (Parker::new(), Parker::new());
    let (to_there, to_back) = (there.unparker().clone(), back.unparker().clone());
    let cell = Arc::new(Cell(std::cell::UnsafeCell::new(0)));
    let reader = {
        let cell = cell.clone();
        thread::spawn(move || {
            for i in 0..10_000 {
                there.park();
                // SAFETY: the writer waits for our answer.
                assert_eq!(unsafe { *cell.0.get() }, i);
                to_back.unpark();
            }
        })
    };
    for i in 0..10_000 {
        // SAFETY: the reader waits for the token.
        unsafe { *cell.0.get() = i };
        to_there.unpark();
        back.park();
    }
    reader.join().unwrap();
}

/// A park does not end without a token, also not while other parkers' threads
/// come and go and signal.
#[test]
fn no_park_ends_without_a_token() {
    let _watchdog = Watchdog::new("no token");
    let stop = Stop::default();
    thread::scope(|scope| {
        let _stop = StopAtEnd(&stop);
        scope.spawn(|| {
            while !stop.is_set() {
                let parker = Parker::new();
                parker.unparker().unpark();
                parker.park();
                assert!(!parker.park_timeout(Duration::from_micros(70)));
            }
        });
        let parker = Parker::new();
        let unparker = parker.unparker().clone();
        let given = AtomicBool::new(false);
        let given = &given;
        for _ in 0..10 {
            let (back, parked) = mpsc::channel();
            thread::scope(|scope| {
                let parker = &parker;
                let sleeper = {
                    let lend = Lend(parker);
                    scope.spawn(move || {
                        lend.park();
                        assert!(given.swap(false, Ordering::Relaxed));
                        back.send(()).unwrap();
                    })
                };
                assert!(is_stuck(&sleeper));
                given.store(true, Ordering::Relaxed);
                unparker.unpark();
                parked.recv().unwrap();
            });
        }
    });

    struct Lend<'a>(&'a Parker);
    // SAFETY: only the thread that it is lent to parks, until it ends.
    unsafe impl Send for Lend<'_> {}
    impl Lend<'_> {
        fn park(&self) {
            self.0.park();
        }
    }
}

/// Tokens from several hands while the thread parks, with and without a
/// deadline. A park that says that no token came has waited until its deadline.
#[test]
fn nobody_is_sent_away_early() {
    let _watchdog = Watchdog::new("sent away early");
    let stop = Stop::default();
    let parker = Parker::new();
    thread::scope(|scope| {
        let _stop = StopAtEnd(&stop);
        for i in 0..4 {
            let unparker = parker.unparker().clone();
            let stop = &stop;
            scope.spawn(move || {
                while !stop.is_set() {
                    unparker.unpark();
                    thread::sleep(Duration::from_micros(30 + 40 * i));
                }
            });
        }
        let began = Instant::now();
        while began.elapsed() < 25 * A_WHILE {
            assert!(parker.park_timeout(PATIENCE));
            let deadline = Instant::now() + Duration::from_micros(60);
            assert!(parker.park_deadline(deadline) || Instant::now() >= deadline);
        }
    });
}
