//! The models of this crate, in one program.

#![cfg(loom)]

mod model;

#[path = "loom_biased_lock.rs"]
mod loom_biased_lock;
#[path = "loom_fences.rs"]
mod loom_fences;
#[path = "loom_mutex.rs"]
mod loom_mutex;
#[path = "loom_wait_queue.rs"]
mod loom_wait_queue;
