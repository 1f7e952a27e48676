//! `Waiter`: the thread or task that runs at the moment.

use super::poll_slot::{NOT_OWNED, TASK};
use super::polled;
use crate::ThreadId;

/// A thread or a task, in one word.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Waiter(u64);

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
        Self::if_known().unwrap_or_else(|| Self(polled::first_time()))
    }

    /// The same, if this thread has asked for it before.
    #[inline]
    pub(super) fn if_known() -> Option<Self> {
        let current = polled::current();
        (current != NOT_OWNED).then_some(Self(current))
    }

    /// Returns the current task or thread, and this thread, if it has asked before.
    #[inline]
    pub(super) fn both_if_known() -> Option<(Self, Self)> {
        polled::known().map(|(current, thread)| (Self(current), Self(thread)))
    }

    /// Returns this thread, also within a task.
    #[must_use]
    pub fn thread() -> Self {
        Self((ThreadId::current().get().get() as u64) << 1)
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
