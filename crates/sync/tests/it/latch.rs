//! `Latch`: the behaviour that users of C++'s `std::latch` expect, and the refused calls.

use blitz_io_observe::IS_ENABLED;
use blitz_io_sync::thread::Latch;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const THREADS: usize = 8;
const A_WHILE: Duration = Duration::from_millis(20);

fn panic_message<R>(f: impl FnOnce() -> R) -> String {
    let Err(payload) = catch_unwind(AssertUnwindSafe(f)) else {
        panic!("this should have panicked");
    };
    match payload.downcast::<String>() {
        Ok(message) => *message,
        Err(payload) => (*payload.downcast::<&str>().expect("a message")).to_string(),
    }
}

#[test]
fn opens_at_zero_and_stays_open() {
    static LATCH: Latch = Latch::new(3);
    assert_eq!(format!("{LATCH:?}"), "Latch { count: 3 }");
    LATCH.count_down();
    assert_eq!(LATCH.count(), 2);
    assert!(!LATCH.is_released() && !LATCH.try_wait());
    LATCH.count_down_n(0);
    LATCH.count_down_n(2);
    assert!(LATCH.is_released() && LATCH.try_wait());
    LATCH.wait();
    LATCH.wait();
    assert_eq!(LATCH.count(), 0);
    fn check<T: Send + Sync + std::panic::RefUnwindSafe>() {}
    check::<Latch>();
    // With the feature `inspect` it also has a pointer to the facts about it.
    if !IS_ENABLED {
        assert_eq!(size_of::<Latch>(), 4);
    }
}

#[test]
fn zero_is_open_from_the_start() {
    let latch = Latch::new(0);
    assert!(latch.is_released());
    latch.wait();
    latch.count_down_n(0);
}

#[test]
fn counts_down_too_far_are_refused_and_change_nothing() {
    let latch = Latch::new(3);
    let message = panic_message(|| latch.count_down_n(4));
    assert_eq!(message, "a latch can not count down by 4: its count is 3");
    assert_eq!(latch.count(), 3);
    let error = latch.try_count_down_n(usize::MAX).unwrap_err();
    assert_eq!(error.count(), 3);
    assert_eq!(latch.try_count_down_n(1 << 31).unwrap_err().count(), 3);
    // Where `usize` has more than 32 bits, a count that is zero in the lower 32.
    let beyond = usize::try_from(1_u64 << 32).unwrap_or(usize::MAX);
    assert_eq!(latch.try_count_down_n(beyond).unwrap_err().count(), 3);
    assert_eq!(latch.count(), 3);
    latch.count_down_n(3);
    panic_message(|| latch.count_down());
    panic_message(|| latch.arrive_and_wait());
    assert_eq!(latch.try_count_down_n(1).unwrap_err().count(), 0);
    assert!(latch.is_released());
}

#[test]
fn a_refused_count_down_leaves_sleepers_asleep() {
    let latch = Latch::new(1);
    thread::scope(|s| {
        let waiter = s.spawn(|| latch.wait());
        thread::sleep(A_WHILE);
        assert!(latch.try_count_down_n(2).is_err());
        thread::sleep(A_WHILE);
        assert!(!waiter.is_finished());
        latch.count_down();
    });
}

#[test]
fn a_count_that_is_too_large_is_refused() {
    assert_eq!(Latch::new(Latch::MAX_COUNT).count(), Latch::MAX_COUNT);
    panic_message(|| Latch::new(Latch::MAX_COUNT + 1));
    let latch = Latch::new(Latch::MAX_COUNT);
    latch.count_down_n(Latch::MAX_COUNT);
    assert!(latch.is_released());
}

#[test]
fn releases_all_and_shows_what_was_done_before() {
    let latch = Latch::new(THREADS);
    let done = AtomicUsize::new(0);
    thread::scope(|s| {
        for _ in 0..THREADS {
            s.spawn(|| {
                latch.wait();
                assert_eq!(done.load(Ordering::Relaxed), THREADS);
            });
        }
        thread::sleep(A_WHILE);
        for _ in 0..THREADS {
            s.spawn(|| {
                done.fetch_add(1, Ordering::Relaxed);
                latch.count_down();
            });
        }
    });
}

