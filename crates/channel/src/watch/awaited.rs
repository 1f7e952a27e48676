//! A word that changes, and those who wait for that.
//!
//! The two words of a channel are of this kind: the version of the value, with a
//! bit for "all senders are gone", for which receivers wait; and the number of
//! receivers, for which senders wait.
//!
//! # Moves
//!
//! A thread or task that has to wait takes the lock of the queue, *announces* that by
//! setting [`WAITING`] in the word, *looks* at the word as it was at that moment,
//! and, if it still has to, links its node into the queue.
//!
//! A change of the word is made by a read-modify-write, which shows the bit. If
//! it was set, it takes the lock of the queue and wakes all who are in it.
//!
//! # No wake-up is lost
//!
//! Let W wait. It holds the lock from before it looks at the word until its node
//! is linked. Let C be the first change after what W saw.
//!
//! *C sees the bit*, since it was set in what W saw or by W, and only a change clears
//! it. So C takes the lock. If it took it before W did, then W would
//! have seen the change, because the one's release of the lock happens before the
//! other's acquisition. So it takes it after W, finds the node, and wakes it.
//!
//! This does not need W to be the one who set the bit, so a second waiter does not
//! write the word: a load does, even an old one.
//!
//! A change may find the queue empty, or wake somebody who came after it and saw it
//! already. A woken waiter looks again.
//!
//! The change is one read-modify-write and no fence, and nothing but that when
//! nobody waits. That is why the bit is in the word itself; with a count beside it,
//! change and look would need a fence between them (Dekker's pattern).

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Instant;

use blitz_futex::atomic::{AtomicUsize, Ordering};
use blitz_sync::internals::{EventSpin, Node, WaitQueue, deadline};

use super::mutant::{Mutant, active, model_has_failed};

/// In the word: somebody waits, or did not long ago.
const WAITING: usize = 1;

/// See the head of this file. The lowest bit of the word belongs to it.
pub struct Awaited {
    word: AtomicUsize,
    queue: WaitQueue,
}

/// Whether somebody waits for a change that was made.
#[must_use = "those who wait are to be woken"]
pub struct Waiting(bool);

impl Awaited {
    /// Nobody waits.
    pub fn new(word: usize) -> Self {
        Self {
            word: AtomicUsize::new(word),
            queue: WaitQueue::new(),
        }
    }

    /// The word. Sees what was done before it was written.
    #[inline]
    pub fn load(&self) -> usize {
        self.word.load(Ordering::Acquire) & !WAITING
    }

    /// Changes the word from what it is. Only one may do this at a time.
    #[inline]
    pub fn change(&self, change: impl FnOnce(usize) -> usize) -> Waiting {
        let old = self.word.load(Ordering::Relaxed);
        let seen = self.word.swap(change(old & !WAITING), Ordering::AcqRel);
        match active(Mutant::LooksForWaitersFirst) {
            false => Waiting(seen & WAITING != 0),
            true => Waiting(old & WAITING != 0),
        }
    }

    /// Adds to the word, at the same time as others.
    #[inline]
    pub fn add(&self, n: usize) {
        self.word.fetch_add(n, Ordering::Relaxed);
    }

    /// Subtracts from the word, at the same time as others. What it was before. The
    /// bit stays as it is: the next one will look for waiters that are not there.
    #[inline]
    pub fn subtract(&self, n: usize) -> (usize, Waiting) {
        let old = self.word.fetch_sub(n, Ordering::AcqRel);
        (old & !WAITING, Waiting(old & WAITING != 0))
    }

    /// Wakes all who wait for a change, if there are any. No lock may be held.
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

    /// Waits until the word is as wanted, as a task. What it was then.
    pub fn until<F: Fn(usize) -> bool>(&self, is_done: F) -> Until<'_, F> {
        Until {
            awaited: self,
            is_done,
            node: Node::new(()),
            is_linked: false,
        }
    }

    /// The same as a thread. `None` when the deadline comes first.
    pub fn block_until(
        &self,
        is_done: impl Fn(usize) -> bool,
        deadline: Option<Instant>,
    ) -> Option<usize> {
        let done = || Some(self.load()).filter(|&word| is_done(word));
        if let Some(word) = done() {
            return Some(word);
        }
        if deadline::is_past(deadline) {
            return None;
        }
        let mut spin = EventSpin::new();
        while spin.turn() {
            if let Some(word) = done() {
                return Some(word);
            }
        }
        self.sleep_until(is_done, deadline)
    }

    #[cold]
    fn sleep_until(
        &self,
        is_done: impl Fn(usize) -> bool,
        deadline: Option<Instant>,
    ) -> Option<usize> {
        loop {
            let node = Node::new(());
            // SAFETY: it stays here until it is not linked any more, for which
            // `sleep` sees to.
            if let Err(word) = unsafe { self.join(&node, &is_done) } {
                return Some(word);
            }
            if !self.queue.sleep(&node, deadline) {
                return None;
            }
        }
    }

    /// Announces a waiter, and links its node, unless the word is as wanted.
    ///
    /// # Safety
    ///
    /// The node stays where it is as long as it is linked.
    unsafe fn join(&self, node: &Node, is_done: &impl Fn(usize) -> bool) -> Result<(), usize> {
        self.queue.locked(|list| {
            let mut word = self.word.load(Ordering::Acquire);
            if word & WAITING == 0 && !active(Mutant::SilentWait) {
                let now = self.word.fetch_or(WAITING, Ordering::AcqRel);
                if !active(Mutant::LooksFirst) {
                    word = now;
                }
            }
            if is_done(word & !WAITING) {
                return Err(word & !WAITING);
            }
            // SAFETY: the caller says so.
            unsafe { list.push(node) };
            Ok(())
        })
    }
}

/// The future of [`Awaited::until`].
pub struct Until<'a, F> {
    awaited: &'a Awaited,
    is_done: F,
    /// `!Unpin`, and so is the future.
    node: Node,
    /// It has been linked. It may have been chosen since.
    is_linked: bool,
}

impl<F: Fn(usize) -> bool> Future for Until<'_, F> {
    type Output = usize;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<usize> {
        // SAFETY: the node is not moved.
        let this = unsafe { self.get_unchecked_mut() };
        let awaited = this.awaited;
        if this.is_linked && awaited.queue.still_waits(&this.node, context.waker()) {
            return Poll::Pending;
        }
        this.is_linked = false;
        let word = awaited.load();
        if (this.is_done)(word) {
            return Poll::Ready(word);
        }
        // SAFETY: it is not linked.
        unsafe { this.node.arm(context.waker()) };
        // SAFETY: it is pinned, and the drop unlinks it.
        match unsafe { awaited.join(&this.node, &this.is_done) } {
            Ok(()) => {
                this.is_linked = true;
                Poll::Pending
            }
            Err(word) => Poll::Ready(word),
        }
    }
}

impl<F> Drop for Until<'_, F> {
    fn drop(&mut self) {
        if self.is_linked && !model_has_failed() {
            // A chosen waiter that leaves takes nothing away from the others: all are
            // woken.
            self.awaited.queue.leave(&self.node);
        }
    }
}
