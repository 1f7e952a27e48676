//! The tests of this crate, in one program.

#![cfg(all(not(loom), unix))]

#[path = "bad_days.rs"]
mod bad_days;
mod help;
#[path = "park.rs"]
mod park;
#[path = "readiness.rs"]
mod readiness;
#[cfg(io_uring)]
#[path = "ring.rs"]
mod ring;
#[path = "stress.rs"]
mod stress;
