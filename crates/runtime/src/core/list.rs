//! Lists of tasks, linked through their headers.

use std::ptr::NonNull;

use super::header::{Header, Links};
use blitz_sync::internals::BiasedLock;
use blitz_sync::internals::Watched;

/// A list of tasks. Its user has it alone.
pub(super) struct List {
    first: Option<NonNull<Header>>,
    /// No more tasks are taken in.
    pub(super) is_closed: bool,
}

impl List {
    pub(super) fn new() -> Self {
        Self {
            first: None,
            is_closed: false,
        }
    }

    /// Adds a task.
    ///
    /// # Safety
    ///
    /// The task is alive, and in no list.
    #[inline]
    pub(super) unsafe fn add(&mut self, task: NonNull<Header>) {
        let links = Links {
            previous: None,
            next: self.first,
        };
        // SAFETY: the caller has the list, and the tasks in it are alive.
        unsafe {
            task.as_ref().links.with_mut(|place| *place = links);
            task.as_ref().is_listed.with_mut(|place| *place = true);
            if let Some(first) = self.first {
                first
                    .as_ref()
                    .links
                    .with_mut(|links| (*links).previous = Some(task));
            }
        }
        self.first = Some(task);
    }

    /// Takes a task out, if it is in the list.
    ///
    /// # Safety
    ///
    /// The task is alive, and in no other list.
    #[inline]
    pub(super) unsafe fn remove(&mut self, task: &Header) -> bool {
        // SAFETY: the caller has the list, and the tasks in it are alive.
        unsafe {
            if !task.is_listed.with(|listed| *listed) {
                return false;
            }
            task.is_listed.with_mut(|listed| *listed = false);
            let links = task.links.with(|links| *links);
            match links.previous {
                Some(previous) => previous
                    .as_ref()
                    .links
                    .with_mut(|place| (*place).next = links.next),
                None => self.first = links.next,
            }
            if let Some(next) = links.next {
                next.as_ref()
                    .links
                    .with_mut(|place| (*place).previous = links.previous);
            }
        }
        true
    }

    /// Takes in no more tasks, and cancels all there are. Takes those out that wait, and
    /// gives them as a chain through `queue_next`, and how many they are.
    ///
    /// # Safety
    ///
    /// The tasks of the list are alive.
    pub(super) unsafe fn close(&mut self) -> (Option<NonNull<Header>>, isize) {
        self.is_closed = true;
        let (mut chain, mut count) = (None, 0);
        let mut next = self.first;
        while let Some(task) = next {
            // SAFETY: tasks of the list are alive; one that we have shut down is ours, and
            // nobody has a token for it.
            unsafe {
                let header = task.as_ref();
                next = header.links.with(|links| (*links).next);
                if header.state.shut_down() {
                    self.remove(header);
                    header.set_queue_next(chain);
                    chain = Some(task);
                    count += 1;
                }
            }
        }
        (chain, count)
    }
}

/// A list that has an owner, and now and then another user.
///
/// The owner uses the list for each task that it starts and ends, and makes no
/// read-modify-write for it. Others use it when the runtime ends, or when much has piled up
/// for an owner that sleeps: they must not have to wait for an owner whose thread is blocked.
pub(super) struct OwnedList {
    list: Watched<List>,
    lock: BiasedLock,
}

impl OwnedList {
    pub(super) fn new() -> Self {
        Self {
            list: Watched::new(List::new()),
            lock: BiasedLock::new(),
        }
    }

    /// Uses the list, for a few instructions, and calls nobody's code meanwhile.
    ///
    /// # Safety
    ///
    /// The caller is the owner: those who were before are ordered before this.
    #[inline]
    pub(super) unsafe fn with<R>(&self, with: impl FnOnce(&mut List) -> R) -> R {
        // SAFETY: there is no other owner, and under the lock no other user.
        unsafe {
            self.lock
                .lock(|| self.list.with_mut(|list| with(&mut *list)))
        }
    }

    /// Uses these lists, which are given with what `with` gets to know of them, from a thread
    /// that is not their owner.
    ///
    /// # Safety
    ///
    /// The caller is using none of them as the owner, and is alone in doing this.
    #[cold]
    pub(super) unsafe fn with_remote<'a, T>(
        lists: impl Iterator<Item = (&'a Self, T)> + Clone,
        mut with: impl FnMut(&mut List, T),
    ) {
        let locks = lists.map(|(own, known)| (&own.lock, (own, known)));
        let mut work = |(own, known): (&Self, T)| {
            // SAFETY: under the lock there is no other user.
            own.list.with_mut(|list| with(unsafe { &mut *list }, known));
        };
        // SAFETY: passed on.
        unsafe { BiasedLock::lock_remote(locks, &mut work) }
    }
}
