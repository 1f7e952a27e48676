//! The tests of this crate that can share a process.

#![cfg(not(loom))]

#[path = "bad_days.rs"]
mod bad_days;
#[path = "files.rs"]
mod files;
#[path = "moving.rs"]
mod moving;
#[cfg(io_uring)]
#[path = "ring.rs"]
mod ring;
