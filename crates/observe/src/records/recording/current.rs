//! What this thread is, and which task it polls: its `Polled`.

use std::panic::Location;

use super::local::LOCAL;
use super::polled::{NONE, Polled};
use super::{Waiter, clock, lint, recorders, threads, trace};
use crate::records::kernel::poll_slot::{NOT_OWNED, TASK};

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
            polled.put_back();
        }
    }
}

impl Waiter {
    /// Returns the task that this thread polls, or else this thread.
    #[inline]
    #[must_use]
    pub fn current() -> Self {
        Self::if_known().unwrap_or_else(first_time)
    }

    /// Like [`current`](Self::current), if this thread has asked for its waiter before.
    #[inline]
    pub(super) fn if_known() -> Option<Self> {
        let current = word();
        (current != NOT_OWNED).then_some(Self::of_word(current))
    }

    /// Returns the current task or thread, and this thread, if it has asked before.
    #[inline]
    pub(super) fn both_if_known() -> Option<(Self, Self)> {
        Self::if_known().map(|current| (current, Self::of_word(here().slot.thread())))
    }
}

#[inline]
fn here() -> &'static Polled {
    // SAFETY: it is never freed.
    unsafe { &*LOCAL.with(|local| local.polled.get()) }
}

/// Makes this thread use that `Polled`, whose current word is `current`.
#[inline]
fn set_here(polled: &'static Polled, current: u64) {
    LOCAL.with(|local| {
        local.polled.set(polled);
        local.current.set(current);
    });
}

/// Changes the copy of the current word of this thread's `Polled`.
#[inline]
fn set_current(current: u64) {
    LOCAL.with(|local| local.current.set(current));
}

/// Returns the word of the task that this thread polls, or else of this thread. A thread that has never asked
/// for its own has that of a task that does not exist.
#[inline]
pub(super) fn word() -> u64 {
    LOCAL.with(|local| local.current.get())
}

/// Returns this thread, which has never asked.
#[cold]
#[inline(never)]
fn first_time() -> Waiter {
    let thread = Waiter::thread();
    // A thread that is about to end would keep it.
    if OWNED.try_with(|_| ()).is_ok() {
        set_here(Polled::take(), thread.word());
        threads::name_thread(thread.number());
    }
    thread
}

/// Returns the `Polled` of this thread for a poll that begins.
#[inline]
fn for_poll() -> &'static Polled {
    let here = here();
    if here.slot.current() & TASK == 0 {
        return here;
    }
    for_inner_poll(here)
}

#[cold]
#[inline(never)]
fn for_inner_poll(outer: &'static Polled) -> &'static Polled {
    let polled = if outer.is_owned() {
        outer.inner()
    } else {
        first_time();
        let here = here();
        // A thread that is about to end keeps it.
        if here.is_owned() {
            here
        } else {
            Polled::take()
        }
    };
    set_here(polled, polled.slot.current());
    polled
}

/// The poll of a task by this thread, until this is dropped.
pub struct Entered {
    polled: &'static Polled,
    /// The task is a child that the future of its scope polls.
    is_child: bool,
}

impl Entered {
    /// Begins the first poll of a task without a record.
    #[inline]
    pub(super) fn first(task: Waiter, location: *const Location<'static>) -> Self {
        let polled = for_poll();
        let since = clock::recent();
        polled.slot.begin_first(task.word(), location, since);
        set_current(task.word());
        Self {
            polled,
            is_child: false,
        }
    }

    /// Begins a poll of a task.
    #[inline]
    pub(super) fn new(task: Waiter, is_child: bool) -> Self {
        let polled = for_poll();
        polled.slot.begin(task.word(), clock::recent());
        set_current(task.word());
        Self { polled, is_child }
    }

    /// Returns the word of the thread.
    #[inline]
    pub(super) fn thread(&self) -> u64 {
        self.polled.slot.thread()
    }

    /// Tells the recorders that the poll ends.
    #[cold]
    #[inline(never)]
    fn note_end(&self) {
        if recorders::lints() {
            lint::poll_ends();
        }
        // A recording has the polls of the child's task.
        if recorders::traces() && !self.is_child {
            trace::poll_ends(self.polled.slot.current(), self.thread());
        }
    }
}

impl Drop for Entered {
    #[inline]
    fn drop(&mut self) {
        if recorders::is_any_on() {
            self.note_end();
        }
        self.polled.slot.end();
        match self.polled.outer {
            None => set_current(self.thread()),
            Some(outer) => set_here(outer, outer.slot.current()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::ptr;

    use super::super::polled::read;
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
            let within = Entered::new(inner, false);
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
