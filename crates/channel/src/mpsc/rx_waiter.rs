//! Where the receiver waits: one task, or one thread.
//!
//! Each waker of the receiver takes its registration from here, so it is woken once. The receiver
//! registers *before* it announces that it waits, in the channel's word. A
//! sender that sees the announcement finds the registration here, or finds that another one has
//! taken it, which then wakes the receiver. A wake that comes too late, for a wait that is over,
//! only makes the receiver look again.

use std::mem;
use std::task::Waker;
use std::time::Instant;

use blitz_io_core::{Lock, Parker};

enum Sleeper {
    Nobody,
    Task(Waker),
    /// The thread that parks.
    Thread,
}

pub struct RxWaiter {
    sleeper: Lock<Sleeper>,
    parker: Parker,
}

impl RxWaiter {
    pub fn new() -> Self {
        Self {
            sleeper: Lock::new(Sleeper::Nobody),
            parker: Parker::new(),
        }
    }

    /// Registers a task.
    pub fn set_task(&self, waker: &Waker) {
        let is_set = match &*self.sleeper.lock() {
            Sleeper::Task(old) => old.will_wake(waker),
            _ => false,
        };
        if !is_set {
            drop(self.replace(Sleeper::Task(waker.clone())));
        }
    }

    /// Registers the calling thread.
    pub fn set_thread(&self) {
        drop(self.replace(Sleeper::Thread));
    }

    /// Blocks the registered thread until it is woken. `false` if the deadline comes
    /// first.
    pub fn sleep(&self, deadline: Option<Instant>) -> bool {
        self.parker.park(deadline)
    }

    /// Removes the task or thread.
    pub fn clear(&self) {
        drop(self.replace(Sleeper::Nobody));
    }

    /// Wakes the registered task or thread.
    #[cold]
    pub fn wake(&self) {
        match self.replace(Sleeper::Nobody) {
            Sleeper::Nobody => {}
            Sleeper::Task(waker) => waker.wake(),
            Sleeper::Thread => self.parker.unpark(),
        }
    }

    fn replace(&self, with: Sleeper) -> Sleeper {
        mem::replace(&mut *self.sleeper.lock(), with)
    }
}
