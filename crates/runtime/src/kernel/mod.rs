//! The protocols, which the model checker runs as they stand.
//!
//! | file | contents |
//! |---|---|
//! | `task/` | the task core, from a task's allocation to its last reference |
//! | `context.rs` | a thread's view of the runtime that it is in |
//! | `token.rs` | what the next three hold: a ready task as one word |
//! | `run_queue/` | the ready tasks of a worker, some of which others may take |
//! | `inbox.rs` | the ready tasks that are pinned to a thread |
//! | `inject.rs` | the ready tasks from other threads |
//! | `idle.rs` | which workers sleep, search, are woken; the steps of going to sleep |
//! | `sleepers.rs` | where they sleep, and which were called |
//! | `driver.rs` | the parker of an idle worker |
//! | `core_cell.rs` | the cell that holds the core of a current-thread runtime while no thread has it |
//! | `polling.rs` | the task that a worker polls, and since when |
//! | `job_queue.rs` | the jobs of the blocking pool, and its threads |
//! | `wheel/` | the wheel that holds timers |
//! | `ready_list.rs` | the tasks of a `JoinSet` that have ended |
//! | `task_tracker.rs`, `cancellation_token/` | what the public types of these names are |

#![cfg_attr(loom, allow(missing_docs, clippy::missing_safety_doc))]
#![allow(clippy::new_without_default, reason = "public for the models only")]

pub mod cancellation_token;
pub mod context;
pub mod core_cell;
pub mod driver;
pub mod idle;
pub mod inbox;
pub mod inject;
pub mod job_queue;
pub mod polling;
pub mod ready_list;
pub mod run_queue;
pub mod sleepers;
pub mod task;
pub mod task_tracker;
pub mod token;
pub mod wheel;
