//! The tests of this crate, in one program.

#![cfg(unix)]

mod bad_days;
#[path = "../help/mod.rs"]
mod help;
mod park;
mod readiness;
#[cfg(io_uring)]
mod ring;
mod stress;
