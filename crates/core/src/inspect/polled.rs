//! `Polled`: what a thread is, and which task it polls, and since when. This is known before the task
//! has a record.
//!
//! Each thread that has asked for it has one `Polled`, which is never freed and returns to `FREE` when
//! the thread ends. The list only grows. A new element is written before the release store that makes
//! it the first one, and the change of the first one is under the lock of `FREE`.
//!
//! While a thread polls a task within the poll of another one, it uses the `Polled` that is `within`
//! that of the outer poll.

use std::panic::Location;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Mutex, PoisonError};

use super::local::LOCAL;
use super::poll_slot::{NOT_OWNED, Poll, PollSlot, TASK};
use super::{Waiter, clock, threads};
use crate::PerProcess;

/// See the head of this file.
pub(super) struct Polled {
    slot: PollSlot,
    /// For a poll within a poll; null before the first one.
    within: AtomicPtr<Polled>,
    /// The one that this is within.
    outer: Option<&'static Polled>,
    next: *const Polled,
}

// SAFETY: `next` is written before the value is shared, and leads to a value that is never freed.
unsafe impl Sync for Polled {}
// SAFETY: the same.
unsafe impl Send for Polled {}

static ALL: AtomicPtr<Polled> = AtomicPtr::new(ptr::null_mut());
static FREE: PerProcess<Mutex<Vec<&'static Polled>>> = PerProcess::new(Mutex::default);
/// That of all threads that have none.
pub(super) static NONE: Polled = Polled::new();

thread_local! {
    static OWNED: Owned = const { Owned };
}

/// Returns the `Polled` of a thread that ends.
struct Owned;

impl Drop for Owned {
    fn drop(&mut self) {
        let polled = here();
        set_here(&NONE, NOT_OWNED);
        if polled.is_owned() {
            FREE.lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(polled);
        }
    }
}

#[inline]
fn here() -> &'static Polled {
    // SAFETY: it is never freed.
    unsafe { &*LOCAL.with(|local| local.polled.get()) }
}

/// This thread uses that one, whose current word is this.
#[inline]
fn set_here(polled: &'static Polled, current: u64) {
    LOCAL.with(|local| {
        local.polled.set(polled);
        local.current.set(current);
    });
}

/// The current word of this thread's `Polled` has changed.
#[inline]
fn set_current(current: u64) {
    LOCAL.with(|local| local.current.set(current));
}

/// The word of the task that this thread polls, or else of this thread; that of a task which does not
/// exist if this thread has never asked for its own.
#[inline]
pub(super) fn current() -> u64 {
    LOCAL.with(|local| local.current.get())
}

/// The same, and the word of the thread, if it has asked before.
#[inline]
pub(super) fn known() -> Option<(u64, u64)> {
    let current = current();
    (current != NOT_OWNED).then(|| (current, here().slot.thread()))
}

/// The same for a thread that has never asked.
#[cold]
#[inline(never)]
pub(super) fn first_time() -> u64 {
    let thread = Waiter::thread();
    // A thread that is about to end would keep it.
    if OWNED.try_with(|_| ()).is_ok() {
        set_here(Polled::take(), thread.word());
        threads::name_thread(thread.number());
    }
    thread.word()
}

impl Polled {
    const fn new() -> Self {
        Self {
            slot: PollSlot::new(),
            within: AtomicPtr::new(ptr::null_mut()),
            outer: None,
            next: ptr::null(),
        }
    }

