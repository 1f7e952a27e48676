//! Where the core is while no thread has it.
//!
//! A thread that takes it from there may run the tasks. One that finds nothing waits for a
//! permit of a `Notify`, and for its own future, whichever comes first.
//!
//! No thread waits for a core that is in its cell. A thread that wants to wait says so first
//! (`waiting`), and then tries once more to take the core; one that puts it back looks after
//! that whether any waits. Both touch the core's word with a read-modify-write. If
//! putting it back comes first there, the other one gets the core. If the failed attempt
//! comes first, the thread that puts it back sees all that was done before that, so
//! `waiting`, too, and gives a permit.
//!
//! A permit that was meant for a thread that has got the core meanwhile stays with the
//! `Notify`; one for a thread whose future has become ready goes on to the next waiter.
//! At worst a thread looks once more, and waits again.

use std::ptr::{self, NonNull};

use blitz_futex::atomic::{AtomicPtr, AtomicUsize, Ordering};
use blitz_sync::task::Notify;
use blitz_sync::task::futures::Notified;

use super::mutant::{Mutant, active};

/// See the head of this file.
pub struct CoreCell<T> {
    /// Null while a thread has it.
    core: AtomicPtr<T>,
    /// How many threads wait for the core, or are about to.
    waiting: AtomicUsize,
    turn: Notify,
}

impl<T> CoreCell<T> {
    /// A cell with a core in it.
    pub fn new(core: Box<T>) -> Self {
        Self {
            core: AtomicPtr::new(Box::into_raw(core)),
            waiting: AtomicUsize::new(0),
            turn: Notify::new(),
        }
    }

    /// Takes the core, if it is there. It is the caller's until it is put back.
    #[inline]
    pub fn take(&self) -> Option<NonNull<T>> {
        NonNull::new(self.core.swap(ptr::null_mut(), Ordering::AcqRel))
    }

    /// Says that this thread is about to wait. It has to try once more after that.
    #[cold]
    pub fn announce(&self) -> Waiting<'_, T> {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        Waiting(self)
    }

    /// Puts back the core that was taken.
    #[inline]
    pub fn put_back(&self, core: NonNull<T>) {
        let waits = || self.waiting.load(Ordering::Relaxed) != 0;
        let looked_first = active(Mutant::LooksBeforePuttingBack).then(waits);
        self.core.swap(core.as_ptr(), Ordering::AcqRel);
        if looked_first.unwrap_or_else(waits) {
            self.turn.notify_one();
        }
    }
}

impl<T> Drop for CoreCell<T> {
    fn drop(&mut self) {
        if let Some(core) = self.take() {
            // SAFETY: the pointer is the box's, and no other thread has it.
            drop(unsafe { Box::from_raw(core.as_ptr()) });
        }
    }
}

/// A thread that waits for the core, until it is dropped.
pub struct Waiting<'a, T>(&'a CoreCell<T>);

impl<T> Waiting<'_, T> {
    /// Ready when it is worth while to try again.
    pub fn turn(&self) -> Notified<'_> {
        self.0.turn.notified()
    }
}

impl<T> Drop for Waiting<'_, T> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}
