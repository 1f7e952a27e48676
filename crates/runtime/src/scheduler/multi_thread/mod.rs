//! Workers, each on a thread of its own, that steal from each other.
//!
//! | file | contents |
//! |---|---|
//! | `queue.rs` | the ring of a worker's ready tasks, with stealing |
//! | `lifo_slot.rs` | the slot for the task that was woken last |
//! | `run_batch.rs` | the tasks that a worker has claimed |
//! | `tuning.rs` | how many of them, and how often the inject queue goes first |
//! | `idle.rs` | which workers sleep, search, are woken; the steps of going to sleep |
//! | `sleepers.rs` | where they sleep, and which were called |
//! | `worker_core.rs` | the state of a worker, whichever thread runs it |
//! | `shared.rs` | the state that all threads share |
//! | `worker.rs` | a thread with a core: the next task, the end of a poll, where a ready task goes |
//! | `monitor.rs` | whether another worker is stalled |
//! | `inbox.rs` | the ready tasks that are pinned to a thread |
//! | `thread_inbox.rs` | an inbox, and where its owner sleeps without a core |
//! | `pinned.rs` | the scheduler of a pinned task |
//! | `search.rs` | stealing, and sleeping |
//! | `run.rs` | the threads that are workers, and the end |
//! | `hand_over.rs` | another thread acquires the core while a task blocks |

#![allow(
    clippy::new_without_default,
    reason = "the queues are public for the models only"
)]

#[cfg(not(loom))]
mod hand_over;
pub mod idle;
pub mod inbox;
pub mod lifo_slot;
#[cfg(not(loom))]
mod monitor;
#[cfg(not(loom))]
mod pinned;
pub mod queue;
#[cfg(not(loom))]
mod run;
pub mod run_batch;
#[cfg(not(loom))]
mod search;
#[cfg(not(loom))]
mod shared;
mod sleepers;
#[cfg(not(loom))]
mod thread_inbox;
#[cfg(not(loom))]
mod tuning;
#[cfg(not(loom))]
mod worker;
#[cfg(not(loom))]
mod worker_core;

#[cfg(not(loom))]
pub(crate) use hand_over::{hand_over, number_here, timer_expected};
#[cfg(not(loom))]
pub(crate) use pinned::Pinned;
#[cfg(not(loom))]
pub(crate) use run::launch;
#[cfg(not(loom))]
pub(crate) use shared::Shared;
