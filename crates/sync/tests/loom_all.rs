//! The models of this crate, in one program.

#![cfg(loom)]

#[path = "../../core/tests/model/mod.rs"]
mod model;

#[path = "loom_barrier.rs"]
mod loom_barrier;
#[path = "loom_condvar.rs"]
mod loom_condvar;
#[path = "loom_event.rs"]
mod loom_event;
#[path = "loom_latch.rs"]
mod loom_latch;
#[path = "loom_notify.rs"]
mod loom_notify;
#[path = "loom_once.rs"]
mod loom_once;
#[path = "loom_once_cell.rs"]
mod loom_once_cell;
#[path = "loom_parker.rs"]
mod loom_parker;
#[path = "loom_rwlock.rs"]
mod loom_rwlock;
#[path = "loom_second_opinion.rs"]
mod loom_second_opinion;
#[path = "loom_semaphore.rs"]
mod loom_semaphore;
#[path = "loom_task_barrier.rs"]
mod loom_task_barrier;
#[path = "loom_task_permits.rs"]
mod loom_task_permits;
#[path = "loom_wait_group.rs"]
mod loom_wait_group;
