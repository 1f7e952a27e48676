//! Models of a one-time initialisation on a word.

use std::sync::Arc;

use crate::protocol::once_word;
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
        let wait = |word: &AtomicU32, value| {
            blitz_io_futex::wait(word, value);
            true
        };
        assert!(once_word::call(&self.word, || self.run(), wait, wake_all));
        self.expect_one();
    }

    /// A call that does not wait.
    fn try_call(&self) {
        if once_word::call(&self.word, || self.run(), |_, _| false, wake_all) {
            self.expect_one();
        }
    }

    fn run(&self) {
        // SAFETY: the model checker finds out whether it is.
        self.number.with_mut(|number| unsafe { *number += 1 });
    }

    fn expect_one(&self) {
        // SAFETY: the model checker finds out whether it is.
        assert_eq!(self.number.with(|number| unsafe { *number }), 1);
    }
}

fn wake_all(word: *const AtomicU32) {
    blitz_io_futex::wake_all(word);
}

/// Makes each call in a thread of its own.
fn calls(calls: &'static [fn(&Shared)]) {
    model_in_order(2, move || {
        let shared = Arc::new(Shared {
            word: AtomicU32::new(0),
            number: UnsafeCell::new(0),
        });
        let (first, others) = calls.split_first().unwrap();
        let others: Vec<_> = (others.iter())
            .map(|call| {
                let shared = shared.clone();
                thread::spawn(move || call(&shared))
            })
            .collect();
        first(&shared);
        for other in others {
            other.join().unwrap();
        }
    });
}

#[test]
fn of_two_calls_one_runs_and_both_see_it() {
    calls(&[Shared::call, Shared::call]);
}

#[test]
fn all_sleepers_are_woken() {
    calls(&[Shared::call, Shared::call, Shared::call]);
}

#[test]
fn a_call_that_gives_up_leaves_the_others() {
    calls(&[Shared::call, Shared::try_call, Shared::call]);
}
