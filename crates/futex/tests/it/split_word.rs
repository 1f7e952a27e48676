//! Words whose bytes are separate atomics.

use crate::common;

use std::thread;
use std::time::{Duration, Instant};

use blitz_io_futex::atomic::Ordering;
use blitz_io_futex::{Group, SplitWord, WaitResult, system};
use common::{Sleepers, alone, in_forever};

#[test]
fn bytes_lie_in_memory_order() {
    let _alone = alone();
    let word = SplitWord::new([1, 2, 3, 4]);
    assert_eq!(size_of::<SplitWord>(), 4);
    assert_eq!(align_of::<SplitWord>(), 4);
    for i in 0..4 {
        assert_eq!(word.byte(i).load(Ordering::Relaxed), i as u8 + 1);
        assert_eq!(
            std::ptr::from_ref(word.byte(i)).addr(),
            std::ptr::from_ref(&word).addr() + i
        );
    }
}

#[test]
#[should_panic]
fn there_is_no_fifth_byte() {
    let _alone = alone();
    SplitWord::new([0; 4]).byte(4);
}

#[test]
fn every_byte_is_compared() {
    let _alone = alone();
    let expected = [5, 6, 7, 8];
    let word = SplitWord::new(expected);
    let soon = Instant::now() + Duration::from_millis(5);
    assert_eq!(word.wait_deadline(expected, soon), WaitResult::TimedOut);
    assert!(Instant::now() >= soon);
    for i in 0..4 {
        word.byte(i).fetch_add(1, Ordering::Relaxed);
        assert_eq!(word.wait_deadline(expected, None), WaitResult::ValueChanged);
        word.byte(i).fetch_sub(1, Ordering::Relaxed);
    }
    assert_eq!(word.wait_deadline(expected, soon), WaitResult::TimedOut);
}

#[test]
fn a_change_of_any_byte_and_a_wake_end_the_sleep() {
    let _alone = alone();
    for i in 0..4 {
        let word = SplitWord::new([9; 4]);
        let bedroom = Sleepers::new(3);
        thread::scope(|s| {
            let sleepers: Vec<_> = (0..3)
                .map(|bed| {
                    let (word, bedroom) = (&word, &bedroom);
                    s.spawn(move || {
                        bedroom.enter(bed);
                        word.wait_deadline([9; 4], in_forever())
                    })
                })
                .collect();
            bedroom.wait_until_asleep();
            word.byte(i).store(0, Ordering::SeqCst);
            let counts = [
                SplitWord::wake_n(&word, 0),
                SplitWord::wake_one(&word),
                SplitWord::wake_n(&word, 1),
                SplitWord::wake_all(&word),
                SplitWord::wake_all(&word),
            ];
            if system::counts_wakes() {
                assert_eq!(counts, [0, 1, 1, 1, 0]);
            }
            for sleeper in sleepers {
                assert_ne!(sleeper.join().unwrap(), WaitResult::TimedOut);
            }
        });
    }
}

/// A lock on two bytes: byte 0 says locked, byte 1 says that a thread sleeps.
struct SplitLock(SplitWord);

impl SplitLock {
    fn lock(&self) {
        while self.0.byte(0).swap(1, Ordering::SeqCst) == 1 {
            self.0.byte(1).store(1, Ordering::SeqCst);
            let result = self.0.wait_deadline([1, 1, 0, 0], in_forever());
            assert_ne!(result, WaitResult::TimedOut, "a wake-up was lost");
        }
    }

    fn unlock(&self) {
        self.0.byte(0).swap(0, Ordering::SeqCst);
        if self.0.byte(1).swap(0, Ordering::SeqCst) == 1 {
            SplitWord::wake_all(&self.0);
        }
    }
}

#[test]
fn a_lock_on_single_bytes_loses_no_wake_up() {
    let _alone = alone();
    const ROUNDS: usize = 5_000;
    let lock = SplitLock(SplitWord::new([0; 4]));
    let inside = std::sync::atomic::AtomicUsize::new(0);
    let total = std::sync::atomic::AtomicUsize::new(0);
    thread::scope(|s| {
        for _ in 0..4 {
            s.spawn(|| {
                for round in 0..ROUNDS {
                    lock.lock();
                    assert_eq!(inside.fetch_add(1, Ordering::Relaxed), 0);
                    if round % 64 == 0 {
                        thread::yield_now(); // so that other threads come and sleep
                    }
                    total.fetch_add(1, Ordering::Relaxed);
                    inside.fetch_sub(1, Ordering::Relaxed);
                    lock.unlock();
                }
            });
        }
    });
    assert_eq!(total.into_inner(), 4 * ROUNDS);
}

/// Where the system cannot tell the groups apart, all are woken, and the returned count is
/// not known.
#[test]
fn a_group_is_woken_alone() {
    let _alone = alone();
    let tells_apart = cfg!(any(
        feature = "portable",
        target_os = "linux",
        target_os = "android"
    ));
    let word = SplitWord::new([1; 4]);
    let bedroom = Sleepers::new(4);
    thread::scope(|s| {
        let sleepers: Vec<_> = [Group::First, Group::Second, Group::Second, Group::First]
            .into_iter()
            .enumerate()
            .map(|(bed, group)| {
                let (word, bedroom) = (&word, &bedroom);
                s.spawn(move || {
                    bedroom.enter(bed);
                    word.wait_in_group(group, [1; 4], in_forever())
                })
            })
            .collect();
        bedroom.wait_until_asleep();
        let counts = [
            SplitWord::wake_group(&word, Group::Second, 1),
            SplitWord::wake_group(&word, Group::Second, 9),
            SplitWord::wake_group(&word, Group::Second, 1),
            SplitWord::wake_group(&word, Group::First, 1),
            SplitWord::wake_all(&word),
        ];
        if tells_apart {
            assert_eq!(counts, [1, 1, 0, 1, 1]);
        }
        for sleeper in sleepers {
            assert_eq!(sleeper.join().unwrap(), WaitResult::Woken);
        }
    });
}
