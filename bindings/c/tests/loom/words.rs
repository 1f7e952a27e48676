//! Models of tasks that sleep on words.

use std::sync::Arc;

use crate::protocol::words::{Slept, Waited, Words};
use loom::sync::atomic::{AtomicU32, Ordering};
use loom::thread;

use crate::model::{block_on, model_in_order};

/// Two words in one bucket, as in a table that is full.
struct Shared {
    table: Words<1>,
    words: [AtomicU32; 2],
}

impl Shared {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            table: Words::new(),
            words: [AtomicU32::new(0), AtomicU32::new(0)],
        })
    }

    /// Sleeps while both words, or only the first, are 0.
    fn sleep(&self, words: usize) -> Slept<()> {
        let expected = self.words.each_ref().map(|word| (word, 0));
        self.table.sleep(&expected[..words], |notified| {
            block_on(notified);
            Waited::Notified
        })
    }

    /// Changes a word, and wakes one waiter.
    fn change(&self, word: usize) -> usize {
        self.words[word].store(1, Ordering::Relaxed);
        self.table.wake(&self.words[word], 1)
    }
}

fn spawn<R: 'static>(
    shared: &Arc<Shared>,
    run: impl FnOnce(&Shared) -> R + 'static,
) -> thread::JoinHandle<R> {
    let shared = shared.clone();
    thread::spawn(move || run(&shared))
}

#[test]
fn a_change_wakes_a_waiter_wherever_it_falls_asleep() {
    model_in_order(2, || {
        let shared = Shared::new();
        let waiter = spawn(&shared, |shared| shared.sleep(1));
        let woken = shared.change(0);
        let slept = waiter.join().unwrap();
        match woken {
            0 => assert_eq!(slept, Slept::Changed(0)),
            _ => assert!(matches!(slept, Slept::Woken(0) | Slept::Changed(0))),
        }
    });
}

#[test]
fn a_waiter_on_two_words_uses_one_wake() {
    model_in_order(2, || {
        let shared = Shared::new();
        let waiter = spawn(&shared, |shared| shared.sleep(2));
        let other = spawn(&shared, |shared| shared.change(1));
        let woken = shared.change(0) + other.join().unwrap();
        let slept = waiter.join().unwrap();
        assert!(woken <= 1);
        if woken == 0 {
            assert!(matches!(slept, Slept::Changed(_)), "{slept:?}");
        }
    });
}

/// A waiter whose deadline passes, and another one. Of one wake, one of them knows.
#[test]
fn a_wake_at_the_deadline_is_reported() {
    model_in_order(2, || {
        let shared = Shared::new();
        let waiter = spawn(&shared, |shared| {
            (shared.table).sleep(&[(&shared.words[0], 0)], |_| Waited::<()>::TimedOut)
        });
        // The word keeps its value: only a wake can end a sleep.
        let woken = shared.table.wake(&shared.words[0], 1);
        let slept = waiter.join().unwrap();
        let expected = [Slept::TimedOut, Slept::Woken(0)];
        assert_eq!(slept, expected[woken]);
    });
}

#[test]
fn a_cancelled_waiter_passes_the_wake_on() {
    model_in_order(2, || {
        let shared = Shared::new();
        let cancelled = spawn(&shared, |shared| {
            (shared.table).sleep(&[(&shared.words[0], 0)], |_| Waited::Cancelled(()))
        });
        let waiter = spawn(&shared, |shared| shared.sleep(1));
        shared.change(0);
        cancelled.join().unwrap();
        waiter.join().unwrap();
    });
}
