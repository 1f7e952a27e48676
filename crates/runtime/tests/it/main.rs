//! The tests of this crate that can share a process, in one program: it is linked once,
//! not once a file, for every system and sanitizer. Tests that need a process of their
//! own have a line in Cargo.toml instead.

mod blocking;
mod blocking_parity;
mod builder;
mod coop;
mod current_thread;
mod hyper;
mod multi_thread_settings;
mod multi_thread_shutdown;
mod runtime_parity;
mod scope;
mod scope_abort;
mod shutdown;
mod stalls;
mod task_parity;
mod task_stress;
mod tasks_together_parity;
mod time;
mod time_parity;
mod tokio_handle;
