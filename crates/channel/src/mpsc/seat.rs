//! Where the receiver waits: one task, or one thread.
//!
//! Who wakes it takes it from its seat, so it is woken once. The receiver sits
//! down *before* it announces in the channel's word that it waits; whoever sees
//! the announcement finds it here, or finds that somebody else has taken it, who
//! wakes it. A wake that comes too late, for a wait that is over, only makes the
//! receiver look once more.

use std::cell::UnsafeCell;
use std::mem;
use std::task::Waker;
use std::time::Instant;

use blitz_futex::atomic::{AtomicU32, Ordering};
use blitz_futex::{WaitResult, wait_until, wake_one};
use blitz_sync::internals::ListLock;

const ASLEEP: u32 = 0;
const WOKEN: u32 = 1;

enum Sleeper {
    Nobody,
    Task(Waker),
    /// The thread that sleeps on the signal.
    Thread,
}

pub struct Seat {
    lock: ListLock,
    sleeper: UnsafeCell<Sleeper>,
    signal: AtomicU32,
}

// SAFETY: the sleeper is used only under the lock.
unsafe impl Send for Seat {}
// SAFETY: as above.
unsafe impl Sync for Seat {}

impl Seat {
    pub fn new() -> Self {
        Self {
            lock: ListLock::new(),
            sleeper: UnsafeCell::new(Sleeper::Nobody),
            signal: AtomicU32::new(ASLEEP),
        }
    }

    /// A task sits down.
    pub fn sit(&self, waker: &Waker) {
        let sits = self.locked(|sleeper| match sleeper {
            Sleeper::Task(old) => old.will_wake(waker),
            _ => false,
        });
        if !sits {
            drop(self.replace(Sleeper::Task(waker.clone())));
        }
    }

    /// A thread sits down.
    pub fn sit_thread(&self) {
        self.signal.store(ASLEEP, Ordering::Relaxed);
        drop(self.replace(Sleeper::Thread));
    }

    /// The thread sleeps. `false` if the deadline comes first.
    pub fn sleep(&self, deadline: Option<Instant>) -> bool {
        while self.signal.load(Ordering::Acquire) == ASLEEP {
            if wait_until(&self.signal, ASLEEP, deadline) == WaitResult::TimedOut {
                return self.signal.load(Ordering::Acquire) == WOKEN;
            }
        }
        true
    }

    /// The receiver gets up by itself.
    pub fn leave(&self) {
        drop(self.replace(Sleeper::Nobody));
    }

    /// Wakes who sits here.
    #[cold]
    pub fn wake(&self) {
        let sleeper = self.locked(|sleeper| {
            let sleeper = mem::replace(sleeper, Sleeper::Nobody);
            if matches!(sleeper, Sleeper::Thread) {
                self.signal.store(WOKEN, Ordering::Release);
            }
            sleeper
        });
        match sleeper {
            Sleeper::Nobody => {}
            Sleeper::Task(waker) => waker.wake(),
            Sleeper::Thread => {
                wake_one(&self.signal);
            }
        }
    }

    fn replace(&self, with: Sleeper) -> Sleeper {
        self.locked(|sleeper| mem::replace(sleeper, with))
    }

    fn locked<R>(&self, with: impl FnOnce(&mut Sleeper) -> R) -> R {
        self.lock.locked(|| {
            // SAFETY: we hold the lock.
            with(unsafe { &mut *self.sleeper.get() })
        })
    }
}
