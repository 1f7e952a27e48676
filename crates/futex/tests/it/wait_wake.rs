//! Waits and wakes on one word.

use crate::common;

use std::sync::atomic::AtomicUsize;
use std::time::{Duration, Instant};
use std::{ptr, thread};

use blitz_io_futex::atomic::{AtomicU32, Ordering};
use blitz_io_futex::{
    Scope, WaitResult, block_until_different, system, wait, wait_deadline, wake_all, wake_n,
    wake_one,
};
use common::{AtEndWakeAll, Sleepers, alone, eventually, in_forever};

#[test]
fn a_changed_value_is_not_waited_for() {
    let _alone = alone();
    let word = AtomicU32::new(1);
    assert_eq!(wait_deadline(&word, 0, None), WaitResult::ValueChanged);
    assert_eq!(
        wait_deadline(&word, 0, in_forever()),
        WaitResult::ValueChanged
    );
    wait(&word, 0);
    assert_eq!(
        Scope::Private.wait_deadline(&word, 0, None),
        Ok(WaitResult::ValueChanged)
    );
}

#[test]
fn all_32_bits_are_compared() {
    let _alone = alone();
    for bit in 0..32 {
        let word = AtomicU32::new(1 << bit);
        assert_eq!(wait_deadline(&word, 0, None), WaitResult::ValueChanged);
    }
    let word = AtomicU32::new(u32::MAX);
    let soon = Instant::now() + Duration::from_millis(1);
    assert_eq!(wait_deadline(&word, u32::MAX, soon), WaitResult::TimedOut);
}

#[test]
fn a_sleeper_is_woken() {
    let _alone = alone();
    let word = AtomicU32::new(0);
    let bedroom = Sleepers::new(1);
    thread::scope(|s| {
        let sleeper = s.spawn(|| {
            bedroom.enter(0);
            wait_deadline(&word, 0, in_forever())
        });
        bedroom.wait_until_asleep();
        // The value stays the same: this test is about wakes, not about the comparison.
        let mut woken = 0;
        eventually(|| {
            woken += wake_one(&word);
            woken == 1 || sleeper.is_finished()
        });
        if system::counts_wakes() {
            assert_eq!(woken, 1);
        }
        assert_eq!(sleeper.join().unwrap(), WaitResult::Woken);
    });
}

#[test]
fn a_wait_times_out_and_not_early() {
    let _alone = alone();
    let word = AtomicU32::new(0);
    for millis in [1, 3, 20] {
        for nanos in [0, 1, 999_999] {
            let deadline = Instant::now() + Duration::from_millis(millis) + nanos * NANO;
            assert_eq!(wait_deadline(&word, 0, deadline), WaitResult::TimedOut);
            assert!(Instant::now() >= deadline);
        }
    }
}

const NANO: Duration = Duration::from_nanos(1);

#[test]
fn a_deadline_in_the_past_returns_at_once() {
    let _alone = alone();
    let word = AtomicU32::new(0);
    let now = Instant::now();
    let hour = Duration::from_secs(3600);
    let past = [Some(now), now.checked_sub(NANO), now.checked_sub(hour)];
    for deadline in past.into_iter().flatten() {
        assert_eq!(wait_deadline(&word, 0, deadline), WaitResult::TimedOut);
        // The value is compared first.
        assert_eq!(wait_deadline(&word, 1, deadline), WaitResult::ValueChanged);
    }
}

/// Returns deadlines that no clock of the system reaches, up to the last one that can be
/// expressed.
fn far_deadlines() -> Vec<Instant> {
    let now = Instant::now();
    let mut last = now;
    for bit in (0..63).rev() {
        last = last
            .checked_add(Duration::from_secs(1 << bit))
            .unwrap_or(last);
    }
    let years = |n: u64| Duration::from_secs(n * 365 * 86_400);
    let some = [
        now.checked_add(Duration::from_secs(u64::MAX / 4)),
        now.checked_add(years(50)),  // more milliseconds than 32 bits hold
        now.checked_add(years(100)), // more seconds than 31 bits hold
        now.checked_add(years(400)), // more nanoseconds than 63 bits hold
        Some(last),
    ];
    some.into_iter().flatten().collect()
}

#[test]
fn a_deadline_past_the_clock_means_for_ever() {
    let _alone = alone();
    let deadlines = far_deadlines();
    let word = AtomicU32::new(0);
    let bedroom = Sleepers::new(deadlines.len());
    thread::scope(|s| {
        let sleepers: Vec<_> = (0..deadlines.len())
            .map(|i| {
                let (word, bedroom, deadline) = (&word, &bedroom, deadlines[i]);
                s.spawn(move || {
                    bedroom.enter(i);
                    wait_deadline(word, 0, deadline)
                })
            })
            .collect();
        bedroom.wait_until_asleep();
        thread::sleep(Duration::from_millis(20));
        assert!(sleepers.iter().all(|sleeper| !sleeper.is_finished()));
        word.store(1, Ordering::SeqCst);
        wake_all(&word);
        for sleeper in sleepers {
            assert_ne!(sleeper.join().unwrap(), WaitResult::TimedOut);
        }
    });
}

#[test]
fn waking_nobody_wakes_nobody() {
    let _alone = alone();
    let word = AtomicU32::new(0);
    assert_eq!(wake_one(&word), 0);
    assert_eq!(wake_n(&word, 5), 0);
    assert_eq!(wake_n(&word, 0), 0);
    assert_eq!(wake_all(&word), 0);
    // The wake is not remembered.
    let soon = Instant::now() + Duration::from_millis(5);
    assert_eq!(wait_deadline(&word, 0, soon), WaitResult::TimedOut);
}

