//! `ScopeChild`: a child that the future of its scope polls.

use super::ChildState;

/// Set in the number of a child that the future of its scope polls. Numbers of tasks are smaller, those of roots have
/// other bits, and JSON keeps it.
const CHILD: u64 = 1 << 46;

/// Returns the number that the child with this id has among tasks.
#[must_use]
pub const fn number_of_child(id: u64) -> u64 {
    id | CHILD
}

/// Returns the id of the child with this number; `None` if it is that of a task.
#[must_use]
pub const fn id_of_child(number: u64) -> Option<u64> {
    if number < CHILD << 1 && number & CHILD != 0 {
        Some(number & !CHILD)
    } else {
        None
    }
}

/// A child that the future of its scope polls. Its wakers are `Arc`s of it, and so is the scope's reference to it.
pub trait ScopeChild: Send + Sync + Sized {
    /// Returns the field that its record reads.
    fn state(&self) -> &ChildState;

    /// Returns `true` if the child was woken, and has not been polled since. Any thread may call it, and it waits for
    /// nothing.
    fn is_woken(&self) -> bool;
}
