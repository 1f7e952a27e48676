//! Wakes that have yet to be done, when no lock is held.

use std::mem::MaybeUninit;
use std::task::Waker;

use blitz_io_futex::atomic::AtomicU32;
use blitz_io_futex::wake_one;

use crate::default_is_new;
use crate::panics::Panics;

/// The greatest number of wakes to gather before the lock is released to do them. A model
/// could not have as many waiters.
const MOST: usize = if cfg!(loom) { 1 } else { 32 };

/// One waiter has been chosen and signalled, and is still to be woken.
#[must_use = "a waiter that is not woken may sleep for ever"]
pub enum Wake {
    /// A task.
    Task(Waker),
    /// The thread that sleeps on this word. The word may have been freed.
    Thread(*const AtomicU32),
    /// A thread that has not gone to sleep.
    Nobody,
}

// SAFETY: the address is only given to the system, which never reads it.
unsafe impl Send for Wake {}

impl Wake {
    /// Wakes it. No lock may be held: a waker is the user's code.
    #[inline]
    pub fn wake(self) {
        match self {
            Self::Task(waker) => waker.wake(),
            Self::Thread(signal) => {
                wake_one(signal);
            }
            Self::Nobody => {}
        }
    }
}

/// A number of wakes, in order.
pub struct Wakes {
    wakes: [MaybeUninit<Wake>; MOST],
    /// The wakes from `next` up to `len` are initialised.
    next: usize,
    len: usize,
}

impl Wakes {
    /// Creates an empty set of wakes.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            wakes: [const { MaybeUninit::uninit() }; MOST],
            next: 0,
            len: 0,
        }
    }

    /// Returns the number of wakes.
    pub(super) fn len(&self) -> usize {
        self.len - self.next
    }

    /// Returns `true` if it is time to release the lock and wake.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.len == MOST
    }

    /// Adds one.
    ///
    /// # Panics
    ///
    /// If it is full.
    pub fn push(&mut self, wake: Wake) {
        self.wakes[self.len].write(wake);
        self.len += 1;
    }

    /// Wakes all of them. The caller holds no lock. If a waker panics, the others are still
    /// woken, and the first panic is resumed.
    pub fn wake(mut self) {
        let mut panics = Panics::new();
        self.wake_all(&mut panics);
        panics.go_on();
    }

    /// Wakes all of them, and forgets them.
    pub fn wake_all(&mut self, panics: &mut Panics) {
        while let Some(wake) = self.pop() {
            panics.put_off(|| wake.wake());
        }
        (self.next, self.len) = (0, 0);
    }

    fn pop(&mut self) -> Option<Wake> {
        if self.next == self.len {
            return None;
        }
        self.next += 1;
        // SAFETY: it was written by `push`, and is read once, because `next` has
        // moved past it.
        Some(unsafe { self.wakes[self.next - 1].assume_init_read() })
    }
}

default_is_new!(Wakes);

impl Drop for Wakes {
    /// Wakes the chosen waiters, also when the thread that chose them panics.
    fn drop(&mut self) {
        let mut panics = Panics::new();
        self.wake_all(&mut panics);
        panics.go_on_in_drop();
    }
}
