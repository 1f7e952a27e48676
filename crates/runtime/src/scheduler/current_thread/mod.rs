//! One thread at a time runs all tasks: the one that is in `Runtime::block_on`.
//!
//! | file | what it has |
//! |---|---|
//! | `shared.rs` | what all threads know of the scheduler: they spawn and wake through it |
//! | `reference.rs` | how a task refers to it |
//! | `remote.rs` | the queue for what comes from other threads |
//! | `core.rs` | what belongs to the thread that runs the tasks: the queue, the loop |
//! | `main_waker.rs` | the waker of the future that `block_on` was given |
//! | `place.rs` | where the core is while no thread has it |
//! | `turns.rs` | several threads in `block_on` take turns; the end of the runtime |

#[cfg(not(loom))]
mod core;
#[cfg(not(loom))]
mod main_waker;
pub mod mutant;
pub mod place;
#[cfg(not(loom))]
mod reference;
#[cfg(not(loom))]
mod remote;
#[cfg(not(loom))]
mod shared;
#[cfg(not(loom))]
mod turns;

#[cfg(not(loom))]
pub(crate) use shared::Shared;
#[cfg(not(loom))]
pub(crate) use turns::CurrentThread;
