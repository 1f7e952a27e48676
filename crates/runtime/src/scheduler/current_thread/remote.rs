//! The queue for what other threads have made ready.
//!
//! A list under a lock, and its length beside it, which the running thread looks at
//! without the lock. It takes all there is at once: one lock for a whole burst.
//!
//! Nothing is forgotten: a pusher writes the length and then unparks, and the running
//! thread looks at the length before it parks. Either it sees the length, or the unpark
//! comes later than its look, and the park returns (`driver.rs`).

use std::cell::UnsafeCell;
use std::collections::VecDeque;
use std::mem;
use std::ptr::NonNull;

use blitz_futex::atomic::{AtomicUsize, Ordering};
use blitz_sync::internals::ListLock;

use crate::task::{Header, Notified};

/// A list that has held more than this gives its memory back when it is empty.
const KEEP: usize = 4096;

/// See the head of this file.
pub(super) struct Remote {
    length: AtomicUsize,
    lock: ListLock,
    /// Belongs to who holds the lock.
    list: UnsafeCell<VecDeque<NonNull<Header>>>,
}

// SAFETY: the list is touched only under the lock, and tokens may be sent.
unsafe impl Send for Remote {}
// SAFETY: as above.
unsafe impl Sync for Remote {}

impl Remote {
    pub(super) fn new() -> Self {
        Self {
            length: AtomicUsize::new(0),
            lock: ListLock::new(),
            list: UnsafeCell::new(VecDeque::new()),
        }
    }

    /// How many wait.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.length.load(Ordering::Acquire)
    }

    /// Puts one at the end.
    pub(super) fn push(&self, task: Notified) {
        self.locked(|list| list.push_back(task.into_raw()));
    }

    /// Moves all there are to the end of `queue`.
    #[cold]
    pub(super) fn drain_into(&self, queue: &mut VecDeque<NonNull<Header>>) {
        self.locked(|list| {
            if queue.is_empty() && list.capacity() <= KEEP {
                mem::swap(list, queue);
            } else {
                queue.append(list);
                list.shrink_to(KEEP);
            }
        });
    }

    fn locked(&self, change: impl FnOnce(&mut VecDeque<NonNull<Header>>)) {
        self.lock.locked(|| {
            // SAFETY: we hold the lock.
            let list = unsafe { &mut *self.list.get() };
            change(list);
            self.length.store(list.len(), Ordering::Release);
        });
    }
}
