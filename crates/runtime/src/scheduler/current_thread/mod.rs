//! Runs all tasks on one thread, which is in `Runtime::block_on`.
//!
//! | file | contents |
//! |---|---|
//! | `shared.rs` | the state that all threads share: they spawn and wake through it |
//! | `task_loop.rs` | the core of the thread that runs the tasks: the queue, the loop |
//! | `core_cell.rs` | the cell that holds the core while no thread has it |
//! | `pinned.rs` | tasks that stay on the thread of their first poll |
//! | `turns.rs` | several threads in `block_on` take turns; the end of the runtime |

pub mod core_cell;
#[cfg(not(loom))]
mod pinned;
#[cfg(not(loom))]
mod shared;
#[cfg(not(loom))]
mod task_loop;
#[cfg(not(loom))]
mod turns;

#[cfg(not(loom))]
pub(crate) use pinned::Pinned;
#[cfg(not(loom))]
pub(crate) use shared::Shared;
#[cfg(not(loom))]
pub(crate) use turns::CurrentThread;
