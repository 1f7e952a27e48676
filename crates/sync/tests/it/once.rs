//! `Once`: the promises of the standard library and `parking_lot` for theirs, and the particular
//! features of this one.

use blitz_io_observe::IS_ENABLED;
use blitz_io_sync::thread::{Once, OnceState};
use std::cell::UnsafeCell;
use std::panic::{AssertUnwindSafe, RefUnwindSafe, UnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Barrier, mpsc};
use std::thread;
use std::time::{Duration, Instant};

const THREADS: usize = 8;
/// Long enough for a thread that is going to sleep to have fallen asleep.
const A_WHILE: Duration = Duration::from_millis(20);

/// Panics without a message on the terminal.
fn fail() -> ! {
    resume_unwind(Box::new("on purpose"))
}

/// Runs `f`, which must panic, and returns its message.
fn panic_message<R>(f: impl FnOnce() -> R) -> String {
    let Err(payload) = catch_unwind(AssertUnwindSafe(f)) else {
        panic!("this should have panicked");
    };
    match payload.downcast::<String>() {
        Ok(message) => *message,
        Err(payload) => (*payload.downcast::<&str>().expect("a message")).to_string(),
    }
}

fn poison(once: &Once) {
    assert_eq!(panic_message(|| once.call_once(|| fail())), "on purpose");
}

#[test]
fn runs_once() {
    static ONCE: Once = Once::new();
    let mut runs = 0;
    ONCE.call_once(|| runs += 1);
    ONCE.call_once(|| runs += 1);
    ONCE.call_once_force(|_| runs += 1);
    assert_eq!(runs, 1);
    ONCE.wait();
    ONCE.wait_force();
}

#[test]
fn states() {
    let once = Once::default();
    assert_eq!(once.state(), OnceState::New);
    assert_eq!(format!("{once:?}"), "Once { state: New }");
    poison(&once);
    assert_eq!(once.state(), OnceState::Poisoned);
    assert!(once.state().poisoned() && !once.state().done());
    assert!(!once.is_completed());
    once.call_once_force(|before| {
        assert_eq!(before, OnceState::Poisoned);
        assert_eq!(once.state(), OnceState::InProgress);
        assert!(!once.is_completed());
    });
    assert_eq!(once.state(), OnceState::Done);
    assert!(once.state().done() && !once.state().poisoned());
    assert!(once.is_completed());
}

#[test]
fn the_first_force_is_told_that_it_is_the_first() {
    Once::new().call_once_force(|before| {
        assert_eq!(before, OnceState::New);
        assert!(!before.is_poisoned());
    });
}

#[test]
fn compiles_like_parking_lot() {
    static ONCE: parking_lot_names::Once = parking_lot_names::Once::new();
    mod parking_lot_names {
        pub use blitz_io_sync::thread::{Once, OnceState};
    }
    ONCE.call_once_force(|state: parking_lot_names::OnceState| match state {
        parking_lot_names::OnceState::New => {}
        other => panic!("{other:?}"),
    });
    assert!(ONCE.state().done());
}

#[test]
fn small_and_usable_everywhere() {
    fn check<T: Send + Sync + UnwindSafe + RefUnwindSafe + Unpin>() {}
    check::<Once>();
    // With the feature `inspect` it also has a pointer to the facts about it.
    if !IS_ENABLED {
        assert_eq!(size_of::<Once>(), 4);
    }
}

#[test]
fn everybody_returns_after_the_one_that_ran() {
    struct Racy(UnsafeCell<usize>);
    // SAFETY: the test checks exactly this: only the closure writes, and all reads come after it.
    unsafe impl Sync for Racy {}
    static ONCE: Once = Once::new();
    static VALUE: Racy = Racy(UnsafeCell::new(0));

    let start = Barrier::new(THREADS);
    thread::scope(|s| {
        for _ in 0..THREADS {
            s.spawn(|| {
                start.wait();
                ONCE.call_once(|| {
                    thread::sleep(A_WHILE);
                    // SAFETY: no other thread runs a closure.
                    unsafe { *VALUE.0.get() += 1 };
                });
                // SAFETY: the only write is in the closure, which has ended.
                assert_eq!(unsafe { *VALUE.0.get() }, 1);
            });
        }
    });
}

