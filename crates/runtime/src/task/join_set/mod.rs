//! `JoinSet`: a number of tasks, awaited in the order in which they end.
//!
//! The handles of the tasks are kept in [`slots`]; a task that ends puts its slot into
//! the list of the [`ready`], and wakes whoever awaits the set, once until that one
//! waits again.

#[cfg(not(loom))]
mod local;
#[cfg(not(loom))]
mod mutant;
#[cfg(loom)]
pub mod mutant;
pub mod ready;
#[cfg(not(loom))]
mod set;
#[cfg(not(loom))]
mod slots;

#[cfg(not(loom))]
pub use set::JoinSet;
