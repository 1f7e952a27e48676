//! `Waiter`: the thread or task that runs at the moment.

use std::cell::Cell;
use std::panic::Location;

use super::poll_slot::Poll;
use super::polled::Polled;
use crate::ThreadId;

/// A thread or a task, in one word.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Waiter(u64);

const TASK: u64 = 1;

thread_local! {
    static CURRENT: Cell<u64> = const { Cell::new(0) };
}

impl Waiter {
    /// Returns the task with this number.
    #[must_use]
    pub const fn task(id: u64) -> Self {
        Self(id << 1 | TASK)
    }

    /// Returns the task that this thread polls, or else this thread.
    #[inline]
    #[must_use]
    pub fn current() -> Self {
        Self::if_known().unwrap_or_else(first_time)
    }

    /// The same, if this thread has asked for it before.
    #[inline]
    pub(super) fn if_known() -> Option<Self> {
        Self::from_word(CURRENT.get())
    }

    /// Returns this thread, also within a task.
    #[must_use]
    pub fn thread() -> Self {
        Self::from_thread(ThreadId::current().get().get() as u64)
    }

    /// Returns the thread with this number.
    pub(super) const fn from_thread(number: u64) -> Self {
        Self(number << 1)
    }

    /// Returns the waiter of a word from [`word`](Self::word); `None` for 0.
    #[must_use]
    #[inline]
    pub fn from_word(word: u64) -> Option<Self> {
        (word != 0).then_some(Self(word))
    }

    /// Returns the word, which is not 0.
    #[inline]
    #[must_use]
    pub const fn word(self) -> u64 {
        self.0
    }

    /// Returns whether it is a task.
    #[must_use]
    pub const fn is_task(self) -> bool {
        self.0 & TASK != 0
    }

    /// Returns the number of the thread or task.
    #[must_use]
    pub const fn number(self) -> u64 {
        self.0 >> 1
    }
}

#[cold]
fn first_time() -> Waiter {
    let this = Waiter::thread();
    CURRENT.set(this.0);
    super::threads::name_thread(this.number());
    this
}

/// Restores the previous current task of this thread.
pub struct Entered {
    word: u64,
    polled: &'static Polled,
    before: Option<Poll>,
}

/// Makes `task` the current task of this thread, which polls it, until the result is dropped.
#[inline]
pub(super) fn enter(task: Waiter, location: *const Location<'static>) -> Entered {
    let polled = Polled::here();
    Entered {
        before: polled.begin(task.0, location),
        polled,
        word: CURRENT.replace(task.0),
    }
}

impl Entered {
    #[inline]
    pub(super) fn thread(&self) -> u64 {
        self.polled.thread()
    }
}

impl Drop for Entered {
    #[inline]
    fn drop(&mut self) {
        CURRENT.set(self.word);
        self.polled.restore(self.before.as_ref());
    }
}
