//! A word that changes, and the waiters for that.
//!
//! A channel has two words of this kind. Receivers wait for the version of the value, with a bit
//! that says that all senders have been dropped. Senders wait for the number of receivers.
//!
//! # Moves
//!
//! A thread or task that has to wait takes the lock of the queue and *announces* that by setting
//! [`WAITING`] in the word. It *looks* at the word as it was at that moment. If it still has to
//! wait, it links its node into the queue.
//!
//! A change of the word is made by a read-modify-write, which shows the bit. If
//! it was set, it takes the lock of the queue and wakes all waiters in it.
//!
//! # No wake-up is lost
//!
//! Let W wait. It holds the lock from before it looks at the word until its node is linked. Let C
//! be the first change after the value that W saw.
//!
//! *C sees the bit*, since the bit was set in the value that W saw, or W set it, and only a
//! change clears it. So C takes the lock. If C took it before W did, W would have seen the
//! change, because C's release of the lock happens before W's acquisition. So C takes it after W,
//! finds the node, and wakes it.
//!
//! This does not need W to have set the bit itself, so a second waiter does not write
//! the word: a load is enough, even of an old value.
//!
//! A change may find the queue empty, or wake a waiter that came after it and has seen it
//! already. A woken waiter looks again.
//!
//! The change is one read-modify-write and no fence, and nothing but that while there are no
//! waiters. That is why the bit is in the word itself: with a count beside it, change and look
//! would need a fence between them (Dekker's pattern).

use std::time::Instant;

use blitz_io_core::WaitQueue;
use blitz_io_futex::atomic::{AtomicUsize, Ordering};

use crate::wait::{Event, Wait, block_until};

/// In the word: there are waiters, or there were not long ago.
const WAITING: usize = 1;

/// See the head of this file. The lowest bit of the word belongs to it.
pub struct Awaited {
    word: AtomicUsize,
    queue: WaitQueue,
}

/// Whether there are waiters for a change that was made.
#[must_use = "the waiters are to be woken"]
pub struct Waiting(bool);

impl Awaited {
    /// Without waiters.
    pub fn new(word: usize) -> Self {
        Self {
            word: AtomicUsize::new(word),
            queue: WaitQueue::new(),
        }
    }

    /// The word. Acquires the work before its last change.
    #[inline]
    pub fn load(&self) -> usize {
        self.word.load(Ordering::Acquire) & !WAITING
    }

    /// Changes the word. The caller is the only one that does so.
    #[inline]
    pub fn change(&self, change: impl FnOnce(usize) -> usize) -> Waiting {
        let old = self.word.load(Ordering::Relaxed);
        let seen = self.word.swap(change(old & !WAITING), Ordering::AcqRel);
        Waiting(seen & WAITING != 0)
    }

    /// Adds to the word, at the same time as others.
    #[inline]
    pub fn add(&self, n: usize) {
        self.word.fetch_add(n, Ordering::Relaxed);
    }

    /// Subtracts from the word, at the same time as others. Returns the value before. The bit
    /// stays as it is: the next change then finds an empty queue.
    #[inline]
    pub fn subtract(&self, n: usize) -> (usize, Waiting) {
        let old = self.word.fetch_sub(n, Ordering::AcqRel);
        (old & !WAITING, Waiting(old & WAITING != 0))
    }

    /// Wakes the waiters for a change, if there are any. No lock may be held.
    #[inline]
    pub fn wake(&self, waiting: Waiting) {
        if waiting.0 {
            self.wake_all();
        }
    }

    #[cold]
    fn wake_all(&self) {
        self.queue.notify_all();
    }

    /// Waits, as a task, until the word is as wanted. Returns its value at that moment.
    pub fn until<F: Fn(usize) -> bool>(&self, is_done: F) -> Wait<Until<'_, F>> {
        Wait::new(Until(self, is_done))
    }

    /// The same as a thread. `None` when the deadline comes first.
    pub fn block_until(
        &self,
        is_done: impl Fn(usize) -> bool,
        deadline: Option<Instant>,
    ) -> Option<usize> {
        block_until(Until(self, is_done), deadline)
    }
}

/// The word is as wanted.
pub struct Until<'a, F>(&'a Awaited, F);

impl<F: Fn(usize) -> bool> Event for Until<'_, F> {
    type Output = usize;

    fn queue(&self) -> &WaitQueue {
        &self.0.queue
    }

    fn look(&mut self) -> Option<usize> {
        Some(self.0.load()).filter(|&word| self.1(word))
    }

    /// Announces the waiter, and looks at the word as it was at that moment.
    fn must_wait(&self) -> bool {
        let Self(awaited, is_done) = self;
        let mut word = awaited.word.load(Ordering::Acquire);
        if word & WAITING == 0 {
            word = awaited.word.fetch_or(WAITING, Ordering::AcqRel);
        }
        !is_done(word & !WAITING)
    }
}