#[test]
fn poison_spreads_until_a_force_succeeds() {
    let once = Once::new();
    let message = "Once instance has previously been poisoned";
    poison(&once);
    assert_eq!(panic_message(|| once.call_once(|| unreachable!())), message);
    assert_eq!(panic_message(|| once.wait()), message);
    assert_eq!(panic_message(|| once.wait_timeout(A_WHILE)), message);
    assert_eq!(
        panic_message(|| once.call_once_force(|_| fail())),
        "on purpose"
    );
    assert_eq!(panic_message(|| once.call_once(|| unreachable!())), message);

    let mut called = false;
    once.call_once_force(|before| called = before.poisoned());
    assert!(called);
    once.call_once(|| unreachable!());
    once.wait();
}

#[test]
fn a_call_waits_for_a_force_that_is_running() {
    let once = Once::new();
    poison(&once);
    let (started, has_started) = mpsc::channel();
    let (go_on, may_go_on) = mpsc::channel();
    thread::scope(|s| {
        let once = &once;
        s.spawn(move || {
            once.call_once_force(|_| {
                started.send(()).unwrap();
                may_go_on.recv().unwrap();
            });
        });
        has_started.recv().unwrap();
        let call = s.spawn(|| once.call_once(|| unreachable!()));
        let wait = s.spawn(|| once.wait());
        thread::sleep(A_WHILE);
        assert!(!call.is_finished() && !wait.is_finished());
        go_on.send(()).unwrap();
        call.join().unwrap();
        wait.join().unwrap();
    });
}

#[test]
fn waiters_that_came_before_everything_are_released() {
    let once = Once::new();
    thread::scope(|s| {
        let waiters: Vec<_> = (0..THREADS).map(|_| s.spawn(|| once.wait())).collect();
        thread::sleep(A_WHILE);
        assert!(waiters.iter().all(|waiter| !waiter.is_finished()));
        once.call_once(|| thread::sleep(A_WHILE));
    });
}

#[test]
fn a_panic_wakes_those_who_wait() {
    let once = Once::new();
    thread::scope(|s| {
        let (started, has_started) = mpsc::channel();
        let once = &once;
        s.spawn(move || {
            let failed = catch_unwind(AssertUnwindSafe(|| {
                once.call_once(|| {
                    started.send(()).unwrap();
                    thread::sleep(2 * A_WHILE);
                    fail();
                });
            }));
            assert!(failed.is_err());
        });
        has_started.recv().unwrap();
        let patient = s.spawn(|| once.wait_force());
        let waiter = s.spawn(|| once.wait());
        let caller = s.spawn(|| once.call_once(|| ()));
        assert!(waiter.join().is_err());
        assert!(caller.join().is_err());
        thread::sleep(A_WHILE);
        assert!(!patient.is_finished());
        once.call_once_force(|_| ());
        patient.join().unwrap();
    });
}

#[test]
fn a_force_that_waits_takes_over_after_a_panic() {
    let once = Once::new();
    let runs = AtomicUsize::new(0);
    let start = Barrier::new(THREADS);
    thread::scope(|s| {
        for _ in 0..THREADS {
            s.spawn(|| {
                start.wait();
                let _ = catch_unwind(AssertUnwindSafe(|| {
                    once.call_once_force(|before| {
                        let run = runs.fetch_add(1, Ordering::Relaxed);
                        assert_eq!(before.poisoned(), run > 0);
                        thread::sleep(Duration::from_millis(2));
                        if run < THREADS - 1 {
                            fail();
                        }
                    });
                }));
            });
        }
    });
    assert_eq!(runs.into_inner(), THREADS);
    assert!(once.is_completed());
}

#[test]
fn timed_waits() {
    let once = Once::new();
    let began = Instant::now();
    assert!(!once.wait_timeout(A_WHILE));
    assert!(began.elapsed() >= A_WHILE);
    assert!(!once.wait_deadline(began));
    thread::scope(|s| {
        let for_ever = s.spawn(|| once.wait_timeout(Duration::MAX));
        let long = s.spawn(|| once.wait_deadline(Instant::now() + Duration::from_secs(600)));
        thread::sleep(A_WHILE);
        once.call_once(|| ());
        assert!(for_ever.join().unwrap());
        assert!(long.join().unwrap());
    });
    assert!(once.wait_deadline(began));
    assert!(once.wait_timeout(Duration::ZERO));
}

