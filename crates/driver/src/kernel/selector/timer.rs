//! A timer in the poll (timerfd) that stays set from one poll to the next.
//!
//! A poll with a timeout makes the kernel set a timer and cancel it again, each time. For
//! a worker that sleeps for microseconds, often, with a deadline that is milliseconds
//! away, this costs as much as the rest of the poll. So a deadline sets this timer
//! instead, unless it is already set for an earlier time. A deadline that is no longer
//! needed is not cancelled: it only ends one poll early.
//!
//! # The timer ends a poll
//!
//! `due` is the time for which the timer is set. It changes under its lock, together with
//! the kernel's timer. While it is `Some(time)`, the kernel's timer will expire at that
//! time, or has expired and its event is in the poll. Only a poll takes the event out, and
//! that thread then sets `due` to `None` ([`Timer::expired`]).
//!
//! A thread that calls [`Timer::set_by`] may find an earlier time in place whose event
//! another thread has just taken. Then that thread's poll has ended and reports the
//! expiry to its caller ([`Reports::expired`](crate::Reports)). The caller fires the
//! timers that are due, and sets this timer for the next deadline.
//!
//! Setting the timer may erase an event of an earlier time that has not been taken. Then
//! the new time must be earlier than that one, so it is past, and the kernel reports it at
//! once.

use std::time::{Duration, Instant};

use blitz_io_core::Lock;

use super::Kernel;

/// A timer that stays set from one poll to the next.
pub struct Timer {
    kernel: Kernel,
    due: Lock<Option<Instant>>,
}

impl Timer {
    /// Creates a timer that is not set.
    pub fn new(kernel: Kernel) -> Self {
        Self {
            kernel,
            due: Lock::new(None),
        }
    }

    /// Makes the timer expire at `deadline` or before. Returns `false` if the system
    /// refuses.
    pub fn set_by(&self, deadline: Instant) -> bool {
        let mut due = self.due.lock();
        if due.is_some_and(|due| due <= deadline) {
            return true;
        }
        let time = deadline.saturating_duration_since(Instant::now());
        // Zero would turn the timer off.
        let is_set = self.kernel.set(time.max(Duration::from_nanos(1)));
        if is_set {
            *due = Some(deadline);
        }
        is_set
    }

    /// Records that a poll has taken the timer's event.
    pub fn expired(&self) {
        *self.due.lock() = None;
    }
}
