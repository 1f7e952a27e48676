//! `Polled`: which task a thread polls, and since when. It is known before the task has a record.
//!
//! Each thread has one `Polled`, which is never freed and returns to `FREE` when the thread ends.
//! The list only grows. A new element is written before the release store that makes it the first
//! one, and the change of the first one is under the lock of `FREE`.

use std::cell::Cell;
use std::ops::Deref;
use std::panic::Location;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Mutex, PoisonError};

use super::poll_slot::{Poll, PollSlot};
use super::{Waiter, clock};
use crate::{PerProcess, ThreadId};

/// See the head of this file.
pub(super) struct Polled {
    slot: PollSlot,
    next: *const Polled,
}

// SAFETY: `next` is written before the value is shared, and leads to a value that is never freed.
unsafe impl Sync for Polled {}
// SAFETY: the same.
unsafe impl Send for Polled {}

impl Deref for Polled {
    type Target = PollSlot;

    #[inline]
    fn deref(&self) -> &PollSlot {
        &self.slot
    }
}

static ALL: AtomicPtr<Polled> = AtomicPtr::new(ptr::null_mut());
static FREE: PerProcess<Mutex<Vec<&'static Polled>>> = PerProcess::new(Mutex::default);

thread_local! {
    static HERE: Cell<Option<&'static Polled>> = const { Cell::new(None) };
    static OWNED: Owned = const { Owned };
}

/// Returns the `Polled` of a thread that ends.
struct Owned;

impl Drop for Owned {
    fn drop(&mut self) {
        if let Some(polled) = HERE.take() {
            FREE.lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(polled);
        }
    }
}

impl Polled {
    /// Returns that of this thread.
    #[inline]
    pub(super) fn here() -> &'static Self {
        match HERE.get() {
            Some(polled) => polled,
            None => first_time(),
        }
    }

    /// The thread polls a task from now on, whose word is not 0. Returns what it polled before.
    #[inline]
    pub(super) fn begin(&self, task: u64, location: *const Location<'static>) -> Option<Poll> {
        self.slot.begin(task, location, clock::recent())
    }
}

#[cold]
fn first_time() -> &'static Polled {
    let mut free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
    let polled = free.pop().unwrap_or_else(|| {
        let new: &'static Polled = Box::leak(Box::new(Polled {
            slot: PollSlot::new(),
            // The list is changed under the lock of `FREE`.
            next: ALL.load(Ordering::Relaxed),
        }));
        ALL.store(ptr::from_ref(new).cast_mut(), Ordering::Release);
        new
    });
    drop(free);
    // A reader finds the name of a thread that has polled, also if it has not waited.
    _ = Waiter::current();
    let thread = ThreadId::current().get().get() as u64;
    polled.set_thread(thread);
    HERE.set(Some(polled));
    // A thread that is about to end keeps it.
    _ = OWNED.try_with(|_| ());
    polled
}

/// Copies what the threads poll.
pub(super) fn read() -> Vec<Poll> {
    let mut found = Vec::new();
    let mut next: *const Polled = ALL.load(Ordering::Acquire);
    // SAFETY: the elements are never freed.
    while let Some(polled) = unsafe { next.as_ref() } {
        found.extend(polled.read());
        next = polled.next;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_says_what_it_polls_and_what_it_polled_before() {
        let here = Polled::here();
        let location = ptr::from_ref(Location::caller());
        let number = here.thread();
        let tasks = || {
            let mine = read().into_iter().filter(|poll| poll.thread == number);
            mine.map(|poll| (poll.task, poll.location))
                .collect::<Vec<_>>()
        };
        let (outer, inner) = (1, 3);
        let before = here.begin(outer, location);
        let within = here.begin(inner, ptr::null());
        assert_eq!(tasks(), [(inner, ptr::null::<Location<'static>>())]);
        here.restore(within.as_ref());
        assert_eq!(tasks(), [(outer, location)]);
        here.restore(before.as_ref());
        assert!(tasks().is_empty());
    }
}
