//! Everything in a program that waits, on one futex core.

pub mod sync;

pub use blitz_futex as futex;
pub use blitz_sync::thread;
