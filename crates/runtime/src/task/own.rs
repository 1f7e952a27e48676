//! A list that has an owner, and now and then a visitor.
//!
//! The owner, one thread at a time, uses the list for each task that it starts and ends,
//! and makes no read-modify-write for it. A visitor comes when the runtime ends, or when
//! much has piled up for an owner who sleeps: it must not have to wait for an owner whose
//! thread is blocked.
//!
//! The owner says that it is *busy* with the list, looks whether it is *visited*, uses the
//! list, and is not busy any more. The visitor says that it is there, makes every thread
//! pass a fence (`heavy`), waits until the owner is not busy, and uses the list. An owner
//! that sees the visitor is not busy any more, and waits until the visitor has gone.
//! Neither does anything meanwhile but to change a few links, so nobody waits for long.
//!
//! **They are never in the list together.** After its fence the visitor sees that the owner
//! is busy, or the owner will see the visitor: that is what `blitz_sync`'s asymmetric
//! fences promise. Who comes later sees what the other one did, by release and acquire of
//! the other one's flag. There is one visitor at a time, who has the lock of the visitors.

use blitz_futex::atomic::{AtomicU8, Ordering};
use blitz_sync::internals::fences;

use super::list::List;
use super::mutant::{Mutant, active};
use super::watched::Watched;

/// See the head of this file.
pub(super) struct Own {
    list: Watched<List>,
    /// The owner is about to use it, or does.
    busy: AtomicU8,
    /// A visitor is.
    visited: AtomicU8,
}

impl Own {
    pub(super) fn new() -> Self {
        Self {
            list: Watched::new(List::new()),
            busy: AtomicU8::new(0),
            visited: AtomicU8::new(0),
        }
    }

    /// Uses the list, for a few instructions, and calls nobody's code meanwhile.
    ///
    /// # Safety
    ///
    /// The caller is the owner: those who were before are ordered before this.
    #[inline]
    pub(super) unsafe fn with<R>(&self, with: impl FnOnce(&mut List) -> R) -> R {
        while fences::publish(&self.busy, 1, &self.visited) != 0 {
            self.let_visitor_go();
        }
        // SAFETY: there is no other owner, and no visitor.
        let result = self.list.with_mut(|list| with(unsafe { &mut *list }));
        self.busy.store(0, Ordering::Release);
        result
    }

    #[cold]
    fn let_visitor_go(&self) {
        self.busy.store(0, Ordering::Release);
        while self.visited.load(Ordering::Acquire) != 0 {
            rest();
        }
    }

    /// Visits these lists, which are given with what `with` gets to know of them.
    ///
    /// # Safety
    ///
    /// The caller is alone in visiting them, and is in none of them as the owner.
    #[cold]
    pub(super) unsafe fn visit<'a, T>(
        lists: impl Iterator<Item = (&'a Self, T)> + Clone,
        mut with: impl FnMut(&mut List, T),
    ) {
        for (own, _) in lists.clone() {
            own.visited.store(1, Ordering::SeqCst);
        }
        if !active(Mutant::VisitsWithoutFence) {
            fences::heavy();
        }
        for (own, known) in lists {
            while own.busy.load(Ordering::Acquire) != 0 && !active(Mutant::VisitsTheBusy) {
                rest();
            }
            // SAFETY: there is no other visitor, and the owner is not in the list.
            own.list.with_mut(|list| with(unsafe { &mut *list }, known));
            own.visited.store(0, Ordering::Release);
        }
    }
}

#[cfg(not(loom))]
fn rest() {
    std::thread::yield_now();
}

#[cfg(loom)]
fn rest() {
    loom::thread::yield_now();
}
