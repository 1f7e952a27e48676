//! The tests of this crate that can share a process, in one program: it is linked once, not once
//! a file, for every system and sanitizer. A test that needs a process of its own has a line in
//! Cargo.toml instead.

#![cfg(not(loom))]

mod lock_help;

#[path = "barrier.rs"]
mod barrier;
#[path = "condvar.rs"]
mod condvar;
#[path = "event.rs"]
mod event;
#[path = "fair_mutex.rs"]
mod fair_mutex;
#[path = "fair_release.rs"]
mod fair_release;
#[path = "latch.rs"]
mod latch;
#[path = "lazy_lock.rs"]
mod lazy_lock;
#[path = "lock_stress.rs"]
mod lock_stress;
#[path = "mutex.rs"]
mod mutex;
#[path = "notify.rs"]
mod notify;
#[path = "once.rs"]
mod once;
#[path = "once_cell.rs"]
mod once_cell;
#[path = "once_lock.rs"]
mod once_lock;
#[path = "parker.rs"]
mod parker;
#[path = "real_time.rs"]
mod real_time;
#[path = "reentrant_mutex.rs"]
mod reentrant_mutex;
#[path = "rwlock.rs"]
mod rwlock;
#[path = "rwlock_upgrade.rs"]
mod rwlock_upgrade;
#[path = "semaphore.rs"]
mod semaphore;
#[path = "set_once.rs"]
mod set_once;
#[path = "sizes.rs"]
mod sizes;
#[path = "sync_stress.rs"]
mod sync_stress;
#[path = "task_barrier.rs"]
mod task_barrier;
#[path = "task_budget.rs"]
mod task_budget;
#[path = "task_mutex.rs"]
mod task_mutex;
#[path = "task_parity_locks.rs"]
mod task_parity_locks;
#[path = "task_parity_notify.rs"]
mod task_parity_notify;
#[path = "task_rwlock.rs"]
mod task_rwlock;
#[path = "task_semaphore.rs"]
mod task_semaphore;
#[path = "task_stress.rs"]
mod task_stress;
#[path = "wait_group.rs"]
mod wait_group;
