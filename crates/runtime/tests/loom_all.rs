//! The models of this crate, in one program.

#![cfg(loom)]

#[path = "../../channel/tests/model/mod.rs"]
mod model;

#[path = "loom_cancellation_token.rs"]
mod loom_cancellation_token;
#[path = "loom_idle.rs"]
mod loom_idle;
#[path = "loom_join_set.rs"]
mod loom_join_set;
#[path = "loom_pool.rs"]
mod loom_pool;
#[path = "loom_queue.rs"]
mod loom_queue;
#[path = "loom_task.rs"]
mod loom_task;
#[path = "loom_task_tracker.rs"]
mod loom_task_tracker;
#[path = "loom_turns.rs"]
mod loom_turns;
#[path = "loom_wheel.rs"]
mod loom_wheel;
