//! The tests of this crate that can share a process, in one program: it is linked once, not once
//! a file, for every system and sanitizer. A test that needs a process of its own has a line in
//! Cargo.toml instead.

mod barrier;
mod condvar;
mod event;
mod fair_mutex;
mod fair_release;
mod latch;
mod lazy_lock;
mod lock_stress;
mod mutex;
mod notify;
mod once;
mod once_cell;
mod once_lock;
mod parker;
mod real_time;
mod reentrant_mutex;
mod rwlock;
mod rwlock_upgrade;
mod semaphore;
mod set_once;
mod sizes;
mod spin_wait;
mod sync_stress;
mod task_barrier;
mod task_budget;
mod task_mutex;
mod task_parity_locks;
mod task_parity_notify;
mod task_rwlock;
mod task_semaphore;
mod task_stress;
mod wait_group;
