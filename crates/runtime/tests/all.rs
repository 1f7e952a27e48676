//! The tests of this crate that can share a process, in one program: it is linked once,
//! not once a file, for every system and sanitizer. Tests that need a process of their
//! own have a line in Cargo.toml instead.

#![cfg(not(loom))]

#[path = "blocking.rs"]
mod blocking;
#[path = "blocking_parity.rs"]
mod blocking_parity;
#[path = "builder.rs"]
mod builder;
#[path = "coop.rs"]
mod coop;
#[path = "current_thread.rs"]
mod current_thread;
#[path = "hyper.rs"]
mod hyper;
#[path = "multi_thread_settings.rs"]
mod multi_thread_settings;
#[path = "multi_thread_shutdown.rs"]
mod multi_thread_shutdown;
#[path = "runtime_parity.rs"]
mod runtime_parity;
#[path = "scope.rs"]
mod scope;
#[path = "shutdown.rs"]
mod shutdown;
#[path = "task_parity.rs"]
mod task_parity;
#[path = "task_stress.rs"]
mod task_stress;
#[path = "tasks_together_parity.rs"]
mod tasks_together_parity;
#[path = "time.rs"]
mod time;
#[path = "time_parity.rs"]
mod time_parity;
#[path = "tokio_handle.rs"]
mod tokio_handle;