#[test]
fn timed_waits() {
    let latch = Latch::new(1);
    let began = Instant::now();
    assert!(!latch.wait_timeout(A_WHILE));
    assert!(began.elapsed() >= A_WHILE);
    assert!(!latch.wait_deadline(began));
    thread::scope(|s| {
        let for_ever = s.spawn(|| latch.wait_timeout(Duration::MAX));
        let long = s.spawn(|| latch.wait_deadline(began + Duration::from_secs(600)));
        thread::sleep(A_WHILE);
        latch.count_down();
        assert!(for_ever.join().unwrap() && long.join().unwrap());
    });
    assert!(latch.wait_deadline(began) && latch.wait_timeout(Duration::ZERO));
}

/// Eight threads go from latch to latch together.
#[test]
fn stress() {
    const ROUNDS: usize = 1_000;
    let latches: Vec<Latch> = (0..ROUNDS).map(|_| Latch::new(2 * THREADS)).collect();
    let sum = AtomicUsize::new(0);
    thread::scope(|s| {
        for thread in 0..THREADS {
            let (latches, sum) = (&latches, &sum);
            s.spawn(move || {
                for (round, latch) in latches.iter().enumerate() {
                    sum.fetch_add(round, Ordering::Relaxed);
                    latch.count_down();
                    match (thread + round) % 3 {
                        0 => latch.arrive_and_wait(),
                        1 => {
                            latch.count_down();
                            while !latch.wait_timeout(Duration::from_micros(30)) {}
                        }
                        _ => {
                            latch.count_down_n(1);
                            latch.wait();
                        }
                    }
                    assert!(sum.load(Ordering::Relaxed) >= THREADS * round * (round + 1) / 2);
                }
            });
        }
    });
    assert_eq!(sum.into_inner(), THREADS * ROUNDS * (ROUNDS - 1) / 2);
}

/// The waiter reuses the memory of the latch as soon as it is released, while the count-down may
/// still be on its way out. No thread may touch the latch after that.
#[test]
fn the_released_thread_may_free_the_latch() {
    #[repr(C)]
    union Memory {
        latch: ManuallyDrop<Latch>,
        other: ManuallyDrop<AtomicU32>,
    }
    struct Slot(std::cell::UnsafeCell<Memory>);
    // SAFETY: the test is about the threads' use of the memory.
    unsafe impl Sync for Slot {}

    const ROUNDS: usize = 1_000;
    const OTHER: u32 = 0x5a5a_5a5a;
    let slots: Vec<Slot> = (0..ROUNDS)
        .map(|_| {
            Slot(std::cell::UnsafeCell::new(Memory {
                latch: ManuallyDrop::new(Latch::new(1)),
            }))
        })
        .collect();
    let counted = AtomicUsize::new(0);
    thread::scope(|s| {
        s.spawn(|| {
            for (round, slot) in slots.iter().enumerate() {
                let began = Instant::now();
                while began.elapsed() < Duration::from_micros((round as u64 * 3) % 80) {}
                // SAFETY: the slot holds a latch until this count-down has opened
                // it. The latch is all atomic, so it may go while the reference
                // is still around.
                unsafe { (*slot.0.get()).latch.count_down() };
                counted.store(round + 1, Ordering::Release);
            }
        });
        for (round, slot) in slots.iter().enumerate() {
            // SAFETY: the slot holds a latch until this thread replaces it.
            unsafe { (*slot.0.get()).latch.wait() };
            // SAFETY: this thread has been released, so the latch is its own.
            unsafe {
                slot.0.get().write(Memory {
                    other: ManuallyDrop::new(AtomicU32::new(OTHER)),
                })
            };
            while counted.load(Ordering::Acquire) <= round {
                thread::yield_now();
            }
            // SAFETY: the slot has just been given this meaning.
            let other = unsafe { (*slot.0.get()).other.load(Ordering::Relaxed) };
            assert_eq!(other, OTHER);
        }
    });
}
