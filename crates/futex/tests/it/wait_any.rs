//! Waits on many words.

use crate::common;

use std::thread;
use std::time::{Duration, Instant};

use blitz_io_futex::atomic::{AtomicU32, Ordering};
use blitz_io_futex::{
    Scope, WAIT_ANY_MAX, WaitAny, WaitAnyError, system, wait, wait_any, wake_all, wake_one,
};
use common::{Sleepers, alone, eventually, in_forever};

fn words(count: usize) -> Vec<AtomicU32> {
    (0..count).map(|_| AtomicU32::new(0)).collect()
}

fn all_at_zero(words: &[AtomicU32]) -> Vec<(&AtomicU32, u32)> {
    words.iter().map(|word| (word, 0)).collect()
}

#[test]
fn a_list_has_one_to_128_words() {
    let _alone = alone();
    assert_eq!(wait_any(&[], None), Err(WaitAnyError::Empty));
    let words = words(WAIT_ANY_MAX + 1);
    words[0].store(1, Ordering::Relaxed);
    let list = all_at_zero(&words);
    for count in 1..=WAIT_ANY_MAX {
        assert_eq!(wait_any(&list[..count], None), Ok(WaitAny::ValueChanged(0)));
    }
    let error = wait_any(&list, None).unwrap_err();
    assert_eq!(error, WaitAnyError::TooMany(129));
    assert!(error.to_string().contains("129"));
}

#[test]
fn a_changed_word_is_named() {
    let _alone = alone();
    for count in [1, 2, 5, WAIT_ANY_MAX] {
        for changed in 0..count {
            let words = words(count);
            words[changed].store(9, Ordering::Relaxed);
            let list = all_at_zero(&words);
            let expected = Ok(WaitAny::ValueChanged(changed));
            assert_eq!(wait_any(&list, None), expected);
            // Also when the deadline has passed.
            assert_eq!(wait_any(&list, Instant::now()), expected);
        }
    }
}

#[test]
fn it_times_out_and_not_early() {
    let _alone = alone();
    for count in [1, 3, WAIT_ANY_MAX] {
        let words = words(count);
        let deadline = Instant::now() + Duration::from_millis(10);
        let result = wait_any(&all_at_zero(&words), deadline);
        assert_eq!(result, Ok(WaitAny::TimedOut));
        assert!(Instant::now() >= deadline);
        // Again, with that deadline in the past.
        let result = wait_any(&all_at_zero(&words), deadline);
        assert_eq!(result, Ok(WaitAny::TimedOut));
    }
}

fn each_word_ends_the_sleep(scope: Scope, count: usize) {
    for chosen in 0..count {
        let words = words(count);
        let bedroom = Sleepers::new(1);
        thread::scope(|s| {
            let sleeper = s.spawn(|| {
                bedroom.enter(0);
                scope.wait_any(&all_at_zero(&words), in_forever()).unwrap()
            });
            bedroom.wait_until_asleep();
            // Woken without a change, so that only the wake can end the wait.
            let mut woken = 0;
            eventually(|| {
                woken += scope.wake_one(&words[chosen]).unwrap();
                woken == 1
            });
            assert_eq!(sleeper.join().unwrap(), WaitAny::Woken(chosen));
            assert_eq!(scope.wake_all(&words[chosen]), Ok(0));
        });
    }
}

#[test]
fn each_word_ends_the_sleep_in_this_process() {
    let _alone = alone();
    // Counts of these wakes are exact everywhere: either the system or the table of this
    // process reports them.
    each_word_ends_the_sleep(Scope::Private, 5);
    each_word_ends_the_sleep(Scope::Private, 1);
}

#[test]
fn each_word_ends_the_sleep_on_shared_words() {
    let _alone = alone();
    if system::supports_shared() && system::has_wait_any() {
        each_word_ends_the_sleep(Scope::Shared, 4);
        return;
    }
    let word = AtomicU32::new(1);
    let result = Scope::Shared.wait_any(&[(&word, 0)], None);
    match result {
        Ok(changed) => assert_eq!(changed, WaitAny::ValueChanged(0)),
        Err(error) => assert!(error.to_string().contains(system::backend())),
    }
}

#[test]
fn the_last_of_128_words_ends_the_sleep() {
    let _alone = alone();
    let words = words(WAIT_ANY_MAX);
    let bedroom = Sleepers::new(1);
    thread::scope(|s| {
        let sleeper = s.spawn(|| {
            bedroom.enter(0);
            wait_any(&all_at_zero(&words), in_forever()).unwrap()
        });
        bedroom.wait_until_asleep();
        words[127].store(1, Ordering::SeqCst);
        wake_all(&words[127]);
        assert_eq!(sleeper.join().unwrap().index(), Some(127));
    });
}

#[test]
fn a_word_may_be_listed_twice() {
    let _alone = alone();
    let word = AtomicU32::new(0);
    let other = AtomicU32::new(0);
    let list = [(&other, 0), (&word, 0), (&word, 0)];
    let bedroom = Sleepers::new(1);
    thread::scope(|s| {
        let sleeper = s.spawn(|| {
            bedroom.enter(0);
            wait_any(&list, in_forever()).unwrap()
        });
        bedroom.wait_until_asleep();
        word.store(1, Ordering::SeqCst);
        wake_all(&word);
        let index = sleeper.join().unwrap().index();
        assert!(index == Some(1) || index == Some(2));
    });
    // With two different expected values, one of them is always wrong.
    let result = wait_any(&[(&word, 1), (&word, 2)], None);
    assert_eq!(result, Ok(WaitAny::ValueChanged(1)));
}

#[test]
fn waits_on_one_and_on_many_words_meet() {
    let _alone = alone();
    let words = words(3);
    let bedroom = Sleepers::new(2);
    thread::scope(|s| {
        let on_many = s.spawn(|| {
            bedroom.enter(0);
            wait_any(&all_at_zero(&words), None).unwrap()
        });
        let on_one = s.spawn(|| {
            bedroom.enter(1);
            wait(&words[2], 0);
        });
        bedroom.wait_until_asleep();
        words[2].store(1, Ordering::SeqCst);
        let count = wake_all(&words[2]);
        if system::counts_wakes() {
            assert_eq!(count, 2);
        }
        assert_eq!(on_many.join().unwrap().index(), Some(2));
        on_one.join().unwrap();
    });
}

#[test]
fn no_wake_up_is_lost_between_many_words() {
    let _alone = alone();
    const ROUNDS: u32 = 2000;
    let words = words(4);
    thread::scope(|s| {
        let reader = s.spawn(|| {
            let mut seen = [0; 4];
            while seen.iter().sum::<u32>() < 4 * ROUNDS {
                let list: Vec<_> = words.iter().zip(seen).collect();
                // A lost wake-up shows as a timeout.
                let result = wait_any(&list, in_forever()).unwrap();
                assert_ne!(result, WaitAny::TimedOut);
                for (word, seen) in words.iter().zip(&mut seen) {
                    *seen = word.load(Ordering::Acquire);
                }
            }
            seen
        });
        for word in &words {
            s.spawn(|| {
                for _ in 0..ROUNDS {
                    word.fetch_add(1, Ordering::Release);
                    wake_one(word);
                }
            });
        }
        assert_eq!(reader.join().unwrap(), [ROUNDS; 4]);
    });
}
