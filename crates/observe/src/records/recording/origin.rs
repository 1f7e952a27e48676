//! `Origin`: which task or thread made an object or spawned a task, and the order of the two.
//!
//! An object that is made gets a number of its own, one above that of the object before. A task that is spawned gets
//! the number of the last object. If an object was made before a task was spawned, in the order of the program, the
//! task's number is at least the object's: the spawn reads a counter that the object has raised, so it reads that
//! value or a later one. So a task with a smaller number cannot have got the object when it was spawned.

use std::sync::atomic::{AtomicU64, Ordering};

use super::Waiter;

static LAST: AtomicU64 = AtomicU64::new(0);

/// The origin of an object or a task.
#[derive(Clone, Copy, Debug)]
pub struct Origin {
    /// The word of the task or thread that made it, or 0.
    maker: u64,
    /// Its number.
    number: u64,
}

impl Origin {
    /// The origin of an object whose maker is not known.
    pub const UNKNOWN: Self = Self::of_words(0, 0);

    pub(super) const fn of_words(maker: u64, number: u64) -> Self {
        Self { maker, number }
    }

    /// Returns the origin of an object that the current task or thread makes.
    #[inline]
    #[must_use]
    pub fn of_object() -> Self {
        let number = LAST.fetch_add(1, Ordering::Relaxed) + 1;
        Self::of_words(Waiter::current().word(), number)
    }

    /// Returns the origin of a task that the current task or thread spawns.
    #[inline]
    #[must_use]
    pub fn of_task() -> Self {
        let number = LAST.load(Ordering::Relaxed);
        Self::of_words(Waiter::current().word(), number)
    }

    /// Returns the task or thread that made it, if it is known.
    #[must_use]
    pub fn maker(self) -> Option<Waiter> {
        Waiter::from_word(self.maker)
    }

    /// Returns its number.
    #[must_use]
    pub fn number(self) -> u64 {
        self.number
    }

    pub(super) fn maker_word(self) -> u64 {
        self.maker
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_that_is_spawned_later_has_at_least_the_number_of_the_object() {
        let before = Origin::of_task();
        let object = Origin::of_object();
        let after = Origin::of_task();
        assert!(before.number() < object.number() && object.number() <= after.number());
        assert_eq!(object.maker(), Some(Waiter::current()));
        assert_eq!(Origin::UNKNOWN.maker(), None);
    }
}
