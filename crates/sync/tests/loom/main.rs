//! The models of this crate, in one program.

#![cfg(loom)]

#[path = "../../../core/tests/loom/model/mod.rs"]
mod model;

mod barrier;
mod condvar;
mod event;
mod latch;
mod notify;
mod once;
mod once_cell;
mod parker;
mod rwlock;
mod second_opinion;
mod semaphore;
mod task_barrier;
mod task_permits;
mod wait_group;
