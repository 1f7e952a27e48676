//! The threads that wait to join the current one: those that have started it for runs of their test.

use std::cell::RefCell;
use std::sync::{Arc, OnceLock};
use std::thread;

use blitz_io_inspect::OwnStack;

thread_local! {
    /// Those of this thread; `None` if there are none.
    static JOINERS: RefCell<Option<Joiners>> = const { RefCell::new(None) };
}

/// The thread that has called the simulation.
#[derive(Debug)]
struct Caller {
    is_main: bool,
    stack: OwnStack,
    is_of_harness: OnceLock<bool>,
}

/// Gives a thread the joiners that it had before, when it is dropped.
#[must_use]
pub(super) struct Entered(Option<Joiners>);

impl Drop for Entered {
    fn drop(&mut self) {
        _ = JOINERS.try_with(|joiners| joiners.replace(self.0.take()));
    }
}

/// The threads that wait for a thread's end, each for that of the next one.
#[derive(Clone, Debug)]
pub(super) struct Joiners {
    count: u64,
    /// The first of them. If there are none, the thread itself.
    caller: Arc<Caller>,
}

impl Joiners {
    /// Returns those of the current thread.
    pub(super) fn current() -> Self {
        let known = JOINERS.try_with(|joiners| joiners.borrow().clone());
        known.ok().flatten().unwrap_or_else(|| Self {
            count: 0,
            caller: Arc::new(Caller {
                is_main: thread::current().name() == Some("main"),
                stack: OwnStack::take(),
                is_of_harness: OnceLock::new(),
            }),
        })
    }

    /// Returns those of a thread that the current one starts and joins.
    pub(super) fn of_new_thread() -> Self {
        let mut joiners = Self::current();
        joiners.count += 1;
        joiners
    }

    /// The current thread has these until the guard is dropped. A later look at its stack would see the calls of tasks only.
    pub(super) fn enter(self) -> Entered {
        let before = JOINERS.try_with(|joiners| joiners.replace(Some(self)));
        Entered(before.ok().flatten())
    }

    /// Returns their number.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// Returns `true` if the harness of Rust's tests has started the first one, and the main thread is the harness's own. A thread
    /// of its own looks for that: it needs hash maps, whose keys in this thread are the run's.
    pub(super) fn are_of_harness(&self) -> bool {
        !self.caller.is_main
            && *self.caller.is_of_harness.get_or_init(|| {
                let stack = self.caller.stack;
                let look = thread::Builder::new().spawn(move || stack.is_of_test_harness());
                look.is_ok_and(|thread| thread.join().unwrap_or(false))
            })
    }
}