#[test]
fn a_wake_is_for_its_own_word() {
    let _alone = alone();
    let words = [AtomicU32::new(0), AtomicU32::new(0)];
    let bedroom = Sleepers::new(1);
    thread::scope(|s| {
        let sleeper = s.spawn(|| {
            bedroom.enter(0);
            while words[0].load(Ordering::Acquire) == 0 {
                wait(&words[0], 0);
            }
        });
        bedroom.wait_until_asleep();
        assert_eq!(wake_all(&words[1]), 0);
        words[0].store(1, Ordering::Release);
        wake_all(&words[0]);
        sleeper.join().unwrap();
    });
}

/// Starts eight threads that sleep once each; `check` wakes them.
fn with_eight_sleepers(check: impl FnOnce(&AtomicU32, &AtomicUsize)) {
    let word = AtomicU32::new(0);
    let awake = AtomicUsize::new(0);
    let bedroom = Sleepers::new(8);
    thread::scope(|s| {
        for bed in 0..8 {
            let (word, awake, bedroom) = (&word, &awake, &bedroom);
            s.spawn(move || {
                bedroom.enter(bed);
                wait_deadline(word, 0, None);
                awake.fetch_add(1, Ordering::SeqCst);
            });
        }
        let _end = AtEndWakeAll(&word);
        bedroom.wait_until_asleep();
        check(&word, &awake);
    });
    assert_eq!(awake.into_inner(), 8);
}

#[test]
fn wake_n_wakes_n() {
    let _alone = alone();
    with_eight_sleepers(|word, awake| {
        let mut expected = 0;
        for (n, woken) in [(0, 0), (1, 1), (3, 3), (2, 2), (9, 2), (9, 0)] {
            let count = wake_n(word, n);
            expected += woken;
            if system::counts_wakes() {
                assert_eq!(count, woken);
            } else {
                assert!(count <= woken);
            }
            eventually(|| awake.load(Ordering::SeqCst) >= expected);
        }
    });
}

#[test]
fn wake_n_wakes_no_more_than_n() {
    let _alone = alone();
    with_eight_sleepers(|word, awake| {
        wake_n(word, 3);
        eventually(|| awake.load(Ordering::SeqCst) >= 3);
        thread::sleep(Duration::from_millis(20));
        // Systems with spurious wake-ups may exceed this; those that these tests run on do
        // not.
        assert_eq!(awake.load(Ordering::SeqCst), 3);
    });
}

#[test]
fn wake_all_wakes_all() {
    let _alone = alone();
    with_eight_sleepers(|word, awake| {
        let count = wake_all(word);
        if system::counts_wakes() {
            assert_eq!(count, 8);
        }
        eventually(|| awake.load(Ordering::SeqCst) == 8);
    });
}

#[test]
fn block_until_different_outlasts_wakes_without_a_change() {
    let _alone = alone();
    let word = AtomicU32::new(7);
    let bedroom = Sleepers::new(1);
    thread::scope(|s| {
        let sleeper = s.spawn(|| {
            bedroom.enter(0);
            block_until_different(7, &word)
        });
        let end = AtEndWakeAll(&word);
        let mut woken = 0;
        for _ in 0..50 {
            bedroom.wait_until_asleep();
            woken += wake_all(&word);
            assert!(!sleeper.is_finished());
        }
        if system::counts_wakes() {
            assert_eq!(woken, 50);
        }
        drop(end);
        assert_eq!(sleeper.join().unwrap(), 8);
    });
    assert_eq!(block_until_different(7, &word), 8);
    assert_eq!(Scope::Private.block_until_different(7, &word), Ok(8));
}

#[test]
fn a_word_may_be_freed_before_the_wake() {
    let _alone = alone();
    for _ in 0..2000 {
        let word = Box::new(AtomicU32::new(0));
        // The waker keeps an address, which is all that a wake needs.
        let address = (&raw const *word).expose_provenance();
        thread::scope(|s| {
            s.spawn(move || {
                let address: *const AtomicU32 = ptr::with_exposed_provenance(address);
                // SAFETY: the word is freed only after it was changed, and this
                // is the one place that changes it.
                unsafe { (*address).store(1, Ordering::Release) };
                wake_all(address);
            });
            while word.load(Ordering::Acquire) == 0 {
                wait(&word, 0);
            }
            drop(word);
        });
    }
}

#[test]
fn the_system_is_described() {
    let _alone = alone();
    assert!(!system::backend().is_empty());
    if cfg!(feature = "portable") {
        assert!(system::counts_wakes());
        assert!(!system::supports_shared());
        assert!(!system::has_wait_any());
    } else if cfg!(target_os = "linux") {
        assert_eq!(system::backend(), "futex");
        assert!(system::counts_wakes());
        assert!(system::supports_shared());
    } else if cfg!(windows) {
        assert_eq!(system::backend(), "WaitOnAddress");
        assert!(!system::supports_shared());
    }
}

#[test]
fn what_is_unsupported_says_so() {
    let _alone = alone();
    let word = AtomicU32::new(0);
    if system::supports_shared() {
        assert_eq!(Scope::Shared.wake_one(&word), Ok(0));
        return;
    }
    let error = Scope::Shared.wake_one(&word).unwrap_err();
    assert_eq!(error.backend(), system::backend());
    assert!(error.to_string().contains(system::backend()));
    assert_eq!(Scope::Shared.wake_n(&word, 2), Err(error));
    assert_eq!(Scope::Shared.wake_all(&word), Err(error));
    assert_eq!(Scope::Shared.wait(&word, 1), Err(error));
    assert_eq!(Scope::Shared.wait_deadline(&word, 1, None), Err(error));
    assert_eq!(Scope::Shared.block_until_different(1, &word), Err(error));
}
