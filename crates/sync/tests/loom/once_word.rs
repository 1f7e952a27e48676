//! Models of a one-time initialisation on a word.
#![cfg(loom)]

use std::sync::Arc;

use blitz_io_sync::once_word;
use loom::cell::UnsafeCell;
use loom::sync::atomic::AtomicU32;
use loom::thread;

use crate::model::model_in_order;

struct Shared {
    word: AtomicU32,
    number: UnsafeCell<u32>,
}

// SAFETY: the models are about whether the word orders the uses of the number.
unsafe impl Sync for Shared {}
// SAFETY: it is a number.
unsafe impl Send for Shared {}

impl Shared {
    fn call(&self) {
        let run = || {
            // SAFETY: the model checker finds out whether it is.
            self.number.with_mut(|number| unsafe { *number += 1 });
        };
        once_word::call(&self.word, run, blitz_io_futex::wait, |word| {
            blitz_io_futex::wake_all(word);
        });
        // SAFETY: the model checker finds out whether it is.
        assert_eq!(self.number.with(|number| unsafe { *number }), 1);
    }
}

fn calls(threads: usize) {
    model_in_order(2, move || {
        let shared = Arc::new(Shared {
            word: AtomicU32::new(0),
            number: UnsafeCell::new(0),
        });
        let others: Vec<_> = (1..threads)
            .map(|_| {
                let shared = shared.clone();
                thread::spawn(move || shared.call())
            })
            .collect();
        shared.call();
        for other in others {
            other.join().unwrap();
        }
    });
}

#[test]
fn of_two_calls_one_runs_and_both_see_it() {
    calls(2);
}

#[test]
fn all_sleepers_are_woken() {
    calls(3);
}