#[test]
fn a_closure_that_waits_for_itself_is_told() {
    let once = Once::new();
    let message = panic_message(|| once.call_once(|| once.call_once(|| ())));
    assert!(message.contains("waits for itself"), "{message}");
    assert!(once.state().poisoned());

    for wait in [Once::wait, Once::wait_force] {
        let message = panic_message(|| once.call_once_force(|_| wait(&once)));
        assert!(message.contains("waits for itself"), "{message}");
    }
    once.call_once_force(|_| assert!(!once.wait_timeout(Duration::from_millis(1))));
}

#[test]
fn a_closure_may_use_other_onces_but_not_in_a_circle() {
    let (outer, inner) = (Once::new(), Once::new());
    outer.call_once(|| {
        inner.call_once(|| ());
        inner.call_once(|| unreachable!());
    });

    let (outer, inner) = (Once::new(), Once::new());
    let message = panic_message(|| {
        outer.call_once(|| inner.call_once(|| outer.call_once(|| ())));
    });
    assert!(message.contains("waits for itself"), "{message}");
    assert!(outer.state().poisoned() && inner.state().poisoned());
}

#[test]
fn running_a_closure_does_not_forbid_others_to_wait() {
    let once = Once::new();
    thread::scope(|s| {
        once.call_once(|| {
            s.spawn(|| once.wait());
            s.spawn(|| once.call_once(|| unreachable!()));
            thread::sleep(A_WHILE);
        });
    });
}

/// Rounds in which eight threads race for one `Once`, which fails now and then,
/// while the time the closure takes moves the others between spinning, falling
/// asleep and sleeping.
#[test]
fn stress() {
    const ROUNDS: usize = 1_000;
    let onces: Vec<Once> = (0..ROUNDS).map(|_| Once::new()).collect();
    let successes = AtomicUsize::new(0);
    let failures = AtomicUsize::new(0);
    let start = Barrier::new(THREADS);

    let round = |thread: usize, number: usize, once: &Once| {
        let work = || {
            let until = Instant::now() + Duration::from_micros((number as u64 * 7) % 90);
            while Instant::now() < until {
                std::hint::spin_loop();
            }
        };
        match (thread + number) % 4 {
            0 => once.wait_force(),
            1 => while !once.is_completed() && !once.wait_timeout_force(number) {},
            _ => loop {
                let attempt = catch_unwind(AssertUnwindSafe(|| {
                    once.call_once_force(|before| {
                        work();
                        if number % 3 == 0 && !before.poisoned() {
                            failures.fetch_add(1, Ordering::Relaxed);
                            fail();
                        }
                        successes.fetch_add(number, Ordering::Relaxed);
                    });
                }));
                if attempt.is_ok() {
                    break;
                }
            },
        }
        assert!(once.is_completed());
    };

    thread::scope(|s| {
        for thread in 0..THREADS {
            let (start, onces, round) = (&start, &onces, &round);
            s.spawn(move || {
                start.wait();
                for (number, once) in onces.iter().enumerate() {
                    round(thread, number, once);
                }
            });
        }
    });
    assert_eq!(successes.into_inner(), ROUNDS * (ROUNDS - 1) / 2);
    assert_eq!(failures.into_inner(), ROUNDS.div_ceil(3));
}

/// A short timed wait that puts up with poison.
trait WaitTimeoutForce {
    fn wait_timeout_force(&self, salt: usize) -> bool;
}

impl WaitTimeoutForce for Once {
    fn wait_timeout_force(&self, salt: usize) -> bool {
        let timeout = Duration::from_micros((salt as u64 * 13) % 100);
        let waited = catch_unwind(AssertUnwindSafe(|| self.wait_timeout(timeout)));
        waited.unwrap_or_else(|_| {
            thread::yield_now();
            false
        })
    }
}
