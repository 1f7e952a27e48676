//! Models of a latch on a word.

use std::sync::Arc;

use crate::protocol::latch_word;
use loom::cell::UnsafeCell;
use loom::sync::atomic::AtomicU32;
use loom::thread;

use crate::model::model_in_order;

struct Shared {
    word: UnsafeCell<AtomicU32>,
    initial: u32,
    numbers: [UnsafeCell<u32>; 2],
}

// SAFETY: the models are about whether the word orders the uses of the numbers and of the word itself.
unsafe impl Sync for Shared {}
// SAFETY: they are numbers.
unsafe impl Send for Shared {}

impl Shared {
    fn new(initial: u32) -> Arc<Self> {
        Arc::new(Self {
            word: UnsafeCell::new(AtomicU32::new(0)),
            initial,
            numbers: [UnsafeCell::new(0), UnsafeCell::new(0)],
        })
    }

    fn word(&self) -> &AtomicU32 {
        // SAFETY: it lives as long as the model; `free` is the only other use.
        self.word.with(|word| unsafe { &*word })
    }

    /// Works, then counts down.
    fn work(&self, number: usize) {
        // SAFETY: the model checker finds out whether it is.
        self.numbers[number].with_mut(|number| unsafe { *number = 1 });
        assert!(latch_word::count_down(
            self.word(),
            self.initial,
            1,
            wake_all
        ));
    }

    fn wait(&self) {
        let sleep = |word: &AtomicU32, state| {
            blitz_io_futex::wait(word, state);
            Ok::<_, ()>(())
        };
        latch_word::wait(self.word(), self.initial, sleep).unwrap();
        self.expect();
    }

    fn expect(&self) {
        for number in &self.numbers[..self.initial as usize] {
            // SAFETY: the model checker finds out whether it is.
            assert_eq!(number.with(|number| unsafe { *number }), 1);
        }
    }

    /// Uses the word for something else: the model fails if another thread uses it later, or at the
    /// same time.
    fn free(&self) {
        // SAFETY: the model checker finds out whether it is.
        (self.word).with_mut(|word| unsafe { (*word).with_mut(|word| *word = u32::MAX) });
    }
}

fn wake_all(word: *const AtomicU32) {
    blitz_io_futex::wake_all(word);
}

fn spawn(shared: &Arc<Shared>, run: impl FnOnce(&Shared) + 'static) -> thread::JoinHandle<()> {
    let shared = shared.clone();
    thread::spawn(move || run(&shared))
}

#[test]
fn the_released_waiter_may_free_the_latch() {
    model_in_order(2, || {
        let shared = Shared::new(2);
        let workers = [0, 1].map(|number| spawn(&shared, move |shared| shared.work(number)));
        shared.wait();
        shared.free();
        workers
            .into_iter()
            .for_each(|worker| worker.join().unwrap());
    });
}

#[test]
fn all_waiters_are_released() {
    model_in_order(2, || {
        let shared = Shared::new(1);
        let waiters = [(); 2].map(|()| spawn(&shared, Shared::wait));
        shared.work(0);
        waiters
            .into_iter()
            .for_each(|waiter| waiter.join().unwrap());
    });
}

#[test]
fn a_waiter_that_gives_up_leaves_the_others() {
    model_in_order(2, || {
        let shared = Shared::new(1);
        let worker = spawn(&shared, |shared| shared.work(0));
        let gives_up = spawn(&shared, |shared| {
            if latch_word::wait(shared.word(), 1, |_, _| Err(())).is_ok() {
                shared.expect();
            }
        });
        shared.wait();
        worker.join().unwrap();
        gives_up.join().unwrap();
    });
}
