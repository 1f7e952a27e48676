//! A list that has an owner, and now and then a visitor.
//!
//! The owner uses the list for each task that it starts and ends, and makes no
//! read-modify-write for it. A visitor comes when the runtime ends, or when much has piled
//! up for an owner who sleeps: it must not have to wait for an owner whose thread is
//! blocked. A bolt keeps the two apart (`bolt.rs`).

use super::list::List;
use crate::bolt::Bolt;
use blitz_sync::internals::Watched;

/// See the head of this file.
pub(super) struct Own {
    list: Watched<List>,
    bolt: Bolt,
}

impl Own {
    pub(super) fn new() -> Self {
        Self {
            list: Watched::new(List::new()),
            bolt: Bolt::new(),
        }
    }

    /// Uses the list, for a few instructions, and calls nobody's code meanwhile.
    ///
    /// # Safety
    ///
    /// The caller is the owner: those who were before are ordered before this.
    #[inline]
    pub(super) unsafe fn with<R>(&self, with: impl FnOnce(&mut List) -> R) -> R {
        // SAFETY: there is no other owner, and behind the bolt no visitor.
        unsafe {
            self.bolt
                .own(|| self.list.with_mut(|list| with(&mut *list)))
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
        let bolts = lists.map(|(own, known)| (&own.bolt, (own, known)));
        let work = |(own, known): (&Self, T)| {
            // SAFETY: there is no other visitor, and behind the bolt no owner.
            own.list.with_mut(|list| with(unsafe { &mut *list }, known));
        };
        // SAFETY: passed on.
        unsafe { Bolt::visit(bolts, work) }
    }
}
