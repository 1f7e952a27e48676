//! `ScopeFacts`: the scope of a child, as its record knows it.

use super::Waiter;

/// The scope of a child.
#[derive(Clone, Copy, Debug)]
pub struct ScopeFacts {
    /// The task or thread that awaits the scope.
    pub owner: Waiter,
    /// The [`id`](super::Facts::id) of the scope's object.
    pub object: u64,
    /// The children may borrow from the owner.
    pub lends: bool,
}
