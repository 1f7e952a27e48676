//! The models of this crate, in one program.

#![cfg(loom)]

use blitz_io_models as model;

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
