//! Many threads that hand over values. A lost wake-up shows as a timeout.

use crate::common;

use std::sync::atomic::AtomicU64;
use std::thread;

use blitz_io_futex::atomic::{AtomicU32, Ordering};
use blitz_io_futex::{WaitResult, block_until_different, wait_deadline, wake_all, wake_one};
use common::{alone, in_forever};

const THREADS: usize = 8;

fn wait_or_fail(word: &AtomicU32, expected: u32) {
    let result = wait_deadline(word, expected, in_forever());
    assert_ne!(result, WaitResult::TimedOut, "a wake-up was lost");
}

#[test]
fn a_token_goes_round() {
    let _alone = alone();
    const ROUNDS: u32 = 2_000;
    let rounds: [AtomicU32; THREADS] = std::array::from_fn(|_| AtomicU32::new(0));
    let hand_overs = AtomicU64::new(0);
    thread::scope(|s| {
        for me in 0..THREADS {
            let (rounds, hand_overs) = (&rounds, &hand_overs);
            s.spawn(move || {
                let next = &rounds[(me + 1) % THREADS];
                for round in 0..ROUNDS {
                    while rounds[me].load(Ordering::Acquire) == round {
                        wait_or_fail(&rounds[me], round);
                    }
                    // Only the holder of the token gets here, so this is no race.
                    let count = hand_overs.load(Ordering::Relaxed);
                    hand_overs.store(count + 1, Ordering::Relaxed);
                    next.fetch_add(1, Ordering::Release);
                    wake_one(next);
                }
            });
        }
        rounds[0].fetch_add(1, Ordering::Release);
        wake_one(&rounds[0]);
    });
    let expected = THREADS as u64 * u64::from(ROUNDS);
    assert_eq!(hand_overs.into_inner(), expected);
}

/// 0 free, 1 locked, 2 locked with sleepers.
fn with_lock(state: &AtomicU32, f: impl FnOnce()) {
    let (acquire, relaxed) = (Ordering::Acquire, Ordering::Relaxed);
    if state.compare_exchange(0, 1, acquire, relaxed).is_err() {
        while state.swap(2, Ordering::Acquire) != 0 {
            wait_or_fail(state, 2);
        }
    }
    f();
    if state.swap(0, Ordering::Release) == 2 {
        wake_one(state);
    }
}

#[test]
fn a_lock_counts_right() {
    let _alone = alone();
    const ROUNDS: u64 = 10_000;
    let state = AtomicU32::new(0);
    let count = AtomicU64::new(0);
    thread::scope(|s| {
        for _ in 0..THREADS {
            s.spawn(|| {
                for round in 0..ROUNDS {
                    with_lock(&state, || {
                        let seen = count.load(Ordering::Relaxed);
                        if round % 128 == 0 {
                            thread::yield_now(); // so that other threads come and sleep
                        }
                        count.store(seen + 1, Ordering::Relaxed);
                    });
                }
            });
        }
    });
    assert_eq!(count.into_inner(), THREADS as u64 * ROUNDS);
}

#[test]
fn many_threads_see_every_step() {
    let _alone = alone();
    const STEPS: u32 = 500;
    let step = AtomicU32::new(0);
    let arrived = AtomicU32::new(0);
    thread::scope(|s| {
        for _ in 0..THREADS {
            s.spawn(|| {
                for previous in 0..STEPS {
                    assert_eq!(block_until_different(previous, &step), previous + 1);
                    arrived.fetch_add(1, Ordering::AcqRel);
                    wake_one(&arrived);
                }
            });
        }
        for next in 1..=STEPS {
            step.store(next, Ordering::Release);
            wake_all(&step);
            let expected = next * THREADS as u32;
            loop {
                let now = arrived.load(Ordering::Acquire);
                if now == expected {
                    break;
                }
                wait_or_fail(&arrived, now);
            }
        }
    });
}
