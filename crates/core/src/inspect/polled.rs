//! `Polled`: which task a thread polls, and since when. It is known before the task has a record.
//!
//! 1. The thread stores 0 as the task, then, after a fence, the location and the time, then the task,
//!    a release.
//! 2. A reader loads the task, an acquire, then the location and the time, then, after a fence, the
//!    task again. If both loads give the same task, the location and the time are those of a poll of
//!    that task.
//!
//! Each thread has one `Polled`, which is never freed and returns to `FREE` when the thread ends.

use std::cell::Cell;
use std::panic::Location;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering, fence};
use std::sync::{Mutex, PoisonError};

use super::clock;
use crate::{PerProcess, ThreadId};

/// See the head of this file.
pub(super) struct Polled {
    thread: AtomicU64,
    /// The word of the task, or 0.
    task: AtomicU64,
    location: AtomicPtr<Location<'static>>,
    /// Milliseconds of the monotonic clock, or 0 for an unknown time.
    since: AtomicU64,
    next: *const Polled,
}

// SAFETY: `next` is written before the value is shared.
unsafe impl Sync for Polled {}
// SAFETY: the same.
unsafe impl Send for Polled {}

/// What a thread polls.
#[derive(Clone, Copy)]
pub(super) struct Poll {
    /// The word of the task, or 0.
    pub(super) task: u64,
    pub(super) thread: u64,
    /// Where the task was spawned, unless it has a record.
    pub(super) location: *const Location<'static>,
    /// Milliseconds of the monotonic clock, or 0 for an unknown time.
    pub(super) since: u64,
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

    #[inline]
    pub(super) fn thread(&self) -> u64 {
        self.thread.load(Ordering::Relaxed)
    }

    /// The thread polls a task from now on, whose word is not 0. Returns what it polled before.
    #[inline]
    pub(super) fn begin(&self, task: u64, location: *const Location<'static>) -> Poll {
        let before = Poll {
            task: self.task.load(Ordering::Relaxed),
            thread: self.thread(),
            location: self.location.load(Ordering::Relaxed),
            since: self.since.load(Ordering::Relaxed),
        };
        self.set(task, location, clock::recent());
        before
    }

    /// The thread polls again what it polled before.
    #[inline]
    pub(super) fn restore(&self, before: &Poll) {
        if before.task == 0 {
            self.task.store(0, Ordering::Release);
        } else {
            self.set(before.task, before.location, before.since);
        }
    }

    /// Step 1.
    #[inline]
    fn set(&self, task: u64, location: *const Location<'static>, since: u64) {
        self.task.store(0, Ordering::Relaxed);
        fence(Ordering::Release);
        self.location.store(location.cast_mut(), Ordering::Relaxed);
        self.since.store(since, Ordering::Relaxed);
        self.task.store(task, Ordering::Release);
    }

    /// Step 2.
    fn read(&self) -> Option<Poll> {
        let task = self.task.load(Ordering::Acquire);
        let poll = Poll {
            task,
            thread: self.thread(),
            location: self.location.load(Ordering::Relaxed),
            since: self.since.load(Ordering::Relaxed),
        };
        fence(Ordering::Acquire);
        (task != 0 && self.task.load(Ordering::Relaxed) == task).then_some(poll)
    }
}

#[cold]
fn first_time() -> &'static Polled {
    let mut free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
    let polled = free.pop().unwrap_or_else(|| {
        let new: &'static Polled = Box::leak(Box::new(Polled {
            thread: AtomicU64::new(0),
            task: AtomicU64::new(0),
            location: AtomicPtr::new(ptr::null_mut()),
            since: AtomicU64::new(0),
            // The list is changed under the lock of `FREE`.
            next: ALL.load(Ordering::Relaxed),
        }));
        ALL.store(ptr::from_ref(new).cast_mut(), Ordering::Release);
        new
    });
    drop(free);
    let thread = ThreadId::current().get().get() as u64;
    polled.thread.store(thread, Ordering::Relaxed);
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
        here.restore(&within);
        assert_eq!(tasks(), [(outer, location)]);
        here.restore(&before);
        assert!(tasks().is_empty());
    }
}