    fn take() -> &'static Self {
        let mut free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
        let polled = free.pop().unwrap_or_else(|| {
            let new: &'static Self = Box::leak(Box::new(Self {
                // The list is changed under the lock of `FREE`.
                next: ALL.load(Ordering::Relaxed),
                ..Self::new()
            }));
            ALL.store(ptr::from_ref(new).cast_mut(), Ordering::Release);
            new
        });
        drop(free);
        polled.slot.set_thread(Waiter::thread().word());
        polled
    }

    #[inline]
    fn is_owned(&self) -> bool {
        self.slot.current() != NOT_OWNED
    }

    fn within(&self) -> Option<&'static Self> {
        // SAFETY: null, or that of a value that is never freed.
        unsafe { self.within.load(Ordering::Acquire).as_ref() }
    }

    /// That for a poll within a poll of this thread, which owns `self`.
    fn inner(&'static self) -> &'static Self {
        let inner = self.within().unwrap_or_else(|| {
            let new: &'static Self = Box::leak(Box::new(Self {
                outer: Some(self),
                ..Self::new()
            }));
            let place = ptr::from_ref(new).cast_mut();
            self.within.store(place, Ordering::Release);
            new
        });
        inner.slot.set_thread(Waiter::thread().word());
        inner
    }

    /// Returns that of this thread for a poll that begins.
    #[inline]
    fn for_poll() -> &'static Self {
        let here = here();
        if here.slot.current() & TASK == 0 {
            return here;
        }
        here.for_inner_poll()
    }

    #[cold]
    #[inline(never)]
    fn for_inner_poll(&'static self) -> &'static Self {
        let polled = if self.is_owned() {
            self.inner()
        } else {
            first_time();
            let here = here();
            // A thread that is about to end keeps it.
            if here.is_owned() { here } else { Self::take() }
        };
        set_here(polled, polled.slot.current());
        polled
    }
}

/// This thread polls a task until this is dropped.
pub struct Entered(&'static Polled);

impl Entered {
    /// Begins the first poll of a task without a record.
    #[inline]
    pub(super) fn first(task: Waiter, location: *const Location<'static>) -> Self {
        let polled = Polled::for_poll();
        let since = clock::recent();
        polled.slot.begin_first(task.word(), location, since);
        set_current(task.word());
        Self(polled)
    }

    /// Begins a poll of a task.
    #[inline]
    pub(super) fn new(task: Waiter) -> Self {
        let polled = Polled::for_poll();
        polled.slot.begin(task.word(), clock::recent());
        set_current(task.word());
        Self(polled)
    }

    /// Returns the word of the thread.
    #[inline]
    pub(super) fn thread(&self) -> u64 {
        self.0.slot.thread()
    }
}

impl Drop for Entered {
    #[inline]
    fn drop(&mut self) {
        self.0.slot.end();
        match self.0.outer {
            None => set_current(self.thread()),
            Some(outer) => set_here(outer, outer.slot.current()),
        }
    }
}

/// Copies what the threads poll. The time of a poll within which the thread polls another task is not
/// known.
pub(super) fn read() -> Vec<Poll> {
    let mut found: Vec<Poll> = Vec::new();
    let mut next: *const Polled = ALL.load(Ordering::Acquire);
    // SAFETY: the elements are never freed.
    while let Some(first) = unsafe { next.as_ref() } {
        next = first.next;
        let begin = found.len();
        let mut polled = Some(first);
        while let Some(poll) = polled.and_then(|polled| polled.slot.read()) {
            found[begin..].iter_mut().for_each(|outer| outer.since = 0);
            found.push(poll);
            polled = polled.and_then(Polled::within);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_says_what_it_polls_and_what_it_polled_before() {
        let location = ptr::from_ref(Location::caller());
        let thread = Waiter::current();
        let tasks = || {
            let mine = read()
                .into_iter()
                .filter(|poll| poll.thread == thread.word());
            mine.map(|poll| (poll.task, poll.location))
                .collect::<Vec<_>>()
        };
        let (outer, inner) = (Waiter::task(1), Waiter::task(2));
        for _ in 0..2 {
            let around = Entered::first(outer, location);
            assert_eq!(Waiter::current(), outer);
            let within = Entered::new(inner);
            assert_eq!(Waiter::current(), inner);
            let (first, second) = ((outer.word(), location), (inner.word(), ptr::null()));
            assert_eq!(tasks(), [first, second]);
            drop(within);
            assert_eq!(Waiter::current(), outer);
            assert_eq!(tasks(), [first]);
            drop(around);
            assert_eq!(Waiter::current(), thread);
            assert!(tasks().is_empty());
        }
    }
}
