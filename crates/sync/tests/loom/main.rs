//! The models of this crate, in one program.

#![cfg(loom)]

#[path = "../../../core/tests/loom/model/mod.rs"]
mod model;

mod barrier;
mod condvar;
mod event;
mod event_word;
mod latch;
mod latch_word;
mod notify;
mod once;
mod once_cell;
mod once_word;
mod parker;
mod rwlock;
mod second_opinion;
mod semaphore;
mod task_barrier;
mod task_permits;
mod wait_group;
mod words;
