//! `Waiter`: a thread or a task, or a future of another runtime.

use std::task::Waker;

use crate::ThreadId;
use crate::records::kernel::poll_slot::TASK;
use crate::records::{is_future, number_of_child, number_of_future};

/// A thread or a task, in one word.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Waiter(u64);

impl Waiter {
    /// Returns the task with this number.
    #[must_use]
    pub const fn task(id: u64) -> Self {
        Self(id << 1 | TASK)
    }

    /// Returns the child with this id, which the future of its scope polls. It is a task with a number of its own.
    #[must_use]
    pub const fn child(id: u64) -> Self {
        Self::task(number_of_child(id))
    }

    /// Returns the future that is polled with this waker, outside of any task. It is a task with a number of its own. A
    /// waker without data tells no future from others, and is taken for the thread.
    #[must_use]
    pub(super) fn future(waker: &Waker) -> Self {
        match waker.data().addr() {
            0 => Self::current(),
            address => Self::task(number_of_future(address as u64)),
        }
    }

    /// Returns the task that this thread polls, or else the future that is polled with this waker.
    #[inline]
    #[must_use]
    pub(super) fn polled_with(waker: &Waker) -> Self {
        let current = Self::current();
        if current.is_task() {
            current
        } else {
            Self::future(waker)
        }
    }

    /// Returns `true` for a future of another runtime.
    #[must_use]
    pub const fn is_future(self) -> bool {
        self.is_task() && is_future(self.number())
    }

    /// Returns this thread, also within a task.
    #[must_use]
    pub fn thread() -> Self {
        Self((ThreadId::current().get().get() as u64) << 1)
    }

    /// Returns the waiter of a word that is not 0.
    #[inline]
    pub(super) const fn of_word(word: u64) -> Self {
        Self(word)
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
