//! Everything in a program that waits, on one futex core.

pub use blitz_futex as futex;
pub use blitz_sync::thread;
