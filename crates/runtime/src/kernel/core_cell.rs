//! The cell that holds the core while no thread has it.
//!
//! A thread that takes the core may run the tasks. A thread that finds none waits for a
//! permit of a `Notify`, and for its own future, whichever comes first.
//!
//! No thread waits for a core that is in its cell:
//!
//! * A thread that wants to wait first increments `waiting`, and then tries again to take
//!   the core. A thread that puts the core back checks `waiting` after that.
//! * Both touch the core's word with a read-modify-write. If the core is put back before
//!   the second attempt, that attempt gets the core.
//! * If the failed attempt comes first, the thread that puts the core back sees the
//!   writes before that attempt. So it sees `waiting`, and gives a permit.
//!
//! If the receiver of a permit has already got the core, the permit stays with the
//! `Notify`. If its future has become ready, the permit passes to the next waiter. At
//! worst a thread checks the cell again, and waits again.

use std::ptr::{self, NonNull};

use blitz_io_futex::atomic::{AtomicPtr, AtomicUsize, Ordering};
use blitz_io_sync::task::Notify;
use blitz_io_sync::task::futures::Notified;

/// A cell for the core; see the module documentation.
pub struct CoreCell<T> {
    /// Null while a thread has it.
    core: AtomicPtr<T>,
    /// Number of threads that wait for the core, or are about to.
    waiting: AtomicUsize,
    turn: Notify,
}

impl<T> CoreCell<T> {
    /// Creates a cell with a core in it.
    pub fn new(core: Box<T>) -> Self {
        Self {
            core: AtomicPtr::new(Box::into_raw(core)),
            waiting: AtomicUsize::new(0),
            turn: Notify::new(),
        }
    }

    /// Takes the core, if the cell holds it. It is the caller's until the caller puts it
    /// back.
    #[inline]
    pub fn take(&self) -> Option<NonNull<T>> {
        NonNull::new(self.core.swap(ptr::null_mut(), Ordering::AcqRel))
    }

    /// Announces that this thread is about to wait. It has to try again after that.
    #[cold]
    pub fn announce(&self) -> Waiting<'_, T> {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        Waiting(self)
    }

    /// Puts back the core that was taken.
    #[inline]
    pub fn put_back(&self, core: NonNull<T>) {
        self.core.swap(core.as_ptr(), Ordering::AcqRel);
        if self.waiting.load(Ordering::Relaxed) != 0 {
            self.turn.notify_one_as_part();
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
