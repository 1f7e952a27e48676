//! Waiting on many words on systems that can wait on only one.
//!
//! **Words of this process.** The thread sleeps in the table (`table.rs`), and every wake
//! looks there first. Nothing is polled, and a wake is noticed even if it comes without a
//! change. The price is a fence and a load in every wake.
//!
//! **Words shared with other processes.** Wakes from those processes do not know this process's
//! table. The thread sleeps on the first word, but never longer than one slice, and then compares
//! all words again. It notices a change of another word when the slice ends. It does not notice a
//! wake of another word that comes without a change. The wait still ends as soon as any word has
//! changed and stays changed, so no wake-up that follows a lasting change is lost. Slices grow,
//! so that a long wait costs little.

use std::time::{Duration, Instant};

use crate::atomic::AtomicU32;
use crate::sys::backend;
use crate::sys::prim::table;
use crate::sys::table::first_changed;
use crate::{Scope, WaitAny, WaitResult};

const FIRST_SLICE: Duration = Duration::from_micros(50);
const LONGEST_SLICE: Duration = Duration::from_millis(4);

pub(super) fn wait_any(
    words: &[(&AtomicU32, u32)],
    deadline: Option<Instant>,
    scope: Scope,
) -> WaitAny {
    match scope {
        Scope::Private => table().wait_any(words, deadline),
        Scope::Shared => wait_in_slices(words, deadline),
    }
}

/// Wakes the threads that sleep in [`wait_any`], and then as many of those that sleep in
/// the system as are left of `n`.
pub(super) fn wake_before(
    address: *const (),
    n: usize,
    scope: Scope,
    wake_in_system: impl FnOnce(usize) -> usize,
) -> usize {
    let woken = match scope {
        Scope::Private => table().wake_many(address, n),
        Scope::Shared => 0,
    };
    if woken == n {
        return n; // which may be 0
    }
    woken + wake_in_system(n - woken)
}

fn wait_in_slices(words: &[(&AtomicU32, u32)], deadline: Option<Instant>) -> WaitAny {
    let (first, expected) = words[0];
    let mut slice = FIRST_SLICE;
    loop {
        if let Some(index) = first_changed(words) {
            return WaitAny::ValueChanged(index);
        }
        let now = Instant::now();
        if deadline.is_some_and(|deadline| deadline <= now) {
            return WaitAny::TimedOut;
        }
        let slice_end = now + slice;
        let until = deadline.map_or(slice_end, |deadline| deadline.min(slice_end));
        if backend::wait(first, expected, Some(until), Scope::Shared) == WaitResult::Woken {
            return WaitAny::Woken(0);
        }
        slice = (slice * 2).min(LONGEST_SLICE);
    }
}

/// On systems that can wait on many words themselves, only these tests use this file.
#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;
    use std::thread;

    use super::*;
    use crate::sys::wake;
    use crate::word::Word;

    const FOREVER: Duration = Duration::from_secs(60);

    fn wake_all(word: &AtomicU32, scope: Scope) -> usize {
        wake(word.address(), usize::MAX, scope)
    }

    fn list(words: &[AtomicU32]) -> Vec<(&AtomicU32, u32)> {
        words.iter().map(|word| (word, 0)).collect()
    }

    #[test]
    fn a_change_of_each_word_ends_the_sleep() {
        for scope in [Scope::Private, Scope::Shared] {
            for chosen in 0..4 {
                let words: [AtomicU32; 4] = Default::default();
                thread::scope(|s| {
                    let deadline = Instant::now() + FOREVER;
                    let words = &words;
                    let sleeper = s.spawn(move || wait_any(&list(words), Some(deadline), scope));
                    thread::sleep(Duration::from_millis(5 * chosen as u64));
                    words[chosen].store(1, Ordering::SeqCst);
                    wake_all(&words[chosen], scope);
                    assert_eq!(sleeper.join().unwrap().index(), Some(chosen));
                });
            }
        }
    }

    #[test]
    fn a_wake_without_a_change_ends_the_sleep_in_this_process() {
        let words: [AtomicU32; 3] = Default::default();
        for chosen in [2, 0, 1] {
            thread::scope(|s| {
                let words = &words;
                let sleeper = s.spawn(move || wait_any(&list(words), None, Scope::Private));
                while wake(words[chosen].address(), 1, Scope::Private) == 0 {
                    thread::yield_now();
                }
                assert_eq!(sleeper.join().unwrap(), WaitAny::Woken(chosen));
            });
            assert_eq!(wake_all(&words[chosen], Scope::Private), 0);
        }
    }

    #[test]
    fn deadlines_and_values_are_looked_at_in_order() {
        let words: [AtomicU32; 3] = Default::default();
        for scope in [Scope::Private, Scope::Shared] {
            let deadline = Instant::now() + Duration::from_millis(10);
            let result = wait_any(&list(&words), Some(deadline), scope);
            assert_eq!(result, WaitAny::TimedOut);
            assert!(Instant::now() >= deadline);
            let wrong = [(&words[0], 0), (&words[1], 1)];
            let result = wait_any(&wrong, Some(deadline), scope);
            assert_eq!(result, WaitAny::ValueChanged(1));
        }
    }

    #[test]
    fn no_wake_up_is_lost_between_many_words() {
        const ROUNDS: u32 = 2000;
        let words: [AtomicU32; 3] = Default::default();
        thread::scope(|s| {
            for word in &words {
                s.spawn(|| {
                    for _ in 0..ROUNDS {
                        word.fetch_add(1, Ordering::Release);
                        wake_all(word, Scope::Private);
                    }
                });
            }
            let mut seen = [0; 3];
            while seen != [ROUNDS; 3] {
                let list: Vec<_> = words.iter().zip(seen).collect();
                let deadline = Some(Instant::now() + FOREVER);
                let result = wait_any(&list, deadline, Scope::Private);
                assert_ne!(result, WaitAny::TimedOut, "a wake-up was lost");
                for (word, seen) in words.iter().zip(&mut seen) {
                    *seen = word.load(Ordering::Acquire);
                }
            }
        });
    }
}
