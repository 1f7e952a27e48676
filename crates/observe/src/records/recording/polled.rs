//! `Polled`: what a thread is, and which task it polls, and since when. This is known before the task
//! has a record.
//!
//! Each thread that has asked for it has one `Polled`, which is never freed and returns to `FREE` when
//! the thread ends. The list only grows. A new element is written before the release store that makes
//! it the first one, and the change of the first one is under the lock of `FREE`.
//!
//! While a thread polls a task within the poll of another one, it uses the `Polled` that is `within`
//! that of the outer poll.

use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Mutex, PoisonError};

use super::Waiter;
use crate::records::kernel::poll_slot::{NOT_OWNED, Poll, PollSlot};
use blitz_io_futex::per_process::PerProcess;

/// The polls that a thread is in; see the module documentation.
pub(super) struct Polled {
    pub(super) slot: PollSlot,
    /// The element for a poll within this poll; null before the first such poll.
    within: AtomicPtr<Polled>,
    /// The element of the poll that contains this one.
    pub(super) outer: Option<&'static Polled>,
    next: *const Polled,
}

// SAFETY: `next` is written before the value is shared, and leads to a value that is never freed.
unsafe impl Sync for Polled {}
// SAFETY: any thread may follow `next`, which leads to a value that is never freed.
unsafe impl Send for Polled {}

static ALL: AtomicPtr<Polled> = AtomicPtr::new(ptr::null_mut());
static FREE: PerProcess<Mutex<Vec<&'static Polled>>> = PerProcess::new(Mutex::default);
/// That of all threads that have none.
pub(super) static NONE: Polled = Polled::new();

impl Polled {
    const fn new() -> Self {
        Self {
            slot: PollSlot::new(),
            within: AtomicPtr::new(ptr::null_mut()),
            outer: None,
            next: ptr::null(),
        }
    }

    /// Returns a free one for this thread, or a new one.
    pub(super) fn take() -> &'static Self {
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
    pub(super) fn is_owned(&self) -> bool {
        self.slot.current() != NOT_OWNED
    }

    fn within(&self) -> Option<&'static Self> {
        // SAFETY: null, or that of a value that is never freed.
        unsafe { self.within.load(Ordering::Acquire).as_ref() }
    }

    /// Returns the element for a poll within a poll of this thread, which owns `self`.
    pub(super) fn inner(&'static self) -> &'static Self {
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

    /// Gives the element back, so that another thread may have it.
    pub(super) fn put_back(&'static self) {
        FREE.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(self);
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
