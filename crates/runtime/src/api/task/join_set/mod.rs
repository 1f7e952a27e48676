//! [`JoinSet`]: tasks that are awaited in the order in which they end.

// `slots.rs` keeps the handles of the tasks. A task that ends puts its slot into the
// ready list (`ready_list.rs`), and wakes the task that awaits the set, once until that task
// waits again.

#[cfg(any(feature = "inspect", feature = "tracing"))]
mod builder;
mod set;
mod slots;

#[cfg(any(feature = "inspect", feature = "tracing"))]
pub use builder::Builder;
pub use set::JoinSet;
